// What spatial tendons do to the bodies on their way: all forces along them.
//
//   F = passive + Σ gear p + Σ k f - a l̈                                               (1)
// passive of tendon_force.h, p of the actuators on it (after the tendon's limit), k f of the
// constraints' rows along it (limit ±1, friction 1, equality 1 or -P'), a its armature. It pulls
// the bodies by tendon.h (4):  W += Jᵀ F                                              (2)
//
// Pullback. Y, the cotangents of W, stay where they are in the world. Over the pieces, with
// e = Y₂(x₂) - Y₁(x₁):  F̄ = K = Σ u·e/d, which the parts of (1) get, and
//   ū = e F/d,   r̄ = (1 - u uᵀ) ū/|r|,   x̄₂ = r̄ + u × Y₂_ω F/d,   x̄₁ likewise         (3)
#pragma once

#include "cycloid/rigid/constraint/static_rows.h"
#include "cycloid/rigid/force/actuation.h"
#include "cycloid/rigid/tree/workspace.h"

namespace cycloid::inline rigid {

// Where the constraints' rows along tendons are: null where nothing constrains.
template <class S>
struct TendonRows {
  const StaticRows* rows;
  const int* places;  // of the static rows
  const S* force;     // of all rows
};

// Cotangents that sense_pullback.h brings home: of lengths and rates (tendons), of what actuators
// show, and of all rows' forces.
template <class S>
struct TendonBars {
  S *length, *rate, *actuator_force, *row_force;
};

// visit(tendon, k, row, y₂, equality or null) for each row along a spatial tendon; the last two
// where k = -P'(y₂).
template <class S, class P, class Visit>
void for_each_tendon_row(const Robot<S, P>& r, const Workspace<S>& w, const TendonRows<S>& in,
                         Visit visit) {
  if (!in.rows) return;
  const TreeView& tree = r.tree;
  const StaticRows& rows = *in.rows;
  const int* place = in.places + rows.joint_limits.size() + rows.dof_frictions.size() +
                     rows.connects.size() + rows.welds.size() + rows.joint_equalities.size();
  const TendonEquality* const none = nullptr;
  for (const TendonEquality& e : rows.tendon_equalities) {
    const int row = *place++;
    if (!is_fixed_tendon(tree, e.tendon[0])) visit(e.tendon[0], S(1), row, S(0), none);
    if (e.tendon[1] < 0 || is_fixed_tendon(tree, e.tendon[1])) continue;
    const S y2 = w.tendon_length[e.tendon[1]] - number<S>(e.length0[1]);
    visit(e.tendon[1], -coupling(r.p + e.at.data, y2).slope, row, y2, &e);
  }
  for (const TendonFriction& f : rows.tendon_frictions) {
    if (!is_fixed_tendon(tree, f.tendon)) visit(f.tendon, S(1), *place, S(0), none);
    ++place;
  }
  for (const TendonLimit& l : rows.tendon_limits) {
    const int row = *place++;
    if (row < 0 || is_fixed_tendon(tree, l.tendon)) continue;
    const LimitGap<S> gap = limit_gap(l.end, r.p + l.range, w.tendon_length[l.tendon]);
    visit(l.tendon, gap.sign, row, S(0), none);
  }
}

// Calls visit(index, place of its gear) for the actuators on tendon t that act.
template <class Visit>
void for_each_acting_on(const TreeView& tree, int t, Visit visit) {
  for (std::size_t i = 0; i < tree.model.actuators.size(); ++i) {
    const Actuator& a = tree.model.actuators[i];
    if (a.transmission != TransmissionKind::tendon || a.target != t || !acts(tree, a)) continue;
    visit(i, tree.actuators[i].gear);
  }
}

// (1) of every tendon into force (tendons), 0 of fixed ones. w: after the acceleration, w.a with
// q̈.
template <class S, class P>
void tendon_forces(const Robot<S, P>& r, const Workspace<S>& w, const TendonRows<S>& in, S* force) {
  const TreeView& tree = r.tree;
  for (int t = 0; t < static_cast<int>(tree.model.tendons.size()); ++t) {
    force[t] = S(0);
    if (is_fixed_tendon(tree, t)) continue;
    force[t] = tendon_passive_force(tree, r.p, t, w.tendon_length[t], w.tendon_rate[t]);
    for_each_acting_on(tree, t, [&](std::size_t i, int gear) {
      force[t] += S(r.p[gear]) * left_force(tree, i, w);
    });
    if (!has_tendon_armature(tree, t)) continue;
    force[t] -=
        tendon_armature<S>(tree, r.p, t) *
        tendon_acceleration(tree, r.p, t, w.frames, static_cast<const Motion<S>*>(w.v),
                            static_cast<const Motion<S>*>(w.a), static_cast<const S*>(w.qacc));
  }
  for_each_tendon_row(r, w, in, [&](int t, const S& k, int row, const S&, const TendonEquality*) {
    force[t] += k * in.force[row];
  });
}

// (2). W: (bodies), the world's included.
template <class S, class P>
void tendon_wrenches(const Robot<S, P>& r, const Workspace<S>& w, const TendonRows<S>& in,
                     Force<S>* W) {
  S *const force = w.tendon_spread, *const no_tau = nullptr;
  tendon_forces(r, w, in, force);
  for (int t = 0; t < static_cast<int>(r.tree.model.tendons.size()); ++t) {
    if (is_fixed_tendon(r.tree, t)) continue;
    apply_tendon_force(r.tree, r.p, t, w.frames, force[t], W, no_tau);
  }
}

// (3) of one tendon; returns K. Y: (bodies).
template <class S, class P>
S gather_tendon_way(const Robot<S, P>& r, const Workspace<S>& w, int t, const S& force,
                    const Motion<S>* Y, S* p_bar) {
  S K(0);
  for_each_piece(r.tree, r.p, t, w.frames, [&](const TendonPiece<S>& piece) {
    if (!piece.moves()) return;
    const Motion<S>&Y1 = Y[piece.body[0]], &Y2 = Y[piece.body[1]];
    const Vec3<S>& u = piece.along.unit;
    const Vec3<S> apart = field_at(Y2, piece.x[1]) - field_at(Y1, piece.x[0]);
    const S pull = force * piece.share;
    K += dot(u, apart) * piece.share;
    const Vec3<S> u_bar = apart * pull;
    const Vec3<S> r_bar = (u_bar - u * dot(u, u_bar)) * piece.along.inverse;
    site_point_pullback(r.tree, piece.site[1], w.frames, piece.x[1],
                        r_bar + cross(u, Y2.angular) * pull, w.bars.pose, p_bar);
    site_point_pullback(r.tree, piece.site[0], w.frames, piece.x[0],
                        -r_bar - cross(u, Y1.angular) * pull, w.bars.pose, p_bar);
  });
  for_each_wrapped(r.tree, r.p, t, w.frames, [&](const WrappedPiece<S>& piece) {
    const S pull = force * piece.share;
    Vec3<S> d_bar[2]{}, x_bar[2]{};
    for (int end = 0; end < 2; ++end) {
      if (!piece.moves(end)) continue;
      const Motion<S>&Y1 = Y[piece.geom_body], &Y2 = Y[piece.body[end]];
      const Vec3<S> apart = field_at(Y2, piece.x[end]) - field_at(Y1, piece.from_g[end]);
      K += dot(piece.d[end], apart) * piece.share;
      d_bar[end] = apart * pull;
      x_bar[end] = cross(piece.d[end], Y2.angular - Y1.angular) * pull;
    }
    wrapped_place_pullback(r.tree, piece, w.frames, S(0), d_bar, x_bar, w.bars.pose, p_bar);
  });
  return K;
}

// The parts of (1) of a tendon but for rows, given F̄ = K.
template <class S, class P>
void gather_tendon_parts(const Robot<S, P>& r, const Workspace<S>& w, int t, const S& K,
                         const TendonBars<S>& to, S* p_bar) {
  const TreeView& tree = r.tree;
  tendon_passive_force_pullback(tree, r.p, t, w.tendon_length[t], w.tendon_rate[t], K, to.length[t],
                                to.rate[t], p_bar);
  for_each_acting_on(tree, t, [&](std::size_t i, int gear) {
    to.actuator_force[i] += S(r.p[gear]) * K;
    if (p_bar) p_bar[gear] += K * left_force(tree, i, w);
  });
  if (!has_tendon_armature(tree, t)) return;
  const Motion<S>*const v = w.v, *const a = w.a;
  const S *const qacc = w.qacc, armature = tendon_armature<S>(tree, r.p, t);
  const S form = -K * tendon_acceleration(tree, r.p, t, w.frames, v, a, qacc);
  tendon_acceleration_pullback(tree, r.p, t, w.frames, v, a, qacc, -armature * K, w.bars, p_bar);
  if (!p_bar) return;
  for_each_tendon_actuator(tree, t, [&](const Actuator& actuator, int gear) {
    p_bar[gear] += form * S(2) * S(r.p[gear]) * number<S>(actuator.armature);
  });
}

// The pullback of tendon_wrenches. Adds to w.bars, `to`, and p_bar unless it is null.
template <class S, class P>
void gather_tendon_wrenches(const Robot<S, P>& r, const Workspace<S>& w, const TendonRows<S>& in,
                            const Motion<S>* Y, const TendonBars<S>& to, S* p_bar) {
  S* const K = w.tendon_spread;
  tendon_forces(r, w, in, K);
  for (int t = 0; t < static_cast<int>(r.tree.model.tendons.size()); ++t) {
    if (is_fixed_tendon(r.tree, t)) continue;
    K[t] = gather_tendon_way(r, w, t, S(K[t]), Y, p_bar);
    gather_tendon_parts(r, w, t, K[t], to, p_bar);
  }
  for_each_tendon_row(
      r, w, in, [&](int t, const S& k, int row, const S& y2, const TendonEquality* e) {
        to.row_force[row] += k * K[t];
        if (!e) return;
        const S s = in.force[row] * K[t];
        to.length[t] +=
            coupling_pullback(r.p + e->at.data, y2, S(0), s, p_bar ? p_bar + e->at.data : nullptr);
      });
}

}  // namespace cycloid::inline rigid
