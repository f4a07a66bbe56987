// What acts on each body from outside, as MuJoCo counts it (cfrc_ext of mj_rnePostConstraint).
//
//   W_b = Σ (x × p + c ; p)                                                                (1)
// about the origin of the body's tree, world axes: applied forces at the centre of mass, the forces
// of contacts, of connects and welds, and of spatial tendons (tendon_wrench.h). Other forces (of
// joints, actuators on joints and sites, the medium, gravity compensation) pass through the joints.
// Nothing acts on the world.
//
// Pullback. The cotangent of W_b is a motion Y_b that stays where it is in the world:
//   p̄ = Y(x),   c̄ = Y_ω,   x̄ = p × Y_ω                                                    (2)
// A weld's couple depends on the turn of its frames: (4) and (7) of weld.h, with Y_ω for the field.
#pragma once

#include "cycloid/rigid/contact/contact_view.h"
#include "cycloid/rigid/force/tendon_wrench.h"
#include "cycloid/rigid/sense/instant_dynamics.h"
#include "cycloid/rigid/tree/subtree.h"

namespace cycloid::inline rigid {

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
  TendonRows<S> tendon_rows() const {
    if (!plan) return {nullptr, nullptr, nullptr};
    return {&plan->rows, memory.places, row_forces()};
  }
};

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

// visit(anchors, row, weld or null) for each connect and weld.
template <class S, class P, class Visit>
void for_each_anchored(const InteractionPoint<S, P>& at, Visit visit) {
  const StaticRows& rows = at.plan->rows;
  const int* place = at.memory.places + rows.joint_limits.size() + rows.dof_frictions.size();
  const Weld* const none = nullptr;
  for (const Connect& c : rows.connects) visit(c.end, *place++, none);
  for (const Weld& w : rows.welds) visit(w.end, *place++, &w);
}

// What the forces c of a weld's rotation rows do to its first body: g of (4) in weld.h.
template <class S>
Vec3<S> weld_couple(const WeldTurn<S>& turn, const Vec3<S>& c) {
  Quat<S> e_bar{S(0), S(0), S(0), S(0)};
  Vec3<S> theta_bar{};
  S scale_bar(0);
  return turn_field_pullback(turn, Vec3<S>{}, c, e_bar, theta_bar, scale_bar);
}

// (1), (bodies).
template <class S, class P>
void external_forces(const InteractionPoint<S, P>& at, Force<S>* W) {
  const TreeView& tree = at.r.tree;
  const Workspace<S>& w = at.w;
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) {
    W[b] = Force<S>{};
    if (b == 0 || at.r.inputs.xfrc_applied < 0) continue;
    const S* applied = at.x.u + at.r.inputs.xfrc_applied + 6 * static_cast<int>(b);
    W[b] = wrench(load_vec3(applied), centre_of(tree, at.r.p, b, w.frames), load_vec3(applied + 3));
  }
  tendon_wrenches(at.r, w, at.tendon_rows(), W);
  W[0] = Force<S>{};
  if (!at.plan) return;
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const Vec3<S> p = at.views.view[slot].force(), c = at.views.view[slot].couple();
    for_each_contact_side(
        at, slot, [&](const SlotGroup<S>& group, int body, const S& sign, const Vec3<S>& x) {
          if (body != 0) group.add_all(wrench(p * sign, x, c * sign), W[body]);
        });
  }
  for_each_anchored(at, [&](const Anchor* end, int row, const Weld* weld) {
    const S* const f = at.row_forces() + row;
    Vec3<S> couple{};
    if (weld) {
      const WeldTurn<S> turn(*weld, at.r.p, row_instant(at.r, at.x, w));
      couple = weld_couple(turn, load_vec3(f + 3));
    }
    for (int i = 0; i < 2; ++i) {
      if (end[i].body == 0) continue;
      const S sign = S(i == 0 ? 1 : -1);
      W[end[i].body] +=
          wrench(load_vec3(f) * sign, anchor_point(end[i], at.r.p, w.frames), couple * sign);
    }
  });
}

