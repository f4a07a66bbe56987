// Forces besides those of the cells: each term is one law, held by many small groups of vertices.
//
// A law (membrane.h, shell_bending.h, cubic_bending.h, woven.h, rod_laws.h, edge_spring.h,
// contact.h, self_contact.h, loads.h, cell_laws.h) is a page with
//   energy(s)       [J]   whose derivative by s.now is the force
//   force(s, f)     [N]   f_a = ∂energy/∂now_a, what must be overcome, as for cells
//   mass(s)         [kg]  where it has some; its nodes share it evenly, or one has it (kMassNode)
//   flow(s, next)         where it has memory (kMemory): what a group remembers after the step
// of a Stencil: N vertices at rest, now and before, P numbers of the law, C of the group, and H
// that the group remembers. Laws are templates on the scalar and have no branches on it. All
// derivatives come from the force, by dual numbers in lanes (stencil_lanes.h).
#pragma once

#include <cstdint>

#include "cycloid/math/norm.h"

namespace cycloid::inline soft {

// Of the step, for all stencils alike. Without a step (a body at rest) `befores` is 0.
struct StencilStep {
  int befores = 0;
  double before_weight[2] = {1, 0};
  double rate = 0;    // ζ of solid_stage.h [1/s]
  double spread = 1;  // forces of rates act over `spread` times the stage's h'
  double load = 1;    // what part of the loads acts
  int form = 0;       // of the law: which obstacle, say
  bool flows = true;  // matter with memory may flow; false: a body that is only looked at
};

// R: of all but the positions now. A law that is written for two scalars (`kMixed`) has its
// stiffness without derivatives of what does not move.
template <class S, int N, int P, int C, class R = S, int H = 0>
struct Stencil {
  StencilStep step;
  Vec3<S> now[N];
  Vec3<R> rest[N], before[2][N];
  R number[P > 0 ? P : 1];
  R constant[C > 0 ? C : 1];
  R memory[H > 0 ? H : 1];
};

// Σ weight · quantity(before): the reference of a rate.
template <class S, int N, int P, int C, class R, class Quantity>
CYCLOID_INLINE R reference_of(const Stencil<S, N, P, C, R>& s, Quantity&& quantity) {
  R sum = R(s.step.before_weight[0]) * quantity(s.before[0]);
  if (s.step.befores > 1) sum += R(s.step.before_weight[1]) * quantity(s.before[1]);
  return sum;
}

enum class StencilLaw {
  membrane,
  shell_bending,
  rod_stretch,
  rod_bending,
  rod_spin,
  contact,
  traction,
  pressure,
  spring,
  woven_membrane,
  woven_bending,
  cubic_bending,
  edge_spring,
  point_triangle,  // self contact, and the next two
  edge_edge,
  point_edge,
  fibre,  // and the next two: of the element kinds in their order
  fibre_hex,
  fibre_tet10,
  plastic,  // likewise
  plastic_hex,
  plastic_tet10
};

}  // namespace cycloid::inline soft
