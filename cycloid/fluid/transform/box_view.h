// BoxView: the plain data of a real transform of a box, for kernels (fft_passes.h).
#pragma once

#include <cstddef>

#include "cycloid/fluid/transform/fft_axis.h"

namespace cycloid::inline fluid {

template <class T>
struct BoxView {
  int dimensions;
  FftView<T> axis[3];
  T scale;        // of the forward transform: 1 / number of nodes
  int columns;    // numbers along all axes but the first
  int kept0;      // coefficients along axis 0: k = 0 … kept0 - 1
  int kept1;      // of three axes, along the second; else 1
  int kept_last;  // along the last of two or three axes; else 1
  int rows;       // kept0 · kept1, one behind the other in a slab of coefficients
  std::ptrdiff_t half_step, half_part;  // of `half`: from k to k + 1, from real to imaginary parts
  std::ptrdiff_t last_pitch;            // of a row along the last axis
  std::ptrdiff_t row_pitch;             // of a slab's real parts
  const int* middle_place;              // where a kept coefficient lies along its axis
  const int* last_place;
};

}  // namespace cycloid::inline fluid
