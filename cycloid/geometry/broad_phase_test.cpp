// Tests of broad_phase.h against brute force.
#include "cycloid/geometry/broad_phase.h"

#include <doctest/doctest.h>

#include <limits>

#include "cycloid/geometry/pair/sphere_sphere.h"
#include "cycloid/math/quaternion.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test::broad_phase_test {

constexpr int kWidth = 4;
template <class T>
using Lanes = Pack<T, kWidth>;

// Balls in a cloud, a few planes; every two of them a candidate but the planes.
template <class T>
struct Cloud {
  std::vector<GeomKind> kind;
  std::vector<CandidatePair> pairs;
  std::vector<Pose<Lanes<T>>> pose;
  std::vector<Lanes<T>> radius, margin;

  Cloud(int planes, int balls, double spread, std::uint64_t seed) {
    FixedNumbers random(seed);
    for (int g = 0; g < planes + balls; ++g) {
      kind.push_back(g < planes ? GeomKind::plane : GeomKind::sphere);
      Pose<Lanes<T>> x{};
      Lanes<T> r(0);
      for (int l = 0; l < kWidth; ++l) {
        const Quat<double> q{random.next(), random.next(), random.next(), random.next()};
        const Mat3<double> turn = to_matrix(normalise(q));
        for (int i = 0; i < 9; ++i) set_lane(x.R.e[i], l, T(turn.e[i]));
        for (int i = 0; i < 3; ++i) {
          set_lane(x.p[i], l, T(spread * (i + 1) * random.next() * random.next()));
        }
        if (g >= planes) set_lane(r, l, T(0.2 * std::abs(random.next())));
      }
      pose.push_back(x);
      radius.push_back(r);
      for (int h = 0; h < g; ++h) {
        if (g >= planes) pairs.push_back({h, g, -1});
      }
    }
    std::reverse(pairs.begin(), pairs.end());  // the list's order is nobody's business
    pairs.push_back(pairs.front());            // a pair that occurs twice
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      margin.push_back(Lanes<T>(T(k % 5 == 0 ? 0.3 : 0.0)));
    }
  }
};

template <class T>
std::vector<int> brute_force(const Cloud<T>& c) {
  std::vector<int> near;
  for (std::size_t k = 0; k < c.pairs.size(); ++k) {
    const auto g1 = static_cast<std::size_t>(c.pairs[k].geom1);
    const auto g2 = static_cast<std::size_t>(c.pairs[k].geom2);
    const bool plane = c.kind[g1] == GeomKind::plane;
    if (any(spheres_near(plane, c.pose[g1], c.radius[g1], c.pose[g2], c.radius[g2], c.margin[k]))) {
      near.push_back(static_cast<int>(k));
    }
  }
  return near;
}

// A scratch with memory of its own.
template <class S>
struct Scratch : BroadPhaseScratch<S> {
  explicit Scratch(const BroadPhase& plan)
      : memory(carve_memory(static_cast<BroadPhaseScratch<S>&>(*this), plan)) {
    this->begin(plan);
  }
  Arena memory;
};

// Half the largest margin of a geom's pairs.
template <class S>
void margin_reach(const BroadPhase& plan, const S* margin, Scalar<S>* reach) {
  std::fill_n(reach, plan.first.size() - 1, Scalar<S>(0));
  for (std::size_t k = 0; k < plan.pairs.size(); ++k) {
    for (int l = 0; l < kLanes<S>; ++l) {
      const Scalar<S> half = lane(margin[k], l) / 2;
      Scalar<S>&a = reach[plan.pairs[k].geom1], &b = reach[plan.pairs[k].geom2];
      a = std::max(a, half), b = std::max(b, half);
    }
  }
}

template <class T>
std::vector<int> find(const BroadPhase& plan, const Cloud<T>& c,
                      const BroadPhaseScratch<Lanes<T>>& scratch) {
  std::vector<T> reach(c.kind.size());
  margin_reach(plan, c.margin.data(), reach.data());
  std::vector<int> near(c.pairs.size());
  const int count = find_near_pairs(
      plan, c.pose.data(), c.radius.data(), [&](std::size_t k) { return c.margin[k]; },
      reach.data(), scratch, near.data());
  near.resize(static_cast<std::size_t>(count));
  return near;
}

template <class T>
void check_against_brute_force(int planes, int balls, double spread, bool sweep) {
  const Cloud<T> shape(planes, balls, spread, 1);
  const BroadPhase plan = make_broad_phase(shape.kind, shape.pairs);
  CHECK(plan.sweep == sweep);
  const Scratch<Lanes<T>> scratch(plan);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {  // one scratch for all of them
    const Cloud<T> cloud(planes, balls, spread, seed);
    const std::vector<int> expected = brute_force(cloud);
    CHECK(!expected.empty());
    CHECK(expected.size() < cloud.pairs.size());
    CHECK(find(plan, cloud, scratch) == expected);
  }
}

TEST_CASE("find_near_pairs: brute force's answer for short lists and for long ones") {
  check_against_brute_force<double>(2, 10, 2, false);
  check_against_brute_force<double>(3, 120, 3, true);
  check_against_brute_force<float>(0, 150, 4, true);
  check_against_brute_force<float>(1, 60, 1, true);
}

TEST_CASE("find_near_pairs: a lane that is not finite neither hides its neighbours nor is near") {
  Cloud<double> cloud(1, 80, 3, 8);
  for (Pose<Lanes<double>>& x : cloud.pose) {
    set_lane(x.p.x, 1, std::numeric_limits<double>::quiet_NaN());
    set_lane(x.p.y, 2, std::numeric_limits<double>::infinity());
  }
  const BroadPhase plan = make_broad_phase(cloud.kind, cloud.pairs);
  const Scratch<Lanes<double>> scratch(plan);
  CHECK(plan.sweep);
  const std::vector<int> near = find(plan, cloud, scratch);
  CHECK(near == brute_force(cloud));
  CHECK(!near.empty());
}

TEST_CASE("find_near_pairs: every pair of spheres that touches in some lane is found") {
  const Cloud<double> cloud(0, 100, 2, 3);
  const BroadPhase plan = make_broad_phase(cloud.kind, cloud.pairs);
  const Scratch<Lanes<double>> scratch(plan);
  const std::vector<int> near = find(plan, cloud, scratch);
  int touching = 0;
  for (std::size_t k = 0; k < cloud.pairs.size(); ++k) {
    const auto g1 = static_cast<std::size_t>(cloud.pairs[k].geom1);
    const auto g2 = static_cast<std::size_t>(cloud.pairs[k].geom2);
    Touch<Lanes<double>> touch;
    Lanes<double> feature;
    collide_sphere_sphere(&cloud.radius[g1], cloud.pose[g1], &cloud.radius[g2], cloud.pose[g2],
                          cloud.margin[k], &touch, &feature);
    if (!any(feature >= Lanes<double>(0))) continue;
    ++touching;
    CHECK(std::binary_search(near.begin(), near.end(), static_cast<int>(k)));
  }
  CHECK(touching > 10);
}

TEST_CASE("find_near_pairs: one geom, no pairs, and scalars") {
  const std::vector<GeomKind> kind{GeomKind::sphere};
  const BroadPhase plan = make_broad_phase(kind, {});
  const Scratch<double> scratch(plan);
  const Pose<double> pose{};
  const double radius = 1, reach = 0;
  int near = 0;
  CHECK(find_near_pairs(
            plan, &pose, &radius, [](std::size_t) { return 0.0; }, &reach, scratch, &near) == 0);
}

}  // namespace cycloid::test::broad_phase_test
