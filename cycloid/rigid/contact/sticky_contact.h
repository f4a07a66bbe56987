// Geoms that stick: contacts that can pull (MuJoCo's adhesion of geoms).
//
// A contact of two geoms has the adhesion δ [N], the sum of theirs, or that of the geom of higher
// priority, or the given pair's. Its friction cone is moved down the normal by δ:
//   τ -= J_0ᵀ δ                                    a pull along the normal row J_0             (1)
//   a_ref,0 += R δ                                 so that what presses does so as before      (2)
// with R = 1/D of the normal row; in a pyramid of n rows δ is shared by its 2 (n - 1) edges and
// R = 1/D of an edge; D = 0 is that of a row that moves nothing, and adds nothing. Between margin
// and margin + gap the contact is there too, with its normal row alone. What is seen of the
// contact's force is f₀ - δ.
//
// Pullback of (2), with g the cotangent of a_ref,0:  δ̄ += g R,  D̄ -= g δ/D²; of (1), given μ:
// δ̄ -= J_0 μ, and J_0 by way of the normal force of adhesion.h (2).                         (3)
// Source: MuJoCo's manual, Computation: Adhesion.
#pragma once

#include "cycloid/rigid/contact/contact_numbers.h"

namespace cycloid::inline rigid {

// Which of a contact's rows has R of (2), and how many share δ: an edge of a pyramid where it rubs.
template <class S>
struct StickyRow {
  Mask<S> edges;
  S share;  // of δ
};
template <class S>
CYCLOID_INLINE StickyRow<S> sticky_row(RowLaw law, int n, const S& rows) {
  const Mask<S> edges = Mask<S>(has_edges(ContactLaws{}, law) && n > 1) & (rows > S(1));
  return {edges, S(1) / select(edges, S(2) * (rows - S(1)), S(1))};
}

// (2). D, a_ref: (n) of the contact.
template <class S>
CYCLOID_HD void stick(RowLaw law, int n, const S& rows, const S& delta, const S* D, S* a_ref) {
  const StickyRow<S> row = sticky_row(law, n, rows);
  const S own = select(row.edges, n > 1 ? D[1] : D[0], D[0]);
  const Mask<S> present = (rows > S(0)) & (own > S(0));
  a_ref[0] += select(present, delta * row.share / select(present, own, S(1)), S(0));
}

// Adds to delta_bar and D_bar.
template <class S>
CYCLOID_HD void stick_pullback(RowLaw law, int n, const S& rows, const S& delta, const S* D,
                               const S* a_ref_bar, S& delta_bar, S* D_bar) {
  const StickyRow<S> row = sticky_row(law, n, rows);
  const S weight = select(row.edges, n > 1 ? D[1] : D[0], D[0]);
  const Mask<S> present = (rows > S(0)) & (weight > S(0));
  const S own = select(present, weight, S(1));
  const S bar = select(present, a_ref_bar[0] * row.share, S(0));
  delta_bar += bar / own;
  const S own_bar = -bar * delta / (own * own);
  D_bar[0] += select(row.edges, S(0), own_bar);
  if (n > 1) D_bar[1] += select(row.edges, own_bar, S(0));
}

// δ of a pair.
template <class P>
CYCLOID_HD P pair_adhesion(const ContactPlan& plan, const ModelView& model, const P* p,
                           const ContactPair& pair) {
  if (pair.given >= 0) {
    return constant<P>(model.pairs[static_cast<std::size_t>(pair.given)].adhesion);
  }
  const auto of = [&](int g) {
    const int place = plan.geoms[static_cast<std::size_t>(g)].at.adhesion;
    return place < 0 ? P(0) : p[place];
  };
  if (pair.mix.winner != 0) return of(pair.mix.winner == 1 ? pair.geom1 : pair.geom2);
  return of(pair.geom1) + of(pair.geom2);
}
template <class S>
CYCLOID_HD void pair_adhesion_pullback(const ContactPlan& plan, const ContactPair& pair,
                                       const S& bar, S* p_bar) {
  if (pair.given >= 0) return;
  const auto give = [&](int winner, int g) {
    const int place = plan.geoms[static_cast<std::size_t>(g)].at.adhesion;
    if (place >= 0 && (pair.mix.winner == 0 || pair.mix.winner == winner)) p_bar[place] += bar;
  };
  give(1, pair.geom1);
  give(2, pair.geom2);
}

}  // namespace cycloid::inline rigid
