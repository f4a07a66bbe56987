#include "cycloid/rigid/constraint/limit_rows.h"

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid::limit_rows_test {

using test::Numbers;

TEST_CASE("limit_gap: pullback equals dual numbers for both ends and the nearer of them") {
  for (const LimitEnd end : {LimitEnd::low, LimitEnd::high, LimitEnd::nearer}) {
    test::check_pullback(
        "limit_gap", 1,
        [&](const auto* in, auto* out) { out[0] = limit_gap(end, in + 1, in[0]).gap; },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          in_bar[0] += limit_gap_pullback(end, in + 1, in[0], out_bar[0], in_bar + 1);
        },
        {{0.2, -1, 1}, {0.9, -1, 1}, {-1.4, -1, 1}, {3, -1, 1}});
  }
}

TEST_CASE("limit_gap: the nearer end has the smaller gap, and the sign that leads away from it") {
  const double range[2] = {-1, 2};
  const LimitGap<double> low = limit_gap(LimitEnd::nearer, range, -1.5);
  CHECK(low.sign == 1);
  CHECK(low.gap == -0.5);
  const LimitGap<double> high = limit_gap(LimitEnd::nearer, range, 1.9);
  CHECK(high.sign == -1);
  CHECK(high.gap == doctest::Approx(0.1).epsilon(1e-15));
}

TEST_CASE("limits: without a margin there is one row, with one there are two") {
  int ends = 0;
  for_each_limit_end(0, [&](LimitEnd end) {
    ++ends;
    CHECK(end == LimitEnd::nearer);
  });
  CHECK(ends == 1);
  for_each_limit_end(0.1, [&](LimitEnd end) {
    ++ends;
    CHECK(end != LimitEnd::nearer);
  });
  CHECK(ends == 3);
}

TEST_CASE("ball limit: angle and axis are those of the turn, the short way round") {
  const double half = 0.35, u[3] = {0.6, 0, 0.8};
  for (const double sign : {1.0, -1.0}) {
    const double s = sign * std::sin(half), q[4] = {sign * std::cos(half), s * u[0], 0, s * u[2]};
    const BallTurn<double> turn(q);
    CHECK(turn.angle == doctest::Approx(0.7).epsilon(1e-14));
    for (int k = 0; k < 3; ++k) CHECK(turn.u[k] == doctest::Approx(u[k]).epsilon(1e-14));
  }
}

TEST_CASE("ball limit: at the reference it turns about x and nothing is infinite") {
  const double q[4] = {1, 0, 0, 0};
  const BallTurn<double> turn(q);
  CHECK(turn.angle == 0);
  CHECK(turn.u.x == 1);
  CHECK(turn.u.y == 0);
  CHECK(turn.inverse == 0);
}

// A hinge between -1 and 1 with a margin of 0.25: lanes with no row, the low end, the high end, and
// one at the margin itself.
TEST_CASE("joint limit: lanes in which an end does not count have zeros") {
  using S = test::LaneNumber;
  const int parent[1] = {-1};
  const DofBlocks dofs(parent);
  ConstraintProblem<S> problem;
  const ConstraintCapacity most{2, 0, 0};
  const Arena memory = carve_memory(problem, dofs, most);
  problem.clear();
  const double value[4] = {0.1, -0.9, 1.3, 0.75}, p[2] = {-1, 1};
  S qpos(0), qvel(2);
  for (int l = 0; l < 4; ++l) set_lane(qpos, l, value[l]);
  const Frames<S> frames{};
  const RowInstant<S> at{frames, {}, &qpos, &qvel, nullptr, nullptr, {S(0.002), S(1), true}};
  const Compliance soft;
  const int low =
      add_joint_limit(JointLimit{LimitEnd::low, 0, 0, 0, 0.25, 0.7, soft}, p, at, problem);
  const int high =
      add_joint_limit(JointLimit{LimitEnd::high, 0, 0, 0, 0.25, 0.7, soft}, p, at, problem);
  CHECK(low == 0);
  CHECK(high == 1);
  const double signs[2][4] = {{0, 1, 0, 0}, {0, 0, -1, 0}};
  for (int i = 0; i < 2; ++i) {
    for (int l = 0; l < 4; ++l) {
      CHECK(lane(problem.sign[i], l) == signs[i][l]);
      CHECK((lane(problem.D[i], l) > 0) == (signs[i][l] != 0));
      CHECK((lane(problem.a_ref[i], l) != 0) == (signs[i][l] != 0));
    }
  }
  for (int l = 0; l < 4; ++l) set_lane(qpos, l, 0.0);
  CHECK(add_joint_limit(JointLimit{LimitEnd::nearer, 0, 0, 0, 0, 0.7, soft}, p, at, problem) == -1);
}

}  // namespace cycloid::limit_rows_test
