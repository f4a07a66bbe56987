// Tendons: length, velocity, and how their force reaches bodies and joints.
//
// A fixed tendon combines joints, a spatial one runs through sites in straight pieces; pulleys cut
// it into branches, and a branch after a pulley counts by the pulley's divisor d (1 before any).
//   fixed      l = Σ_j coef_j q_j,                          J x = Σ_j coef_j x_j              (1)
//   spatial    l = Σ_pieces |r| / d,   r = x₂ - x₁ [m]                                        (2)
//              J x = Σ_pieces u·(y₂(x₂) - y₁(x₁)) / d,   u = r/|r|, y the field of x          (3)
//   force f    on x₂: u f/d, on x₁: -u f/d;  fixed: τ_j = coef_j f                            (4)
// A piece between two sites of one body has a constant length and no part in J.
//
// Pullback of row.h (1), for a piece with l̄, c_y divided by d, y in {m, v}:
//   ȳ₂ += wrench(u c_y, x₂),   ȳ₁ -= wrench(u c_y, x₁)                                        (5)
//   ū = Σ_y c_y (y₂(x₂) - y₁(x₁)),   r̄ = u l̄ + (ū - u(u·ū))/|r|                               (6)
//   x̄₂ = r̄ + Σ_y c_y u × y₂_ω,       x̄₁ = -r̄ - Σ_y c_y u × y₁_ω                             (7)
// A piece of no length has no direction: u = 0, and it pulls at nothing (math/norm.h). Pieces past
// a geom are those of wrapped_piece.h; they are visited after the others.
#pragma once

#include "cycloid/rigid/force/wrapped_piece.h"

namespace cycloid::inline rigid {

template <class S>
struct TendonPiece {
  int site[2], body[2];
  Vec3<S> x[2];             // ends, each from its own tree's origin
  UnitAndNorm<S, 3> along;  // r
  S share;                  // 1/d

