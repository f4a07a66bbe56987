#include "cycloid/couple/linear_feedback.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

const Space& space() {
  static const Space s(
      {{"place", 2, "m"}, {"attitude", 4, "1", BlockKind::quaternion}, {"height", 1, "m"}});
  return s;
}

constexpr int kInputs = 2, kStates = 7, kTangents = 6;

// A state, moved from a fixed one by tangent numbers.
template <class S>
void moved(const S* d, S* x) {
  const double base[kStates] = {0.3, -0.7, 0.5, 0.5, -0.5, 0.5, 1.1};
  x[0] = S(base[0]) + d[0];
  x[1] = S(base[1]) + d[1];
  const Quat<S> q =
      retract(Quat<S>{S(base[2]), S(base[3]), S(base[4]), S(base[5])}, Vec3<S>{d[2], d[3], d[4]});
  x[2] = q.w, x[3] = q.x, x[4] = q.y, x[5] = q.z;
  x[6] = S(base[6]) + d[5];
}

}  // namespace

TEST_CASE("linear_feedback: on vectors u = u0 - K (x - target)") {
  const Space flat({{"q", 2, "rad"}});
  const FeedbackShape shape{flat, 1};
  CHECK(shape.numbers() == 2 + 2 + 1);
  const double p[] = {2.0, 3.0, 0.5, -1.0, 0.25}, x[] = {1.5, 1.0};
  double d[2], u[1];
  linear_feedback(shape, p, x, 1, d, u);
  CHECK(u[0] == 0.25 - 2.0 * 1.0 - 3.0 * 2.0);
}

TEST_CASE("linear_feedback: a target has the direction of its quaternion, not its length") {
  const FeedbackShape shape{space(), kInputs};
  Numbers p = test::FixedNumbers(2).vector(static_cast<std::size_t>(shape.numbers()));
  Numbers longer = p;
  for (int i = 2; i < 6; ++i) longer[static_cast<std::size_t>(shape.gains() + i)] *= 2.5;
  const double zero[kTangents] = {};
  double x[kStates], d[kTangents], u[kInputs], again[kInputs];
  moved(zero, x);
  linear_feedback(shape, p.data(), x, 1, d, u);
  linear_feedback(shape, longer.data(), x, 1, d, again);
  for (int i = 0; i < kInputs; ++i) CHECK(again[i] == doctest::Approx(u[i]).epsilon(1e-14));
}

TEST_CASE("linear_feedback: pullback equals dual numbers in state, gain, target and command") {
  const FeedbackShape shape{space(), kInputs};
  const int np = shape.numbers();
  const auto f = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    S x[kStates], d[kTangents];
    moved(in + np, x);
    linear_feedback(shape, in, x, 1, d, out);
  };
  const auto f_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in)>;
    S x[kStates], d[kTangents], d_bar[kTangents];
    moved(in + np, x);
    linear_feedback_pullback(shape, in, x, out_bar, 1, d, d_bar, in_bar + np, in_bar);
  };
  std::vector<Numbers> points;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Numbers point = test::FixedNumbers(seed).vector(static_cast<std::size_t>(np));
    point.insert(point.end(), kTangents, 0.0);
    points.push_back(point);
  }
  test::check_pullback("linear_feedback", kInputs, f, f_pullback, points);
}

}  // namespace cycloid
