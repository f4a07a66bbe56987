// A look at pairs of bodies, before the broad phase looks at pairs of their geoms.
//
// In each lane the geoms of a body lie in one ball; p, ρ and reach as in broad_phase.h:
//   c = mean of p_i,   R = max (|p_i - c| + ρ_i + reach_i)                                     (1)
// Of two bodies with |c₂ - c₁| > R₁ + R₂ in every lane no pair is near                         (2)
// The right-hand sides are widened by a few units in the last place. A hand has a tenth as many
// pairs of bodies as of geoms. A lane whose numbers are not finite is near nothing.
#pragma once

#include <span>
#include <vector>

#include "cycloid/base/arena.h"
#include "cycloid/geometry/bounding.h"
#include "cycloid/geometry/pair_filter.h"

namespace cycloid::inline geometry {

// Two bodies, and where their pairs are in BodyPairs::pair.
struct BodyCouple {
  int one, two, first, end;
};

// Fixed with the model. Bodies are those of the pairs, in the order of their numbers.
struct BodyPairs {
  std::vector<int> first, geom;  // the geoms of body b are geom[first[b]] … geom[first[b + 1] - 1]
  std::vector<BodyCouple> couples;
  std::vector<int> pair;
  int bodies() const { return static_cast<int>(first.size()) - 1; }
};

// body: of each geom. Pairs of `left_out` are not among them.
BodyPairs make_body_pairs(std::span<const int> body, std::span<const CandidatePair> pairs,
                          const std::vector<char>& left_out);

template <class S>
struct BodyBall {
  Vec3<S> centre;
  S radius;
};

// (1)
template <class S>
CYCLOID_HD BodyBall<S> ball_about(std::span<const int> geoms, const Pose<S>* pose, const S* radius,
                                  const Scalar<S>* reach) {
  BodyBall<S> ball{{S(0), S(0), S(0)}, S(0)};
  for (const int g : geoms) ball.centre += pose[g].p;
  ball.centre = ball.centre * S(Scalar<S>(1) / static_cast<Scalar<S>>(geoms.size()));
  constexpr double wide = 1 + 32 * double(std::numeric_limits<Scalar<S>>::epsilon());
  for (const int g : geoms) {
    const Vec3<S> from = pose[g].p - ball.centre;
    ball.radius = max(ball.radius, (sqrt(dot(from, from)) + radius[g] + S(reach[g])) * S(wide));
  }
  return ball;
}

// test(k) for each pair k of bodies whose balls meet in some lane. balls: (bodies), scratch.
template <class S, class Test>
CYCLOID_HD void for_each_body_pair(const BodyPairs& plan, const Pose<S>* pose, const S* radius,
                                   const Scalar<S>* reach, BodyBall<S>* balls, Test test) {
  for (std::size_t b = 0; b + 1 < plan.first.size(); ++b) {
    const auto from = static_cast<std::size_t>(plan.first[b]),
               end = static_cast<std::size_t>(plan.first[b + 1]);
    balls[b] = ball_about(std::span(plan.geom).subspan(from, end - from), pose, radius, reach);
  }
  constexpr double wide = 1 + 16 * double(std::numeric_limits<Scalar<S>>::epsilon());
  for (const BodyCouple& c : plan.couples) {
    const BodyBall<S>&one = balls[c.one], &two = balls[c.two];
    const Vec3<S> way = two.centre - one.centre;
    const S far = (one.radius + two.radius) * S(wide);
    if (!any(dot(way, way) <= far * far)) continue;  // (2)
    for (int i = c.first; i < c.end; ++i) {
      test(static_cast<std::size_t>(plan.pair[static_cast<std::size_t>(i)]));
    }
  }
}

}  // namespace cycloid::inline geometry
