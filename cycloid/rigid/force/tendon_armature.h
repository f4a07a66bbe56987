// Inertia along tendons: a kinetic energy ½ a l̇² of each tendon's velocity.
//
//   a = armature + Σ gear² armature of the actuators on the tendon [kg]                       (1)
//   M += a JᵀJ on M's sparsity (row_form.h)                                                   (2)
//   c += a Jᵀ (J̇ q̇),   J̇ q̇ = l̈ at q̈ = 0                                                   (3)
//   l̈ = Σ_pieces (u·(α₂ - α₁) + (|w|² - (u·w)²)/|r|)/d,   fixed: Σ coef q̈                     (4)
//   α = a(x) + v_ω × v(x), the acceleration of an end;  w = v₂(x₂) - v₁(x₁)                    (5)
// u, r, d as in tendon.h. Gravity, which is in the field a of all bodies alike, cancels in (4).
//
// The pullback's part of Φ = -μᵀ(M q̈ + c), with Q of row_form.h and l̈ at q̈,
//   Φ = -a (Jμ) l̈ + a ((Jμ)(Jq̈) - Q(μ, q̈))                                                   (6)
// The second term is zero unless the tendon's dofs lie on several paths to the root. Of a piece,
// with β the cotangent of l̈ over d and N = |w|² - (u·w)²:
//   ā₂ += wrench(u β, x₂);   z̄₂ = β (u × v₂_ω) + w̄,  w̄ = 2 β (w - u(u·w))/|r|                (7)
//   v̄₂ += wrench(z̄₂, x₂, β v₂(x₂) × u);   x̄₂ = z̄₂ × v₂_ω + β u × a₂_ω + r̄                  (8)
//   ū = β (α₂ - α₁ - 2 (u·w) w/|r|),   r̄ = (ū - u(u·ū))/|r| - β N u/|r|²                       (9)
// and end 1 with the other sign of β, w̄ and r̄.
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/force/tendon.h"
#include "cycloid/rigid/force/tendon_force.h"
#include "cycloid/rigid/tree/row_form.h"

namespace cycloid::inline rigid {

CYCLOID_HD inline bool has_tendon_armature(const TreeView& tree, int t) {
  bool has = tree.model.tendons[static_cast<std::size_t>(t)].armature != 0;
  for_each_tendon_actuator(tree, t, [&](const Actuator& a, int) { has |= a.armature != 0; });
  return has;
}

template <class S, class P>
CYCLOID_HD S tendon_armature(const TreeView& tree, const P* p, int t) {
  S sum = number<S>(tree.model.tendons[static_cast<std::size_t>(t)].armature);
  for_each_tendon_actuator(tree, t, [&](const Actuator& a, int gear) {
    sum += S(p[gear]) * S(p[gear]) * number<S>(a.armature);  // (1)
  });
  return sum;
}

// The dof with which a body moves, or -1.
CYCLOID_HD inline int moving_dof(const TreeView& tree, int body) {
  for (; body > 0; body = tree.model.bodies[static_cast<std::size_t>(body)].parent) {
    const Body& b = tree.model.bodies[static_cast<std::size_t>(body)];
    if (b.dofs > 0) return b.first_dof + b.dofs - 1;
  }
  return -1;
}

// Whether the tendon's dofs lie on several paths to the root.
CYCLOID_HD inline bool tendon_branches(const TreeView& tree, int t) {
  const Tendon& tendon = tree.model.tendons[static_cast<std::size_t>(t)];
  const auto dof_of = [&](int w) {
    const Wrap& wrap = tree.model.wraps[static_cast<std::size_t>(tendon.first_wrap + w)];
    const std::size_t object = static_cast<std::size_t>(wrap.object);
    if (wrap.kind == WrapKind::pulley) return -1;
    return wrap.kind == WrapKind::joint ? tree.model.joints[object].dof
                                        : moving_dof(tree, tree.model.sites[object].body);
  };
  int deepest = -1;
  for (int w = 0; w < tendon.wraps; ++w) deepest = dof_of(w) > deepest ? dof_of(w) : deepest;
  for (int w = 0; w < tendon.wraps; ++w) {
    int k = deepest;
    while (k > dof_of(w)) k = tree.model.dofs[static_cast<std::size_t>(k)].parent;
    if (k != dof_of(w) && dof_of(w) >= 0) return true;
  }
  return false;
}

// J of a tendon. wrenches: (bodies), links: (links), memory.
template <class S, class P>
CYCLOID_HD void tendon_row(const TreeView& tree, const P* p, int t, const Frames<S>& f,
                           Force<S>* wrenches, Force<S>* links, S* J) {
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) wrenches[b] = Force<S>{};
  for (int k = 0; k < tree.model.nv; ++k) J[k] = S(0);
  apply_tendon_force(tree, p, t, f, S(1), wrenches, J);
  if (!is_fixed_tendon(tree, t)) {
    complete_row(tree, f.column, static_cast<const Force<S>*>(wrenches), links, J);
  }
}

