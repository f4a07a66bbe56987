#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/kernels.h"

namespace cycloid::inline device {
namespace {

template <class T>
cudaError_t run_law(int kernel, const StepCall<T>& call, bool back) {
  cudaError_t status = cudaErrorInvalidValue;
  with_law_body<T>(kernel, [&](auto tag) {
    using Body = typename decltype(tag)::Body;
    status = back ? launch<Body, T, true, kLawBytes, 8>(call)
                  : launch<Body, T, false, kLawBytes, 8>(call);
  });
  return status;
}

}  // namespace

cudaError_t law_run(int kernel, const StepCall<float>& call, bool back) {
  return run_law(kernel, call, back);
}
cudaError_t law_run(int kernel, const StepCall<double>& call, bool back) {
  return run_law(kernel, call, back);
}

}  // namespace cycloid::inline device
