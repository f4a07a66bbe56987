// The first and the last kernel of a step of robots under constraints (split_run.h), and what runs
// a call's steps: CYCLOID_T float or double.
#define CYCLOID_ONE_PIECE 1
#include "cycloid/geometry/pair/box_box.cpp"
#include "cycloid/geometry/pair/capsule_box.cpp"
//
#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/split_run.h"

namespace cycloid::inline device {
namespace {

constexpr int kPoseBlocks = 4, kMoveBlocks = 8;  // of a multiprocessor at once

template <class T, std::size_t kBytes>
__global__ void __launch_bounds__(kThreads, kPoseBlocks)
    pose_kernel(const __grid_constant__ StepCall<T> call, std::int64_t k) {
  alignas(16) std::byte memory[kBytes];
  const std::int64_t e = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (e < call.count) run_pose(call, k, e, memory);
}

template <class T, std::size_t kBytes>
__global__ void __launch_bounds__(kThreads, kMoveBlocks)
    move_kernel(const __grid_constant__ StepCall<T> call, std::int64_t k) {
  alignas(16) std::byte memory[kBytes];
  const std::int64_t e = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (e < call.count) run_move(call, k, e, memory);
}

}  // namespace

cudaError_t robot_split_forward(const StepCall<CYCLOID_T>& call) {
  using T = CYCLOID_T;
  constexpr std::size_t kBytes = thread_bytes(true, sizeof(T));
  if (call.body_bytes + ThreadArrays<T>::bytes(call) > kBytes) return cudaErrorMemoryAllocation;
  for (const void* kernel : {reinterpret_cast<const void*>(pose_kernel<T, kBytes>),
                             reinterpret_cast<const void*>(move_kernel<T, kBytes>)}) {
    const cudaError_t cached = cudaFuncSetAttribute(
        kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1);
    if (cached != cudaSuccess) return cached;
  }
  const unsigned blocks = static_cast<unsigned>((call.count + kThreads - 1) / kThreads);
  for (std::int64_t k = 0; k < call.steps; ++k) {
    pose_kernel<T, kBytes><<<blocks, kThreads, 0, current_stream()>>>(call, k);
    const cudaError_t solved = launch_solve(call);
    if (solved != cudaSuccess) return solved;
    move_kernel<T, kBytes><<<blocks, kThreads, 0, current_stream()>>>(call, k);
  }
  return cudaGetLastError();
}

}  // namespace cycloid::inline device