// (2) for all tendons. row: (nv), memory.
template <class S, class P>
CYCLOID_HD void add_tendon_armature(const TreeView& tree, const P* p, const Frames<S>& f,
                                    Force<S>* wrenches, Force<S>* links, S* row, S* M) {
  for (int t = 0; t < static_cast<int>(tree.model.tendons.size()); ++t) {
    if (!has_tendon_armature(tree, t)) continue;
    tendon_row(tree, p, t, f, wrenches, links, row);
    add_row_form(tree, static_cast<const S*>(row), tendon_armature<S>(tree, p, t), M);  // (2)
  }
}

// The ends of a piece as they move.
template <class S>
struct PieceMotion {
  const Motion<S>*v[2], *a[2];
  Vec3<S> z[2];  // v(x)
  Vec3<S> w, acceleration;
  S along;  // u·w

  CYCLOID_HD PieceMotion(const TreeView& tree, const TendonPiece<S>& piece,
                         const Motion<S>* v_field, const Motion<S>* a_field) {
    Vec3<S> alpha[2];
    for (int end = 0; end < 2; ++end) {
      const std::size_t l = last_link(tree, piece.body[end]);
      v[end] = v_field + l;
      a[end] = a_field + l;
      z[end] = field_at(*v[end], piece.x[end]);
      alpha[end] = field_at(*a[end], piece.x[end]) + cross(v[end]->angular, z[end]);  // (5)
    }
    w = z[1] - z[0];
    acceleration = alpha[1] - alpha[0];
    along = dot(piece.along.unit, w);
  }
};

// l̈ of (4). a: the acceleration field of qacc (nv), or of zero where qacc is null.
template <class S, class P>
CYCLOID_HD S tendon_acceleration(const TreeView& tree, const P* p, int t, const Frames<S>& f,
                                 const Motion<S>* v, const Motion<S>* a, const S* qacc) {
  S sum(0);
  if (is_fixed_tendon(tree, t)) {
    if (!qacc) return sum;
    for_each_tendon_joint(tree, t,
                          [&](const Joint& j, int place) { sum += S(p[place]) * qacc[j.dof]; });
    return sum;
  }
  for_each_piece(tree, p, t, f, [&](const TendonPiece<S>& piece) {
    if (!piece.moves()) return;
    const PieceMotion<S> motion(tree, piece, v, a);
    const S turning = dot(motion.w, motion.w) - motion.along * motion.along;
    sum += (dot(piece.along.unit, motion.acceleration) + turning * piece.along.inverse) *
           piece.share;  // (4)
  });
  return sum;
}

template <class S, class P>
CYCLOID_HD void tendon_acceleration_pullback(const TreeView& tree, const P* p, int t,
                                             const Frames<S>& f, const Motion<S>* v,
                                             const Motion<S>* a, const S* qacc, const S& out_bar,
                                             const BodyBars<S>& bars, S* p_bar) {
  if (is_fixed_tendon(tree, t)) {
    if (!qacc || !p_bar) return;
    for_each_tendon_joint(
        tree, t, [&](const Joint& j, int place) { p_bar[place] += out_bar * qacc[j.dof]; });
    return;
  }
  for_each_piece(tree, p, t, f, [&](const TendonPiece<S>& piece) {
    if (!piece.moves()) return;
    const PieceMotion<S> motion(tree, piece, v, a);
    const Vec3<S>&u = piece.along.unit, &w = motion.w;
    const S beta = out_bar * piece.share, inverse = piece.along.inverse;
    const S turning = dot(w, w) - motion.along * motion.along;
    const Vec3<S> w_bar = (w - u * motion.along) * (S(2) * beta * inverse);
    const Vec3<S> u_bar = (motion.acceleration - w * (S(2) * motion.along * inverse)) * beta;
    const Vec3<S> r_bar =
        ((u_bar - u * dot(u, u_bar)) - u * (beta * turning * inverse)) * inverse;  // (9)
    for (int end = 0; end < 2; ++end) {
      const int b = piece.body[end];
      const Motion<S>&v_b = *motion.v[end], &a_b = *motion.a[end];
      const Vec3<S>& x = piece.x[end];
      const S sign = end == 0 ? S(-1) : S(1), c = beta * sign;
      const Vec3<S> z_bar = cross(u, v_b.angular) * c + w_bar * sign;  // (7)
      bars.a[b] += wrench(u * c, x, Vec3<S>{});
      bars.v[b] += wrench(z_bar, x, cross(motion.z[end], u) * c);  // (8)
      const Vec3<S> x_bar = cross(z_bar, v_b.angular) + cross(u, a_b.angular) * c + r_bar * sign;
      site_point_pullback(tree, piece.site[end], f, x, x_bar, bars.pose, p_bar);
    }
  });
}

