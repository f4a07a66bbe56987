// What a device can do, as a table of plain functions: all that libcycloid_cuda.so and this library
// share besides the numbers of a StepCall and of the images that kernels read.
#pragma once

#include "cycloid/system/device_call.h"

namespace cycloid::inline system {

inline constexpr int kDeviceVersion =
    6;  // of what these mean; device/layout_fingerprint.h has sizes

// What kind of memory a device has, in DLPack's numbers.
inline constexpr int kHostMemory = 1, kCudaMemory = 2;

// Functions return 0, or another number and then error() says more.
struct DeviceApi {
  int version;
  const char* (*error)();
  const char* (*name)();  // of the device
  int (*allocate)(std::size_t bytes, void** out);
  int (*release)(void* memory);
  int (*to_device)(void* to, const void* from, std::size_t bytes);
  int (*to_host)(void* to, const void* from, std::size_t bytes);
  int (*copy)(void* to, const void* from, std::size_t bytes);  // from it to it
  // Whether two places of it hold the same bytes, a multiple of four.
  int (*same)(const void* a, const void* b, std::size_t bytes, int* out);
  int (*clear)(void* memory, std::size_t bytes);
  int (*free_bytes)(std::int64_t* out);
  int (*forward)(int kernel, const void* call);  // StepCall of the kernel's precision
  int (*backward)(int kernel, const void* call);
  int (*linearise)(int kernel, const void* call);
  int (*observe)(int kernel, const void* call);  // ObserveCall likewise
  int (*sum)(const SumCall* call);
  int (*wait)();
  void (*use_stream)(void* stream);  // of this thread's calls from now on; null: the device's own
  int (*wait_all)();                 // for all of its work, whoever asked for it
  int memory_kind;
};

}  // namespace cycloid::inline system
