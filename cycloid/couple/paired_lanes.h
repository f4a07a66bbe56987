// Between the lanes of a stepper in dual numbers, W values and then W tangents of each number, and
// numbers with their tangents side by side.
#pragma once

#include "cycloid/math/dual.h"

namespace cycloid::inline couple {

struct PairedLanes {
  using Tangent = Dual<double, 1>;
  int W;

  // (n, W values and W tangents) as n rows of W numbers, `stride` apart.
  template <class Number>
  void take(const Number* from, int n, Tangent* to, int stride) const {
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < W; ++l) {
        to[i * stride + l].value = static_cast<double>(from[i * 2 * W + l]);
        to[i * stride + l].tangent[0] = static_cast<double>(from[(i * 2 + 1) * W + l]);
      }
    }
  }
  // The reverse.
  template <class Number>
  void give(const Tangent* from, int n, int stride, Number* to) const {
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < W; ++l) {
        to[i * 2 * W + l] = static_cast<Number>(from[i * stride + l].value);
        to[(i * 2 + 1) * W + l] = static_cast<Number>(from[i * stride + l].tangent[0]);
      }
    }
  }
  // ... added.
  template <class Number>
  void add(const Tangent* from, int n, int stride, Number* to) const {
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < W; ++l) {
        to[i * 2 * W + l] += static_cast<Number>(from[i * stride + l].value);
        to[(i * 2 + 1) * W + l] += static_cast<Number>(from[i * stride + l].tangent[0]);
      }
    }
  }
};

}  // namespace cycloid::inline couple
