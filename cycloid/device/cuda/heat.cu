// heat on a card: its kernels of cells, and who sends them (device/heat_run.h).
#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/heat_run.h"

namespace cycloid::inline device {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(kCellThreads) cell_kernel(const __grid_constant__ Kernel kernel) {
  __shared__ double shared[kCellShared];
  kernel(CellBlock{blockIdx.x, gridDim.x, shared});
}

// The first error stays; nothing is done after it.
class Cards {
 public:
  template <class Kernel>
  void run(std::int64_t blocks, const Kernel& kernel) {
    if (status_ != cudaSuccess) return;
    cell_kernel<<<static_cast<unsigned>(blocks), kCellThreads, 0, stream_>>>(kernel);
    note(cudaGetLastError());
  }
  void copy(double* to, const double* from, std::int64_t n) {
    move(to, from, n, cudaMemcpyDeviceToDevice);
  }
  void clear(double* to, std::int64_t n) {
    if (status_ != cudaSuccess) return;
    note(cudaMemsetAsync(to, 0, static_cast<std::size_t>(n) * sizeof(double), stream_));
  }
  template <class X>
  void fetch(X* to, const X* from, std::int64_t n) {
    move(to, from, n, cudaMemcpyDeviceToHost);
    wait();
  }
  template <class X>
  void store(X* to, const X* from, std::int64_t n) {
    move(to, from, n, cudaMemcpyHostToDevice);
    wait();  // what it came from may go
  }
  const char* error() const {
    return status_ == cudaSuccess ? nullptr : cudaGetErrorString(status_);
  }
  cudaError_t status() const { return status_; }

 private:
  void note(cudaError_t status) {
    if (status_ == cudaSuccess) status_ = status;
  }
  void wait() {
    if (status_ == cudaSuccess) note(cudaStreamSynchronize(stream_));
  }
  template <class X>
  void move(X* to, const X* from, std::int64_t n, cudaMemcpyKind kind) {
    if (status_ != cudaSuccess) return;
    note(cudaMemcpyAsync(to, from, static_cast<std::size_t>(n) * sizeof(X), kind, stream_));
  }

  cudaStream_t stream_ = current_stream();
  cudaError_t status_ = cudaSuccess;
};

}  // namespace

cudaError_t heat_run(const StepCall<double>& call, Way way, const char** words) {
  Cards cards;
  HeatRun<Cards> run(call, cards);
  const char* const said = way == Way::forward ? run.forward() : run.backward();
  if (cards.status() == cudaSuccess) *words = said;
  return cards.status();
}

}  // namespace cycloid::inline device
