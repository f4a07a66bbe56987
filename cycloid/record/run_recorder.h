// record/run_recorder.h: a run written to an HDF5 file while it goes on (docs/recordings.md).
//
// States and inputs are appended; once a second everything is brought to the disk. Between these
// moments the file on the disk is whole: metadata leave memory only then, so that a program that is
// killed, or a machine that loses its power, loses what the last second brought and no more.
//
// A checkpoint is written at the same moments: what a program needs to go on with the run. There
// are two places for it, used in turn; the newer one that is whole and that the rows reach counts.
//
// libhdf5 is optional when the program is built (hdf5_file.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cycloid::inline record {

struct RunHeader {
  std::int64_t environments = 1;  // one: the arrays have no axis for it
  std::int64_t states = 0, inputs = 0;
  bool single = false;                         // precision of states and inputs
  std::vector<double> x0;                      // (environments, states)
  std::vector<double> params;                  // shared by all
  std::string model;                           // bytes of a robot's file, or empty
  std::int64_t seed = -1;                      // -1: none
  std::map<std::string, std::string> texts{};  // further attributes of the root
};

struct RunCheckpoint {
  std::int64_t step = 0, rows = 0;  // steps that were made; rows of states among them
  std::int64_t notes = 0;           // bytes of notes
  std::vector<double> numbers{};    // as many in every checkpoint of a run
};

// Whether this was built with libhdf5.
bool can_record_runs();

class RunRecorder {
 public:
  // A new file. Throws Error when it cannot be written, or without libhdf5.
  RunRecorder(const std::string& path, const RunHeader& header, const RunCheckpoint& start);
  // A file that is there, of the same run, cut back to its last checkpoint from which a run of
  // `steps` goes on: at their end, or at a multiple of `segment` steps. Throws Error on one of
  // another run, of more steps or without a checkpoint.
  static RunRecorder resume(const std::string& path, const RunHeader& header, std::int64_t steps,
                            std::int64_t segment, RunCheckpoint& checkpoint);
  RunRecorder(RunRecorder&&) noexcept;
  ~RunRecorder();  // closes, and keeps silent

  // Of every environment, (environments, states): the state after `step` steps, at time t [s].
  void add_state(std::int64_t step, double t, std::span<const double> states);
  // (environments, steps, inputs): of the steps that follow those that are there.
  void add_inputs(std::span<const double> inputs, std::int64_t steps);
  // Text about the run, which is only appended; and all of it.
  void add_notes(const std::string& text);
  std::string notes() const;
  // Leaves the first rows of states.
  void cut_states(std::int64_t rows);
  // Whether a second has passed since all was brought to the disk.
  bool due() const;
  // Brings all to the disk.
  void keep(const RunCheckpoint& checkpoint);
  void close(const RunCheckpoint& checkpoint);

 private:
  struct File;
  explicit RunRecorder(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace cycloid::inline record
