#ifdef CYCLOID_HDF5
#include "cycloid/record/run_datasets.h"

#include <algorithm>

#include "cycloid/base/check.h"

namespace cycloid::inline record {
namespace {
constexpr hsize_t kChunkRows = 256;
constexpr const char* kCheckpoint = "checkpoint";
constexpr std::size_t kOwn = 3;  // step, rows and notes

// In chunks of this shape, with a checksum.
hid_t chunked(const hsize_t* chunk, int axes) {
  const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(how, axes, chunk);
  H5Pset_fletcher32(how);
  return how;
}
}  // namespace

GrowingDataset::GrowingDataset(hid_t file, const char* name, hid_t type, std::int64_t environments,
                               std::int64_t width)
    : environments_(environments > 1 ? static_cast<hsize_t>(environments) : 0),
      width_(static_cast<hsize_t>(width)) {
  if (H5Lexists(file, name, H5P_DEFAULT) > 0) {
    open(file, name);
  } else {
    create(file, name, type);
  }
}

void GrowingDataset::create(hid_t file, const char* name, hid_t type) {
  std::vector<hsize_t> size = shape(0), most = size, chunk = shape(kChunkRows);
  for (std::size_t i = 0; i < size.size(); ++i) {
    most[i] = i == axis() ? H5S_UNLIMITED : size[i];
    if (i < axis()) chunk[i] = 1;
  }
  const int axes = static_cast<int>(size.size());
  const hid_t space = H5Screate_simple(axes, size.data(), most.data());
  const hid_t how = chunked(chunk.data(), axes);
  set_ = checked(H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT), name);
  H5Pclose(how), H5Sclose(space);
}

void GrowingDataset::open(hid_t file, const char* name) {
  set_ = checked(H5Dopen2(file, name, H5P_DEFAULT), name);
  const hid_t space = H5Dget_space(set_);
  std::vector<hsize_t> size(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, size.data(), nullptr);
  H5Sclose(space);
  if (axis() < size.size()) rows_ = size[axis()];
  if (size == shape(rows_)) return;
  H5Dclose(set_);
  throw Error(message("it is of another run: the shape of its ", name, " is another one"));
}

void GrowingDataset::append(const void* values, hid_t type, std::int64_t rows) {
  const hsize_t more = static_cast<hsize_t>(rows);
  if (more == 0) return;
  resize(rows_ + more);
  std::vector<hsize_t> first(shape(0).size(), 0), size = shape(more);
  first[axis()] = rows_ - more;
  const hid_t there = H5Dget_space(set_);
  H5Sselect_hyperslab(there, H5S_SELECT_SET, first.data(), nullptr, size.data(), nullptr);
  const hid_t here = H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr);
  const herr_t written = H5Dwrite(set_, type, here, there, H5P_DEFAULT, values);
  H5Sclose(here), H5Sclose(there);
  checked(written, "rows");
}

void GrowingDataset::cut(std::int64_t rows) { resize(std::min(rows_, static_cast<hsize_t>(rows))); }

void GrowingDataset::resize(hsize_t rows) {
  checked(H5Dset_extent(set_, shape(rows).data()), "more room");
  rows_ = rows;
}

std::int64_t GrowingDataset::count() const {
  const hid_t space = H5Dget_space(set_);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  return count;
}

std::vector<hsize_t> GrowingDataset::shape(hsize_t rows) const {
  std::vector<hsize_t> out;
  if (environments_) out.push_back(environments_);
  out.push_back(rows);
  if (width_) out.push_back(width_);
  return out;
}

CheckpointDataset::CheckpointDataset(hid_t file, std::size_t numbers) : width_(numbers + kOwn) {
  if (H5Lexists(file, kCheckpoint, H5P_DEFAULT) > 0) {
    set_ = checked(H5Dopen2(file, kCheckpoint, H5P_DEFAULT), kCheckpoint);
    return;
  }
  const std::array<hsize_t, 2> size{2, width_}, chunk{1, width_};
  const hid_t space = H5Screate_simple(2, size.data(), nullptr);
  const hid_t how = chunked(chunk.data(), 2);
  const double none = -1;
  H5Pset_fill_value(how, H5T_NATIVE_DOUBLE, &none);
  set_ =
      checked(H5Dcreate2(file, kCheckpoint, H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT),
              kCheckpoint);
  H5Pclose(how), H5Sclose(space);
}

void CheckpointDataset::write(const RunCheckpoint& checkpoint) {
  std::vector<double> row{static_cast<double>(checkpoint.step),
                          static_cast<double>(checkpoint.rows),
                          static_cast<double>(checkpoint.notes)};
  row.insert(row.end(), checkpoint.numbers.begin(), checkpoint.numbers.end());
  CYCLOID_CHECK(row.size() == width_, row.size(), width_);
  newest_ = 1 - newest_;
  const herr_t written = moved(newest_, [&](hid_t here, hid_t there) {
    return H5Dwrite(set_, H5T_NATIVE_DOUBLE, here, there, H5P_DEFAULT, row.data());
  });
  checked(written, "a checkpoint");
}

std::vector<RunCheckpoint> CheckpointDataset::whole(const RunCheckpoint& there) {
  const hid_t space = H5Dget_space(set_);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  std::vector<RunCheckpoint> out;
  if (count != 2 * static_cast<hssize_t>(width_)) return out;
  for (const hsize_t place : {hsize_t{0}, hsize_t{1}}) {
    RunCheckpoint one = read(place);
    const bool reached = one.rows <= there.rows && one.notes <= there.notes;
    if (one.step >= 0 && reached) out.push_back(std::move(one));
  }
  return out;
}

void CheckpointDataset::keep(const RunCheckpoint& checkpoint) {
  newest_ = read(0).step == checkpoint.step ? 0 : 1;
}

// Step -1: it is not whole, or was never written.
RunCheckpoint CheckpointDataset::read(hsize_t place) {
  std::vector<double> row(width_);
  const herr_t read = moved(place, [&](hid_t here, hid_t there) {
    return H5Dread(set_, H5T_NATIVE_DOUBLE, here, there, H5P_DEFAULT, row.data());
  });
  if (read < 0) return {.step = -1};
  return {.step = static_cast<std::int64_t>(row[0]),
          .rows = static_cast<std::int64_t>(row[1]),
          .notes = static_cast<std::int64_t>(row[2]),
          .numbers = {row.begin() + kOwn, row.end()}};
}

template <class Move>
herr_t CheckpointDataset::moved(hsize_t place, const Move& move) {
  const std::array<hsize_t, 2> first{place, 0}, count{1, width_};
  const hid_t there = H5Dget_space(set_);
  H5Sselect_hyperslab(there, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr);
  const hid_t here = H5Screate_simple(2, count.data(), nullptr);
  const herr_t status = move(here, there);
  H5Sclose(here), H5Sclose(there);
  return status;
}

}  // namespace cycloid::inline record
#endif
