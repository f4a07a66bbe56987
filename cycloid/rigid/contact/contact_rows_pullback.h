// The pullback of contact rows: from the rows' cotangents to bodies, shapes and parameters.
//
// Numbers are those of contact_rows.h. For each field y of (μ, q̈, q̇), with the row cotangents
// (f, r̄, those of J q̇ from (3)) as six numbers C = (C_o; C_ω):
//   P = Fᵀ C_o,   N = Fᵀ C_ω,   W = wrench(P, x, N)                                           (4)
//   ȳ₂ += W,  ȳ₁ -= W                                                                         (5)
//   x̄ += P × Δ_ω,   F̄_i += C_o,i Δ_o + C_ω,i Δ_ω                                             (6)
// Then distance, x̄ and F̄ go through frame and narrow phase to the geoms' poses and sizes, and the
// numbers of the law through mixing to the geoms' parameters, at once or later for several steps
// together (ContactSpace::waits).
//
// (3) to (6) and the frame are done slot by slot, where most lanes have a contact; narrow phase and
// mixing pair by pair. Bodies that stand still have no fields; their geoms move with them as others
// do.
#pragma once

#include "cycloid/base/array_items.h"
#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/contact/contact_record.h"
#include "cycloid/rigid/contact/contact_rows.h"

namespace cycloid::inline rigid {

// One side of a slot: the fields of its lanes' bodies, and what comes back to them.
template <class S>
struct SlotSide {
  bool moves = false;   // in some lane
  Motion<S> y[3] = {};  // of μ, q̈, q̇
  Force<S> W[3] = {};

  CYCLOID_HD void take(const SlotGroup<S>& group, const RowFields<S>& fields, int link) {
    moves = true;
    const Motion<S>* const all[3] = {fields.m, fields.alpha, fields.v};
    for (int i = 0; i < 3; ++i) group.move_all(all[i][link], y[i]);
  }
  // (5).
  CYCLOID_HD void give(const SlotGroup<S>& group, const RowFieldBars<S>& bars, int body) const {
    Force<S>* const all[3] = {bars.m, bars.alpha, bars.v};
    for (int i = 0; i < 3; ++i) group.add_all(W[i], all[i][body]);
  }
};

// (4) to (6) for one field; the cotangents of point and frame are added to.
template <class S>
CYCLOID_INLINE void add_row_wrench(int rows, const ContactSlot<S>& c, const ContactFrame<S>& F,
                                   const S* C, int field, SlotSide<S>& one, SlotSide<S>& two,
                                   Vec3<S>& x_bar, ContactFrame<S>& F_bar) {
  Vec3<S> d_o{}, d_w{};
  if (two.moves) d_o = field_at(two.y[field], c.touch.pos), d_w = two.y[field].angular;
  if (one.moves) d_o -= field_at(one.y[field], c.x1), d_w -= one.y[field].angular;
  Vec3<S> P = F.n * C[0], N{};
  F_bar.n += d_o * C[0];  // (6)
  if (rows >= 3) {
    P += F.t1 * C[1] + F.t2 * C[2];
    F_bar.t1 += d_o * C[1], F_bar.t2 += d_o * C[2];
  }
  if (rows >= 4) N += F.n * C[3], F_bar.n += d_w * C[3];
  if (rows >= 6) {
    N += F.t1 * C[4] + F.t2 * C[5];
    F_bar.t1 += d_w * C[4], F_bar.t2 += d_w * C[5];
  }
  add_cross(x_bar, P, d_w);
  if (two.moves) two.W[field] = wrench(P, c.touch.pos, N);  // (4)
  if (one.moves) one.W[field] = wrench(-P, c.x1, -N);
}

// Row cotangents of a slot, zero where a lane has no such row: f, r̄, and of J q̇ from (3).
template <class S>
struct SlotCotangents {
  S rows[3][kMostRows];
  S x{};
  S adhesion{};
  ContactNumbers<S> numbers;

