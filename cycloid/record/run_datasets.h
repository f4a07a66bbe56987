// record/run_datasets.h: the datasets of a run's file (HDF5): rows that grow, and checkpoints.
//
// Only for sources that are compiled with libhdf5; room record itself knows none of it.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/record/run_recorder.h"

namespace cycloid::inline record {

// An identifier or status of HDF5, or an Error that says what could not be written.
inline hid_t checked(hid_t id, const char* what) {
  if (id < 0) throw Error(message("the recording could not be written: ", what));
  return id;
}

// Rows along one axis, of which more may come: (environments, rows, width), without the first axis
// for one environment and without the last for width 0. In chunks with checksums.
class GrowingDataset {
 public:
  // Opens the dataset, or makes it where there is none. Throws Error on one of another shape.
  GrowingDataset(hid_t file, const char* name, hid_t type, std::int64_t environments,
                 std::int64_t width);
  GrowingDataset(const GrowingDataset&) = delete;
  GrowingDataset& operator=(const GrowingDataset&) = delete;
  ~GrowingDataset() { H5Dclose(set_); }

  std::int64_t rows() const { return static_cast<std::int64_t>(rows_); }
  // values: (environments, rows, width)
  void append(const void* values, hid_t type, std::int64_t rows);
  // Leaves the first rows.
  void cut(std::int64_t rows);

  // All of it.
  bool read(void* values, hid_t type) const {
    return H5Dread(set_, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  }

  // Whether it holds just these numbers.
  template <class T>
  bool holds(const std::vector<T>& values, hid_t type) const {
    if (count() != std::ssize(values)) return false;
    std::vector<T> found(values.size());
    return read(found.data(), type) && found == values;
  }

 private:
  void create(hid_t file, const char* name, hid_t type);
  void open(hid_t file, const char* name);
  void resize(hsize_t rows);
  std::int64_t count() const;
  std::size_t axis() const { return environments_ ? 1 : 0; }
  std::vector<hsize_t> shape(hsize_t rows) const;

  hsize_t environments_, width_, rows_ = 0;
  hid_t set_ = -1;
};

// Two checkpoints, written in turn, each in a chunk of its own with a checksum: (2, n + 3) numbers,
// step, rows, notes and those of the run. One that a kill cuts off leaves the other.
class CheckpointDataset {
 public:
  // `numbers`: of the run. Opens the dataset, or makes it where there is none.
  CheckpointDataset(hid_t file, std::size_t numbers);
  CheckpointDataset(const CheckpointDataset&) = delete;
  CheckpointDataset& operator=(const CheckpointDataset&) = delete;
  ~CheckpointDataset() { H5Dclose(set_); }

  void write(const RunCheckpoint& checkpoint);
  // Those that are whole, with at most the rows and notes that are there.
  std::vector<RunCheckpoint> whole(const RunCheckpoint& there);
  // The next one is written to the other place.
  void keep(const RunCheckpoint& checkpoint);

 private:
  RunCheckpoint read(hsize_t place);
  template <class Move>
  herr_t moved(hsize_t place, const Move& move);

  hsize_t width_, newest_ = 1;
  hid_t set_ = -1;
};

}  // namespace cycloid::inline record
