#include "cycloid/device/cuda_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "cycloid/device/layout_fingerprint.h"

namespace cycloid::inline device {
namespace {

constexpr const char* kLibrary = "libcycloid_cuda.so";

// Beside the code that asks: the Python module's folder, the program's, or where the loader looks.
std::vector<std::string> library_places() {
  std::vector<std::string> places;
  if (const char* given = std::getenv("CYCLOID_CUDA_LIBRARY")) places.push_back(given);
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&cuda_api), &own) != 0 && own.dli_fname) {
    const std::filesystem::path folder = std::filesystem::path(own.dli_fname).parent_path();
    for (const char* near : {".", "..", "../.."})
      places.push_back((folder / near / kLibrary).string());
  }
  places.push_back(kLibrary);
  return places;
}

const DeviceApi& open_cuda() {
  std::string said;
  for (const std::string& place : library_places()) {
    if (place != kLibrary && !std::filesystem::exists(place)) continue;
    void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      said = dlerror();
      continue;
    }
    using Open = const DeviceApi* (*)(std::uint64_t layout, const char** error);
    const auto open = reinterpret_cast<Open>(dlsym(library, "cycloid_cuda_open"));
    if (!open)
      throw Error(message("device \"cuda\": ", place, " is not the library of `make cuda`"));
    const char* error = nullptr;
    const DeviceApi* const api = open(layout_fingerprint(), &error);
    if (!api) throw Error(message("device \"cuda\": ", error ? error : "it cannot be used"));
    return *api;
  }
  throw Error(message("device \"cuda\": ", kLibrary, " was not found (", said,
                      "); build it with `make cuda`, put it beside the module, or name it in "
                      "CYCLOID_CUDA_LIBRARY"));
}

}  // namespace

const DeviceApi& cuda_api() {
  static const DeviceApi& api = open_cuda();
  return api;
}

}  // namespace cycloid::inline device
