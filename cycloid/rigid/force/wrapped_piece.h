// A piece of a tendon from a site past a geom, a sphere or a cylinder, to another site.
//
// wrap_path.h gives the length l and the directions d_k in the frame of the geom, F. With x_k the
// sites, y_k the fields of their bodies and y_g of the geom's, all at the sites:
//   p_k = Fᵀ(x_k - x_g),   d_k in F → F d_k                                                   (1)
//   J x = Σ_k d_k·(y_k(x_k) - y_g(x_k))                                                       (2)
//   force f: d_k f on body k at x_k, -d_k f on the geom's body at the same point               (3)
// The tendon touches the geom along a shortest line, so that its points there need not be known. A
// straight piece has d₀ = -d₁ along it, and the geom feels nothing.
//
// Pullback of row.h (1), with d̄_k = Σ_y c_y (y_k - y_g)(x_k) and p̄ of wrap_path.h:
//   x̄_k = F p̄_k + Σ_y c_y d_k × (y_k - y_g)_ω,   x̄_g = -Σ F p̄_k                             (4)
//   Σ (d_k × d̄_k - p_k × p̄_k) turns F                                                        (5)
#pragma once

#include "cycloid/rigid/force/wrap_path.h"
#include "cycloid/rigid/tree/row.h"

namespace cycloid::inline rigid {

CYCLOID_HD inline bool is_geom(WrapKind kind) {
  return kind == WrapKind::sphere || kind == WrapKind::cylinder;
}

template <class S>
struct WrappedPiece {
  int site[2], body[2], geom, geom_body;
  Vec3<S> x[2];        // sites, each from its own tree's origin
  Vec3<S> from_g[2];   // ... and from the origin of the geom's tree
  Vec3<S> at;          // x_g
  Quat<S> frame;       // F
  Vec3<S> p[2], d[2];  // in F; in the world's axes
  WrapShape<S> shape;
  S length, share;  // 1/d of a pulley

