// The table of functions that libcycloid_cuda.so gives (system/kernel_source.h).
#include <dlfcn.h>

#include <string>

#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/kernel_numbers.h"
#include "cycloid/device/layout_fingerprint.h"
#include "cycloid/system/device_api.h"

namespace cycloid::inline device {
// Where the library was built without (CYCLOID_CUDA_ROBOTS of scripts/cuda).
#if CYCLOID_NO_DOUBLE_ROBOTS
cudaError_t robot_smooth_forward(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_smooth_backward(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_smooth_linearise(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_constrained_linearise(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_constrained_forward(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_split_forward(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_constrained_backward(const StepCall<double>&) { return cudaErrorNotSupported; }
#endif

namespace {

std::string& last_error() {
  static thread_local std::string text;
  return text;
}
// After these nothing works in this process any more; what is on the host is untouched.
bool is_lost(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorECCUncorrectable:
    case cudaErrorDevicesUnavailable: return true;
    default: return false;
  }
}
int said(cudaError_t status) {
  if (status == cudaSuccess) return 0;
  last_error() = cudaGetErrorString(status);
  if (is_lost(status)) {
    last_error() += "; the card is lost to this process: save what is on the host and start again";
  }
  cudaGetLastError();  // what can be forgotten is
  return 1;
}

cudaStream_t& stream() {
  static thread_local cudaStream_t own = nullptr;
  return own;
}

const char* cuda_error() { return last_error().c_str(); }
const char* cuda_name() {
  static const std::string name = [] {
    cudaDeviceProp properties{};
    int device = 0;
    cudaGetDevice(&device);
    cudaGetDeviceProperties(&properties, device);
    return std::string(properties.name);
  }();
  return name.c_str();
}
void cuda_use_stream(void* given) { stream() = static_cast<cudaStream_t>(given); }
int cuda_wait() { return said(cudaStreamSynchronize(stream())); }
int cuda_wait_all() { return said(cudaDeviceSynchronize()); }

// Memory comes from the device's pool, which keeps what is given back: rollouts of one size do not
// ask the driver again.
cudaMemPool_t pool() {
  static const cudaMemPool_t own = [] {
    int device = 0;
    cudaMemPool_t found = nullptr;
    cudaGetDevice(&device);
    if (cudaDeviceGetDefaultMemPool(&found, device) != cudaSuccess) return found;
    std::uint64_t all = ~std::uint64_t{0};
    cudaMemPoolSetAttribute(found, cudaMemPoolAttrReleaseThreshold, &all);
    return found;
  }();
  return own;
}
int cuda_allocate(std::size_t bytes, void** out) {
  if (!pool()) return said(cudaMalloc(out, bytes));
  cudaError_t status = cudaMallocAsync(out, bytes, pool(), stream());
  if (status != cudaErrorMemoryAllocation) return said(status);
  cudaGetLastError();
  cudaStreamSynchronize(stream());
  cudaMemPoolTrimTo(pool(), 0);  // pieces of other sizes
  return said(cudaMallocAsync(out, bytes, pool(), stream()));
}
int cuda_release(void* memory) {
  return said(pool() ? cudaFreeAsync(memory, stream()) : cudaFree(memory));
}
int copied(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, stream());
  return status == cudaSuccess ? cuda_wait() : said(status);
}
int cuda_to_device(void* to, const void* from, std::size_t bytes) {
  return copied(to, from, bytes, cudaMemcpyHostToDevice);
}
int cuda_to_host(void* to, const void* from, std::size_t bytes) {
  return copied(to, from, bytes, cudaMemcpyDeviceToHost);
}
int cuda_copy(void* to, const void* from, std::size_t bytes) {
  return said(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()));
}
// Sets `differ` where a word does.
__global__ void same_kernel(const std::uint32_t* a, const std::uint32_t* b, std::size_t words,
                            int* differ) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < words && a[i] != b[i]) *differ = 1;
}
int cuda_clear(void* memory, std::size_t bytes) {
  return said(cudaMemsetAsync(memory, 0, bytes, stream()));
}
int cuda_same(const void* a, const void* b, std::size_t bytes, int* out) {
  void* differ = nullptr;
  if (cuda_allocate(sizeof(int), &differ) != 0) return 1;
  const std::size_t words = bytes / sizeof(std::uint32_t);
  int found = 0;
  const bool failed = cuda_clear(differ, sizeof(int)) != 0 || [&] {
    same_kernel<<<static_cast<unsigned>((words + 255) / 256), 256, 0, stream()>>>(
        static_cast<const std::uint32_t*>(a), static_cast<const std::uint32_t*>(b), words,
        static_cast<int*>(differ));
    return said(cudaGetLastError());
  }() != 0 || cuda_to_host(&found, differ, sizeof(int)) != 0;
  *out = found == 0;
  return cuda_release(differ) != 0 || failed ? 1 : 0;
}
// With what the pool has and nobody uses.
int cuda_free_bytes(std::int64_t* out) {
  std::size_t left = 0, total = 0;
  const int status = said(cudaMemGetInfo(&left, &total));
  std::uint64_t kept = 0, used = 0;
  if (pool()) {
    cudaMemPoolGetAttribute(pool(), cudaMemPoolAttrReservedMemCurrent, &kept);
    cudaMemPoolGetAttribute(pool(), cudaMemPoolAttrUsedMemCurrent, &used);
  }
  *out = static_cast<std::int64_t>(left + kept - used);
  return status;
}

template <class T>
cudaError_t run(int kernel, const StepCall<T>& call, Way way) {
  if (kernel != kSmoothRobot && kernel != kConstrainedRobot) return law_run(kernel, call, way);
  const bool smooth = kernel == kSmoothRobot;
  switch (way) {
    case Way::forward:
      if (!smooth && call.mail) return robot_split_forward(call);
      return smooth ? robot_smooth_forward(call) : robot_constrained_forward(call);
    case Way::back: return smooth ? robot_smooth_backward(call) : robot_constrained_backward(call);
    case Way::linearise: break;
  }
  return smooth ? robot_smooth_linearise(call) : robot_constrained_linearise(call);
}
int run_heat(const StepCall<double>& call, Way way) {
  if (way == Way::linearise) {
    last_error() = "heat has no kernel for Jacobians";
    return 1;
  }
  const char* words = nullptr;
  const int status = said(heat_run(call, way, &words));
  if (!words) return status;
  last_error() = words;
  return 1;
}
int run_either(int kernel, const void* call, Way way) {
  if (kernel == kHeat + kDoubleKernels) {
    return run_heat(*static_cast<const StepCall<double>*>(call), way);
  }
  if (kernel >= kDoubleKernels) {
    return said(run(kernel - kDoubleKernels, *static_cast<const StepCall<double>*>(call), way));
  }
  return said(run(kernel, *static_cast<const StepCall<float>*>(call), way));
}
int cuda_forward(int kernel, const void* call) { return run_either(kernel, call, Way::forward); }
int cuda_backward(int kernel, const void* call) { return run_either(kernel, call, Way::back); }
int cuda_linearise(int kernel, const void* call) {
  return run_either(kernel, call, Way::linearise);
}

int cuda_observe(int kernel, const void* call) {
  if (kernel >= kDoubleKernels) {
    return said(robot_observe(*static_cast<const ObserveCall<double>*>(call)));
  }
  return said(robot_observe(*static_cast<const ObserveCall<float>*>(call)));
}

// A thread sums one block of one number: always in the same order.
__global__ void sum_kernel(const __grid_constant__ SumCall call, std::int64_t blocks) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < call.numbers * blocks) sum_block(call, i / blocks, i % blocks);
}
int cuda_sum(const SumCall* call) {
  const std::int64_t blocks = (call->count + kSumBlock - 1) / kSumBlock;
  const std::int64_t all = call->numbers * blocks;
  if (all == 0) return 0;
  sum_kernel<<<static_cast<unsigned>((all + 127) / 128), 128, 0, stream()>>>(*call, blocks);
  return said(cudaGetLastError());
}
}  // namespace

