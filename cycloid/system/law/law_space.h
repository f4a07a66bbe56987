// The geometry of a law's state in lanes: displacement, and the chart in which Runge–Kutta methods
// add.
//
//   law_retract   x ⊕ d over the blocks of the state (space.h)                                (1)
//   law_chart     k = J_r⁻¹(d) f: the rate of change of the displacement d, when x ⊕ d moves    (2)
//                 with tangent velocity f (MuntheKaas1998); k = f on vector blocks
// Cotangents of states are in tangents. In a flat space all of this is plain addition, and the
// functions named `…_view` give the array that already holds the result instead of a copy.
#pragma once

#include "cycloid/math/rotation.h"
#include "cycloid/system/law.h"

namespace cycloid::inline system {

// Calls on_quaternion(x_offset, d_offset) or on_vector(x_offset, d_offset, size) for each block.
template <class Law, class OnQuaternion, class OnVector>
CYCLOID_INLINE void for_each_block(OnQuaternion on_quaternion, OnVector on_vector) {
  int x = 0, d = 0;
  for (const BlockSpec& b : Law::kState) {
    if (b.kind == BlockKind::quaternion) {
      on_quaternion(x, d);
    } else {
      on_vector(x, d, b.size);
    }
    x += b.size;
    d += b.tangent_size();
  }
}

template <class Law, class S>
CYCLOID_INLINE void law_retract(const LawShape<Law>& shape, const S* x, const S* d, S* out) {
  if constexpr (LawShape<Law>::kFlat) {
    for (int i = 0; i < shape.states; ++i) out[i] = x[i] + d[i];  // (1)
  } else {
    for_each_block<Law>(
        [&](int ix, int id) {
          store(out + ix, retract(load_quat(x + ix), load_vec3(d + id)));  // (1)
        },
        [&](int ix, int id, int n) {
          for (int i = 0; i < n; ++i) out[ix + i] = x[ix + i] + d[id + i];
        });
  }
}

template <class Law, class S>
CYCLOID_INLINE void law_retract_pullback(const LawShape<Law>& shape, const S* x, const S* d,
                                         const S* out_bar, S* x_bar, S* d_bar) {
  if constexpr (LawShape<Law>::kFlat) {
    for (int i = 0; i < shape.tangents; ++i) {
      x_bar[i] += out_bar[i];
      d_bar[i] += out_bar[i];
    }
  } else {
    for_each_block<Law>(
        [&](int ix, int id) {
          Vec3<S> q_bar{}, delta_bar{};
          retract_tangent_pullback(load_quat(x + ix), load_vec3(d + id), load_vec3(out_bar + id),
                                   q_bar, delta_bar);
          add_to(x_bar + id, q_bar);
          add_to(d_bar + id, delta_bar);
        },
        [&](int, int id, int n) {
          for (int i = id; i < id + n; ++i) {
            x_bar[i] += out_bar[i];
            d_bar[i] += out_bar[i];
          }
        });
  }
}

template <class Law, class S>
CYCLOID_INLINE void law_chart(const LawShape<Law>& shape, const S* d, const S* f, S* k) {
  if constexpr (LawShape<Law>::kFlat) {
    for (int i = 0; i < shape.tangents; ++i) k[i] = f[i];
  } else {
    for_each_block<Law>(
        [&](int, int id) {
          store(k + id, right_jacobian_inverse_apply(load_vec3(d + id), load_vec3(f + id)));  // (2)
        },
        [&](int, int id, int n) {
          for (int i = id; i < id + n; ++i) k[i] = f[i];
        });
  }
}

template <class Law, class S>
CYCLOID_INLINE void law_chart_pullback(const LawShape<Law>& shape, const S* d, const S* f,
                                       const S* k_bar, S* d_bar, S* f_bar) {
  if constexpr (LawShape<Law>::kFlat) {
    for (int i = 0; i < shape.tangents; ++i) f_bar[i] += k_bar[i];
  } else {
    for_each_block<Law>(
        [&](int, int id) {
          Vec3<S> delta_bar{}, v_bar{};
          right_jacobian_inverse_apply_pullback(load_vec3(d + id), load_vec3(f + id),
                                                load_vec3(k_bar + id), delta_bar, v_bar);
          add_to(d_bar + id, delta_bar);
          add_to(f_bar + id, v_bar);
        },
        [&](int, int id, int n) {
          for (int i = id; i < id + n; ++i) f_bar[i] += k_bar[i];
        });
  }
}

// The chart velocity: f itself in a flat space, else `storage`, filled.
template <class Law, class S>
CYCLOID_INLINE const S* chart_view(const LawShape<Law>& shape, const S* d, const S* f, S* storage) {
  if constexpr (LawShape<Law>::kFlat) {
    return f;
  } else {
    law_chart(shape, d, f, storage);
    return storage;
  }
}

// Adds to x_bar; gives the cotangent of d: out_bar itself in a flat space, else `storage`,
// assigned.
template <class Law, class S>
CYCLOID_INLINE const S* retract_bar_view(const LawShape<Law>& shape, const S* x, const S* d,
                                         const S* out_bar, S* x_bar, S* storage) {
  if constexpr (LawShape<Law>::kFlat) {
    for (int i = 0; i < shape.tangents; ++i) x_bar[i] += out_bar[i];
    return out_bar;
  } else {
    set_zero(storage, shape.tangents);
    law_retract_pullback(shape, x, d, out_bar, x_bar, storage);
    return storage;
  }
}

// Gives the cotangent of f: k_bar itself in a flat space, where d has none, else `storage`,
// assigned; adds to d_bar.
template <class Law, class S>
CYCLOID_INLINE const S* chart_bar_view(const LawShape<Law>& shape, const S* d, const S* f,
                                       const S* k_bar, S* d_bar, S* storage) {
  if constexpr (LawShape<Law>::kFlat) {
    return k_bar;
  } else {
    set_zero(storage, shape.tangents);
    law_chart_pullback(shape, d, f, k_bar, d_bar, storage);
    return storage;
  }
}

}  // namespace cycloid::inline system
