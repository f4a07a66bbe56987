// The switches of a robot (substep_stepper.h): which rows are there and push, and the derivative of
// the numbers by which they come and go. In scalars: one environment at a time.
//
//   gap     of a contact dist - margin; of a limit, the way left to the end of its range, less its
//           margin. A function of place and parameters:  ġap = g_q q̇                        (1)
//   force   along the row, a function of the whole instant: the solve of constrained_instant.h  (2)
// A switch is named by 4 i + 1 for touch i = pair · kMostTouches + place of the contacts, and by
// 4 i or 4 i + 2 for the lower or upper end of entry i of the static rows.
#pragma once

#include "cycloid/rigid/constrained_dynamics.h"
#include "cycloid/rigid/substep_stepper.h"

namespace cycloid::inline rigid {

struct SwitchName {
  bool contact, upper;
  int index;

  explicit SwitchName(std::uint64_t thing)
      : contact((thing & 1) != 0), upper((thing & 2) != 0), index(static_cast<int>(thing >> 2)) {}
};

// visit(switch, row) for each row that is there after a solve: the first row of a contact. Whether
// it pushes is not told.
template <class S, class Visit>
void for_each_switch(const ConstraintPlan& plan, const ConstraintMemory<S>& memory, Visit visit) {
  const ConstraintProblem<S>& problem = memory.solver.problem;
  for_each_limit(plan.rows, [&](const auto&, int i) {
    const int row = memory.places[i];
    if (row < 0) return;
    const bool upper = row < problem.diagonals && problem.sign[row] < S(0);
    const std::uint64_t thing = 4 * static_cast<std::uint64_t>(i) + (upper ? 2 : 0);
    visit(Switch{thing, false, thing}, row);
  });
  const ContactSpace<S>& contacts = memory.contacts;
  const int first = problem.groups - contacts.slots;
  for (int slot = 0; slot < contacts.slots; ++slot) {
    const LaneGroup& group = *contacts.groups_of(slot);
    const int touch =
        contacts.touched[group.owner].pair * kMostTouches + contacts.touch[group.touch].place;
    const ContactSlot<S>& c = contacts.slot[slot];
    const int pair = contacts.touched[group.owner].pair;
    const PairTouch<S>& own = contacts.touch[group.touch];
    const ContactPair& geoms = plan.contacts.pairs[static_cast<std::size_t>(pair)];
    const auto kind = [&](int g) { return plan.contacts.geoms[static_cast<std::size_t>(g)].kind; };
    const bool corner = kind(geoms.geom1) == GeomKind::plane &&
                        (kind(geoms.geom2) == GeomKind::box || kind(geoms.geom2) == GeomKind::mesh);
    visit(Switch{4 * static_cast<std::uint64_t>(touch) + 1, false,
                 4 * static_cast<std::uint64_t>(pair) + 1,
                 corner ? static_cast<double>(own.feature) : own.place,
                 static_cast<double>(c.touch.dist - c.margin)},
          problem.group_row(first + slot));
  }
}

// One end of a limit: adds to q_bar and p_bar, or to w.bars, given the gap's cotangent.
template <class S, class P>
void gather_limit_gap(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>&,
                      const JointLimit& limit, bool upper, const S& gap_bar,
                      const InstantBars<S>& bar) {
  bar.q[limit.dof] +=
      limit_gap_pullback(upper ? LimitEnd::high : LimitEnd::low, r.p + limit.range,
                         x.qpos[limit.qpos], gap_bar, bar.p ? bar.p + limit.range : nullptr);
}
template <class S, class P>
void gather_limit_gap(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                      const TendonLimit& limit, bool, const S& gap_bar, const InstantBars<S>& bar) {
  const S length = tendon_length(r.tree, r.p, limit.tendon, x.qpos, w.frames);
  const S length_bar = limit_gap_pullback(limit.end, r.p + limit.range, length, gap_bar,
                                          bar.p ? bar.p + limit.range : nullptr);
  const FieldSweepSpace<S>& still = w.rows.form.sweep;
  still.clear(r.tree);
  tendon_pullback(r.tree, r.p, limit.tendon,
                  RowPoint<S>{w.frames, still.rest, w.v, x.qpos, still.zeros, x.qvel},
                  RowBars<S>{length_bar, S(0), S(0)}, RowSinks<S>{w.bars, bar.q, bar.v, bar.p});
}
template <class S, class P>
void gather_limit_gap(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>&,
                      const BallLimit& limit, bool, const S& gap_bar, const InstantBars<S>& bar) {
  const BallTurn<S> turn(x.qpos + limit.qpos);
  add_to(bar.q + limit.dof, right_jacobian_inverse_apply(-turn.phi, -turn.u * gap_bar));
  if (!bar.p) return;
  const bool second = r.p[limit.range + 1] > r.p[limit.range];
  bar.p[limit.range + (second ? 1 : 0)] += gap_bar;
}

// The gap of a contact, found again at this place. Nothing is added where it is not there.
template <class S, class P>
void gather_contact_gap(const ContactScene<S, P>& s, ContactSpace<S>& w, int touch,
                        const S& gap_bar, const RowGradient<S>& sink) {
  find_contacts(s, Detection::all, w);
  for (int i = 0; i < w.touched_count; ++i) {
    const TouchedPair& owner = w.touched[i];
    if (owner.pair != touch / kMostTouches) continue;
    for (int t = owner.first; t < owner.first + owner.count; ++t) {
      w.touch_bars[t] = TouchBar<S>{};
      if (w.touch[t].place == touch % kMostTouches) w.touch_bars[t].dist = gap_bar;
    }
    gather_shapes(s, w, owner, sink);
    if (!sink.p_bar) continue;
    PairNumbers<S> numbers{};
    numbers.margin = -gap_bar;
    pair_numbers_pullback(s.plan, s.p, s.pair(owner.pair), numbers, sink.p_bar);
  }
}

// (1).
template <class S, class P>
void gather_switch_gap(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                       const ConstraintPlan& plan, ConstraintMemory<S>& memory,
                       const SwitchName& name, const S& gap_bar, const InstantBars<S>& bar) {
  place_bodies(r, x, w);
  w.bars.clear(r.tree.model.bodies.size());
  set_zero(w.row_mocap_bar, 6 * r.tree.model.nmocap);
  if (name.contact) {
    ReferenceOptions<S> unused{};
    const RowGradient<S> sink{
        {w.bars.m, w.bars.a, w.bars.a, w.bars.v, w.bars.pose}, bar.q, bar.v, bar.p, unused};
    gather_contact_gap(ContactScene<S, P>{plan.contacts, r.tree, r.p, w.frames}, memory.contacts,
                       name.index, gap_bar, sink);
  } else {
    for_each_limit(plan.rows, [&](const auto& limit, int i) {
      if (i == name.index) gather_limit_gap(r, x, w, limit, name.upper, gap_bar, bar);
    });
  }
  const FieldSweepSpace<S>& still = w.rows.form.sweep;
  still.clear(r.tree);
  const SweepPoint<S> at{r.tree,     w.frames, still.massless, w.v,         w.a,
                         still.rest, x.qpos,   x.qvel,         still.zeros, still.zeros};
  sweep_pullback(at, r.p, w.bars, bar.q, bar.v, bar.p, w.mocap_bar);
  gather_mocap(r, w, bar.u);
}

// (2). record: room for that of a step. f_bar: room for a number of every row.
template <class S, class P>
void gather_switch_force(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                         const ConstrainedDynamics<S>& dynamics, std::uint64_t thing,
                         const S& force_bar, S* record, std::vector<S>& f_bar,
                         const InstantBars<S>& bar) {
  dynamics.accelerate(r, x, w, record);
  f_bar.assign(static_cast<std::size_t>(dynamics.memory.solver.problem.all_rows()), S(0));
  for_each_switch(dynamics.plan, dynamics.memory, [&](const Switch& there, int row) {
    if (there.thing == thing) f_bar[static_cast<std::size_t>(row)] = force_bar;
  });
  set_zero(w.mu, r.tree.model.nv);
  const S* const none = nullptr;
  constrained_acceleration_pullback(
      r, x, w, dynamics.memory.solver, dynamics.recorded_rows(r.tree, record),
      static_cast<const S*>(record), record + r.tree.model.nv, none, none, bar, f_bar.data());
}

}  // namespace cycloid::inline rigid