cudaStream_t current_stream() { return stream(); }

}  // namespace cycloid::inline device

// Returns the table, or null and why not.
extern "C" __attribute__((visibility("default"))) const cycloid::DeviceApi* cycloid_cuda_open(
    std::uint64_t layout, const char** error) {
  using namespace cycloid;
  static const DeviceApi api{kDeviceVersion, cuda_error,      cuda_name,       cuda_allocate,
                             cuda_release,   cuda_to_device,  cuda_to_host,    cuda_copy,
                             cuda_same,      cuda_clear,      cuda_free_bytes, cuda_forward,
                             cuda_backward,  cuda_linearise,  cuda_observe,    cuda_sum,
                             cuda_wait,      cuda_use_stream, cuda_wait_all,   kCudaMemory};
  if (layout != layout_fingerprint()) {
    *error = "libcycloid_cuda.so is of another version: build it again with `make cuda`";
    return nullptr;
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    *error = dlopen("libcuda.so.1", RTLD_LAZY)
                 ? "the card's driver is older than this CUDA: take a newer driver"
                 : "there is no driver of a card (libcuda.so.1) in this machine";
    return nullptr;
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    *error = "there is a driver, but no card in this machine, or CUDA_VISIBLE_DEVICES hides it";
    return nullptr;
  }
  if (status != cudaSuccess) {
    static std::string text;
    text = std::string("no card can be used: ") + cudaGetErrorString(status);
    *error = text.c_str();
    return nullptr;
  }
  return &api;
}
