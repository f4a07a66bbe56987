// The kernel of one body, forward, back, or for Jacobians.
//
// A thread's memory is an array of the kernel's own, in local memory, which the hardware lays out
// with threads side by side: neighbours that read the same number of theirs read one line. Its size
// is fixed when the kernel is compiled, and there is one kernel for each body: the compiler makes
// the whole of a run again for every kernel, which takes minutes. A System that needs more is
// refused.
#pragma once

#include <cuda_runtime.h>

#include "cycloid/device/environment_run.h"
#include "cycloid/device/kernel_numbers.h"

namespace cycloid::inline device {

inline constexpr int kThreads = 64;  // of a block

// That of the calling thread (cuda_api.cu).
cudaStream_t current_stream();

// Threads of a call: each environment's own, or as many as share its rows, side by side with those
// of other environments.
template <Way kWay, class T>
__host__ __device__ std::int64_t threads_of(const StepCall<T>& call) {
  return kWay == Way::linearise ? call.count * call.pieces : call.count;
}

// kBlocks: that a multiprocessor is to hold at once; with more of them each thread has fewer
// registers.
template <class Body, class T, Way kWay, std::size_t kBytes, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    run_kernel(const __grid_constant__ StepCall<T> call) {
  alignas(16) std::byte memory[kBytes];
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= threads_of<kWay>(call)) return;
  if constexpr (kWay == Way::forward) run_forward<Body>(call, i, memory);
  if constexpr (kWay == Way::back) run_backward<Body>(call, i, memory);
  if constexpr (kWay == Way::linearise) {
    run_linearise<Body>(call, i % call.count, static_cast<int>(i / call.count), memory);
  }
}

template <class Body, class T, Way kWay, std::size_t kBytes, int kBlocks>
cudaError_t launch(const StepCall<T>& call) {
  if (call.body_bytes + ThreadArrays<T>::bytes(call) > kBytes) return cudaErrorMemoryAllocation;
  // Kernels use no shared memory: all of it is their cache.
  static const cudaError_t cached = cudaFuncSetAttribute(
      run_kernel<Body, T, kWay, kBytes, kBlocks>, cudaFuncAttributePreferredSharedMemoryCarveout,
      cudaSharedmemCarveoutMaxL1);
  if (cached != cudaSuccess) return cached;
  const unsigned blocks = static_cast<unsigned>((threads_of<kWay>(call) + kThreads - 1) / kThreads);
  run_kernel<Body, T, kWay, kBytes, kBlocks><<<blocks, kThreads, 0, current_stream()>>>(call);
  return cudaGetLastError();
}

// One for each unit of robots, which take minutes to compile (robot_*.cu).
cudaError_t robot_smooth_forward(const StepCall<float>& call);
cudaError_t robot_smooth_forward(const StepCall<double>& call);
cudaError_t robot_smooth_backward(const StepCall<float>& call);
cudaError_t robot_smooth_backward(const StepCall<double>& call);
cudaError_t robot_smooth_linearise(const StepCall<float>& call);
cudaError_t robot_smooth_linearise(const StepCall<double>& call);
cudaError_t robot_constrained_linearise(const StepCall<float>& call);
cudaError_t robot_constrained_linearise(const StepCall<double>& call);
cudaError_t robot_split_forward(const StepCall<float>& call);
cudaError_t robot_split_forward(const StepCall<double>& call);
// The solve of one step (robot_solve.cu).
cudaError_t launch_solve(const StepCall<float>& call);
cudaError_t launch_solve(const StepCall<double>& call);
cudaError_t robot_constrained_forward(const StepCall<float>& call);
cudaError_t robot_constrained_forward(const StepCall<double>& call);
cudaError_t robot_constrained_backward(const StepCall<float>& call);
cudaError_t robot_constrained_backward(const StepCall<double>& call);
cudaError_t robot_observe(const ObserveCall<float>& call);
cudaError_t robot_observe(const ObserveCall<double>& call);
cudaError_t law_run(int kernel, const StepCall<float>& call, Way way);
cudaError_t law_run(int kernel, const StepCall<double>& call, Way way);
// words: what went wrong that is not the card's fault (heat.cu).
cudaError_t heat_run(const StepCall<double>& call, Way way, const char** words);

}  // namespace cycloid::inline device
