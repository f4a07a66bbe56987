// Room record: what was measured, and the files that it comes in.
//
// A recording has S samples of m numbers, at times t_0 < t_1 < … [s]. What was not measured is NaN,
// and NaN belongs nowhere else. Row i of the controls acts from t_i to t_{i+1}; the last one is not
// used.
//
// Where to start reading:
//   recording.h   a recording in memory, checked against a System
//   csv.h         tables of numbers with a header
//   npz.h         NumPy's archives;   inflate.h  how their members are unpacked
//   hdf5_file.h   HDF5, where the program is built with it
//   record_file.h a recording in a file, by its suffix;   named_arrays.h  what they have in common
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline record {

struct Recording {
  std::vector<double> times;          // (S) [s], rising
  std::vector<double> values;         // (S, m)
  std::vector<double> controls = {};  // (S, inputs); empty: zeros
  // What was measured, as observe takes it, or blocks of the state; together m numbers. Empty:
  // whole rows of the state.
  std::vector<std::string> names = {};
  std::vector<double> sigma = {};  // of the noise, one for all or one per column; empty: not known
  std::vector<double> x0 = {};     // (states) at t_0; empty: not known

  std::size_t samples() const { return times.size(); }
  std::size_t columns() const { return times.empty() ? 0 : values.size() / times.size(); }
};

// One thing that was measured: its columns.
struct RecordedOutput {
  std::string name;
  int column = 0, size = 1;
};

// What a recording says that it measured. Throws ModelError on a name that there is not, with the
// nearest one.
std::vector<RecordedOutput> outputs_of(const System& system, const Recording& recording);

// Throws Error: times that do not rise or are not finite, values that do not have the columns of
// the names or are infinite, controls that are not finite or not the System's, a sigma that is not
// positive, an x0 of another size, and an output that was never measured. `label` begins the
// message: "recording 2".
void check_recording(const System& system, const Recording& recording, const std::string& label);

// A name for each column: "angle", "qpos[3]".
std::vector<std::string> column_names(const System& system, const Recording& recording);

// Columns by name, as they come from a file.
struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;
};

// The recording in a table: a column "t" or "time" [s], outputs and inputs by name ("angle",
// "qpos[1]"; a unit may follow), what is missing of an output as NaN. Columns that are neither are
// left out and named in `notes`, unless that is null. Throws Error without times or outputs.
Recording recording_from_table(const System& system, const Table& table,
                               std::vector<std::string>* notes = nullptr);
Table table_from_recording(const System& system, const Recording& recording);

}  // namespace cycloid::inline record
