// BatchLanes: what a batch computes in, in this translation unit.
//
// N lanes; but one number in a set that wider ones are compiled beside (CYCLOID_IS_FALLBACK, from
// cmake/CycloidFlags.cmake). Few machines fall back on that set, and without lanes of its own it
// takes less than half the time to compile: its forms for batches are those for a lone environment.
#pragma once

#include "cycloid/math/pack.h"

namespace cycloid::inline math {

#if CYCLOID_IS_FALLBACK
template <class T, int N>
using BatchLanes = T;
#else
template <class T, int N>
using BatchLanes = Pack<T, N>;
#endif

}  // namespace cycloid::inline math
