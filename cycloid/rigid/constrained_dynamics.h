// ConstrainedDynamics: the dynamics of constrained_instant.h with all rows of a robot, as a step
// takes them (SmoothDynamics of step.h is the other).
//
// The record (ConstrainedRecord) keeps the accelerations and which contacts there were, so that the
// pullback neither solves nor searches. What a step computes besides is made again: a number that
// goes through memory and back takes as long as fifteen to twenty operations on it, and neither
// poses, rows of J nor entries of a factor cost more than that.
#pragma once

#include "cycloid/base/array_items.h"
#include "cycloid/base/bits.h"
#include "cycloid/rigid/constrained_instant.h"
#include "cycloid/rigid/constraint/constraint_plan.h"
#include "cycloid/rigid/contact/adhesion.h"
#include "cycloid/rigid/contact/near_rows.h"
#include "cycloid/rigid/step_notes.h"

namespace cycloid::inline rigid {

// Slots that a record has room for: of one kinematic tree, and more of each further one, for a body
// on another has up to eight contacts. A chunk with more contacts finds them again.
inline constexpr int kRecordedSlots = 24, kRecordedSlotsPerTree = 8;

CYCLOID_HD inline int recorded_slots(const ConstraintPlan& plan) {
  const auto trees = std::count(plan.dofs.parent.begin(), plan.dofs.parent.end(), -1);
  const int room = kRecordedSlots + kRecordedSlotsPerTree * (static_cast<int>(trees) - 1);
  return std::min(room, plan.contacts.slots);
}

// The places of a record's numbers, [ a | â, where the integrator has slopes | slots | contacts ]:
// all but the contacts, two or three numbers for each slot that was kept (contact_record.h), are as
// long in every step.
struct ConstrainedRecord {
  int nv;
  bool slopes;
  int room;   // slots
  int width;  // numbers of a slot

  CYCLOID_HD int slots() const { return (slopes ? 2 : 1) * nv; }
  CYCLOID_HD int contacts() const { return slots() + 1; }
  CYCLOID_HD int most() const { return used(room); }
  CYCLOID_HD int used(int kept) const { return contacts() + width * std::max(kept, 0); }
};

// Memory of a robot's constraints, besides the step's.
template <class S>
struct ConstraintMemory {
  ConstrainedSpace<S> solver;
  ContactSpace<S> contacts;
  ContactSpace<S> near;  // where the way back looks at pairs that do not touch
  int* places;           // of the static rows

  CYCLOID_HD std::span<const int> static_places(const ConstraintPlan& plan) const {
    return {places, static_cast<std::size_t>(plan.rows.count())};
  }

  void carve(const TreeView& tree, const ConstraintPlan& plan, Arena& arena,
             bool feels_distance = false) {
    ConstraintCapacity most = plan.most;
    if (feels_distance) {
      near.carve(plan.contacts, arena);
      most.groups += plan.contacts.slots, most.rows += plan.contacts.slots;
    }
    solver.carve(tree, plan.dofs, most, &plan.islands, arena);
    contacts.carve(plan.contacts, arena);
    arena.take(places, static_cast<std::size_t>(plan.rows.count()));
  }
};

// Tells which units (islands.h) the groups act on; those of contacts begin with `first`.
template <class S>
CYCLOID_HD void link_rows(const ConstraintPlan& plan, const ContactSpace<S>& contacts,
                          const ConstraintProblem<S>& problem, int first, IslandSpace<S>& islands) {
  if (!islands.several()) return;
  const auto link = [&](int g, BlockSet moved, unsigned lanes) {
    int unit = -1, other = -1;
    for_each(moved, [&](int I) {
      const int u = plan.islands.unit[static_cast<std::size_t>(I)];
      (unit < 0 || unit == u ? unit : other) = u;
    });
    islands.add(g, std::max(unit, 0), other, lanes);
  };
  for (int g = 0; g < first; ++g) link(g, problem.support(g), kAllLanes<S>);
  for (int slot = 0; slot < contacts.slots; ++slot) {
    for (int i = 0; i < contacts.groups[slot]; ++i) {
      const LaneGroup& group = contacts.groups_of(slot)[i];
      const int pair = contacts.touched[group.owner].pair;
      link(first + slot, plan.contacts.moved_blocks(pair), group.bits);
    }
  }
  islands.known = true;
}

// The rows of a robot at one instant, for constrained_instant.h.
template <class S>
struct RobotRows {
  const ConstraintPlan& plan;
  ConstraintMemory<S>& memory;
  ContactRecord<S> record;
  bool recall;  // contacts come from the record
  Detection detection = Detection::forces;
  Scalar<S> near_width = 0;  // up to which pairs count that do not touch; 0: none does