// (3) for all tendons, a the acceleration field without q̈: adds to wrenches (bodies). Fixed
// tendons have no part in it.
template <class S, class P>
CYCLOID_HD void add_tendon_armature_bias(const TreeView& tree, const P* p, const Frames<S>& f,
                                         const Motion<S>* v, const Motion<S>* a,
                                         Force<S>* wrenches) {
  for (int t = 0; t < static_cast<int>(tree.model.tendons.size()); ++t) {
    if (is_fixed_tendon(tree, t) || !has_tendon_armature(tree, t)) continue;
    const S l = tendon_acceleration(tree, p, t, f, v, a, static_cast<const S*>(nullptr));
    S* const no_tau = nullptr;
    apply_tendon_force(tree, p, t, f, l * tendon_armature<S>(tree, p, t), wrenches, no_tau);  // (3)
  }
}

// Memory of the pullback.
template <class S>
struct TendonArmatureSpace {
  Force<S>*wrenches, *links;  // (bodies), (links)
  S* row;                     // (nv)
  RowFormSpace<S> form;
};

// (6) for all tendons. a: the acceleration field of qacc. to.bodies.a takes the field's cotangent;
// mocap_bar: (nmocap, 6), added to by tendons that branch.
template <class S, class P>
CYCLOID_STAGE void tendon_armature_pullback(const TreeView& tree, const P* p, const RowPoint<S>& at,
                                            const Motion<S>* a, const S* qacc,
                                            const RowSinks<S>& to,
                                            const TendonArmatureSpace<S>& space, S* mocap_bar) {
  const Frames<S>& f = at.frames;
  for (int t = 0; t < static_cast<int>(tree.model.tendons.size()); ++t) {
    if (!has_tendon_armature(tree, t)) continue;
    const S armature = tendon_armature<S>(tree, p, t);
    const S J_mu = tendon_rate(tree, p, t, f, at.m, at.mu);
    const S l = tendon_acceleration(tree, p, t, f, at.v, a, qacc);
    S form = -J_mu * l;  // (6) over a
    tendon_pullback(tree, p, t, at, RowBars<S>{S(0), -armature * l, S(0)}, to);
    tendon_acceleration_pullback(tree, p, t, f, at.v, a, qacc, -armature * J_mu, to.bodies,
                                 to.p_bar);
    if (tendon_branches(tree, t)) {
      tendon_row(tree, p, t, f, space.wrenches, space.links, space.row);
      S* const w = space.form.w;
      form -= row_form_weights(tree, static_cast<const S*>(space.row), at.mu, qacc, w);
      S J_x(0);
      for (int k = 0; k < tree.model.nv; ++k) J_x += space.row[k] * qacc[k];
      form += J_mu * J_x;
      for (int k = 0; k < tree.model.nv; ++k) {
        w[k] = armature * (at.mu[k] * J_x + qacc[k] * J_mu - w[k]);
      }
      const auto pull_row = [&](const RowPoint<S>& point, const RowBars<S>& bar,
                                const RowSinks<S>& sinks) {
        tendon_pullback(tree, p, t, point, bar, sinks);
      };
      row_form_pullback(tree, p, f, at.qpos, space.form, pull_row, to.q_bar, to.p_bar, mocap_bar);
    }
    if (to.p_bar) {
      for_each_tendon_actuator(tree, t, [&](const Actuator& actuator, int gear) {  // (1)
        to.p_bar[gear] += form * S(2) * S(p[gear]) * number<S>(actuator.armature);
      });
    }
  }
}

}  // namespace cycloid::inline rigid
