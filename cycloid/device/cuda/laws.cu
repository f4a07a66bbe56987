#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/kernels.h"

namespace cycloid::inline device {
namespace {

template <class T>
cudaError_t run_law(int kernel, const StepCall<T>& call, Way way) {
  cudaError_t status = cudaErrorInvalidValue;
  with_law_body<T>(kernel, [&](auto tag) {
    using Body = typename decltype(tag)::Body;
    switch (way) {
      case Way::forward: status = launch<Body, T, Way::forward, kLawBytes, 8>(call); break;
      case Way::back: status = launch<Body, T, Way::back, kLawBytes, 8>(call); break;
      case Way::linearise: status = launch<Body, T, Way::linearise, kLawBytes, 8>(call); break;
    }
  });
  return status;
}

}  // namespace

cudaError_t law_run(int kernel, const StepCall<float>& call, Way way) {
  return run_law(kernel, call, way);
}
cudaError_t law_run(int kernel, const StepCall<double>& call, Way way) {
  return run_law(kernel, call, way);
}

}  // namespace cycloid::inline device
