// The kernel of a step that solves (split_run.h), a warp for each environment and a block for each
// warp, so that none waits for a longer solve: CYCLOID_T float or double.
#define CYCLOID_ONE_PIECE 1
#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/split_run.h"

namespace cycloid::inline device {
namespace {

// Shared memory that a block may have.
std::size_t shared_most() {
  static const std::size_t most = [] {
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    return static_cast<std::size_t>(bytes);
  }();
  return most;
}

template <class T>
__global__ void __launch_bounds__(Warp::kLanes, sizeof(T) == 4 ? 24 : 16)
    solve_kernel(const __grid_constant__ StepCall<T> call, int rows, int above) {
  extern __shared__ double2 shared[];
  run_solve(call, blockIdx.x, Warp{}, rows, above, reinterpret_cast<std::byte*>(shared));
}

}  // namespace

cudaError_t launch_solve(const StepCall<CYCLOID_T>& call) {
  const SolveSizes& sizes = call.solve;
  static const cudaError_t allowed =
      cudaFuncSetAttribute(solve_kernel<CYCLOID_T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(shared_most()));
  if (allowed != cudaSuccess) return allowed;
  for (int i = 0; i < (sizes.rows[1] > sizes.rows[0] ? 2 : 1); ++i) {
    if (sizes.warp[i] > shared_most()) return cudaErrorMemoryAllocation;
    solve_kernel<CYCLOID_T>
        <<<static_cast<unsigned>(call.count), Warp::kLanes, sizes.warp[i], current_stream()>>>(
            call, sizes.rows[i], i > 0 ? sizes.rows[0] : -1);
  }
  return cudaGetLastError();
}

}  // namespace cycloid::inline device
