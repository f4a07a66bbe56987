// The derivative of the contacts' generalised force Jᵀ f by q and q̇, with q̈ held fixed.
//
// Numbers are those of contact_rows.h; f depends on q̈ through K = ∇²s. Vectors are in the
// contact's own frame F, motions and wrenches about its point x. S_j is the column of dof j, s₁ and
// s₂ are 1 where it moves body 1 or 2, else 0. y: the fields of q̈ and of q̇, y_P that of the link
// before dof j. A prime is the derivative by q_j:
//   (dist, x, θ)' = (s₁ L₁ + s₂ L₂) S_j          L: narrow phase; θ turns the frame         (1)
//   (y₂ - y₁)' = (s₂ - s₁) ψ_j - (s₂ y₂ - s₁ y₁) × S_j,   ψ_j = y_P × S_j                   (2)
//   (J y)' = (y₂ - y₁)' + (Δ_ω × x' ; 0) - θ' × Δ,   Δ = y₂ - y₁                            (3)
//   f' = f_x dist' - K ((J q̈)' + b (J q̇)'),   a_ref = -b (J q̇) - …                         (4)
//   P' = f_o' + θ' × f_o,   N' = f_ω' + θ' × f_ω + x' × f_o                                 (5)
//   (Jᵀ f)'_k = (s₂ - s₁)_k S_k·(N'; P') + S_j·(S_k ×* Wᶜ_k)                                (6)
// The last term is there for dofs j that move S_k; Wᶜ_k is the sum of the contacts' wrenches on
// all that dof k moves. By q̇_j:
//   -(Jᵀ K b J)_kj                                                                         (7)
// Where the tangent of a frame is frozen (geometry/contact_frame.h), t₁ does not lean with n.
//
// One environment at a time: the loops over dofs fill the lanes (wide.h).
#pragma once

#include "cycloid/base/bits.h"
#include "cycloid/rigid/contact/contact_rows_pullback.h"
#include "cycloid/rigid/solver/wide.h"

namespace cycloid::inline rigid {

inline constexpr int kGeometryNumbers = 7;  // dist, x, θ

// Memory, besides that of contacts. `padded`: dofs, rounded up to whole registers.
template <class S>
struct ContactJacobianSpace {
  int padded;
  S *column, *psi[2];    // (6, padded) S_j, ψ_j of q̈ and q̇, in world axes about the tree's origin
  S* rate;               // (padded) how fast a dof turns against its column (motion_pullback.h)
  S* side[2];            // (padded) s₁, s₂
  S *row, *bend, *drag;  // (6, padded) (s₂-s₁) S_k; (P'; N'); K b J
  S *dq, *dv;            // (nv, padded) sums of (6) and (7)
  Force<S>* wrench;      // (bodies)
  int *moved, *pushed;   // (nv) registers of dofs with s₁ or s₂; dofs with s₁ ≠ s₂

