// The table of functions that libcycloid_cuda.so gives (system/device.h).
#include <string>

#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/kernel_numbers.h"
#include "cycloid/system/device_api.h"

namespace cycloid::inline device {
// Where the library was built without (CYCLOID_CUDA_ROBOTS of scripts/cuda).
#if CYCLOID_NO_DOUBLE_ROBOTS
cudaError_t robot_smooth_forward(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_smooth_backward(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_constrained_forward(const StepCall<double>&) { return cudaErrorNotSupported; }
cudaError_t robot_constrained_backward(const StepCall<double>&) { return cudaErrorNotSupported; }
#endif

namespace {

std::string& last_error() {
  static thread_local std::string text;
  return text;
}
int said(cudaError_t status) {
  if (status == cudaSuccess) return 0;
  last_error() = cudaGetErrorString(status);
  return 1;
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
int cuda_allocate(std::size_t bytes, void** out) { return said(cudaMalloc(out, bytes)); }
int cuda_release(void* memory) { return said(cudaFree(memory)); }
int cuda_to_device(void* to, const void* from, std::size_t bytes) {
  return said(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}
int cuda_to_host(void* to, const void* from, std::size_t bytes) {
  return said(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}
int cuda_clear(void* memory, std::size_t bytes) { return said(cudaMemset(memory, 0, bytes)); }
int cuda_free_bytes(std::int64_t* out) {
  std::size_t left = 0, total = 0;
  const int status = said(cudaMemGetInfo(&left, &total));
  *out = static_cast<std::int64_t>(left);
  return status;
}

template <class T>
cudaError_t run(int kernel, const StepCall<T>& call, bool back) {
  if (kernel == kSmoothRobot) {
    return back ? robot_smooth_backward(call) : robot_smooth_forward(call);
  }
  if (kernel == kConstrainedRobot) {
    return back ? robot_constrained_backward(call) : robot_constrained_forward(call);
  }
  return law_run(kernel, call, back);
}
int run_either(int kernel, const void* call, bool back) {
  if (kernel >= kDoubleKernels) {
    return said(run(kernel - kDoubleKernels, *static_cast<const StepCall<double>*>(call), back));
  }
  return said(run(kernel, *static_cast<const StepCall<float>*>(call), back));
}
int cuda_forward(int kernel, const void* call) { return run_either(kernel, call, false); }
int cuda_backward(int kernel, const void* call) { return run_either(kernel, call, true); }

// A thread sums one block of one number: always in the same order.
__global__ void sum_kernel(const __grid_constant__ SumCall call, std::int64_t blocks) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < call.numbers * blocks) sum_block(call, i / blocks, i % blocks);
}
int cuda_sum(const SumCall* call) {
  const std::int64_t blocks = (call->count + kSumBlock - 1) / kSumBlock;
  const std::int64_t all = call->numbers * blocks;
  if (all == 0) return 0;
  sum_kernel<<<static_cast<unsigned>((all + 127) / 128), 128>>>(*call, blocks);
  return said(cudaGetLastError());
}
int cuda_wait() { return said(cudaDeviceSynchronize()); }

}  // namespace
}  // namespace cycloid::inline device

// Returns the table, or null and why not.
extern "C" __attribute__((visibility("default"))) const cycloid::DeviceApi* cycloid_cuda_open(
    int version, const char** error) {
  using namespace cycloid;
  static const DeviceApi api{kDeviceVersion,  cuda_error,     cuda_name,     cuda_allocate,
                             cuda_release,    cuda_to_device, cuda_to_host,  cuda_clear,
                             cuda_free_bytes, cuda_forward,   cuda_backward, cuda_sum,
                             cuda_wait};
  if (version != kDeviceVersion) {
    *error = "libcycloid_cuda.so is of another version: build it again with `make cuda`";
    return nullptr;
  }
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    static std::string text;
    text = std::string("no card can be used: ") + cudaGetErrorString(status);
    *error = text.c_str();
    return nullptr;
  }
  if (count == 0) {
    *error = "there is no card in this machine";
    return nullptr;
  }
  return &api;
}
