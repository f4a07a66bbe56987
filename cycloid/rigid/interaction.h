// The force between each body and its parent, as force and torque sensors show it.
//
//   F_b = Σ_{c at or below b} (I_c a_c + v_c ×* I_c v_c - W_c)                                  (1)
// about the origin of the body's tree, world axes: what the parent does to b. W_c holds what acts
// on body c from outside, as MuJoCo counts it (mj_rnePostConstraint): applied forces at the centre
// of mass, the forces of contacts, of connects, and of welds, whose rotation rows count as a couple
// in world axes. Other forces (actuators, springs, tendons, the medium, gravity compensation,
// limits) pass through the joints and are part of F. Bodies that stand still have weight: a = -g.
//   force = Rᵀ F_f,   torque = Rᵀ (F_τ - x × F_f),   R and x of the site                       (2)
//
// Pullback. The cotangent of F_b is a motion y_b that stays where it is in the world; body c feels
// all those above it, Y_c = Y_parent + y_c. With h = I a + v ×* I v:
//   ā += I Y,   v̄ += I (Y × v) - Y ×* (I v),   Γ -= Y ×* h,   parameters: (Y, a), (Y × v, v)  (3)
// as in subtree.h: inertia and fields turn together, and Y does not. For a force p at x with a
// couple c, which is a part of W:
//   p̄ = -Y(x),   c̄ = -Y_ω,   x̄ = Y_ω × p                                                   (4)
// and from (2), with T̄ = R torquē and f̄ = R forcē: y += (T̄; x × T̄ + f̄),  x̄ = T̄ × F_f  (5)
#pragma once

#include "cycloid/rigid/contact_view.h"
#include "cycloid/rigid/instant_dynamics.h"
#include "cycloid/rigid/sensed_frame.h"
#include "cycloid/rigid/subtree.h"

namespace cycloid::inline rigid {

template <class S>
struct InteractionSpace {
  Force<S>* total;  // (bodies) F
  Motion<S>* bar;   // (bodies) y, and then Y

  std::size_t carve(const Tree& tree, std::byte* memory) {
    const std::size_t n = tree.model.bodies.size();
    total = reinterpret_cast<Force<S>*>(memory);
    bar = memory ? reinterpret_cast<Motion<S>*>(total + n) : nullptr;
    return n * (sizeof(Force<S>) + sizeof(Motion<S>));
  }
};

// What forces look at: the contacts are null without constraints.
template <class S, class P>
struct InteractionPoint {
  const Robot<S, P>& r;
  const Instant<S>& x;
  const Workspace<S>& w;  // poses, inertias, v and a
  const ConstraintPlan* plan;
  ConstraintMemory<S>& memory;
  const ContactViews<S>& views;

