// Actuators that press the contacts of a body together (adhesion, the transmission to a body).
//
// An actuator of force p on body b acts along the normals of the n contacts that geoms of b have,
// with a force or within the gap; J_c is the normal row of contact c (contact_rows.h):
//   J = -(1/n) Σ_c J_c,   none where n = 0; no gear                                           (1)
//   τ += Jᵀ p:   contact c has the normal force φ_c = -Σ_i p_i/n_i besides that of its law     (2)
// Its length is zero. n is counted and has no derivative: contacts that come and go are jumps.
// Where a joint limits its actuators, Jᵀ p is a part of what it limits, (4) of force/actuation.h.
//
// Pullback, given μ: p̄_i = s_i = -(1/n_i) Σ_c J_c μ                                           (3)
// and φ_c goes the way of the normal row's force, (4) to (6) of contact_rows_pullback.h. Where a
// joint limits its actuators, both are those of μ as actuators feel it, which has its own field.
// Source: MuJoCo's manual, actuator/adhesion.
#pragma once

#include "cycloid/rigid/contact/contact_rows.h"
#include "cycloid/rigid/robot_view.h"
#include "cycloid/rigid/tree/workspace.h"

namespace cycloid::inline rigid {

CYCLOID_HD inline bool adheres(const Actuator& a) {
  return a.transmission == TransmissionKind::body;
}

// visit(slot, lanes): the contacts of a body.
template <class S, class P, class Visit>
CYCLOID_HD void for_each_contact_of(const ContactScene<S, P>& s, const ContactSpace<S>& w, int body,
                                    Visit visit) {
  for (int slot = 0; slot < w.slots; ++slot) {
    for_each_group(w, slot, [&](const SlotGroup<S>& group) {
      const ContactPair& pair = s.pair(w.touched[group.owner].pair);
      if (pair.body1 == body || pair.body2 == body) visit(slot, group.lanes());
    });
  }
}

// 1/n, or 0 without contacts.
template <class S, class P>
CYCLOID_HD S contact_share(const ContactScene<S, P>& s, const ContactSpace<S>& w, int body) {
  S count(0);
  for_each_contact_of(s, w, body,
                      [&](int, const Mask<S>& lanes) { count += select(lanes, S(1), S(0)); });
  return select(count > S(0), S(1) / max(count, S(1)), S(0));
}

// Whether there are such actuators, and joints that limit them.
CYCLOID_HD inline bool presses_limits(const TreeView& tree) {
  return tree.presses && tree.limits_actuators;
}

// (2): φ of every slot, into w.adhesion, or into w.pressed where joints limit it. force: p of every
// actuator.
template <class S, class P>
CYCLOID_HD void adhere(const ContactScene<S, P>& s, const S* force, ContactSpace<S>& w) {
  w.adheres = true;
  S* const phi = presses_limits(s.tree) ? w.pressed : w.adhesion;
  for (int slot = 0; slot < w.slots; ++slot) {
    w.pressed[slot] = S(0);
    w.adhesion[slot] = s.tree.sticks ? -w.slot[slot].adhesion : S(0);  // sticky_contact.h (1)
  }
  for (std::size_t i = 0; i < s.tree.model.actuators.size(); ++i) {
    const Actuator& a = s.tree.model.actuators[i];
    if (!adheres(a)) continue;
    const S each = force[i] * contact_share(s, w, a.target);  // (1)
    for_each_contact_of(s, w, a.target, [&](int slot, const Mask<S>& lanes) {
      phi[slot] -= select(lanes, each, S(0));
    });
  }
}

// τ += Σ J_cᵀ φ_c. first: the group of the first contact. phi: w.adhesion or w.pressed.
template <class S>
CYCLOID_HD void add_adhesion(const ContactSpace<S>& w, const S* phi,
                             const ConstraintProblem<S>& problem, int first, S* tau) {
  const std::vector<int>& place = problem.dofs->place;
  for (int slot = 0; slot < w.slots; ++slot) {
    const S* const J = problem.jacobian(first + slot);
    const BlockSet support = problem.support(first + slot);
    for (std::size_t k = 0; k < place.size(); ++k) {
      if (support.has(place[k] / kBlock)) tau[k] += J[place[k]] * phi[slot];
    }
  }
}

// (3): s of every actuator. mu: padded, as the problem has it.
template <class S, class P>
CYCLOID_HD void adhesion_rates(const ContactScene<S, P>& s, const ContactSpace<S>& w,
                               const ConstraintProblem<S>& problem, int first, const S* mu,
                               S* rate) {
  const std::vector<int>& place = problem.dofs->place;
  for (std::size_t i = 0; i < s.tree.model.actuators.size(); ++i) {
    const Actuator& a = s.tree.model.actuators[i];
    rate[i] = S(0);
    if (!adheres(a)) continue;
    S sum(0);
    for_each_contact_of(s, w, a.target, [&](int slot, const Mask<S>& lanes) {
      const S* const J = problem.jacobian(first + slot);
      const BlockSet support = problem.support(first + slot);
      S along(0);
      for (std::size_t k = 0; k < place.size(); ++k) {
        if (support.has(place[k] / kBlock)) along += J[place[k]] * mu[place[k]];
      }
      sum += select(lanes, along, S(0));
    });
    rate[i] = -sum * contact_share(s, w, a.target);
  }
}

}  // namespace cycloid::inline rigid