  CYCLOID_HD bool moves() const { return body[0] != body[1]; }
};

// Calls visit(piece) for every piece of a spatial tendon.
template <class S, class P, class Visit>
CYCLOID_HD void for_each_piece(const TreeView& tree, const P* p, int t, const Frames<S>& f,
                               Visit visit) {
  const Tendon& tendon = tree.model.tendons[static_cast<std::size_t>(t)];
  const Wrap* const wraps = tree.model.wraps.data() + tendon.first_wrap;
  TendonPiece<S> piece;
  piece.share = S(1);
  for (int w = 0; w + 1 < tendon.wraps; ++w) {
    if (wraps[w].kind == WrapKind::pulley) {
      piece.share = S(static_cast<Scalar<S>>(1 / wraps[w].value));
    } else if (wraps[w].kind == WrapKind::site && wraps[w + 1].kind == WrapKind::site) {
      for (int end = 0; end < 2; ++end) {
        const int site = wraps[w + end].object;
        piece.site[end] = site;
        piece.body[end] = tree.model.sites[static_cast<std::size_t>(site)].body;
        piece.x[end] = site_point(tree, p, site, f);
      }
      const Vec3<S> between = f.origin[piece.body[1]] - f.origin[piece.body[0]];
      piece.along = unit_and_norm(between + (piece.x[1] - piece.x[0]));
      visit(static_cast<const TendonPiece<S>&>(piece));
    }
  }
}

// Calls visit(piece) for every piece past a geom.
template <class S, class P, class Visit>
CYCLOID_HD void for_each_wrapped(const TreeView& tree, const P* p, int t, const Frames<S>& f,
                                 Visit visit) {
  const Tendon& tendon = tree.model.tendons[static_cast<std::size_t>(t)];
  const Wrap* const wraps = tree.model.wraps.data() + tendon.first_wrap;
  S share(1);
  for (int w = 0; w < tendon.wraps; ++w) {
    if (wraps[w].kind == WrapKind::pulley) {
      share = S(static_cast<Scalar<S>>(1 / wraps[w].value));
    } else if (is_geom(wraps[w].kind)) {
      WrappedPiece<S> piece = wrapped_piece(tree, p, wraps + w, f);
      piece.share = share;
      visit(static_cast<const WrappedPiece<S>&>(piece));
    }
  }
}

// Calls visit(joint, place of its coefficient in p) for every joint of a fixed tendon.
template <class Visit>
CYCLOID_HD void for_each_tendon_joint(const TreeView& tree, int t, Visit visit) {
  const Tendon& tendon = tree.model.tendons[static_cast<std::size_t>(t)];
  const int place = tree.tendons[static_cast<std::size_t>(t)].coefficients;
  for (int w = 0; w < tendon.wraps; ++w) {
    const Wrap& wrap = tree.model.wraps[static_cast<std::size_t>(tendon.first_wrap + w)];
    visit(tree.model.joints[static_cast<std::size_t>(wrap.object)], place + w);
  }
}

CYCLOID_HD inline bool is_fixed_tendon(const TreeView& tree, int t) {
  return tree.model.tendons[static_cast<std::size_t>(t)].kind == TendonKind::fixed;
}

template <class S, class P>
CYCLOID_HD S tendon_length(const TreeView& tree, const P* p, int t, const S* qpos,
                           const Frames<S>& f) {
  S length = S(0);
  if (is_fixed_tendon(tree, t)) {
    for_each_tendon_joint(tree, t, [&](const Joint& j, int place) {
      length += S(p[place]) * qpos[j.qpos];  // (1)
    });
  } else {
    for_each_piece(tree, p, t, f, [&](const TendonPiece<S>& piece) {
      length += piece.along.norm * piece.share;  // (2)
    });
    for_each_wrapped(tree, p, t, f,
                     [&](const WrappedPiece<S>& piece) { length += piece.length * piece.share; });
  }
  return length;
}

// y₂(x₂) - y₁(x₁), y a field per link.
template <class S>
CYCLOID_INLINE Vec3<S> piece_stretch(const TreeView& tree, const TendonPiece<S>& piece,
                                     const Motion<S>* field) {
  return field_at(field[last_link(tree, piece.body[1])], piece.x[1]) -
         field_at(field[last_link(tree, piece.body[0])], piece.x[0]);
}

// J x. x: (nv), field: the field of x.
template <class S, class P>
CYCLOID_HD S tendon_rate(const TreeView& tree, const P* p, int t, const Frames<S>& f,
                         const Motion<S>* field, const S* x) {
  S rate = S(0);
  if (is_fixed_tendon(tree, t)) {
    for_each_tendon_joint(tree, t,
                          [&](const Joint& j, int place) { rate += S(p[place]) * x[j.dof]; });
  } else {
    for_each_piece(tree, p, t, f, [&](const TendonPiece<S>& piece) {
      if (!piece.moves()) return;
      rate += dot(piece.along.unit, piece_stretch(tree, piece, field)) * piece.share;  // (3)
    });
    for_each_wrapped(tree, p, t, f, [&](const WrappedPiece<S>& piece) {
      rate += wrapped_rate(tree, piece, field) * piece.share;
    });
  }
  return rate;
}

// Adds Jᵀ force: to wrench (bodies), about the origin of each body's tree, or to tau (nv).
template <class S, class P>
CYCLOID_HD void apply_tendon_force(const TreeView& tree, const P* p, int t, const Frames<S>& f,
                                   const S& force, Force<S>* wrenches, S* tau) {
  if (is_fixed_tendon(tree, t)) {
    for_each_tendon_joint(tree, t,
                          [&](const Joint& j, int place) { tau[j.dof] += S(p[place]) * force; });
    return;
  }
  for_each_piece(tree, p, t, f, [&](const TendonPiece<S>& piece) {
    if (!piece.moves()) return;
    const Vec3<S> pull = piece.along.unit * (force * piece.share);  // (4)
    wrenches[piece.body[1]] += wrench(pull, piece.x[1], Vec3<S>{});
    wrenches[piece.body[0]] -= wrench(pull, piece.x[0], Vec3<S>{});
  });
  for_each_wrapped(tree, p, t, f, [&](const WrappedPiece<S>& piece) {
    apply_wrapped_force(piece, S(force * piece.share), wrenches);
  });
}

template <class S>
CYCLOID_INLINE void tendon_piece_pullback(const TreeView& tree, const TendonPiece<S>& piece,
                                          const RowPoint<S>& at, const RowBars<S>& bar,
                                          const RowSinks<S>& to) {
  const Vec3<S>& u = piece.along.unit;
  Vec3<S> r_bar = u * (bar.length * piece.share), x_bar[2]{};
  if (piece.moves()) {
    const S c_m = bar.m * piece.share, c_v = bar.v * piece.share;
    const Vec3<S> u_bar =
        piece_stretch(tree, piece, at.m) * c_m + piece_stretch(tree, piece, at.v) * c_v;
    r_bar += (u_bar - u * dot(u, u_bar)) * piece.along.inverse;  // (6)
    for (int end = 0; end < 2; ++end) {
      const int b = piece.body[end];
      const std::size_t l = last_link(tree, b);
      const Vec3<S> pull = end == 0 ? -u : u;
      const Force<S> W = wrench(pull, piece.x[end], Vec3<S>{});  // (5)
      to.bodies.m[b] += W * c_m;
      to.bodies.v[b] += W * c_v;
      x_bar[end] = cross(pull, at.m[l].angular * c_m + at.v[l].angular * c_v);  // (7)
    }
  }
  site_point_pullback(tree, piece.site[1], at.frames, piece.x[1], x_bar[1] + r_bar, to.bodies.pose,
                      to.p_bar);
  site_point_pullback(tree, piece.site[0], at.frames, piece.x[0], x_bar[0] - r_bar, to.bodies.pose,
                      to.p_bar);
}

template <class S, class P>
CYCLOID_HD void tendon_pullback(const TreeView& tree, const P* p, int t, const RowPoint<S>& at,
                                const RowBars<S>& bar, const RowSinks<S>& to) {
  if (is_fixed_tendon(tree, t)) {
    for_each_tendon_joint(tree, t, [&](const Joint& j, int place) {  // (1)
      const S coefficient = S(p[place]);
      to.q_bar[j.dof] += coefficient * bar.length;
      to.v_bar[j.dof] += coefficient * bar.v;
      if (to.p_bar) {
        to.p_bar[place] +=
            bar.length * at.qpos[j.qpos] + bar.m * at.mu[j.dof] + bar.v * at.qvel[j.dof];
      }
    });
    return;
  }
  for_each_piece(tree, p, t, at.frames, [&](const TendonPiece<S>& piece) {
    tendon_piece_pullback(tree, piece, at, bar, to);
  });
  for_each_wrapped(tree, p, t, at.frames, [&](const WrappedPiece<S>& piece) {
    wrapped_piece_pullback(tree, piece, at, bar, to);
  });
}

}  // namespace cycloid::inline rigid