  CYCLOID_HD SlotCotangents(const ContactSlot<S>& c, bool sticks, const S* velocity,
                            const RowInstant<S>& at, const ConstraintProblem<S>& problem, int g,
                            const RowResults<S>& results, ReferenceOptions<S>& options_bar) {
    const int row = problem.group_row(g);
    with_row_count(problem.group[g].rows, [&]<int n>(RowCount<n>) {
      for (int i = 0; i < n; ++i) rows[2][i] = S(0);
      const RowLaw law = problem.group[g].law;
      const S gap = c.touch.dist - c.margin;
      if (law == RowLaw::given) {
        compliant_force_pullback(n, at.options, c.numbers, c.rows, gap, velocity,
                                 results.D_bar + row, options_bar, numbers, x, rows[2]);
      } else {
        S D_bar[n], weighed[n];  // the latter has gone before: gather_weighed_rows
        for (int i = 0; i < n; ++i) D_bar[i] = weighed[i] = results.D_bar[row + i];
        if (sticks) {
          stick_pullback(law, n, c.rows, c.adhesion, static_cast<const S*>(problem.D + row),
                         static_cast<const S*>(results.a_ref_bar + row), adhesion,
                         at.options.unit_weights ? weighed : D_bar);
        }
        contact_reference_pullback(law, n, at.options, c.numbers, c.rows, gap, velocity,
                                   static_cast<const S*>(D_bar), results.a_ref_bar + row,
                                   results.friction_bar + row, options_bar, numbers, x, rows[2]);
      }
      for (int i = 0; i < n; ++i) {
        const Mask<S> has = c.rows > S(i);
        rows[0][i] = select(has, results.f[row + i], S(0));
        rows[1][i] = select(has, results.r_bar[row + i], S(0));
        rows[2][i] = select(has, rows[2][i], S(0));
      }
    });
  }
};

// (3) to (6) and the frame of one slot; what is left goes to its touches and pairs.
template <class S, class P>
CYCLOID_STAGE void gather_slot_bars(const ContactScene<S, P>& s, const ContactSpace<S>& w, int slot,
                                    int g, const RowInstant<S>& at,
                                    const ConstraintProblem<S>& problem,
                                    const RowResults<S>& results, const RowGradient<S>& sink) {
  const ContactSlot<S>& c = w.slot[slot];
  SlotCotangents<S> bar(c, s.tree.sticks, w.velocity + slot * kMostRows, at, problem, g, results,
                        sink.options_bar);
  if (results.pull) {
    bar.rows[0][0] += results.pull[slot];
  } else if (w.adheres && !results.alone) {
    bar.rows[0][0] += w.adhesion[slot];  // adhesion.h (2)
  }
  SlotSide<S> one, two;
  const auto link = [&](int body) { return s.tree.last_link[static_cast<std::size_t>(body)]; };
  for_each_group(w, slot, [&](const SlotGroup<S>& group) {
    const ContactPair& pair = s.pair(w.touched[group.owner].pair);
    if (pair.moves1) one.take(group, at.fields, link(pair.body1));
    if (pair.moves2) two.take(group, at.fields, link(pair.body2));
  });
  const ContactFrame<S> F = contact_frame(c.touch.normal, c.touch.tangent);
  ContactFrame<S> F_bar{};
  TouchBar<S> touch_bar{bar.x, {}, {}, {}};
  for (int field = 0; field < 3; ++field) {
    add_row_wrench(problem.group[g].rows, c, F, bar.rows[field], field, one, two, touch_bar.pos,
                   F_bar);
  }
  if (s.tree.surfaces_move) {
    surface_motion_pullback(s, w, slot, problem.group[g].rows, F,
                            static_cast<const S*>(bar.rows[2]), touch_bar.pos, F_bar,
                            sink.bodies.pose, sink.p_bar);
  }
  if (s.tree.sticks && !results.alone) {  // (3) of sticky_contact.h
    Vec3<S> moved{};
    if (two.moves) moved += field_at(two.y[0], c.touch.pos);
    if (one.moves) moved -= field_at(one.y[0], c.x1);
    bar.adhesion -= dot(F.n, moved);
  }
  contact_frame_pullback(c.touch.normal, c.touch.tangent, F_bar, touch_bar.normal,
                         touch_bar.tangent);
  for_each_group(w, slot, [&](const SlotGroup<S>& group) {
    const ContactPair& pair = s.pair(w.touched[group.owner].pair);
    if (pair.moves1) one.give(group, sink.bodies, pair.body1);
    if (pair.moves2) two.give(group, sink.bodies, pair.body2);
    group.move_all(touch_bar, w.touch_bars[group.touch]);
    if (!sink.p_bar) return;
    PairNumbers<S>& to = w.number_bars_of(group.owner);
    group.add(bar.numbers.friction, to.law.friction, 5);
    group.add(bar.numbers.soft.solref, to.law.soft.solref, 2);
    group.add(bar.numbers.soft.solimp, to.law.soft.solimp, 5);
    const S margin = -bar.x;
    group.add(&margin, &to.margin, 1);
    group.add(&bar.adhesion, &to.adhesion, 1);
  });
}

// From the touches of a pair to the poses and sizes of its geoms.
template <class S, class P>
CYCLOID_STAGE void gather_shapes(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                                 const TouchedPair& owner, const RowGradient<S>& sink) {
  const ContactPair& pair = s.pair(owner.pair);
  const PlacedPair<S> at(s, w, pair);
  Touch<S> touch[kMostTouches];
  TouchBar<S> bar[kMostTouches];
  S feature[2 * kMostTouches];
  for (int i = 0; i < pair.touches; ++i) feature[i] = S(kNoFeature);
  for (int t = owner.first; t < owner.first + owner.count; ++t) {
    const int place = w.touch[t].place;
    touch[place] = w.touch[t].at;
    feature[place] = w.touch[t].feature;
    feature[kMostTouches + place] = w.touch[t].feature2;
    bar[place] = w.touch_bars[t];
  }
  const S zero = S(0);
  const Vec3<S> zeros{zero, zero, zero};
  PoseBar<S> x1_bar{zeros, zeros}, x2_bar{zeros, zeros};
  S size1_bar[3] = {zero, zero, zero}, size2_bar[3] = {zero, zero, zero};
  collide_pullback(at.kind1, at.kind2, at.size1, *at.x1, at.size2, *at.x2,
                   static_cast<const S*>(feature), static_cast<const Touch<S>*>(touch),
                   static_cast<const TouchBar<S>*>(bar), x1_bar, x2_bar, size1_bar, size2_bar,
                   {at.solids.one, at.solids.two, sink.p_bar != nullptr});
  const TouchingGeom &g1 = s.geom(pair.geom1), &g2 = s.geom(pair.geom2);
  const auto give = [&](const TouchingGeom& g, const Pose<S>& pose, const PoseBar<S>& x_bar) {
    if (g.fixed && !sink.p_bar) return;
    geom_pose_pullback(g, s.p, s.frames.R[g.body], pose.p - placed_from(s, g), x_bar,
                       sink.bodies.pose[g.body], sink.p_bar);
  };
  give(g1, w.pose[pair.geom1], x1_bar);
  give(g2, w.pose[pair.geom2], x2_bar);
  if (!sink.p_bar) return;
  for (int i = 0; i < size_numbers(g1.kind); ++i) sink.p_bar[g1.at.size + i] += size1_bar[i];
  for (int i = 0; i < size_numbers(g2.kind); ++i) sink.p_bar[g2.at.size + i] += size2_bar[i];
}

// From the numbers of a pair's contacts to the parameters.
template <class S, class P>
CYCLOID_HD void gather_numbers(const ContactPlan& plan, const TreeView& tree, const P* p, int k,
                               const PairNumbers<S>& bar, S* p_bar) {
  const ContactPair& pair = plan.pairs[static_cast<std::size_t>(k)];
  pair_numbers_pullback(plan, p, pair, bar, p_bar);
  if (tree.sticks) pair_adhesion_pullback(plan, pair, bar.adhesion, p_bar);
}

// The same for the pairs whose cotangents wait, in their order.
template <class S, class P>
void add_waiting_numbers(const ContactPlan& plan, const TreeView& tree, const P* p,
                         const ContactSpace<S>& w, S* p_bar) {
  for (std::size_t k = 0; plan.waits && k < plan.pairs.size(); ++k) {
    if (!std::exchange(w.waiting[k], false)) continue;
    gather_numbers(plan, tree, p, static_cast<int>(k),
                   static_cast<const PairNumbers<S>&>(w.number_bars[k]), p_bar);
  }
}

// first: add_contact_rows' result, after which w and the problem have not changed.
template <class S, class P>
CYCLOID_STAGE void contact_rows_pullback(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                                         const RowInstant<S>& at,
                                         const ConstraintProblem<S>& problem, int first,
                                         const RowResults<S>& results, const RowGradient<S>& sink) {
  fill_items(w.touch_bars, w.touch_count, TouchBar<S>{});
  if (sink.p_bar) w.clear_number_bars();
  for (int slot = 0; slot < w.slots; ++slot) {
    gather_slot_bars(s, w, slot, first + slot, at, problem, results, sink);
  }
  for (int i = 0; i < w.touched_count; ++i) {
    gather_shapes(s, w, w.touched[i], sink);
    if (!sink.p_bar || w.waits) continue;
    gather_numbers(s.plan, s.tree, s.p, w.touched[i].pair,
                   static_cast<const PairNumbers<S>&>(w.number_bars[i]), sink.p_bar);
  }
}

}  // namespace cycloid::inline rigid
