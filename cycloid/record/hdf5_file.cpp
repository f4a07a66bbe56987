#include "cycloid/record/hdf5_file.h"

#ifdef CYCLOID_HDF5
#include <hdf5.h>
#endif

#include "cycloid/base/error.h"

namespace cycloid::inline record {

#ifdef CYCLOID_HDF5
namespace {

// An identifier of HDF5 with the function that gives it back.
class Held {
 public:
  Held(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

std::vector<std::string> texts_of(hid_t set, hid_t type, hid_t space, std::size_t count) {
  std::vector<std::string> out;
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> rows(count, nullptr);
    const Held memory(H5Tcopy(type), H5Tclose);
    if (H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) < 0) return {};
    for (const char* row : rows) out.emplace_back(row ? row : "");
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, rows.data());
    return out;
  }
  const std::size_t width = H5Tget_size(type);
  std::string bytes(count * width, '\0');
  if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    const std::string row = bytes.substr(i * width, width);
    out.push_back(row.substr(0, row.find('\0')));
  }
  return out;
}

NamedArray array_of(hid_t file, const std::string& name, const std::string& where) {
  const Held set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
  const Held type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
  NamedArray out;
  std::size_t count = 1;
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  for (const hsize_t n : extents) {
    out.shape.push_back(static_cast<std::size_t>(n));
    count *= out.shape.back();
  }
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) {
    out.texts = texts_of(set, type, space, count);
    if (out.texts.size() == count) return out;
  } else if (kind == H5T_FLOAT || kind == H5T_INTEGER) {
    out.numbers.resize(count);
    if (H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.numbers.data()) >= 0) {
      return out;
    }
  }
  throw Error(message(where, ": the dataset \"", name, "\" has neither numbers nor texts"));
}

NamedArrays read_hdf5(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    throw FileNotFound(message("there is no file \"", path.string(), "\""));
  }
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // what fails is said here
  const Held file(H5Fopen(path.string().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (file < 0) throw Error(message("\"", path.string(), "\" is no HDF5 file"));
  const auto collect = [](hid_t group, const char* name, const H5L_info_t*, void* to) {
    H5O_info_t info;
    if (H5Oget_info_by_name(group, name, &info, H5P_DEFAULT) >= 0 &&
        info.type == H5O_TYPE_DATASET) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    }
    return herr_t{0};
  };
  std::vector<std::string> names;
  H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
  NamedArrays out;
  for (const std::string& name : names) out[name] = array_of(file, name, path.string());
  return out;
}

}  // namespace

ReadHdf5 hdf5_reader() { return read_hdf5; }
#else
ReadHdf5 hdf5_reader() { return {}; }
#endif

}  // namespace cycloid::inline record
