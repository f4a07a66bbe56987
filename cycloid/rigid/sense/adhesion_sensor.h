// What adhesion actuators do to joints, and how fast what they hold is parted: actuatorvel,
// jointactuatorfrc, qfrc_actuator.
//
// With J_c, n_i and p_i of contact/adhesion.h, the normal rows of a body's contacts, their number
// and the actuator's force:
//   s_i(y) = -(1/n_i) Σ_c J_c y       of an actuator the rate s_i(q̇), 0 without contacts       (1)
//   τ      = -Σ_i (p_i/n_i) Σ_c J_cᵀ  the share of the actuators in the forces at joints       (2)
// n_i is counted: both jump where contacts come and go.
//
// Pullback: both are a form Σ_c φ_c J_c y, of the rates with φ_c = -Σ_i r̄_i/n_i and y = q̇, of the
// joints' forces with φ_c = -Σ_i p_i/n_i and y = τ̄. Its derivative is that of a force φ_c on the
// normal rows, given the field of y (contact_rows_pullback.h (4) to (6)); p̄_i = s_i(τ̄).       (3)
#pragma once

#include "cycloid/rigid/contact/contact_rows_pullback.h"
#include "cycloid/rigid/sense/sense_space.h"

namespace cycloid::inline rigid {

// Whether there are rows that adhesion can act on.
template <class S>
bool holds_contacts(const TreeView& tree, const SenseSpace<S>& space) {
  return tree.has_adhesion && space.plan;
}
template <class S>
int first_contact_group(const SenseSpace<S>& space) {
  return space.constraints.solver.problem.groups - space.constraints.contacts.slots;
}

// (1) of every actuator, into work.adhesion_rate; y: (nv).
template <class S, class P>
void measure_adhesion_rates(const Robot<S, P>& r, const Instant<S>& x, const S* y,
                            SenseSpace<S>& space) {
  const ConstraintProblem<S>& problem = space.constraints.solver.problem;
  S* const padded = space.constraints.solver.newton.g;
  pad(*problem.dofs, y, padded);
  adhesion_rates(interaction_point(r, x, space).scene(), space.constraints.contacts, problem,
                 first_contact_group(space), static_cast<const S*>(padded),
                 space.work.adhesion_rate);
}

// φ of every slot, into space.pull. weight: of every actuator, p or r̄.
template <class S, class P>
void spread_adhesion(const ContactScene<S, P>& s, const S* weight, const SenseSpace<S>& space) {
  const ContactSpace<S>& contacts = space.constraints.contacts;
  set_zero(space.pull, contacts.slots);
  for (std::size_t i = 0; i < s.tree.model.actuators.size(); ++i) {
    const Actuator& a = s.tree.model.actuators[i];
    if (!adheres(a)) continue;
    const S each = weight[i] * contact_share(s, contacts, a.target);
    for_each_contact_of(s, contacts, a.target, [&](int slot, const Mask<S>& lanes) {
      space.pull[slot] -= select(lanes, each, S(0));
    });
  }
}

// (2): adds to tau (nv).
template <class S, class P>
void add_adhesion_share(const Robot<S, P>& r, const Instant<S>& x, SenseSpace<S>& space, S* tau) {
  const ConstraintProblem<S>& problem = space.constraints.solver.problem;
  const std::vector<int>& place = problem.dofs->place;
  spread_adhesion(interaction_point(r, x, space).scene(),
                  static_cast<const S*>(space.work.actuator_force), space);
  for (int slot = 0; slot < space.constraints.contacts.slots; ++slot) {
    const int group = first_contact_group(space) + slot;
    const S* const J = problem.jacobian(group);
    const BlockSet support = problem.support(group);
    for (std::size_t k = 0; k < place.size(); ++k) {
      if (support.has(place[k] / kBlock)) tau[k] += J[place[k]] * space.pull[slot];
    }
  }
}

// (3) of the form: y is given by its field, whose cotangent goes to bodies.m.
template <class S, class P>
void gather_adhesion_form(const Robot<S, P>& r, const Instant<S>& x, SenseSpace<S>& space,
                          const S* weight, const Motion<S>* field, const RowFieldBars<S>& bodies,
                          const InstantBars<S>& bar) {
  const ConstraintProblem<S>& problem = space.constraints.solver.problem;
  const ContactScene<S, P> scene = interaction_point(r, x, space).scene();
  spread_adhesion(scene, weight, space);
  set_zero(space.no_rows, problem.all_rows());
  const S* const none = space.no_rows;
  RowInstant<S> at = row_instant(r, x, space.work);
  at.fields.m = field, at.fields.alpha = space.work.rows.form.sweep.rest;
  ReferenceOptions<S> unused{};
  contact_rows_pullback(scene, space.constraints.contacts, at, problem, first_contact_group(space),
                        RowResults<S>{none, none, none, none, none, true, space.pull},
                        RowGradient<S>{bodies, bar.q, bar.v, bar.p, unused});
}

}  // namespace cycloid::inline rigid
