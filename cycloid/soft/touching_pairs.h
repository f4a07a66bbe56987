// The pairs of a body that touches itself, as terms: which act at given positions.
//
// A body with self contact has two terms without groups (point_triangle or point_edge, edge_edge),
// which hold the places of their numbers. Their groups are those pairs of the surface that are
// nearer at y than the barrier's width (self_contact.h's d, from the surfaces of rods), and those
// that were so at the step's start, whose friction acts:
//   P(y) = { pair : d(y) < w } ∪ { pair : d(before_0) < w }                         (1)
// Pairs outside of P have neither energy nor force, so sums over more pairs are the same ones. A
// matrix needs places for its pairs: plan_with_pairs.
#pragma once

#include "cycloid/soft/solid_plan.h"

namespace cycloid::inline soft {

// Terms of (1) ready to be evaluated, with `pairs` found before; none where nothing touches.
Terms touching_terms(const SolidPlan& plan, const ContactPairs& pairs);
// The same at x, of a body at rest: without what was before.
Terms touching_terms(const SolidPlan& plan, const TermNumbers& numbers, const double* x,
                     int threads);

// How far apart middle lines are that touch: 2 radius of a rod, else 0.
double thickness_of(const SolidPlan& plan, const TermNumbers& numbers);

// The body's plan with groups for these pairs. `last`: one that is given back if it has the same.
std::shared_ptr<const SolidPlan> plan_with_pairs(const SolidPlan& plan, const ContactPairs& pairs,
                                                 std::shared_ptr<const SolidPlan> last);

// (1), at one place after the other.
class TouchingPairs {
 public:
  // The references must outlive it.
  TouchingPairs(const SolidPlan& plan, const TermNumbers& numbers, const TermsAt& step,
                int threads);

  const ContactPairs& acting(const double* y);
  const Terms& terms(const double* y);

 private:
  const SolidPlan& plan_;
  const TermNumbers& numbers_;
  int threads_;
  ContactPairs before_, now_;
  std::vector<double> at_;  // the last place
  Terms terms_;
};

}  // namespace cycloid::inline soft
