#include "cycloid/record/run_recorder.h"

#ifdef CYCLOID_HDF5
#include "cycloid/record/run_datasets.h"
#endif

#include <algorithm>
#include <chrono>

#include "cycloid/base/error.h"

namespace cycloid::inline record {

#ifdef CYCLOID_HDF5
namespace {

constexpr std::int64_t kSchema = 1;

void put_text(hid_t file, const std::string& name, const std::string& text) {
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, std::max<std::size_t>(text.size(), 1));
  H5Tset_cset(type, H5T_CSET_UTF8);
  const hid_t attribute = checked(
      H5Acreate2(file, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), "an attribute");
  checked(H5Awrite(attribute, type, text.data()), "an attribute");
  H5Aclose(attribute), H5Sclose(space), H5Tclose(type);
}

void put_number(hid_t file, const char* name, std::int64_t value) {
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t attribute = checked(
      H5Acreate2(file, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT), "an attribute");
  checked(H5Awrite(attribute, H5T_NATIVE_INT64, &value), "an attribute");
  H5Aclose(attribute), H5Sclose(space);
}

std::string text_of(hid_t file, const std::string& name) {
  const hid_t attribute = H5Aopen(file, name.c_str(), H5P_DEFAULT);
  if (attribute < 0) return {};
  const hid_t type = H5Aget_type(attribute);
  std::string text(H5Tget_size(type), '\0');
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 ||
      H5Aread(attribute, type, text.data()) < 0) {
    text.clear();
  }
  text.resize(std::min(text.size(), text.find('\0')));  // an empty text has one byte
  H5Tclose(type), H5Aclose(attribute);
  return text;
}

std::int64_t number_of(hid_t file, const char* name) {
  const hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
  std::int64_t value = INT64_MIN;
  if (attribute < 0) return value;
  H5Aread(attribute, H5T_NATIVE_INT64, &value);
  H5Aclose(attribute);
  return value;
}

// Metadata stay in memory until a flush.
hid_t access_list() {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  H5Pget_mdc_config(access, &cache);
  cache.evictions_enabled = false;
  cache.incr_mode = H5C_incr__off;
  cache.flash_incr_mode = H5C_flash_incr__off;
  cache.decr_mode = H5C_decr__off;
  H5Pset_mdc_config(access, &cache);
  return access;
}

hid_t opened(const std::string& path, bool is_there) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // what fails is said here
  const hid_t access = access_list();
  const hid_t file = is_there ? H5Fopen(path.c_str(), H5F_ACC_RDWR, access)
                              : H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  if (file >= 0) return file;
  throw Error(is_there
                  ? message("it is no recording, or another program writes to it")
                  : message("cannot write \"", path,
                            "\": choose a file in a folder that exists and may be written to"));
}

struct FileHandle {
  hid_t id;
  FileHandle(const std::string& path, bool is_there) : id(opened(path, is_there)) {}
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() { H5Fclose(id); }
};

// The header; where the file's run is another one, an Error says what of it.
const RunHeader& same_run(hid_t file, const RunHeader& h) {
  const std::int64_t schema = number_of(file, "schema"), seed = number_of(file, "seed");
  if (schema != kSchema) throw Error("it is no recording of this release");
  for (const auto& [name, text] : h.texts) {
    if (text_of(file, name) != text) {
      throw Error(message("it is of another run: its ", name, " is ", text_of(file, name),
                          ", here it is ", text));
    }
  }
  if (seed != h.seed) {
    throw Error(message("it is of another run: its seed is ", seed, ", here it is ", h.seed));
  }
  return h;
}

}  // namespace

bool can_record_runs() { return true; }

struct RunRecorder::File {
  FileHandle file;
  RunHeader header;
  GrowingDataset states, times, steps, controls, x0, params, notes;
  CheckpointDataset checkpoints;
  std::chrono::steady_clock::time_point kept = std::chrono::steady_clock::now();

  File(const std::string& path, const RunHeader& h, bool is_there, std::size_t numbers)
      : file(path, is_there),
        header(is_there ? same_run(file.id, h) : h),  // before anything is made in another's file
        states(file.id, "states", number_type(), h.environments, h.states),
        times(file.id, "times", H5T_IEEE_F64LE, 1, 0),
        steps(file.id, "steps", H5T_STD_I64LE, 1, 0),
        controls(file.id, "controls", number_type(), h.environments,
                 std::max<std::int64_t>(h.inputs, 1)),
        x0(file.id, "x0", number_type(), 1, h.environments > 1 ? h.states : 0),
        params(file.id, "params", H5T_IEEE_F64LE, 1, 0),
        notes(file.id, "notes", H5T_STD_U8LE, 1, 0),
        checkpoints(file.id, numbers) {}

  void begin() {
    const RunHeader& h = header;
    x0.append(h.x0.data(), H5T_NATIVE_DOUBLE, h.environments > 1 ? h.environments : h.states);
    params.append(h.params.data(), H5T_NATIVE_DOUBLE, std::ssize(h.params));
    if (!h.model.empty()) {
      GrowingDataset model(file.id, "model", H5T_STD_U8LE, 1, 0);
      model.append(h.model.data(), H5T_NATIVE_UINT8, std::ssize(h.model));
    }
    for (const auto& [name, text] : h.texts) put_text(file.id, name, text);
    put_number(file.id, "seed", h.seed);
    put_number(file.id, "schema", kSchema);
  }

