// What rows of constraints look at, and where their pullbacks put what they find.
//
// A row acts on fields over the tree (rnea.h): that of μ (m), of q̈ without gravity and velocity
// terms (alpha), the acceleration itself, which at the world is minus gravity (a), and the velocity
// (v). Given from the solver (constraint_newton_pullback.h) f, r̄ and the cotangents of a_ref, D
// and friction for every row, its pullback is that of
//   Φ = Σ_rows f (J μ) + r̄ (J q̈ + J̇ q̇) + a_ref¯ a_ref + D̄ D + friction¯ friction           (1)
// with f, r̄ and all bars fixed. J̇ q̇ is there for connect and weld only; these act on a, all
// other rows on alpha. Cotangents of fields go to the bodies by the rules of row.h. Points, fields
// and wrenches are about the origin of the tree of their body; bodies that stand still have origin
// and fields of zero, but for a.
#pragma once

#include "cycloid/rigid/constraint/reference.h"
#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

// (links) each. Forward looks at v, and at a with q̈ = 0.
template <class S>
struct RowFields {
  const Motion<S>*m, *alpha, *a, *v;
};

// Cotangents of the fields of each body, and its pose wrench: (bodies) each, added to.
template <class S>
struct RowFieldBars {
  Force<S>*m, *alpha, *a, *v, *pose;

  void clear(std::size_t bodies) const {
    for (std::size_t b = 0; b < bodies; ++b) {
      m[b] = alpha[b] = a[b] = v[b] = pose[b] = Force<S>{};
    }
  }
};

// An instant as rows see it. mu and qacc, and the fields m and alpha, may be null in forward.
template <class S>
struct RowInstant {
  const Frames<S>& frames;
  RowFields<S> fields;
  const S *qpos, *qvel, *mu, *qacc;  // (nq), (nv) each
  ReferenceOptions<S> options;
};

// What the solver's pullback leaves, for all rows of the problem. `alone`: (1) and nothing else,
// without adhesion, which rides on the rows of contacts. pull: (slots) forces along the normals of
// contacts in its place, or null.
template <class S>
struct RowResults {
  const S *f, *r_bar, *a_ref_bar, *D_bar, *friction_bar;
  bool alone = false;
  const S* pull = nullptr;
};

// Accumulators: q̄, q̇̄ (nv), parameters (may be null) and those of the time step and impratio.
template <class S>
struct RowGradient {
  RowFieldBars<S> bodies;
  S *q_bar, *v_bar, *p_bar;
  ReferenceOptions<S>& options_bar;
};

}  // namespace cycloid::inline rigid
