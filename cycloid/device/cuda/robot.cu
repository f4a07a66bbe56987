// One kernel of robots: CYCLOID_T float or double, CYCLOID_CONSTRAINED 0 or 1, CYCLOID_WAY a number
// of Way. It is compiled twelve times, side by side, for each takes minutes.
#if CYCLOID_CONSTRAINED != (CYCLOID_WAY > 0)
#define CYCLOID_ONE_PIECE 1  // docs/gpu.md: what pieces did
#endif
#include "cycloid/geometry/pair/box_box.cpp"
#include "cycloid/geometry/pair/capsule_box.cpp"
//
#include "cycloid/device/cuda/launch.cuh"
#include "cycloid/device/kernel_numbers.h"
#include "cycloid/device/robot_body.h"

namespace cycloid::inline device {

#define CYCLOID_JOIN_(a, b) a##b
#define CYCLOID_JOIN(a, b) CYCLOID_JOIN_(a, b)
#if CYCLOID_CONSTRAINED
#define CYCLOID_NAME robot_constrained_
#else
#define CYCLOID_NAME robot_smooth_
#endif
#if CYCLOID_WAY == 0
#define CYCLOID_ENTRY CYCLOID_JOIN(CYCLOID_NAME, forward)
#elif CYCLOID_WAY == 1
#define CYCLOID_ENTRY CYCLOID_JOIN(CYCLOID_NAME, backward)
#else
#define CYCLOID_ENTRY CYCLOID_JOIN(CYCLOID_NAME, linearise)
#endif

cudaError_t CYCLOID_ENTRY(const StepCall<CYCLOID_T>& call) {
  constexpr bool kConstrained = CYCLOID_CONSTRAINED != 0;
  constexpr Way kWay = static_cast<Way>(CYCLOID_WAY);
  constexpr int kBlocks = kConstrained || kWay != Way::forward ? 4 : 8;
  return launch<RobotBody<CYCLOID_T, kConstrained>, CYCLOID_T, kWay,
                thread_bytes(kConstrained, sizeof(CYCLOID_T)), kBlocks>(call);
}

}  // namespace cycloid::inline device
