// record/run_recorder.h: a run written to an HDF5 file while it goes on (docs/recordings.md).
//
// States and inputs are appended; once a second everything is brought to the disk. Between these
// moments the file on the disk is whole: metadata leave memory only then, so that a program that is
// killed, or a machine that loses its power, loses what the last second brought and no more.
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

// Whether this was built with libhdf5.
bool can_record_runs();

class RunRecorder {
 public:
  // Throws Error when the file cannot be written, or without libhdf5.
  RunRecorder(const std::string& path, const RunHeader& header);
  ~RunRecorder();  // closes, and keeps silent

  // Of every environment, (environments, states): the state after `step` steps, at time t [s].
  void add_state(std::int64_t step, double t, std::span<const double> states);
  // (environments, steps, inputs): of the steps that follow those that are there.
  void add_inputs(std::span<const double> inputs, std::int64_t steps);
  // Brings all to the disk, where a second has passed since the last time.
  void keep_up();
  void close();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace cycloid::inline record