  template <class P>
  CYCLOID_HD ContactScene<S, P> scene(const Robot<S, P>& r, const RowInstant<S>& at) const {
    return {plan.contacts, r.tree, r.p, at.frames};
  }

  template <class P>
  CYCLOID_HD void fill(const Robot<S, P>& r, const RowInstant<S>& at,
                       ConstraintProblem<S>& problem) const {
    add_static_rows(plan.rows, r.tree, r.p, at, problem, memory.places);
    const ContactScene<S, P> s = scene(r, at);
    if (recall) {
      recall_contacts(s, record, memory.contacts, detection);
    } else {
      find_contacts(s, detection, memory.contacts);
    }
    const int first = add_contact_rows(s, memory.contacts, at, problem);
    if (!recall) link_rows(plan, memory.contacts, problem, first, memory.solver.islands);
    if (near_width == 0) return;
    find_near_touches(s, memory.contacts, near_width, memory.near);
    add_near_rows(s, memory.near, near_width, at, problem);
  }

  CYCLOID_HD int first_contact(const ConstraintProblem<S>& problem) const {
    return problem.groups - (near_width > 0 ? memory.near.slots : 0) - memory.contacts.slots;
  }

  // Actuators on contacts (adhesion.h): adds to w.tau, after smooth_forces and fill.
  template <class P>
  CYCLOID_HD void adhere(const Robot<S, P>& r, const Workspace<S>& w,
                         const ConstraintProblem<S>& problem) const {
    if (!r.tree.has_adhesion) return;
    press(r, w, problem);
    add_adhesion(memory.contacts, static_cast<const S*>(memory.contacts.adhesion), problem,
                 first_contact(problem), w.tau);
    if (!presses_limits(r.tree)) return;
    for (const Joint& j : r.tree.model.joints) {
      for (int k = j.dof; k < j.dof + dof_numbers(j.kind); ++k) {
        const S without = joint_actuation(r.tree, j, k, w);
        w.tau_act[k] += w.adhesion_tau[k];
        w.tau[k] += joint_actuation(r.tree, j, k, w) - without;
      }
    }
  }
  // φ of the slots and, where joints limit it, the actuators' share of τ. After measure_actuators.
  template <class P>
  CYCLOID_HD void press(const Robot<S, P>& r, const Workspace<S>& w,
                        const ConstraintProblem<S>& problem) const {
    cycloid::adhere(ContactScene<S, P>{plan.contacts, r.tree, r.p, w.frames},
                    static_cast<const S*>(w.actuator_force), memory.contacts);
    if (!presses_limits(r.tree)) return;
    set_zero(w.adhesion_tau, r.tree.model.nv);
    add_adhesion(memory.contacts, static_cast<const S*>(memory.contacts.pressed), problem,
                 first_contact(problem), w.adhesion_tau);
  }
  // Before the way back, which asks what joints limit.
  template <class P>
  CYCLOID_HD void press_limits(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                               const ConstraintProblem<S>& problem) const {
    if (!presses_limits(r.tree)) return;
    measure_actuators(r, x, w);
    press(r, w, problem);
  }
  // The same on the way back, before pull. mu: padded.
  template <class P>
  CYCLOID_HD void adhere_back(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                              const ConstraintProblem<S>& problem, const S* mu) const {
    if (!r.tree.has_adhesion) return;
    measure_actuators(r, x, w);
    press(r, w, problem);
    if (presses_limits(r.tree)) {
      S* const felt = memory.solver.newton.g;
      pad(*problem.dofs, limited_mu(r, x, w), felt);
      mu = felt;
    }
    adhesion_rates(ContactScene<S, P>{plan.contacts, r.tree, r.p, w.frames}, memory.contacts,
                   problem, first_contact(problem), mu, w.adhesion_rate);
  }
  // The pullback of Σ φ_c J_c μ_act, after pull.
  template <class P>
  CYCLOID_HD void pull_pressed(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                               const ConstraintProblem<S>& problem, S* no_rows,
                               const InstantBars<S>& bar) const {
    if (!presses_limits(r.tree)) return;
    pull_form(r, x, w, problem, limited_mu(r, x, w), memory.contacts.pressed, true, no_rows, bar);
  }
  // That of Σ φ_c J_c y, y (nv) with a field and a sweep of its own; phi: (slots). Unless `alone`,
  // φ is that of geoms that stick, too. no_rows: memory for all rows.
  template <class P>
  CYCLOID_HD void pull_form(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                            const ConstraintProblem<S>& problem, const S* y, const S* phi,
                            bool alone, S* no_rows, const InstantBars<S>& bar) const {
    const RowFormSpace<S>& form = w.rows.form;
    form.sweep.clear(r.tree);
    velocity_field(r.tree, w.frames.column, y, form.field);
    const Motion<S>* const field = form.field;
    RowInstant<S> at = row_instant(r, x, w);
    at.fields.m = field, at.fields.alpha = form.sweep.rest;
    set_zero(no_rows, problem.all_rows());
    const BodyBars<S>& sinks = form.sweep.bars;
    ReferenceOptions<S> unused{};
    contact_rows_pullback(
        scene(r, at), memory.contacts, at, problem, first_contact(problem),
        RowResults<S>{no_rows, no_rows, no_rows, no_rows, no_rows, alone, phi},
        RowGradient<S>{
            {sinks.m, sinks.a, sinks.a, sinks.v, sinks.pose}, bar.q, bar.v, bar.p, unused});
    field_sweep_pullback(r.tree, r.p, w.frames, x.qpos, y, field, form.sweep, bar.q, bar.p,
                         w.row_mocap_bar);
  }

