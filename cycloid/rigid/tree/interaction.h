// The force between each body and its parent, as force and torque sensors show it.
//
//   F_b = Σ_{c at or below b} (I_c a_c + v_c ×* I_c v_c - W_c)                                  (1)
// about the origin of the body's tree, world axes: what the parent does to b. W_c holds what acts
// on body c from outside (external_force.h); all other forces are part of F. Bodies that stand
// still have weight: a = -g.
//   force = Rᵀ F_f,   torque = Rᵀ (F_τ - x × F_f),   R and x of the site                       (2)
//
// Pullback. The cotangent of F_b is a motion y_b that stays where it is in the world; body c feels
// all those above it, Y_c = Y_parent + y_c. With h = I a + v ×* I v:
//   A = I Y,  V = I (Y × v) - Y ×* (I v):   ā += A,   v̄ += V,   Γ -= Y ×* h + a ×* A + v ×* V
//   parameters: (Y, a), (Y × v, v)                                                             (3)
// as in subtree.h: inertia and fields turn together, and Y does not. The cotangent of W is -Y. (4)
// From (2), with T̄ = R torquē and f̄ = R forcē: y += (T̄; x × T̄ + f̄),  x̄ = T̄ × F_f        (5)
#pragma once

#include "cycloid/rigid/sense/sensed_frame.h"
#include "cycloid/rigid/tree/external_force.h"

namespace cycloid::inline rigid {

template <class S>
struct InteractionSpace {
  Force<S>*external, *total;     // (bodies) W and F
  Motion<S>*external_bar, *bar;  // (bodies) cotangents of W and F; the latter's becomes Y

  void carve(const TreeView& tree, Arena& arena) {
    const std::size_t bodies = tree.model.bodies.size();
    for (Force<S>** array : {&external, &total}) arena.take(*array, bodies);
    for (Motion<S>** array : {&external_bar, &bar}) arena.take(*array, bodies);
  }
  void clear(const TreeView& tree) const {
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) {
      external_bar[b] = bar[b] = Motion<S>{};
    }
  }
};

template <class S, class P>
SpatialInertia<S> inertia_of(const Robot<S, P>& r, const Workspace<S>& w, std::size_t b) {
  if (r.tree.model.bodies[b].tree >= 0) return w.inertia[b];
  // One that stands still shows its weight alone.
  return {mass_of<S>(r.tree, r.p, b), centre_of(r.tree, r.p, b, w.frames), SymMat3<S>{}};
}

// (1) into space.total, with W in space.external.
template <class S, class P>
void interaction_forces(const InteractionPoint<S, P>& at, const InteractionSpace<S>& space) {
  const TreeView& tree = at.r.tree;
  const Workspace<S>& w = at.w;
  const std::size_t bodies = tree.model.bodies.size();
  space.total[0] = Force<S>{};
  for (std::size_t b = 1; b < bodies; ++b) {
    const int l = tree.last_link[b];
    space.total[b] = body_force(inertia_of(at.r, w, b), w.v[l], w.a[l]) - space.external[b];
  }
  for (std::size_t b = bodies; b-- > 1;) {
    hand_on(false, tree.root[b], w.frames.origin[b], space.total[b],
            space.total[tree.model.bodies[b].parent]);
  }
}

// (2) in world axes, for a force or torque sensor at a site.
template <class S>
Vec3<S> site_interaction(bool torque, const SensedFrame<S>& site, const Force<S>& F) {
  return torque ? F.torque - cross(site.x, F.force) : F.force;
}
template <class S>
void gather_site_interaction(bool torque, const SensedFrame<S>& site, const Force<S>& F,
                             const Vec3<S>& out_bar, Motion<S>& F_bar,
                             SensedFrameBars<S>& site_bar) {
  const Vec3<S> world = rotate(site.q, out_bar);
  site_bar.turn -= cross(site_interaction(torque, site, F), world);
  if (torque) {  // (5)
    F_bar += Motion<S>{world, cross(site.x, world)};
    site_bar.x += cross(world, F.force);
  } else {
    F_bar.linear += world;
  }
}

// (3) and (4). y: in space.bar. Adds to space.external_bar, to w.bars and to bar.
template <class S, class P>
void gather_interaction(const InteractionPoint<S, P>& at, const InteractionSpace<S>& space,
                        const InstantBars<S>& bar) {
  const TreeView& tree = at.r.tree;
  const Workspace<S>& w = at.w;
  const BodyBars<S>& bars = w.bars;
  Motion<S>* const Y = space.bar;
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    const Motion<S>& above = Y[tree.model.bodies[b].parent];
    Y[b] += tree.root[b] ? Motion<S>{above.angular, field_at(above, w.frames.origin[b])} : above;
    const int l = tree.last_link[b];
    const SpatialInertia<S> I = inertia_of(at.r, w, b);
    const Force<S> Iv = I * w.v[l];
    const Motion<S> Yxv = cross_motion(Y[b], w.v[l]);
    Force<S> V = I * Yxv;
    subtract_cross_force(V, Y[b], Iv);
    add_turning_wrench(w.a[l], I * Y[b], bars.a[b], bars.pose[b]);  // (3)
    add_turning_wrench(w.v[l], V, bars.v[b], bars.pose[b]);
    subtract_cross_force(bars.pose[b], Y[b], body_force(I, w.v[l], w.a[l]));
    if (bar.p && tree.bodies[b].mass >= 0) {
      const std::array forms{InertiaForm<S>{&Y[b], &w.a[l]}, InertiaForm<S>{&Yxv, &w.v[l]}};
      body_inertia_pullback(tree.bodies[b], at.r.p, w.frames.R[b], w.frames.pos[b], forms, S(1),
                            bar.p);
    }
    space.external_bar[b] -= Y[b];  // (4)
  }
}

}  // namespace cycloid::inline rigid