  const S* row_forces() const { return memory.solver.newton.at.f; }
  ContactScene<S, P> scene() const { return {plan->contacts, r.tree, r.p, w.frames}; }
};

template <class S, class P>
SpatialInertia<S> inertia_of(const Robot<S, P>& r, const Workspace<S>& w, std::size_t b) {
  if (r.tree.model.bodies[b].tree >= 0) return w.inertia[b];
  // One that stands still shows its weight alone.
  return {mass_of<S>(r.tree, r.p, b), centre_of(r.tree, r.p, b, w.frames), SymMat3<S>{}};
}

// visit(group, body, sign, x) for both bodies of a slot's contacts.
template <class S, class P, class Visit>
void for_each_contact_side(const InteractionPoint<S, P>& at, int slot, Visit visit) {
  const ContactScene<S, P> s = at.scene();
  const ContactSpace<S>& contacts = at.memory.contacts;
  for_each_group(contacts, slot, [&](const SlotGroup<S>& group) {
    const ContactPair& pair = s.pair(contacts.touched[group.owner].pair);
    for (const int body : {pair.body1, pair.body2}) {
      visit(group, body, S(body == pair.body2 ? 1 : -1),
            at.views.view[slot].pos - at.w.frames.origin[body]);
    }
  });
}

// visit(anchors, row, rows) for each connect and weld.
template <class S, class P, class Visit>
void for_each_anchored(const InteractionPoint<S, P>& at, Visit visit) {
  const StaticRows& rows = at.plan->rows;
  const int* place = at.memory.places + rows.joint_limits.size() + rows.dof_frictions.size();
  for (const Connect& c : rows.connects) visit(c.end, *place++, 3);
  for (const Weld& w : rows.welds) visit(w.end, *place++, 6);
}

// (1) into space.total.
template <class S, class P>
void interaction_forces(const InteractionPoint<S, P>& at, const InteractionSpace<S>& space) {
  const Tree& tree = at.r.tree;
  const Workspace<S>& w = at.w;
  const std::size_t bodies = tree.model.bodies.size();
  space.total[0] = Force<S>{};
  for (std::size_t b = 1; b < bodies; ++b) {
    const int l = tree.last_link[b];
    space.total[b] = body_force(inertia_of(at.r, w, b), w.v[l], w.a[l]);
    if (at.r.inputs.xfrc_applied < 0) continue;
    const S* applied = at.x.u + at.r.inputs.xfrc_applied + 6 * static_cast<int>(b);
    space.total[b] -=
        wrench(load_vec3(applied), centre_of(tree, at.r.p, b, w.frames), load_vec3(applied + 3));
  }
  for (int slot = 0; at.plan && slot < at.views.slots; ++slot) {
    const Vec3<S> p = at.views.view[slot].force(), c = at.views.view[slot].couple();
    for_each_contact_side(
        at, slot, [&](const SlotGroup<S>& group, int body, const S& sign, const Vec3<S>& x) {
          if (body == 0) return;
          group.add_all(wrench(p * -sign, x, c * -sign), space.total[body]);
        });
  }
  if (at.plan) {
    for_each_anchored(at, [&](const Anchor* end, int row, int rows) {
      const S* const f = at.row_forces() + row;
      for (int i = 0; i < 2; ++i) {
        if (end[i].body == 0) continue;
        const S sign = S(i == 0 ? -1 : 1);
        const Vec3<S> couple = rows == 6 ? load_vec3(f + 3) * sign : Vec3<S>{};
        space.total[end[i].body] +=
            wrench(load_vec3(f) * sign, anchor_point(end[i], at.r.p, w.frames), couple);
      }
    });
  }
  for (std::size_t b = bodies; b-- > 1;) {
    const Vec3<S>* origin = tree.root[b] ? w.frames.origin + b : nullptr;
    hand_on(false, origin, space.total[b], space.total[tree.model.bodies[b].parent]);
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

// (4) at contacts: into the bars of the views.
template <class S, class P>
void gather_contact_forces(const InteractionPoint<S, P>& at, const Motion<S>* Y) {
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const ContactView<S>& view = at.views.view[slot];
    Vec3<S> p_bar{}, c_bar{}, x_bar{};
    for_each_contact_side(
        at, slot, [&](const SlotGroup<S>& group, int body, const S& sign, const Vec3<S>& x) {
          if (body == 0) return;
          const Mask<S> own = group.lanes();
          p_bar -= select(own, field_at(Y[body], x) * sign, Vec3<S>{});
          c_bar -= select(own, Y[body].angular * sign, Vec3<S>{});
        });
    x_bar = cross(view.force(), c_bar);
    add_world_force(view, p_bar, c_bar, at.views.bar[slot]);
    at.views.bar[slot].pos += x_bar;
  }
}

// (3), and (4) but for contacts, whose cotangents go to their views. y: in space.bar. Adds to
// w.bars, to f_bar (all rows) and to bar.
template <class S, class P>
void gather_interaction(const InteractionPoint<S, P>& at, const InteractionSpace<S>& space,
                        S* f_bar, const InstantBars<S>& bar) {
  const Tree& tree = at.r.tree;
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
    bars.a[b] += I * Y[b];  // (3)
    bars.v[b] += I * Yxv;
    subtract_cross_force(bars.v[b], Y[b], Iv);
    subtract_cross_force(bars.pose[b], Y[b], body_force(I, w.v[l], w.a[l]));
    if (bar.p && tree.bodies[b].mass >= 0) {
      const std::array forms{InertiaForm<S>{&Y[b], &w.a[l]}, InertiaForm<S>{&Yxv, &w.v[l]}};
      body_inertia_pullback(tree.bodies[b], at.r.p, w.frames.R[b], w.frames.pos[b], forms, S(1),
                            bar.p);
    }
    if (at.r.inputs.xfrc_applied < 0) continue;
    const int place = at.r.inputs.xfrc_applied + 6 * static_cast<int>(b);
    const Vec3<S> c = centre_of(tree, at.r.p, b, w.frames);
    const Vec3<S> c_bar = cross(Y[b].angular, load_vec3(at.x.u + place));  // (4)
    add_to(bar.u + place, -field_at(Y[b], c));
    add_to(bar.u + place + 3, -Y[b].angular);
    bars.pose[b] += wrench(c_bar, c, Vec3<S>{});
    if (bar.p && tree.bodies[b].com >= 0) {
      add_to(bar.p + tree.bodies[b].com, transpose_vector_product(w.frames.R[b], c_bar));
    }
  }
  if (!at.plan) return;
  gather_contact_forces(at, static_cast<const Motion<S>*>(Y));
  for_each_anchored(at, [&](const Anchor* end, int row, int rows) {
    const Vec3<S> f = load_vec3(at.row_forces() + row);
    for (int i = 0; i < 2; ++i) {
      if (end[i].body == 0) continue;
      const S sign = S(i == 0 ? 1 : -1);
      const Motion<S>& y = Y[end[i].body];
      const Vec3<S> x = anchor_point(end[i], at.r.p, w.frames);
      add_to(f_bar + row, field_at(y, x) * -sign);
      if (rows == 6) add_to(f_bar + row + 3, y.angular * -sign);
      anchor_point_pullback(end[i], w.frames, x, cross(y.angular, f * sign), bars.pose, bar.p);
    }
  });
}

}  // namespace cycloid::inline rigid