// (2) at contacts: into the bars of the views.
template <class S, class P>
void gather_contact_forces(const InteractionPoint<S, P>& at, const Motion<S>* Y) {
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const ContactView<S>& view = at.views.view[slot];
    Vec3<S> p_bar{}, c_bar{}, x_bar{};
    for_each_contact_side(
        at, slot, [&](const SlotGroup<S>& group, int body, const S& sign, const Vec3<S>& x) {
          if (body == 0) return;
          const Mask<S> own = group.lanes();
          p_bar += select(own, field_at(Y[body], x) * sign, Vec3<S>{});
          c_bar += select(own, Y[body].angular * sign, Vec3<S>{});
        });
    x_bar = cross(view.force(), c_bar);
    add_world_force(view, p_bar, c_bar, at.views.bar[slot]);
    at.views.bar[slot].pos += x_bar;
  }
}

// The turn of a weld's frames under the forces f of its rows. Adds to f_bar, w.bars.pose and bar.
template <class S, class P>
void gather_weld_couple(const InteractionPoint<S, P>& at, const Weld& weld, const Motion<S>* Y,
                        const Vec3<S>& f, S* f_bar, const InstantBars<S>& bar) {
  const BodyBars<S>& bars = at.w.bars;
  const WeldTurn<S> turn(weld, at.r.p, row_instant(at.r, at.x, at.w));
  const Vec3<S> apart = Y[weld.end[0].body].angular - Y[weld.end[1].body].angular;
  Quat<S> e_bar{S(0), S(0), S(0), S(0)};
  Vec3<S> theta_bar{};
  S scale_bar(0);
  ReferenceOptions<S> unused{};
  add_to(f_bar, turn.apply(apart));
  turn_field_pullback(turn, apart, f, e_bar, theta_bar, scale_bar);
  weld_frames_pullback(
      weld, turn, e_bar, theta_bar,
      RowGradient<S>{{bars.m, bars.a, bars.a, bars.v, bars.pose}, bar.q, bar.v, bar.p, unused});
  if (bar.p) bar.p[weld.torque_scale] += scale_bar;
}

// (2); the cotangents of contacts go to their views. Y: 0 of the world. Adds to w.bars, `tendons`
// and bar.
template <class S, class P>
void gather_external(const InteractionPoint<S, P>& at, const Motion<S>* Y,
                     const TendonBars<S>& tendons, const InstantBars<S>& bar) {
  S* const f_bar = tendons.row_force;
  const TreeView& tree = at.r.tree;
  const Workspace<S>& w = at.w;
  const BodyBars<S>& bars = w.bars;
  for (std::size_t b = 1; at.r.inputs.xfrc_applied >= 0 && b < tree.model.bodies.size(); ++b) {
    const int place = at.r.inputs.xfrc_applied + 6 * static_cast<int>(b);
    const Vec3<S> c = centre_of(tree, at.r.p, b, w.frames);
    const Vec3<S> c_bar = cross(load_vec3(at.x.u + place), Y[b].angular);
    add_to(bar.u + place, field_at(Y[b], c));
    add_to(bar.u + place + 3, Y[b].angular);
    bars.pose[b] += wrench(c_bar, c, Vec3<S>{});
    if (bar.p && tree.bodies[b].com >= 0) {
      add_to(bar.p + tree.bodies[b].com, transpose_vector_product(w.frames.R[b], c_bar));
    }
  }
  gather_tendon_wrenches(at.r, w, at.tendon_rows(), Y, tendons, bar.p);
  if (!at.plan) return;
  gather_contact_forces(at, Y);
  for_each_anchored(at, [&](const Anchor* end, int row, const Weld* weld) {
    const Vec3<S> f = load_vec3(at.row_forces() + row);
    for (int i = 0; i < 2; ++i) {
      if (end[i].body == 0) continue;
      const S sign = S(i == 0 ? 1 : -1);
      const Motion<S>& y = Y[end[i].body];
      const Vec3<S> x = anchor_point(end[i], at.r.p, w.frames);
      add_to(f_bar + row, field_at(y, x) * sign);
      anchor_point_pullback(end[i], w.frames, x, cross(f * sign, y.angular), bars.pose, bar.p);
    }
    if (weld) {
      gather_weld_couple(at, *weld, Y, load_vec3(at.row_forces() + row + 3), f_bar + row + 3, bar);
    }
  });
}

}  // namespace cycloid::inline rigid