  // Rows that came after the checkpoint are made again.
  RunCheckpoint go_on(std::int64_t last_step, std::int64_t segment) {
    if (!x0.holds(header.x0, H5T_NATIVE_DOUBLE)) throw Error("it is of a run from other starts");
    if (!params.holds(header.params, H5T_NATIVE_DOUBLE)) {
      throw Error("it is of a run with other parameters");
    }
    if (!header.model.empty()) {
      GrowingDataset model(file.id, "model", H5T_STD_U8LE, 1, 0);
      if (!model.holds(std::vector<char>(header.model.begin(), header.model.end()),
                       H5T_NATIVE_UINT8)) {
        throw Error("it is of another model, or of one that has changed since");
      }
    }
    const RunCheckpoint there{.rows = std::min({states.rows(), times.rows(), steps.rows()}),
                              .notes = notes.rows()};
    RunCheckpoint last{.step = -1};
    for (const RunCheckpoint& one : checkpoints.whole(there)) {
      if (one.step > last_step) {
        throw Error(message("it has ", one.step, " steps already, ", last_step, " are asked for"));
      }
      if (one.step > last.step && (one.step == last_step || one.step % segment == 0)) last = one;
    }
    if (last.step < 0) throw Error("it has no checkpoint of this run: record it again");
    checkpoints.keep(last);
    cut_states(last.rows);
    controls.cut(last.step);
    notes.cut(last.notes);
    return last;
  }

  void cut_states(std::int64_t rows) { states.cut(rows), times.cut(rows), steps.cut(rows); }

  void flush(const RunCheckpoint& checkpoint, const char* what) {
    checkpoints.write(checkpoint);
    checked(H5Fflush(file.id, H5F_SCOPE_GLOBAL), what);
    kept = std::chrono::steady_clock::now();
  }

  hid_t number_type() const { return header.single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }
};

RunRecorder::RunRecorder(const std::string& path, const RunHeader& header,
                         const RunCheckpoint& start)
    : file_(std::make_unique<File>(path, header, false, start.numbers.size())) {
  file_->begin();
  file_->flush(start, "its beginning");
}

RunRecorder RunRecorder::resume(const std::string& path, const RunHeader& header,
                                std::int64_t steps, std::int64_t segment,
                                RunCheckpoint& checkpoint) {
  try {
    auto file = std::make_unique<File>(path, header, true, checkpoint.numbers.size());
    checkpoint = file->go_on(steps, segment);
    return RunRecorder(std::move(file));
  } catch (const Error& error) {
    throw Error(message("cannot go on with \"", path, "\": ", error.what()));
  }
}

void RunRecorder::add_state(std::int64_t step, double t, std::span<const double> states) {
  file_->states.append(states.data(), H5T_NATIVE_DOUBLE, 1);
  file_->times.append(&t, H5T_NATIVE_DOUBLE, 1);
  file_->steps.append(&step, H5T_NATIVE_INT64, 1);
}

void RunRecorder::add_inputs(std::span<const double> inputs, std::int64_t steps) {
  file_->controls.append(inputs.data(), H5T_NATIVE_DOUBLE, steps);
}

void RunRecorder::add_notes(const std::string& text) {
  file_->notes.append(text.data(), H5T_NATIVE_UINT8, std::ssize(text));
}

std::string RunRecorder::notes() const {
  std::string text(static_cast<std::size_t>(file_->notes.rows()), '\0');
  if (!file_->notes.read(text.data(), H5T_NATIVE_UINT8)) throw Error("its notes are damaged");
  return text;
}

void RunRecorder::cut_states(std::int64_t rows) { file_->cut_states(rows); }

bool RunRecorder::due() const {
  return std::chrono::steady_clock::now() - file_->kept >= std::chrono::seconds(1);
}

void RunRecorder::keep(const RunCheckpoint& checkpoint) {
  file_->flush(checkpoint, "a second of the run");
}

void RunRecorder::close(const RunCheckpoint& checkpoint) {
  if (!file_) return;
  file_->flush(checkpoint, "its end");
  file_.reset();
}
#else
struct RunRecorder::File {};
bool can_record_runs() { return false; }
namespace {
[[noreturn]] void refuse() {
  throw Error(
      "this program was built without libhdf5, which recordings need: save the run from Python "
      "(traj.save), write a table with --output FILE.csv, or use the program that make build makes "
      "where libhdf5-dev is installed; the one that pip installs has none");
}
}  // namespace
RunRecorder::RunRecorder(const std::string&, const RunHeader&, const RunCheckpoint&) { refuse(); }
RunRecorder RunRecorder::resume(const std::string&, const RunHeader&, std::int64_t, std::int64_t,
                                RunCheckpoint&) {
  refuse();
}
void RunRecorder::add_state(std::int64_t, double, std::span<const double>) {}
void RunRecorder::add_inputs(std::span<const double>, std::int64_t) {}
void RunRecorder::add_notes(const std::string&) {}
std::string RunRecorder::notes() const { return {}; }
void RunRecorder::cut_states(std::int64_t) {}
bool RunRecorder::due() const { return false; }
void RunRecorder::keep(const RunCheckpoint&) {}
void RunRecorder::close(const RunCheckpoint&) {}
#endif

RunRecorder::RunRecorder(std::unique_ptr<File> file) : file_(std::move(file)) {}
RunRecorder::RunRecorder(RunRecorder&&) noexcept = default;
RunRecorder::~RunRecorder() = default;

}  // namespace cycloid::inline record