  void carve(const TreeView& tree, Arena& arena) {
    padded = padded_to_wide<S>(tree.model.nv);
    const std::size_t n = static_cast<std::size_t>(padded),
                      nv = static_cast<std::size_t>(tree.model.nv);
    for (S** six : {&column, &psi[0], &psi[1], &row, &bend, &drag}) arena.take(*six, 6 * n);
    for (S** one : {&rate, &side[0], &side[1]}) arena.take(*one, n);
    for (S** matrix : {&dq, &dv}) arena.take(*matrix, nv * n);
    arena.take(wrench, tree.model.bodies.size());
    arena.take(moved, nv);
    arena.take(pushed, nv);
  }
};

// Columns and ψ of every dof. alpha, v: (links) fields of q̈ and q̇.
template <class S, class P>
void spread_columns(const ContactScene<S, P>& s, const Motion<S>* alpha, const Motion<S>* v,
                    const ContactJacobianSpace<S>& space) {
  const Frames<S>& f = s.frames;
  const int n = space.padded;
  const auto put = [&](const Motion<S>& y, int k, S* out) {
    for (int i = 0; i < 3; ++i) out[i * n + k] = y.angular[i], out[(3 + i) * n + k] = y.linear[i];
  };
  for (int k = s.tree.model.nv; k < n; ++k) {
    for (S* out : {space.column, space.psi[0], space.psi[1]}) put(Motion<S>{}, k, out);
  }
  for (int k = 0; k < n; ++k) space.rate[k] = S(1);
  for_each_scaled_dof(s.tree, s.p, f, [&](int k, const S& rate) { space.rate[k] = rate; });
  for (std::size_t l = 1; l < s.tree.links.size(); ++l) {
    const Link& link = s.tree.links[l];
    for (int k = link.dof; k < link.dof + dof_numbers(link.kind); ++k) {
      put(f.column[k], k, space.column);
      put(cross_motion(alpha[link.parent], f.column[k]), k, space.psi[0]);
      put(cross_motion(v[link.parent], f.column[k]), k, space.psi[1]);
    }
  }
}

// L of (1) for one body.
template <class S>
struct TouchGradients {
  Force<S> of[kGeometryNumbers];
};

// What the dofs see of a slot's contacts. Indices: the fields of q̈ and q̇; bodies 1 and 2.
template <class S, int n>
struct ContactBend {
  TouchGradients<S> geometry[2];
  ContactFrame<S> F;
  Vec3<S> x[2];  // about the origin of each body's tree, in world axes
  Motion<S> y[2][2], delta[2];
  Vec3<S> f_o, f_w;
  S f_x[n], b[n];
  ConeStiffness<S, n> K;
  S lean;  // 0 where the tangent is frozen
};

template <class S>
CYCLOID_INLINE Vec3<S> in_frame(const ContactFrame<S>& F, const Vec3<S>& v) {
  return {dot(F.n, v), dot(F.t1, v), dot(F.t2, v)};
}
template <class S>
CYCLOID_INLINE Vec3<S> from_frame(const ContactFrame<S>& F, const Vec3<S>& v) {
  return F.n * v.x + F.t1 * v.y + F.t2 * v.z;
}
// A motion about the tree's origin, as the contact at x sees it.
template <class S>
CYCLOID_INLINE Motion<S> in_frame(const ContactFrame<S>& F, const Vec3<S>& x, const Motion<S>& y) {
  return {in_frame(F, y.angular), in_frame(F, field_at(y, x))};
}

// L of (1) for one touch: each number's gradient by the poses of the two bodies.
template <class S, class P>
void touch_gradients(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                     const SlotGroup<S>& group, const ContactFrame<S>& F, TouchGradients<S>* out) {
  const TouchedPair& owner = w.touched[group.owner];
  const ContactPair& pair = s.pair(owner.pair);
  const PlacedPair<S> at(s, w, pair);
  const PairTouch<S>& own = w.touch[group.touch];
  Touch<S> touch[kMostTouches];
  S feature[2 * kMostTouches];
  const S zero = S(0), one = S(1);
  const Vec3<S> zeros{zero, zero, zero};
  for (S& none : feature) none = S(kNoFeature);
  for (int i = owner.first; i < owner.first + owner.count; ++i) {
    touch[w.touch[i].place] = w.touch[i].at;
    feature[w.touch[i].place] = w.touch[i].feature;
    feature[kMostTouches + w.touch[i].place] = w.touch[i].feature2;
  }
  const Vec3<S>* const axis = &F.n;
  TouchBar<S> bar[kMostTouches] = {}, &b = bar[own.place];
  for (int i = 0; i < kGeometryNumbers; ++i) {
    b = {};
    if (i == 0) b.dist = one;
    if (i >= 1 && i <= 3) b.pos = axis[i - 1];
    if (i == 4) {  // about n: t₂·t₁'
      contact_frame_pullback(own.at.normal, own.at.tangent, ContactFrame<S>{zeros, F.t2, zeros},
                             b.normal, b.tangent);
    }
    if (i == 5) b.normal = -F.t2;
    if (i == 6) b.normal = F.t1;
    PoseBar<S> x1_bar{zeros, zeros}, x2_bar{zeros, zeros};
    S size1_bar[3] = {zero, zero, zero}, size2_bar[3] = {zero, zero, zero};
    collide_pullback(at.kind1, at.kind2, at.size1, *at.x1, at.size2, *at.x2,
                     static_cast<const S*>(feature), static_cast<const Touch<S>*>(touch),
                     static_cast<const TouchBar<S>*>(bar), x1_bar, x2_bar, size1_bar, size2_bar,
                     at.solids);
    const auto seen = [&](const PoseBar<S>& x_bar, const Pose<S>& pose) {
      return Force<S>{in_frame(F, x_bar.torque + cross(pose.p - own.at.pos, x_bar.force)),
                      in_frame(F, x_bar.force)};
    };
    if (pair.moves1) out[0].of[i] = seen(x1_bar, *at.x1);
    if (pair.moves2) out[1].of[i] = seen(x2_bar, *at.x2);
  }
}

// b and f_x of (4), by dual numbers: in the first direction dist grows, in the second velocity.
template <int n, class S>
void contact_slopes(RowLaw law, const RowInstant<S>& at, const ContactSlot<S>& c, const S* velocity,
                    const S* r, ContactBend<S, n>& out) {
  using D = Dual<S, 2>;
  ContactNumbers<D> numbers;
  widen<S, D>(c.numbers, numbers);
  const ReferenceOptions<D> options{
      D(at.options.timestep), D(at.options.impratio), at.options.refsafe, false, {}};
  D v[n], weight[n], a_ref[n], friction[n], residual[n];
  for (int i = 0; i < n; ++i) v[i] = D::variable(velocity[i], 1);
  contact_reference(law, n, options, numbers, D(c.rows), D::variable(c.touch.dist - c.margin, 0),
                    static_cast<const D*>(v), weight, a_ref, friction);
  for (int i = 0; i < n; ++i) {
    out.b[i] = -a_ref[i].tangent[1];
    residual[i] = D(r[i]);
    residual[i].tangent[0] = -a_ref[i].tangent[0];
  }
  if constexpr (n == 1) {
    out.f_x[0] = row_response(law, weight[0], friction[0], residual[0]).f.tangent[0];
  } else {
    visit_law(ContactLaws{}, law, [&]<class Law>(Law) {
      const ConeResponse<D, n> found =
          Law::template response<n>(static_cast<const D*>(weight), static_cast<const D*>(friction),
                                    static_cast<const D*>(residual));
      for (int i = 0; i < n; ++i) out.f_x[i] = found.f[i].tangent[0];
    });
  }
}

// The contacts of a slot, and their wrenches on the bodies.
template <int n, class S, class P>
void gather_bend(const ContactScene<S, P>& s, const ContactSpace<S>& w, int slot, int g,
                 const RowInstant<S>& at, const ConstraintProblem<S>& problem, const S* r,
                 const ConstraintResponse<S>& response, Force<S>* wrenches,
                 ContactBend<S, n>& out) {
  const ContactSlot<S> c = gather_slot(s, w, slot);
  const FrameTangent<S> tangent = frame_tangent(c.touch.normal, c.touch.tangent);
  const ContactFrame<S> F = contact_frame(c.touch.normal, c.touch.tangent);
  const int row = problem.group_row(g);
  out.F = F;
  out.x[0] = c.x1, out.x[1] = c.touch.pos;
  out.lean = select(tangent.inverse == S(0), S(0), S(1));
  contact_slopes<n>(problem.group[g].law, at, c, w.velocity + slot * kMostRows, r + row, out);
  S f[kMostRows] = {};
  for (int i = 0; i < n; ++i) f[i] = response.f[row + i];
  out.f_o = {f[0], f[1], f[2]}, out.f_w = {f[3], f[4], f[5]};
  if constexpr (n == 1) {
    out.K.diagonal[0] = response.diagonal[row];
    out.K.cross[0] = out.K.z[0] = out.K.beta = S(0);
  } else {
    out.K = cone_stiffness<n>(response, row);
  }
  const Motion<S>* const fields[2] = {at.fields.alpha, at.fields.v};
  Motion<S> y[2][2] = {};
  for (TouchGradients<S>& none : out.geometry) none = {};
  const Vec3<S> force = from_frame(F, out.f_o), couple = from_frame(F, out.f_w);
  for_each_group(w, slot, [&](const SlotGroup<S>& group) {
    const ContactPair& pair = s.pair(w.touched[group.owner].pair);
    TouchGradients<S> gradients[2] = {};
    touch_gradients(s, w, group, F, gradients);
    const int body[2] = {pair.body1, pair.body2};
    const bool moves[2] = {pair.moves1, pair.moves2};
    for (int i = 0; i < 2; ++i) {
      if (!moves[i]) continue;
      const int link = s.tree.last_link[static_cast<std::size_t>(body[i])];
      for (int field = 0; field < 2; ++field) group.move_all(fields[field][link], y[field][i]);
      group.move_all(gradients[i], out.geometry[i]);
      const Force<S> W = wrench(force, out.x[i], couple) * S(i == 0 ? -1 : 1);
      group.add_all(W, wrenches[body[i]]);
    }
  });
  for (int field = 0; field < 2; ++field) {
    for (int i = 0; i < 2; ++i) out.y[field][i] = in_frame(F, out.x[i], y[field][i]);
    out.delta[field] = out.y[field][1] - out.y[field][0];
  }
}

// Which dofs move the slot's bodies.
template <class S, class P>
void find_sides(const ContactScene<S, P>& s, const ContactSpace<S>& w, int slot,
                const ContactJacobianSpace<S>& space, int& moved, int& pushed) {
  for (int k = 0; k < space.padded; ++k) space.side[0][k] = space.side[1][k] = S(0);
  moved = pushed = 0;
  for (int word = 0; word < s.plan.dof_words; ++word) {
    std::uint64_t either = 0, apart = 0;
    for_each_group(w, slot, [&](const SlotGroup<S>& group) {
      const ContactPair& pair = s.pair(w.touched[group.owner].pair);
      const std::uint64_t bits[2] = {s.plan.moving(pair.body1)[word],
                                     s.plan.moving(pair.body2)[word]};
      const S one = S(1);
      for (int i = 0; i < 2; ++i) {
        for (std::uint64_t rest = bits[i]; rest != 0; rest &= rest - 1) {
          group.move(&one, space.side[i] + 64 * word + lowest_bit(rest), 1);
        }
      }
      either |= bits[0] | bits[1];
      apart |= bits[0] ^ bits[1];
    });
    for (; apart != 0; apart &= apart - 1) {
      space.pushed[pushed++] = 64 * word + lowest_bit(apart);
    }
    for (; either != 0; either &= either - 1) {
      const int first = (64 * word + lowest_bit(either)) / kNativeLanes<S> * kNativeLanes<S>;
      if (moved == 0 || space.moved[moved - 1] != first) space.moved[moved++] = first;
    }
  }
}

// (1) to (5) and (7) for the dofs of one register.
template <class S, int n>
void bend_dofs(const ContactPlan& plan, const ContactBend<Wide<S>, n>& c,
               const ContactJacobianSpace<S>& space, int first) {
  using X = Wide<S>;
  const int size = space.padded;
  const auto load = [&](const S* six) {
    const auto at = [&](int i) { return X::load(six + i * size + first); };
    return Motion<X>{{at(0), at(1), at(2)}, {at(3), at(4), at(5)}};
  };
  const X s1 = X::load(space.side[0] + first), s2 = X::load(space.side[1] + first), apart = s2 - s1;
  const Vec3<X> x = plan.two_trees ? select(apart < X(0), c.x[0], c.x[1]) : c.x[1];
  const Motion<X> column = in_frame(c.F, x, load(space.column));
  X geometry[kGeometryNumbers];
  const Motion<X> moved1 = column * s1, moved2 = column * s2;
  for (int i = 0; i < kGeometryNumbers; ++i) {
    geometry[i] = power(c.geometry[0].of[i], moved1) + power(c.geometry[1].of[i], moved2);  // (1)
  }
  const Vec3<X> dx{geometry[1], geometry[2], geometry[3]};
  const X about_n = geometry[4], about_1 = geometry[5], about_2 = geometry[6],
          leaning = about_2 * c.lean;
  const auto turned = [&](const Vec3<X>& v) {  // θ' × v
    return Vec3<X>{about_1 * v.z - leaning * v.y, about_2 * v.x - about_n * v.z,
                   about_n * v.y - about_1 * v.x};
  };
  const auto turned_back = [&](const Vec3<X>& v) {  // -θ' × v
    return Vec3<X>{about_2 * v.y - about_1 * v.z, about_n * v.z - leaning * v.x,
                   about_1 * v.x - about_n * v.y};
  };
  X rows[kMostRows], J[kMostRows], drag[n], f[kMostRows] = {};
  for (int i = 0; i < 3; ++i) J[i] = column.linear[i] * apart, J[3 + i] = column.angular[i] * apart;
  for (int i = 0; i < n; ++i) rows[i] = X(0), drag[i] = c.b[i] * J[i];
  for (int field = 0; field < 2; ++field) {
    Motion<X> change = in_frame(c.F, x, load(space.psi[field])) * apart;
    const Motion<X> both = c.y[field][1] * s2 - c.y[field][0] * s1;
    change -= cross_motion(both, column);  // (2)
    const Motion<X>& delta = c.delta[field];
    change.linear += cross(delta.angular, dx) + turned_back(delta.linear);
    change.angular += turned_back(delta.angular);  // (3)
    for (int i = 0; i < n; ++i) {
      const X& part = i < 3 ? change.linear[i] : change.angular[i - 3];
      rows[i] += field == 0 ? part : c.b[i] * part;
    }
  }
  X push[n], slow[n];
  c.K.multiply(rows, push);
  c.K.multiply(drag, slow);
  for (int i = 0; i < n; ++i) f[i] = c.f_x[i] * geometry[0] - push[i];  // (4)
  const Vec3<X> dP = Vec3<X>{f[0], f[1], f[2]} + turned(c.f_o);
  const Vec3<X> dN = Vec3<X>{f[3], f[4], f[5]} + turned(c.f_w) + cross(dx, c.f_o);  // (5)
  const X rate = X::load(space.rate + first);
  for (int i = 0; i < 3; ++i) {
    (dP[i] * rate).store(space.bend + i * size + first);
    (dN[i] * rate).store(space.bend + (3 + i) * size + first);
  }
  for (int i = 0; i < 6; ++i) J[i].store(space.row + i * size + first);
  for (int i = 0; i < n; ++i) slow[i].store(space.drag + i * size + first);
}

// (6) but for its last term, and (7), for C dofs k and all dofs j of a slot.
template <int n, int C, class S>
CYCLOID_INLINE void add_bends(const ContactJacobianSpace<S>& space, const int* k, int moved) {
  using X = Wide<S>;
  const int size = space.padded;
  X row[C][kMostRows];
  for (int c = 0; c < C; ++c) {
    for (int i = 0; i < kMostRows; ++i) row[c][i] = X(space.row[i * size + k[c]]);
  }
  for (int j = 0; j < moved; ++j) {
    const int at = space.moved[j];
    X by_q[C], by_v[C];
    for (int c = 0; c < C; ++c) {
      by_q[c] = X::load(space.dq + k[c] * size + at);
      by_v[c] = X::load(space.dv + k[c] * size + at);
    }
    for (int i = 0; i < kMostRows; ++i) {
      const X bend = X::load(space.bend + i * size + at);
      for (int c = 0; c < C; ++c) by_q[c] += row[c][i] * bend;
    }
    for (int i = 0; i < n; ++i) {
      const X drag = X::load(space.drag + i * size + at);
      for (int c = 0; c < C; ++c) by_v[c] -= row[c][i] * drag;
    }
    for (int c = 0; c < C; ++c) {
      by_q[c].store(space.dq + k[c] * size + at);
      by_v[c].store(space.dv + k[c] * size + at);
    }
  }
}

// The last term of (6), from the wrenches on bodies, which are used up.
template <class S>
void add_turned_columns(const TreeView& tree, const Frames<S>& f, const S* rate, Force<S>* wrench,
                        int stride, S* dq) {
  for (std::size_t b = tree.model.bodies.size(); b-- > 1;) {
    if (tree.model.bodies[b].tree < 0 || tree.root[b]) continue;
    wrench[static_cast<std::size_t>(tree.model.bodies[b].parent)] += wrench[b];
  }
  for (std::size_t l = 1; l < tree.links.size(); ++l) {
    const Link& link = tree.links[l];
    const int first = link.dof, end = first + dof_numbers(link.kind);
    for (int k = first; k < end; ++k) {
      const Force<S> turned = cross_force(f.column[k], wrench[link.body]);
      const auto add = [&](int j) {
        dq[k * stride + j] += power(turned, f.column[j]) * rate[j];  // (6)
      };
      for (int j = first; j < end; ++j) add(j);
      for (int j = tree.parent_dof[static_cast<std::size_t>(first)]; j >= 0;
           j = tree.parent_dof[static_cast<std::size_t>(j)]) {
        add(j);
      }
    }
  }
}

// Adds (6) and (7) to dq and dv, nv rows of nv numbers each, `stride` apart. at: as the pullback of
// rows has it, without μ; first: the first group of contacts; r: the residuals of all rows.
template <class S, class P>
void add_contact_jacobian(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                          const RowInstant<S>& at, const ConstraintProblem<S>& problem, int first,
                          const S* r, const ConstraintResponse<S>& response,
                          const ContactJacobianSpace<S>& space, int stride, S* dq, S* dv) {
  if (w.slots == 0) return;
  const int nv = s.tree.model.nv;
  for (int i = 0; i < nv * space.padded; ++i) space.dq[i] = space.dv[i] = S(0);
  for (std::size_t b = 0; b < s.tree.model.bodies.size(); ++b) space.wrench[b] = Force<S>{};
  spread_columns(s, at.fields.alpha, at.fields.v, space);
  for (int slot = 0; slot < w.slots; ++slot) {
    int moved, pushed;
    find_sides(s, w, slot, space, moved, pushed);
    with_row_count(problem.group[first + slot].rows, [&]<int n>(RowCount<n>) {
      ContactBend<S, n> local;
      gather_bend(s, w, slot, first + slot, at, problem, r, response, space.wrench, local);
      ContactBend<Wide<S>, n> wide;
      widen<S, Wide<S>>(local, wide);
      for (int i = 0; i < moved; ++i) bend_dofs(s.plan, wide, space, space.moved[i]);
      constexpr int C = 3;
      int k = 0;
      for (; k + C <= pushed; k += C) add_bends<n, C>(space, space.pushed + k, moved);
      for (; k < pushed; ++k) add_bends<n, 1>(space, space.pushed + k, moved);
    });
  }
  for (int k = 0; k < nv; ++k) {
    for (int j = 0; j < nv; ++j) {
      dq[k * stride + j] += space.dq[k * space.padded + j];
      dv[k * stride + j] += space.dv[k * space.padded + j];
    }
  }
  add_turned_columns(s.tree, at.frames, static_cast<const S*>(space.rate), space.wrench, stride,
                     dq);
}

}  // namespace cycloid::inline rigid
