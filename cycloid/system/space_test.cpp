#include "cycloid/system/space.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "cycloid/base/error.h"
#include "tests/support/pullback_check.h"

namespace cycloid::space_test {

using test::Numbers;

// Vectors before, between and after two quaternions.
Space mixed() {
  return Space({{"place", 2, "m"},
                {"attitude", 4, "1", BlockKind::quaternion},
                {"height", 1, "m"},
                {"wrist", 4, "1", BlockKind::quaternion},
                {"speed", 3, "m/s"}});
}

Numbers raw_row() {
  return {0.3, -2.0, 0.9, -1.2, 0.4, 0.8, 5.0, 0.02, 0.01, -0.03, 0.04, 1.0, 2.0, -3.0};
}

Numbers unit_row() {
  Numbers x = raw_row();
  REQUIRE(mixed().normalise(x.data()));
  return x;
}

// A smooth function of a row and its gradient in coordinates.
double loss(const Numbers& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::sin((1.0 + 0.1 * i) * x[i] + 0.2 * i);
  return sum;
}

Numbers loss_gradient(const Numbers& x) {
  Numbers g(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    g[i] = (1.0 + 0.1 * i) * std::cos((1.0 + 0.1 * i) * x[i] + 0.2 * i);
  }
  return g;
}

// Central difference of fourth order: with this step truncation and rounding are near 1e-12 for
// functions of order one.
template <class F>
double derivative(F f, double h = 1e-3) {
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}
constexpr double kDifferenceTolerance = 1e-9;

double length(const double* q) {
  return std::hypot(std::hypot(q[0], q[1]), std::hypot(q[2], q[3]));
}

template <class T>
void check_round_trip(double tolerance) {
  const Space space = mixed();
  test::FixedNumbers random(11);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<T> a, b, d(12), back(14);
    for (int i = 0; i < 14; ++i) a.push_back(static_cast<T>(random.next()));
    for (int i = 0; i < 14; ++i) b.push_back(static_cast<T>(random.next()));
    space.normalise(a.data());
    space.normalise(b.data());
    space.difference(a.data(), b.data(), d.data());
    space.retract(a.data(), d.data(), back.data());
    for (const int q : {2, 7}) {  // q and -q are one rotation
      if (std::abs(back[q] + b[q]) > std::abs(back[q] - b[q])) continue;
      for (int i = q; i < q + 4; ++i) b[i] = -b[i];
    }
    for (int i = 0; i < 14; ++i) CHECK(std::abs(back[i] - b[i]) <= tolerance);
    std::vector<T> again(12);
    space.difference(a.data(), back.data(), again.data());
    for (int i = 0; i < 12; ++i) CHECK(std::abs(again[i] - d[i]) <= 4 * tolerance);
  }
}

TEST_CASE("Space: blocks lie one after another, a quaternion has one tangent number less") {
  const Space space = mixed();
  CHECK(space.size() == 14);
  CHECK(space.tangent_size() == 12);
  CHECK_FALSE(space.flat());
  REQUIRE(space.blocks().size() == 5);
  const Block& wrist = space.blocks()[3];
  CHECK(wrist.name == "wrist");
  CHECK(wrist.unit == "1");
  CHECK(wrist.kind == BlockKind::quaternion);
  CHECK(wrist.offset == 7);
  CHECK(wrist.size == 4);
  CHECK(wrist.tangent_offset == 6);
  CHECK(wrist.tangent_size == 3);
  CHECK(Space({{"x", 3, "m"}}).flat());
  CHECK(Space().size() == 0);
}

TEST_CASE("Space: names the block of a coordinate and every tangent number") {
  const Space space = mixed();
  const char* const owners[14] = {"place",    "place",  "attitude", "attitude", "attitude",
                                  "attitude", "height", "wrist",    "wrist",    "wrist",
                                  "wrist",    "speed",  "speed",    "speed"};
  for (int i = 0; i < 14; ++i) CHECK(space.block_of(i).name == owners[i]);
  CHECK(space.tangent_name(1) == "place[1]");
  CHECK(space.tangent_name(2) == "attitude[0]");
  CHECK(space.tangent_name(4) == "attitude[2]");
  CHECK(space.tangent_name(5) == "height");
  CHECK(space.tangent_name(11) == "speed[2]");
  CHECK_THROWS_AS(space.block_of(14), InternalError);
  CHECK_THROWS_AS(space.block_of(-1), InternalError);
  CHECK_THROWS_AS(space.tangent_name(12), InternalError);
}

TEST_CASE("Space: refuses blocks without name, with the same name, or of impossible size") {
  CHECK_THROWS_WITH_AS(Space({{"", 1, "m"}}), "a block of a space needs a name", ModelError);
  CHECK_THROWS_WITH_AS(Space({{"x", 1, "m"}, {"y", 1, "m"}, {"x", 2, "m"}}),
                       "two blocks of a space are called \"x\"", ModelError);
  CHECK_THROWS_WITH_AS(Space({{"x", 0, "m"}}), "block \"x\" has size 0; at least 1 is needed",
                       ModelError);
  CHECK_THROWS_WITH_AS(Space({{"x", -2, "m"}}), "block \"x\" has size -2; at least 1 is needed",
                       ModelError);
  CHECK_THROWS_WITH_AS(
      Space({{"q", 8, "1", BlockKind::quaternion}}),
      "quaternion block \"q\" has size 8; a quaternion is 4 numbers, one block each", ModelError);
}

