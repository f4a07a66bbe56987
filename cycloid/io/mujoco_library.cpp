#include "cycloid/io/mujoco_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/io/load.h"

#ifndef CYCLOID_MUJOCO_BUILT_WITH
#define CYCLOID_MUJOCO_BUILT_WITH ""
#endif

namespace cycloid::inline io {
namespace {

namespace fs = std::filesystem;

struct Opened {
  std::mutex mutex;
  std::string given;  // by set_mujoco_library
  bool open = false;
  MujocoLibrary library;
};

Opened& opened() {
  static Opened instance;
  return instance;
}

// The folder `mujoco` beside the one that holds this code, as packages lie in site-packages.
std::string neighbouring_package() {
  Dl_info own{};
  if (!dladdr(reinterpret_cast<const void*>(&opened), &own) || !own.dli_fname) return {};
  std::error_code ignored;
  const fs::path object = fs::weakly_canonical(own.dli_fname, ignored);
  return (object.parent_path().parent_path() / "mujoco").string();
}

constexpr const char* kInstall =
    "install it with: pip install mujoco-core==4.0.0 (or set CYCLOID_MUJOCO_LIBRARY to the path "
    "of libmujoco.so.4.0.0)";

}  // namespace

std::string open_mujoco(const std::string& place, MujocoLibrary& library) {
  std::error_code ignored;
  const std::string file =
      fs::is_directory(place, ignored) ? (fs::path(place) / kMujocoFile).string() : place;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    return message("cannot open \"", file, "\": ", why ? why : "the loader gives no reason");
  }

  const auto version = reinterpret_cast<decltype(&::mj_version)>(dlsym(handle, "mj_version"));
  const int found = version ? version() : 0;
  if (found != mjVERSION_HEADER) {
    dlclose(handle);
    return message("\"", file, "\" is not MuJoCo 4.0.0: its version number is ", found,
                   ", expected ", mjVERSION_HEADER);
  }

  MujocoLibrary table;
  const char* missing = nullptr;
#define X(function)                                                                   \
  table.function = reinterpret_cast<decltype(&::function)>(dlsym(handle, #function)); \
  if (!table.function) missing = #function;
  CYCLOID_MUJOCO_FUNCTIONS(X)
#undef X
  if (missing) {
    dlclose(handle);
    return message("\"", file, "\" lacks the function ", missing);
  }
  library = table;
  return {};
}

void set_mujoco_library(const std::string& path) {
  Opened& self = opened();
  const std::scoped_lock lock(self.mutex);
  self.given = path;
}

const MujocoLibrary& mujoco_library() {
  Opened& self = opened();
  const std::scoped_lock lock(self.mutex);
  if (self.open) return self.library;

  std::vector<std::string> places;
  const char* variable = std::getenv("CYCLOID_MUJOCO_LIBRARY");
  if (!self.given.empty()) {
    places = {self.given};
  } else if (variable && *variable) {
    places = {variable};
  } else {
    places = {CYCLOID_MUJOCO_BUILT_WITH, neighbouring_package(), kMujocoFile};
  }

  std::string failure;
  std::error_code ignored;
  for (const std::string& place : places) {
    const bool is_path = place.find('/') != place.npos;
    if (place.empty() || (places.size() > 1 && is_path && !fs::exists(place, ignored))) continue;
    std::string why = open_mujoco(place, self.library);
    if (why.empty()) {
      self.open = true;
      return self.library;
    }
    if (failure.empty()) failure = std::move(why);
  }
  throw ModelError(
      message("MuJoCo 4.0.0, which reads models, is not here: ", failure, "; ", kInstall));
}

}  // namespace cycloid::inline io
