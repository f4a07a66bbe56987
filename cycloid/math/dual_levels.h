// kDualLevels: how many Duals are nested in a scalar; 0: none.
//
// A solver that iterates on values finds the tangents of its solution afterwards, one level after
// the other.
#pragma once

#include "cycloid/math/dual.h"

namespace cycloid::inline math {

template <class S>
inline constexpr int kDualLevels = 0;
template <class S, int N>
inline constexpr int kDualLevels<Dual<S, N>> = 1 + kDualLevels<S>;

}  // namespace cycloid::inline math
