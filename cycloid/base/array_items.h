// Copies and fills of arrays, on the host and on a device.
//
// std::copy and std::fill of plain types are the compiler's memmove and memset, calls that nvcc
// drops in device code without a warning: what kernels run calls these (tests/checks/house.py).
#pragma once

#include <cstddef>

#include "cycloid/base/host_device.h"

namespace cycloid::inline base {

// The arrays do not overlap.
template <class X, class Count>
CYCLOID_INLINE void copy_items(const X* from, Count n, X* to) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) to[i] = from[i];
}

template <class X, class Count>
CYCLOID_INLINE void fill_items(X* to, Count n, const X& value) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) to[i] = value;
}

}  // namespace cycloid::inline base