TEST_CASE("Space::normalise: gives quaternions unit length at any size, and leaves the rest") {
  const Space space = mixed();
  const Numbers raw = raw_row();
  for (const double scale : {1.0, 1e-150, 1e150, 1e-300, 1e300}) {
    Numbers x = raw;
    for (int i = 2; i < 6; ++i) x[i] *= scale;
    CHECK(space.normalise(x.data()));
    for (const int q : {2, 7}) CHECK(std::abs(length(&x[q]) - 1) < 4e-16);
    for (int i = 2; i < 6; ++i)
      CHECK(x[i] == doctest::Approx(raw[i] / length(&raw[2])).epsilon(1e-15));
    for (const int i : {0, 1, 6, 11, 12, 13}) CHECK(x[i] == raw[i]);
  }
}

TEST_CASE("Space::normalise: a zero quaternion is refused, and the row stays as it was") {
  Numbers x = raw_row();
  for (int i = 7; i < 11; ++i) x[i] = i == 9 ? -0.0 : 0.0;
  const Numbers before = x;
  CHECK_FALSE(mixed().normalise(x.data()));
  CHECK(x == before);
  float q[4] = {0, 0, 0, 1e-30f};
  CHECK(Space({{"q", 4, "1", BlockKind::quaternion}}).normalise(q));
  CHECK(q[3] == 1.0f);
}

TEST_CASE("Space: retract and difference undo each other, in double and in float") {
  check_round_trip<double>(4e-15);
  check_round_trip<float>(4e-6);
}

TEST_CASE("Space::retract: turns a quaternion in the body's axes, and adds to a vector") {
  const Space space({{"q", 4, "1", BlockKind::quaternion}, {"v", 1, "m"}});
  const double c = std::sqrt(0.5);
  // A quarter turn about z, then one about the body's x: about the world's y.
  const double x[5] = {c, 0, 0, c, 2}, d[4] = {std::numbers::pi / 2, 0, 0, 0.25};
  double out[5];
  space.retract(x, d, out);
  const double expected[5] = {0.5, 0.5, 0.5, 0.5, 2.25};
  for (int i = 0; i < 5; ++i) CHECK(out[i] == doctest::Approx(expected[i]).epsilon(1e-15));
}

TEST_CASE("Space::to_tangent: equals differences of the loss along retract, and adds") {
  const Space space = mixed();
  const Numbers x = unit_row(), x_bar = loss_gradient(x), start(12, 0.5);
  Numbers d_bar = start;
  space.to_tangent(x.data(), x_bar.data(), d_bar.data());
  for (std::size_t i = 0; i < 12; ++i) {
    const double expected = derivative([&](double h) {
      Numbers d(12, 0.0), moved(14);
      d[i] = h;
      space.retract(x.data(), d.data(), moved.data());
      return loss(moved);
    });
    CHECK(std::abs(expected) > 1e-3);
    CHECK(std::abs(d_bar[i] - start[i] - expected) < kDifferenceTolerance);
  }
}

TEST_CASE(
    "Space::to_coordinates: equals differences of the raw numbers through normalise, and adds") {
  const Space space = mixed();
  const Numbers raw = raw_row(), x = unit_row(), x_bar = loss_gradient(x), start(14, -0.25);
  Numbers d_bar(12, 0.0), raw_bar = start;
  space.to_tangent(x.data(), x_bar.data(), d_bar.data());
  space.to_coordinates(raw.data(), d_bar.data(), raw_bar.data());
  for (std::size_t i = 0; i < 14; ++i) {
    // The second quaternion is 0.05 long: its step is as much smaller, its derivative larger.
    const bool small = i >= 7 && i < 11;
    const double expected = derivative(
        [&](double h) {
          Numbers moved = raw;
          moved[i] += h;
          space.normalise(moved.data());
          return loss(moved);
        },
        small ? 5e-5 : 1e-3);
    CHECK(std::abs(expected) > 1e-3);
    CHECK(std::abs(raw_bar[i] - start[i] - expected) < (small ? 20 : 1) * kDifferenceTolerance);
  }
  for (const int q : {2, 7}) {  // orthogonal to the quaternion
    double along = 0;
    for (int i = q; i < q + 4; ++i) along += raw[i] * (raw_bar[i] - start[i]);
    CHECK(std::abs(along) < 1e-14);
  }
}

TEST_CASE("Space: a mixed block has one name, and its quaternions keep their geometry") {
  const Space space(std::vector<MixedBlockSpec>{
      {"qpos", "m, rad", {{"", 3, ""}, {"", 4, "", BlockKind::quaternion}, {"", 2, ""}}},
      {"qvel", "m/s", {{"", 8, ""}}}});
  CHECK(space.size() == 17);
  CHECK(space.tangent_size() == 16);
  CHECK_FALSE(space.flat());
  REQUIRE(space.blocks().size() == 2);
  CHECK(space.blocks()[0].kind == BlockKind::mixed);
  CHECK(space.blocks()[0].size == 9);
  CHECK(space.blocks()[0].tangent_size == 8);
  CHECK(space.blocks()[1].offset == 9);
  CHECK(space.block_of(6).name == "qpos");
  CHECK(space.tangent_name(7) == "qpos[7]");
  std::vector<double> x(17, 0.5), d(16, 0.1), moved(17), back(16);
  REQUIRE(space.normalise(x.data()));
  space.retract(x.data(), d.data(), moved.data());
  CHECK(moved[0] == doctest::Approx(0.6));
  space.difference(x.data(), moved.data(), back.data());
  for (std::size_t i = 0; i < d.size(); ++i) CHECK(back[i] == doctest::Approx(0.1).epsilon(1e-12));
  CHECK_THROWS_AS(Space(std::vector<MixedBlockSpec>{{"qpos", "m", {}}}), ModelError);
}

}  // namespace cycloid::space_test