  CYCLOID_HD bool moves(int end) const { return body[end] != geom_body; }
};

template <class S, class P>
CYCLOID_HD WrappedPiece<S> wrapped_piece(const TreeView& tree, const P* p, const Wrap* wrap,
                                         const Frames<S>& f) {
  const std::size_t g = static_cast<std::size_t>(wrap->object);
  const GeomPlaces& place = tree.geoms[g];
  WrappedPiece<S> piece;
  piece.geom = wrap->object;
  piece.geom_body = tree.model.geoms[g].body;
  piece.share = S(1);
  piece.at = f.pos[piece.geom_body] + f.R[piece.geom_body] * vec3_of<S>(p + place.pos);
  piece.frame = f.link_quat[last_link(tree, piece.geom_body)] * quat_of<S>(p + place.quat);
  const auto seen = [&](int site, Vec3<S>& own) {  // from the origin of the geom's tree
    const int b = tree.model.sites[static_cast<std::size_t>(site)].body;
    own = site_point(tree, p, site, f);
    return b == piece.geom_body ? own : own + (f.origin[b] - f.origin[piece.geom_body]);
  };
  for (int end = 0; end < 2; ++end) {
    piece.site[end] = wrap[end == 0 ? -1 : 1].object;
    piece.body[end] = tree.model.sites[static_cast<std::size_t>(piece.site[end])].body;
    piece.from_g[end] = seen(piece.site[end], piece.x[end]);
    piece.p[end] = rotate_inverse(piece.frame, piece.from_g[end] - piece.at);  // (1)
  }
  piece.shape = {wrap->kind == WrapKind::sphere, S(p[place.size]), wrap->side >= 0, Vec3<S>{}};
  if (wrap->side >= 0) {
    Vec3<S> own;
    piece.shape.side = rotate_inverse(piece.frame, seen(wrap->side, own) - piece.at);
  }
  const WrapPath<S> path = wrap_path(piece.shape, piece.p[0], piece.p[1]);
  piece.length = path.length;
  for (int end = 0; end < 2; ++end) piece.d[end] = rotate(piece.frame, path.d[end]);
  return piece;
}

// (y_k - y_g)(x_k), y a field per link.
template <class S>
CYCLOID_INLINE Vec3<S> wrapped_stretch(const TreeView& tree, const WrappedPiece<S>& piece, int end,
                                       const Motion<S>* field) {
  return field_at(field[last_link(tree, piece.body[end])], piece.x[end]) -
         field_at(field[last_link(tree, piece.geom_body)], piece.from_g[end]);
}

// J x, without the share.
template <class S>
CYCLOID_INLINE S wrapped_rate(const TreeView& tree, const WrappedPiece<S>& piece,
                              const Motion<S>* field) {
  S rate(0);
  for (int end = 0; end < 2; ++end) {
    if (!piece.moves(end)) continue;
    rate += dot(piece.d[end], wrapped_stretch(tree, piece, end, field));  // (2)
  }
  return rate;
}

// Adds Jᵀ force, without the share.
template <class S>
CYCLOID_INLINE void apply_wrapped_force(const WrappedPiece<S>& piece, const S& force,
                                        Force<S>* wrenches) {
  for (int end = 0; end < 2; ++end) {
    if (!piece.moves(end)) continue;
    const Vec3<S> pull = piece.d[end] * force;  // (3)
    wrenches[piece.body[end]] += wrench(pull, piece.x[end], Vec3<S>{});
    wrenches[piece.geom_body] -= wrench(pull, piece.from_g[end], Vec3<S>{});
  }
}

// Cotangents of length, d and x as they stand in the world, to the sites and the geom. p_bar may
// be null.
template <class S>
CYCLOID_HD void wrapped_place_pullback(const TreeView& tree, const WrappedPiece<S>& piece,
                                       const Frames<S>& f, const S& length_bar,
                                       const Vec3<S>* d_bar, const Vec3<S>* x_bar, Force<S>* pose,
                                       S* p_bar) {
  WrapPath<S> path_bar;
  path_bar.length = length_bar;
  for (int end = 0; end < 2; ++end) path_bar.d[end] = rotate_inverse(piece.frame, d_bar[end]);
  Vec3<S> local_bar[2]{}, at_bar{}, turn{};
  S radius_bar(0);
  wrap_path_pullback(piece.shape, piece.p[0], piece.p[1], path_bar, local_bar, radius_bar);
  for (int end = 0; end < 2; ++end) {
    const Vec3<S> moved = rotate(piece.frame, local_bar[end]);
    at_bar -= moved;
    turn += cross(rotate_inverse(piece.frame, piece.d[end]), path_bar.d[end]) -
            cross(piece.p[end], local_bar[end]);  // (5)
    site_point_pullback(tree, piece.site[end], f, piece.x[end], x_bar[end] + moved, pose,
                        p_bar);  // (4)
  }
  pose[piece.geom_body] += Force<S>{cross(piece.at, at_bar) + rotate(piece.frame, turn), at_bar};
  if (!p_bar) return;
  const GeomPlaces& place = tree.geoms[static_cast<std::size_t>(piece.geom)];
  add_to(p_bar + place.pos, transpose_vector_product(f.R[piece.geom_body], at_bar));
  add_to(p_bar + place.quat, turn);
  p_bar[place.size] += radius_bar;
}

template <class S>
CYCLOID_HD void wrapped_piece_pullback(const TreeView& tree, const WrappedPiece<S>& piece,
                                       const RowPoint<S>& at, const RowBars<S>& bar,
                                       const RowSinks<S>& to) {
  const S c_m = bar.m * piece.share, c_v = bar.v * piece.share;
  const int g = piece.geom_body;
  const std::size_t geom_link = last_link(tree, g);
  Vec3<S> d_bar[2]{}, x_bar[2]{};
  for (int end = 0; end < 2; ++end) {
    if (!piece.moves(end)) continue;
    const int b = piece.body[end];
    const std::size_t l = last_link(tree, b);
    const Vec3<S>& d = piece.d[end];
    d_bar[end] = wrapped_stretch(tree, piece, end, at.m) * c_m +
                 wrapped_stretch(tree, piece, end, at.v) * c_v;
    const Force<S> own = wrench(d, piece.x[end], Vec3<S>{});  // (3)
    const Force<S> other = wrench(-d, piece.from_g[end], Vec3<S>{});
    to.bodies.m[b] += own * c_m;
    to.bodies.v[b] += own * c_v;
    to.bodies.m[g] += other * c_m;
    to.bodies.v[g] += other * c_v;
    x_bar[end] = cross(d, (at.m[l].angular - at.m[geom_link].angular) * c_m +
                              (at.v[l].angular - at.v[geom_link].angular) * c_v);  // (4)
  }
  wrapped_place_pullback(tree, piece, at.frames, S(bar.length * piece.share), d_bar, x_bar,
                         to.bodies.pose, to.p_bar);
}

}  // namespace cycloid::inline rigid
