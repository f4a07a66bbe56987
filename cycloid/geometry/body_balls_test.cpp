// Tests of body_balls.h against brute force.
#include "cycloid/geometry/body_balls.h"

#include <doctest/doctest.h>

#include <limits>

#include "cycloid/geometry/broad_phase.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test::body_balls_test {

constexpr int kBodies = 16, kEach = 5;

// Bodies of five balls each, which lie about a centre of their own, and a plane.
template <class S>
struct Bodies {
  using T = Scalar<S>;
  std::vector<GeomKind> kind;
  std::vector<int> body;
  std::vector<CandidatePair> pairs;
  std::vector<Pose<S>> pose;
  std::vector<S> radius, margin;
  std::vector<T> reach;

  explicit Bodies(std::uint64_t seed) {
    FixedNumbers random(seed);
    const auto in_lanes = [&](double scale) {
      S x(0);
      for (int l = 0; l < kLanes<S>; ++l) set_lane(x, l, T(scale * random.next()));
      return x;
    };
    for (int g = 0; g <= kBodies * kEach; ++g) {
      kind.push_back(g == 0 ? GeomKind::plane : GeomKind::sphere);
      body.push_back(g == 0 ? 0 : 100 - (g - 1) / kEach);  // numbers with gaps, falling
      Pose<S> x{};
      for (int i = 0; i < 3; ++i) x.R(i, i) = S(1);
      if (g > 0 && (g - 1) % kEach > 0) {
        x.p = pose[static_cast<std::size_t>(g - (g - 1) % kEach)].p;
        for (int i = 0; i < 3; ++i) x.p[i] += in_lanes(0.1);
      } else if (g > 0) {
        for (int i = 0; i < 3; ++i) x.p[i] = in_lanes(0.6);
      }
      pose.push_back(x);
      radius.push_back(g == 0 ? S(0) : abs(in_lanes(0.05)));
      reach.push_back(T(0.01));
      for (int h = 0; h < g; ++h) {
        if (h == 0 || (h - 1) / kEach != (g - 1) / kEach) pairs.push_back({h, g, -1});
      }
    }
    margin.assign(pairs.size(), S(T(0.02)));
  }
  bool is_near(std::size_t k) const {
    const auto one = static_cast<std::size_t>(pairs[k].geom1),
               two = static_cast<std::size_t>(pairs[k].geom2);
    return any(spheres_near(one == 0, pose[one], radius[one], pose[two], radius[two], margin[k]));
  }
  std::vector<int> near(const BroadPhase& plan) const {
    BroadPhaseScratch<S> scratch;
    const Arena memory = carve_memory(scratch, plan);
    scratch.begin(plan);
    std::vector<int> found(pairs.size());
    for (int again = 0; again < 2; ++again) {  // the second call finds what the first left
      const int count = find_near_pairs(
          plan, pose.data(), radius.data(), [&](std::size_t k) { return margin[k]; }, reach.data(),
          scratch, found.data());
      found.resize(static_cast<std::size_t>(count));
      if (again == 0) found.resize(pairs.size());
    }
    return found;
  }
};

template <class S>
void check_bodies() {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Bodies<S> c(seed);
    const BroadPhase plan = make_broad_phase(c.kind, c.pairs, c.body);
    CHECK(plan.by_bodies);
    CHECK(!plan.sweep);
    std::vector<int> expected;
    for (std::size_t k = 0; k < c.pairs.size(); ++k) {
      if (c.is_near(k)) expected.push_back(static_cast<int>(k));
    }
    CHECK(!expected.empty());
    CHECK(c.near(plan) == expected);
  }
}

TEST_CASE("find_near_pairs by bodies: brute force's answer, in lanes and scalars") {
  check_bodies<Pack<float, 4>>();
  check_bodies<Pack<double, 4>>();
  check_bodies<double>();
}

TEST_CASE("for_each_body_pair: leaves out most pairs of bodies that are apart") {
  const Bodies<double> c(1);
  const BroadPhase plan = make_broad_phase(c.kind, c.pairs, c.body);
  CHECK(plan.bodies.bodies() == kBodies);
  CHECK(plan.bodies.couples.size() == kBodies * (kBodies - 1) / 2);
  std::vector<BodyBall<double>> balls(kBodies);
  std::size_t tested = 0;
  for_each_body_pair(plan.bodies, c.pose.data(), c.radius.data(), c.reach.data(), balls.data(),
                     [&](std::size_t) { ++tested; });
  CHECK(tested > 0);
  CHECK(tested < c.pairs.size() / 4);
}

TEST_CASE("find_near_pairs by bodies: a lane that is not finite does not hide its neighbours") {
  using S = Pack<double, 4>;
  Bodies<S> c(3);
  for (Pose<S>& x : c.pose) {
    set_lane(x.p.x, 1, std::numeric_limits<double>::quiet_NaN());
    set_lane(x.p.y, 2, std::numeric_limits<double>::infinity());
  }
  std::vector<int> expected;
  for (std::size_t k = 0; k < c.pairs.size(); ++k) {
    if (c.is_near(k)) expected.push_back(static_cast<int>(k));
  }
  CHECK(!expected.empty());
  CHECK(c.near(make_broad_phase(c.kind, c.pairs, c.body)) == expected);
}

TEST_CASE("make_broad_phase: bodies of one geom each are not looked at first") {
  const Bodies<double> c(1);
  std::vector<int> own(c.kind.size());
  for (std::size_t g = 0; g < own.size(); ++g) own[g] = static_cast<int>(g);
  const BroadPhase plan = make_broad_phase(c.kind, c.pairs, own);
  CHECK(!plan.by_bodies);
  CHECK(plan.sweep);
}

}  // namespace cycloid::test::body_balls_test
