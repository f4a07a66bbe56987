// The numbers of a pair's contacts: mixed from its geoms' parameters, or the model's own.
//
//   friction (5), solref, solimp, margin, gap = mix_surfaces (geometry/mixing.h)              (1)
//   of a pair that the model names: constants, friction at least kMinFriction, and solref of the
//   friction rows besides                                                                    (2)
// A contact exists where dist ≤ margin + gap, and has a force where dist < margin. So the gap has
// no cotangent. One P holds a number for all lanes, or one per lane.
#pragma once

#include "cycloid/rigid/constraint/reference.h"
#include "cycloid/rigid/contact/contact_plan.h"

namespace cycloid::inline rigid {

// Also their cotangents.
template <class P>
struct PairNumbers {
  ContactNumbers<P> law;
  P margin{};    // [m]
  P adhesion{};  // δ of sticky_contact.h [N]
};

template <class P>
CYCLOID_INLINE P constant(double x) {
  return P(static_cast<Scalar<P>>(x));
}

template <class P>
CYCLOID_HD Surface<P> surface_of(const GeomPlaces& at, const P* p) {
  Surface<P> s;
  for (int i = 0; i < 3; ++i) s.friction[i] = p[at.friction + i];
  for (int i = 0; i < 2; ++i) s.solref[i] = p[at.solref + i];
  for (int i = 0; i < 5; ++i) s.solimp[i] = p[at.solimp + i];
  s.margin = p[at.margin], s.gap = p[at.gap];
  return s;
}

// (2).
template <class P>
CYCLOID_HD PairNumbers<P> given_numbers(const GivenPair& own) {
  PairNumbers<P> n;
  for (std::size_t i = 0; i < 5; ++i) {
    n.law.friction[i] = constant<P>(std::max(own.friction[i], double(kMinFriction)));
    n.law.soft.solimp[i] = constant<P>(own.soft.solimp[i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    n.law.soft.solref[i] = constant<P>(own.soft.solref[i]);
    n.law.solref_friction[i] = constant<P>(own.solref_friction[i]);
  }
  n.margin = constant<P>(own.margin);
  return n;
}

template <class P>
CYCLOID_HD PairNumbers<P> pair_numbers(const ContactPlan& plan, const ModelView& model, const P* p,
                                       const ContactPair& pair) {
  PairNumbers<P> n;
  if (pair.given >= 0) {
    n = given_numbers<P>(model.pairs[static_cast<std::size_t>(pair.given)]);
  } else {
    const MixedSurface<P> mixed =
        mix_surfaces(pair.mix, surface_of(plan.geoms[static_cast<std::size_t>(pair.geom1)].at, p),
                     surface_of(plan.geoms[static_cast<std::size_t>(pair.geom2)].at, p));  // (1)
    for (int i = 0; i < 5; ++i) n.law.friction[i] = mixed.friction[i];
    for (int i = 0; i < 5; ++i) n.law.soft.solimp[i] = mixed.solimp[i];
    for (int i = 0; i < 2; ++i) n.law.soft.solref[i] = mixed.solref[i];
    n.margin = mixed.margin;
  }
  n.law.A = constant<P>(pair.weight);
  return n;
}

template <class S>
CYCLOID_HD void add_surface(const GeomPlaces& at, const Surface<S>& bar, S* p_bar) {
  for (int i = 0; i < 3; ++i) p_bar[at.friction + i] += bar.friction[i];
  for (int i = 0; i < 2; ++i) p_bar[at.solref + i] += bar.solref[i];
  for (int i = 0; i < 5; ++i) p_bar[at.solimp + i] += bar.solimp[i];
  p_bar[at.margin] += bar.margin;
}

// A parameter vector of one number for all lanes has a cotangent per lane.
template <class S, class P>
CYCLOID_HD void pair_numbers_pullback(const ContactPlan& plan, const P* p, const ContactPair& pair,
                                      const PairNumbers<S>& bar, S* p_bar) {
  if (pair.given >= 0) return;  // (2)
  MixedSurface<S> mixed{};
  for (int i = 0; i < 5; ++i) mixed.friction[i] = bar.law.friction[i];
  for (int i = 0; i < 5; ++i) mixed.solimp[i] = bar.law.soft.solimp[i];
  for (int i = 0; i < 2; ++i) mixed.solref[i] = bar.law.soft.solref[i];
  mixed.margin = bar.margin;
  const auto in_lanes = [&](const GeomPlaces& at) {
    const Surface<P> one = surface_of(at, p);
    Surface<S> s{};
    for (int i = 0; i < 3; ++i) s.friction[i] = S(one.friction[i]);
    for (int i = 0; i < 2; ++i) s.solref[i] = S(one.solref[i]);
    for (int i = 0; i < 5; ++i) s.solimp[i] = S(one.solimp[i]);
    return s;
  };
  const GeomPlaces &a = plan.geoms[static_cast<std::size_t>(pair.geom1)].at,
                   &b = plan.geoms[static_cast<std::size_t>(pair.geom2)].at;
  Surface<S> a_bar{}, b_bar{};
  mix_surfaces_pullback(pair.mix, in_lanes(a), in_lanes(b), mixed, a_bar, b_bar);  // (1)
  add_surface(a, a_bar, p_bar);
  add_surface(b, b_bar, p_bar);
}

}  // namespace cycloid::inline rigid
