// The kernels of a device by number: each is there in float, and in double at kDoubleKernels more.
#pragma once

#include <cstddef>

namespace cycloid::inline device {

// What a kernel does with a call: steps, their pullback, or the Jacobians of one step.
enum class Way { forward = 0, back = 1, linearise = 2 };

inline constexpr int kSmoothRobot = 0;       // without constraints
inline constexpr int kConstrainedRobot = 1;  // with
inline constexpr int kFirstLaw = 2;          // laws with rk4 (kernels.h)
inline constexpr int kHeat = 32;             // a large world, in double (heat_run.h)
inline constexpr int kDoubleKernels = 64;

// Bytes that a thread has: of a robot whose numbers take so many bytes each, and of a law.
constexpr std::size_t thread_bytes(bool constrained, std::size_t number) {
  return (constrained ? 16384 : 8192) * number;
}
inline constexpr std::size_t kLawBytes = 8192;

}  // namespace cycloid::inline device
