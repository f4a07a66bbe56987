// The kernel of one body, forward or back.
//
// A thread's memory is an array of the kernel's own, in local memory, which the hardware lays out
// with threads side by side: neighbours that read the same number of theirs read one line. Its size
// is fixed when the kernel is compiled, and there is one kernel for each body: the compiler makes
// the whole of a run again for every kernel, which takes minutes. A System that needs more is
// refused.
#pragma once

#include <cuda_runtime.h>

#include "cycloid/device/environment_run.h"

namespace cycloid::inline device {

inline constexpr int kThreads = 64;  // of a block

// That of the calling thread (cuda_api.cu).
cudaStream_t current_stream();

// kBlocks: that a multiprocessor is to hold at once; with more of them each thread has fewer
// registers.
template <class Body, class T, bool kBack, std::size_t kBytes, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    run_kernel(const __grid_constant__ StepCall<T> call) {
  alignas(16) std::byte memory[kBytes];
  const std::int64_t e = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (e >= call.count) return;
  if constexpr (kBack) {
    run_backward<Body>(call, e, memory);
  } else {
    run_forward<Body>(call, e, memory);
  }
}

template <class Body, class T, bool kBack, std::size_t kBytes, int kBlocks>
cudaError_t launch(const StepCall<T>& call) {
  if (call.body_bytes + ThreadArrays<T>::bytes(call) > kBytes) return cudaErrorMemoryAllocation;
  // Kernels use no shared memory: all of it is their cache.
  static const cudaError_t cached = cudaFuncSetAttribute(
      run_kernel<Body, T, kBack, kBytes, kBlocks>, cudaFuncAttributePreferredSharedMemoryCarveout,
      cudaSharedmemCarveoutMaxL1);
  if (cached != cudaSuccess) return cached;
  const unsigned blocks = static_cast<unsigned>((call.count + kThreads - 1) / kThreads);
  run_kernel<Body, T, kBack, kBytes, kBlocks><<<blocks, kThreads, 0, current_stream()>>>(call);
  return cudaGetLastError();
}

// One for each unit of robots, which take minutes to compile (robot_*.cu).
cudaError_t robot_smooth_forward(const StepCall<float>& call);
cudaError_t robot_smooth_forward(const StepCall<double>& call);
cudaError_t robot_smooth_backward(const StepCall<float>& call);
cudaError_t robot_smooth_backward(const StepCall<double>& call);
cudaError_t robot_constrained_forward(const StepCall<float>& call);
cudaError_t robot_constrained_forward(const StepCall<double>& call);
cudaError_t robot_constrained_backward(const StepCall<float>& call);
cudaError_t robot_constrained_backward(const StepCall<double>& call);
cudaError_t law_run(int kernel, const StepCall<float>& call, bool back);
cudaError_t law_run(int kernel, const StepCall<double>& call, bool back);

}  // namespace cycloid::inline device