  // Geoms that stick, where rows have been weighed (sticky_contact.h), and the way back.
  template <class P>
  CYCLOID_HD void stick(const Robot<S, P>& r, const ConstraintProblem<S>& problem) const {
    if (r.tree.sticks) stick_weighed_rows(memory.contacts, first_contact(problem), problem);
  }
  template <class P>
  CYCLOID_HD void stick_back(const Robot<S, P>& r, const ConstraintProblem<S>& problem,
                             const RowCotangents<S>& bar) const {
    if (!r.tree.sticks) return;
    gather_weighed_rows(memory.contacts, first_contact(problem), problem,
                        static_cast<const S*>(bar.a_ref), bar.D);
  }

  // To be called before the problem is pulled back at the acceleration a, padded.
  CYCLOID_HD void settle(const ConstraintProblem<S>& problem, const S* a, S* scratch) const {
    if (near_width > 0) settle_near_rows(memory.near, a, problem, scratch);
  }

  template <class P>
  CYCLOID_HD void pull(const Robot<S, P>& r, const RowInstant<S>& at,
                       const ConstraintProblem<S>& problem, const RowResults<S>& results,
                       const RowGradient<S>& to) const {
    static_rows_pullback(plan.rows, r.tree, r.p, at, memory.places, results, to);
    const int near = near_width > 0 ? memory.near.slots : 0;
    contact_rows_pullback(scene(r, at), memory.contacts, at, problem, first_contact(problem),
                          results, to);
    if (near > 0) pull_near_rows(scene(r, at), memory.near, at, problem, results, to);
  }
};

template <class S>
struct ConstrainedDynamics {
  const ConstraintPlan& plan;
  ConstraintMemory<S>& memory;
  bool slopes;                // the integrator's matrix is not M
  LaneNote* notes = nullptr;  // (lanes) how the solve fared, where someone asks
  Scalar<S> near_width = 0;   // FromDistance (system/gradient_mode.h)
  bool again = false;         // the workspace has been through a pullback of this instant

