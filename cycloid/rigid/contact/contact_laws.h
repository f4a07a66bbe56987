// The laws of contacts with friction: each a struct in a header of its own, listed here.
//
// A problem knows a law by its RowLaw; inside a kernel it is a type, found by visit_law. A law of n
// rows, normal first, has
//   kLaw                 its RowLaw
//   response<n>          force f = -∇s and stiffness K = ∇²s of (D, friction, r)
//   pull_force<n>        the cotangents of D, friction and r, given that of f
//   cost<n>              s
//   kArrow               β = 0 in K (cone_stiffness.h)
//   kEdges               directions have weights D of their own, and the normal none: (5) of
//                        reference.h, else (4)
//   kFrictionReference   directions may have a reference of their own: (3) of reference.h
// A further law is its header, its RowLaw, and its name in ContactLaws. The compliant law
// (hunt_crossley.h) is none of them: its forces are known before the solve, one row at a time.
#pragma once

#include "cycloid/rigid/constraint/row_law.h"
#include "cycloid/rigid/contact/elliptic_law.h"
#include "cycloid/rigid/contact/pyramid_law.h"

namespace cycloid::inline rigid {

template <class... Laws>
struct LawList {};
using ContactLaws = LawList<PyramidLaw, EllipticLaw>;

// visit(law) with the law's type; nothing where it is one of single rows (row_law.h).
template <class... Laws, class Visit>
CYCLOID_INLINE void visit_law(LawList<Laws...>, RowLaw law, Visit visit) {
  static_cast<void>(((law == Laws::kLaw && (visit(Laws{}), true)) || ...));
}

// Whether a law is one of contacts with friction.
template <class... Laws>
constexpr bool is_listed(LawList<Laws...>, RowLaw law) {
  return ((law == Laws::kLaw) || ...);
}
constexpr bool is_cone(RowLaw law) { return is_listed(ContactLaws{}, law); }

// kEdges and kFrictionReference of a law; those of single rows have neither.
template <class... Laws>
constexpr bool has_edges(LawList<Laws...>, RowLaw law) {
  return ((law == Laws::kLaw && Laws::kEdges) || ...);
}
template <class... Laws>
constexpr bool has_friction_reference(LawList<Laws...>, RowLaw law) {
  return ((law == Laws::kLaw && Laws::kFrictionReference) || ...);
}

// visit(count) with the number of rows of a contact as a compile-time constant.
template <int n>
using RowCount = std::integral_constant<int, n>;
template <class Visit>
CYCLOID_INLINE void with_row_count(int n, Visit visit) {
  if (n == 3) return visit(RowCount<3>{});
  if (n == 4) return visit(RowCount<4>{});
  if (n == 6) return visit(RowCount<6>{});
  visit(RowCount<1>{});
}

// Every row of a problem: single(law, row) where a row has a law of its own, and
// contact(law, count, row) for each contact, with its law as a type and its first row.
template <class S, class Single, class Contact>
CYCLOID_INLINE void for_each_law(const ConstraintProblem<S>& problem, Single single,
                                 Contact contact) {
  for (int i = 0; i < problem.diagonals; ++i) single(problem.diagonal[i].law, i);
  for (int g = 0; g < problem.groups; ++g) {
    const int row = problem.group_row(g), rows = problem.group[g].rows;
    const RowLaw law = problem.group[g].law;
    if (!is_cone(law)) {
      for (int k = 0; k < rows; ++k) single(law, row + k);
      continue;
    }
    visit_law(ContactLaws{}, law, [&](auto own) {
      with_row_count(rows, [&](auto count) { contact(own, count, row); });
    });
  }
}

}  // namespace cycloid::inline rigid
