#include "cycloid/record/run_recorder.h"

#ifdef CYCLOID_HDF5
#include <hdf5.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>

#include "cycloid/base/error.h"

namespace cycloid::inline record {

#ifdef CYCLOID_HDF5
namespace {

constexpr int kSchema = 1;
constexpr hsize_t kChunkRows = 256;

hid_t checked(hid_t id, const char* what) {
  if (id < 0) throw Error(message("the recording could not be written: ", what));
  return id;
}
void check(herr_t status, const char* what) { checked(status, what); }

void put_text(hid_t file, const std::string& name, const std::string& text) {
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, std::max<std::size_t>(text.size(), 1));
  H5Tset_cset(type, H5T_CSET_UTF8);
  const hid_t attribute = checked(
      H5Acreate2(file, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), "an attribute");
  check(H5Awrite(attribute, type, text.data()), "an attribute");
  H5Aclose(attribute), H5Sclose(space), H5Tclose(type);
}

void put_number(hid_t file, const char* name, std::int64_t value) {
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t attribute = checked(
      H5Acreate2(file, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT), "an attribute");
  check(H5Awrite(attribute, H5T_NATIVE_INT64, &value), "an attribute");
  H5Aclose(attribute), H5Sclose(space);
}

// Rows along one axis, of which more may come.
class Growing {
 public:
  // (environments, rows, width), without the first axis for one environment and without the last
  // for width 0.
  Growing(hid_t file, const char* name, hid_t type, std::int64_t environments, std::int64_t width)
      : environments_(environments > 1 ? static_cast<hsize_t>(environments) : 0),
        width_(static_cast<hsize_t>(width)) {
    std::vector<hsize_t> size = shape(0), most = size, chunk = shape(kChunkRows);
    for (std::size_t i = 0; i < size.size(); ++i) {
      most[i] = i == axis() ? H5S_UNLIMITED : size[i];
      if (i < axis()) chunk[i] = 1;
    }
    const hid_t space = H5Screate_simple(static_cast<int>(size.size()), size.data(), most.data());
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_fletcher32(how);
    set_ = checked(H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT), name);
    H5Pclose(how), H5Sclose(space);
  }
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() { H5Dclose(set_); }

  // values: (environments, rows, width)
  void append(const void* values, hid_t type, std::int64_t rows) {
    const hsize_t more = static_cast<hsize_t>(rows);
    if (more == 0) return;
    check(H5Dset_extent(set_, shape(rows_ + more).data()), "more room");
    std::vector<hsize_t> first = shape(0), count = shape(more);
    std::fill(first.begin(), first.end(), 0);
    first[axis()] = rows_;
    const hid_t there = H5Dget_space(set_);
    H5Sselect_hyperslab(there, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr);
    const hid_t here = H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr);
    const herr_t written = H5Dwrite(set_, type, here, there, H5P_DEFAULT, values);
    H5Sclose(here), H5Sclose(there);
    check(written, "rows");
    rows_ += more;
  }

 private:
  std::size_t axis() const { return environments_ ? 1 : 0; }
  std::vector<hsize_t> shape(hsize_t rows) const {
    std::vector<hsize_t> out;
    if (environments_) out.push_back(environments_);
    out.push_back(rows);
    if (width_) out.push_back(width_);
    return out;
  }

  hsize_t environments_, width_, rows_ = 0;
  hid_t set_ = -1;
};

hid_t opened(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // what fails is said here
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  // Metadata stay in memory until a flush.
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  H5Pget_mdc_config(access, &cache);
  cache.evictions_enabled = false;
  cache.incr_mode = H5C_incr__off;
  cache.flash_incr_mode = H5C_flash_incr__off;
  cache.decr_mode = H5C_decr__off;
  H5Pset_mdc_config(access, &cache);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  if (file < 0) {
    throw Error(message("cannot write \"", path,
                        "\": choose a file in a folder that exists and may be written to"));
  }
  return file;
}

struct FileHandle {
  hid_t id;
  explicit FileHandle(const std::string& path) : id(opened(path)) {}
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() { H5Fclose(id); }
};

}  // namespace

struct RunRecorder::File {
  FileHandle file;
  RunHeader header;
  Growing states, times, steps, controls;
  std::chrono::steady_clock::time_point kept = std::chrono::steady_clock::now();

  File(const std::string& path, const RunHeader& h)
      : file(path),
        header(h),
        states(file.id, "states", number_type(), h.environments, h.states),
        times(file.id, "times", H5T_IEEE_F64LE, 1, 0),
        steps(file.id, "steps", H5T_STD_I64LE, 1, 0),
        controls(file.id, "controls", number_type(), h.environments,
                 std::max<std::int64_t>(h.inputs, 1)) {
    Growing x0(file.id, "x0", number_type(), 1, h.environments > 1 ? h.states : 0);
    x0.append(h.x0.data(), H5T_NATIVE_DOUBLE, h.environments > 1 ? h.environments : h.states);
    Growing params(file.id, "params", H5T_IEEE_F64LE, 1, 0);
    params.append(h.params.data(), H5T_NATIVE_DOUBLE, std::ssize(h.params));
    if (!h.model.empty()) {
      Growing model(file.id, "model", H5T_STD_U8LE, 1, 0);
      model.append(h.model.data(), H5T_NATIVE_UINT8, std::ssize(h.model));
    }
    for (const auto& [name, text] : h.texts) put_text(file.id, name, text);
    put_number(file.id, "seed", h.seed);
    put_number(file.id, "schema", kSchema);
    check(H5Fflush(file.id, H5F_SCOPE_GLOBAL), "its beginning");
  }

  hid_t number_type() const { return header.single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }
};

bool can_record_runs() { return true; }

RunRecorder::RunRecorder(const std::string& path, const RunHeader& header)
    : file_(std::make_unique<File>(path, header)) {}

void RunRecorder::add_state(std::int64_t step, double t, std::span<const double> states) {
  file_->states.append(states.data(), H5T_NATIVE_DOUBLE, 1);
  file_->times.append(&t, H5T_NATIVE_DOUBLE, 1);
  file_->steps.append(&step, H5T_NATIVE_INT64, 1);
}

void RunRecorder::add_inputs(std::span<const double> inputs, std::int64_t steps) {
  file_->controls.append(inputs.data(), H5T_NATIVE_DOUBLE, steps);
}

void RunRecorder::keep_up() {
  const auto now = std::chrono::steady_clock::now();
  if (now - file_->kept < std::chrono::seconds(1)) return;
  check(H5Fflush(file_->file.id, H5F_SCOPE_GLOBAL), "a second of the run");
  file_->kept = now;
}

void RunRecorder::close() {
  if (!file_) return;
  check(H5Fflush(file_->file.id, H5F_SCOPE_GLOBAL), "its end");
  file_.reset();
}
#else
struct RunRecorder::File {};
bool can_record_runs() { return false; }
RunRecorder::RunRecorder(const std::string&, const RunHeader&) {
  throw Error(
      "this program was built without libhdf5, which recordings need: install it "
      "(apt-get install libhdf5-dev) and build again, or write a table with --output FILE.csv");
}
void RunRecorder::add_state(std::int64_t, double, std::span<const double>) {}
void RunRecorder::add_inputs(std::span<const double>, std::int64_t) {}
void RunRecorder::keep_up() {}
void RunRecorder::close() {}
#endif

RunRecorder::~RunRecorder() = default;

}  // namespace cycloid::inline record