  CYCLOID_HD ConstrainedRecord layout(const TreeView& tree) const {
    return {tree.model.nv, slopes, recorded_slots(plan), record_width(plan.contacts)};
  }
  CYCLOID_HD int record_numbers(const TreeView& tree) const { return layout(tree).most(); }
  // How many of these a step has written.
  int record_used(const TreeView& tree, const S* record) const {
    const ConstrainedRecord at = layout(tree);
    return at.used(recorded(record[at.slots()]));
  }
  CYCLOID_HD int moved(const TreeView& tree) const { return slopes ? tree.model.nv : 0; }

  template <class P>
  CYCLOID_HD void accelerate(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                             S* record) const {
    const ConstrainedRecord at = layout(r.tree);
    RobotRows<S> rows{
        plan, memory, {record + at.contacts(), at.room, 0, at.width}, false, detection(r.tree)};
    const NewtonOptions options{.scale = plan.residual_scale,
                                .tolerance = kNewtonTolerance<Scalar<S>>};
    const NewtonResult<S> found =
        constrained_acceleration(r, x, w, memory.solver, rows, options, record, record + at.nv);
    keep_contacts(memory.contacts, rows.record);
    record[at.slots()] = S(rows.record.slots);
    if (notes) {
      take_notes(found, memory.solver, memory.static_places(plan), memory.contacts, notes);
    }
  }

  // The first pairs that touch, in order: Stepper::work_keys.
  template <class P>
  void work_keys(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                 std::uint64_t* keys) const {
    constexpr int kBits = 16;
    ContactSpace<S>& contacts = memory.contacts;
    place_bodies(r, x, w);
    find_contacts(ContactScene<S, P>{plan.contacts, r.tree, r.p, w.frames}, Detection::forces,
                  contacts);
    fill_items(keys, kLanes<S>, std::uint64_t{0});
    int shift[kLanes<S>];
    fill_items(shift, kLanes<S>, 64 - kBits);
    for (int t = 0, i = 0; t < contacts.touch_count; ++t) {
      while (t >= contacts.touched[i].first + contacts.touched[i].count) ++i;
      const int pair = std::min(contacts.touched[i].pair + 1, (1 << kBits) - 1);
      for (unsigned bits = contacts.touch[t].lanes; bits != 0; bits &= bits - 1) {
        const int l = lowest_bit(bits);
        if (shift[l] >= 0) keys[l] |= static_cast<std::uint64_t>(pair) << shift[l];
        shift[l] -= kBits;
      }
    }
  }

  template <class P>
  CYCLOID_HD void pullback(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                           const S* record, const S* act_dot_bar, const S* act_next_bar,
                           const InstantBars<S>& bar) const {
    RobotRows<S> rows = recorded_rows(r.tree, record);
    rows.near_width = near_width;
    constrained_acceleration_pullback(r, x, w, memory.solver, rows, record,
                                      record + r.tree.model.nv, act_dot_bar, act_next_bar, bar,
                                      static_cast<const S*>(nullptr), again);
  }

  // The rows, with the contacts of the record.
  CYCLOID_HD RobotRows<S> recorded_rows(const TreeView& tree, const S* record) const {
    const ConstrainedRecord at = layout(tree);
    return {
        plan,
        memory,
        {const_cast<S*>(record) + at.contacts(), at.room, recorded(record[at.slots()]), at.width},
        true,
        detection(tree)};
  }

  // Adhesion counts contacts within the gap, too.
  CYCLOID_HD static Detection detection(const TreeView& tree) {
    return tree.has_adhesion ? Detection::all : Detection::forces;
  }

 private:
  CYCLOID_HD static int recorded(const S& slots) {
    return static_cast<int>(primal(take_lane(slots, 0)));
  }
};

}  // namespace cycloid::inline rigid
