// Cotangents of a state's coordinates brought into its tangents, in lanes.
//
//   vectors     d̄ = x̄                                 (1)
//   quaternions d̄ = ½ vec(q* ⊗ q̄)                     (2)  math/quaternion.h
#pragma once

#include "cycloid/system/integrator/interpolation.h"
#include "cycloid/system/space.h"

namespace cycloid::inline couple {

// Adds to d_bar (tangents, W) those of x_bar (states, W).
template <class T>
void add_state_bar(const Space& space, const T* x, const T* x_bar, int W, T* d_bar) {
  for (const Block& b : space.pieces()) {
    const T *bar = x_bar + b.offset * W, *at = x + b.offset * W;
    T* const to = d_bar + b.tangent_offset * W;
    if (b.kind != BlockKind::quaternion) {
      for (int i = 0; i < b.size * W; ++i) to[i] += bar[i];  // (1)
      continue;
    }
    for (int l = 0; l < W; ++l) {
      add_to_lane(
          to, W, l,
          tangent_from_ambient_cotangent(lane_quat(at, W, l), lane_quat(bar, W, l)));  // (2)
    }
  }
}

}  // namespace cycloid::inline couple
