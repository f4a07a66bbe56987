// What robots show (device/robot_eyes.h), and blocks of the state of any System.
#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/robot_eyes.h"

namespace cycloid::inline device {
namespace {

template <class Eyes, class T, std::size_t kBytes>
__global__ void __launch_bounds__(kThreads)
    observe_kernel(const __grid_constant__ ObserveCall<T> call) {
  alignas(16) std::byte memory[kBytes];
  const std::int64_t e = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (e < call.count) run_observe<Eyes>(call, e, memory);
}

template <class Eyes, class T, std::size_t kBytes>
cudaError_t launch_eyes(const ObserveCall<T>& call) {
  const unsigned blocks = static_cast<unsigned>((call.count + kThreads - 1) / kThreads);
  observe_kernel<Eyes, T, kBytes><<<blocks, kThreads, 0, current_stream()>>>(call);
  return cudaGetLastError();
}

template <class T>
cudaError_t observe(const ObserveCall<T>& call) {
  if (call.computed == 0) return launch_eyes<NoEyes<T>, T, 16>(call);
  constexpr std::size_t kBytes = thread_bytes(false, sizeof(T));
  if (observe_bytes(call) > kBytes) return cudaErrorMemoryAllocation;
  return launch_eyes<RobotEyes<T>, T, kBytes>(call);
}

}  // namespace

cudaError_t robot_observe(const ObserveCall<float>& call) { return observe(call); }
cudaError_t robot_observe(const ObserveCall<double>& call) { return observe(call); }

}  // namespace cycloid::inline device
