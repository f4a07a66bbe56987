// check_pullback: holds a pullback to dual numbers, to lanes and to its contract.
//
// An operator is given as functions of flat arrays, generic in the scalar:
//   f           [](const auto* in, auto* out) { ... }                          `outputs` numbers
//   f_pullback  [](const auto* in, const auto* out_bar, auto* in_bar) { ... }  adds Jᵀ out_bar
// and checked at each of `points` (all of the same length):
//   1. each row of the Jacobian from Dual<double,1> equals the pullback of that output's unit
//      cotangent, at `tolerance`;
//   2. with a random cotangent and accumulators that are not zero at the start, the pullback has
//      added to them and assigned nothing;
//   3. ⟨ȳ, J ẋ⟩ = ⟨Jᵀȳ, ẋ⟩ for random ȳ, ẋ;
//   4. the gradient is finite, and not zero (or exactly zero, where `zero_by_law` says so);
//   5. f and f_pullback in Pack<double,4>, a different point in each lane where there are several,
//      equal the scalar results at `lane_tolerance`.
// Points of different modes therefore belong into one call: they meet in the lanes of one pack.
// When all of this holds the operator `name` counts as tested (operator_coverage.h).
//
// Relative error: the largest |difference| over max(largest |reference|, floor).
//
// An input or output on a manifold is written in tangent coordinates about a fixed base point: f
// retracts a copy of the base by the tangent numbers, which are zero at the point, and measures its
// result by `difference` from the result's own primal value (rotation_test.cpp does so).
//
// check_pullback_derivative additionally differentiates the pullback itself (forward over reverse,
// the Hessian-vector product) against nested duals of f.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cycloid/math/dual.h"
#include "cycloid/math/pack.h"
#include "tests/support/operator_coverage.h"

namespace cycloid::test {

using Numbers = std::vector<double>;

struct PullbackOptions {
  double tolerance = 1e-11;       // pullback against Dual, relative
  double floor = 1e-3;            // references below it count as this large
  double lane_tolerance = 1e-12;  // lanes against scalars, relative
  bool zero_by_law = false;       // at these points the gradient is zero
};

// Fixed pseudo-random numbers in ±[0.5, 1): none so small that it hides a term. (SplitMix64.)
class FixedNumbers {
 public:
  explicit FixedNumbers(std::uint64_t seed) : state_(seed) {}
  double next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    const double magnitude = 0.5 + 0.5 * static_cast<double>(z >> 12) * 0x1p-52;
    return (z & 1) != 0 ? magnitude : -magnitude;
  }
  Numbers vector(std::size_t n) {
    Numbers v(n);
    for (double& x : v) x = next();
    return v;
  }

 private:
  std::uint64_t state_;
};

// Infinite when a number on either side is not finite.
inline double relative_error(std::span<const double> actual, std::span<const double> reference,
                             double floor = 1e-3) {
  double difference = 0, scale = floor;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (!std::isfinite(actual[i]) || !std::isfinite(reference[i])) {
      return std::numeric_limits<double>::infinity();
    }
    difference = std::max(difference, std::abs(actual[i] - reference[i]));
    scale = std::max(scale, std::abs(reference[i]));
  }
  return difference / scale;
}

inline double largest(std::span<const double> v) {
  double m = 0;
  for (const double x : v) m = std::isfinite(x) ? std::max(m, std::abs(x)) : HUGE_VAL;
  return m;
}

inline double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Counts what did not hold; each failure is reported with the operator, the point and the numbers.
class Verdict {
 public:
  explicit Verdict(std::string_view name) : name_(name) {}
  void at(std::size_t point) { point_ = point; }
  void expect_small(const std::string& what, double error, double tolerance) {
    const bool holds = error <= tolerance;
    CHECK_MESSAGE(holds, name_, ", point ", point_, ": ", what, ": relative error ", error,
                  ", allowed ", tolerance);
    failures_ += !holds;
  }
  void expect(const std::string& what, bool holds) {
    CHECK_MESSAGE(holds, name_, ", point ", point_, ": ", what);
    failures_ += !holds;
  }
  bool passed() const { return failures_ == 0; }

 private:
  std::string name_;
  std::size_t point_ = 0;
  int failures_ = 0;
};

using DualNumber = Dual<double, 1>;
inline constexpr int kTestLanes = 4;
using LaneNumber = Pack<double, kTestLanes>;

// f and f_pullback for the scalars of the check, so that the check itself is compiled once.
struct OperatorUnderTest {
  int outputs;
  std::function<void(const double*, double*)> f;
  std::function<void(const DualNumber*, DualNumber*)> f_dual;
  std::function<void(const LaneNumber*, LaneNumber*)> f_lanes;
  std::function<void(const double*, const double*, double*)> f_pullback;
  std::function<void(const LaneNumber*, const LaneNumber*, LaneNumber*)> f_pullback_lanes;

  Numbers value(const Numbers& x) const {
    Numbers out(static_cast<std::size_t>(outputs), 0.0);
    f(x.data(), out.data());
    return out;
  }
  Numbers pullback(const Numbers& x, const Numbers& out_bar, Numbers in_bar) const {
    f_pullback(x.data(), out_bar.data(), in_bar.data());
    return in_bar;
  }
  // J ẋ, and f itself in `value`.
  Numbers pushforward(const Numbers& x, const Numbers& x_tan, Numbers* value = nullptr) const {
    std::vector<DualNumber> in(x.size()), out(static_cast<std::size_t>(outputs), DualNumber(0.0));
    for (std::size_t j = 0; j < x.size(); ++j) {
      in[j] = DualNumber(x[j]);
      in[j].tangent[0] = x_tan[j];
    }
    f_dual(in.data(), out.data());
    Numbers tangent;
    if (value != nullptr) value->clear();
    for (const DualNumber& y : out) {
      tangent.push_back(y.tangent[0]);
      if (value != nullptr) value->push_back(y.value);
    }
    return tangent;
  }
};

// Items 1 to 4 at one point.
inline void check_point(Verdict& verdict, const OperatorUnderTest& op, const Numbers& x,
                        const PullbackOptions& options) {
  const std::size_t n = x.size(), m = static_cast<std::size_t>(op.outputs);
  FixedNumbers random(20 * n + m);
  const Numbers zeros(n, 0.0);
  std::vector<Numbers> columns;  // of the Jacobian
  Numbers value;
  double largest_entry = 0;
  for (std::size_t j = 0; j < n; ++j) {
    Numbers direction = zeros;
    direction[j] = 1;
    columns.push_back(op.pushforward(x, direction, &value));
    largest_entry = std::max(largest_entry, largest(columns.back()));
  }
  verdict.expect_small("value in Dual against double",
                       relative_error(value, op.value(x), options.floor), options.lane_tolerance);
  verdict.expect("the Jacobian is finite", std::isfinite(largest_entry));
  verdict.expect(options.zero_by_law ? "the gradient is zero by law" : "the gradient is not zero",
                 options.zero_by_law == (largest_entry == 0));

  double row_error = 0;  // 1
  for (std::size_t i = 0; i < m; ++i) {
    Numbers unit(m, 0.0), row(n);
    unit[i] = 1;
    for (std::size_t j = 0; j < n; ++j) row[j] = columns[j][i];
    row_error =
        std::max(row_error, relative_error(op.pullback(x, unit, zeros), row, options.floor));
  }
  verdict.expect_small("rows of the Jacobian", row_error, options.tolerance);

  const Numbers out_bar = random.vector(m), x_tan = random.vector(n), start = random.vector(n);
  const Numbers gradient = op.pullback(x, out_bar, zeros);
  Numbers added = op.pullback(x, out_bar, start);
  for (std::size_t j = 0; j < n; ++j) added[j] -= start[j];
  // The start's own rounding: a unit in the last place of numbers near 1.
  const double rounding = std::max(options.floor, 1e-4);
  verdict.expect_small("accumulators are added to", relative_error(added, gradient, rounding),
                       options.tolerance);  // 2

  const Numbers out_tan = op.pushforward(x, x_tan);
  double terms = options.floor;
  for (std::size_t i = 0; i < m; ++i) terms = std::max(terms, std::abs(out_bar[i] * out_tan[i]));
  verdict.expect_small("⟨ȳ, J ẋ⟩ = ⟨Jᵀȳ, ẋ⟩",
                       std::abs(dot(out_bar, out_tan) - dot(gradient, x_tan)) / terms,
                       options.tolerance * static_cast<double>(m + n));  // 3
}

// Item 5, four points at a time.
inline void check_lanes(Verdict& verdict, const OperatorUnderTest& op,
                        const std::vector<Numbers>& points, const PullbackOptions& options) {
  const std::size_t n = points[0].size(), m = static_cast<std::size_t>(op.outputs);
  for (std::size_t first = 0; first < points.size(); first += kTestLanes) {
    std::vector<LaneNumber> x(n), out(m, LaneNumber(0)), out_bar(m), in_bar(n);
    std::vector<Numbers> bars, starts;
    FixedNumbers random(first + 7);
    for (int l = 0; l < kTestLanes; ++l) {
      const Numbers& point = points[(first + static_cast<std::size_t>(l)) % points.size()];
      bars.push_back(random.vector(m));
      starts.push_back(random.vector(n));
      for (std::size_t j = 0; j < n; ++j) set_lane(x[j], l, point[j]);
      for (std::size_t j = 0; j < n; ++j) set_lane(in_bar[j], l, starts.back()[j]);
      for (std::size_t i = 0; i < m; ++i) set_lane(out_bar[i], l, bars.back()[i]);
    }
    op.f_lanes(x.data(), out.data());
    op.f_pullback_lanes(x.data(), out_bar.data(), in_bar.data());
    for (int l = 0; l < kTestLanes; ++l) {
      const auto k = static_cast<std::size_t>(l);
      const std::size_t which = (first + k) % points.size();
      Numbers out_lane, in_bar_lane;
      for (const LaneNumber& y : out) out_lane.push_back(lane(y, l));
      for (const LaneNumber& y : in_bar) in_bar_lane.push_back(lane(y, l));
      verdict.at(which);
      verdict.expect_small("value in lanes",
                           relative_error(out_lane, op.value(points[which]), options.floor),
                           options.lane_tolerance);
      verdict.expect_small(
          "pullback in lanes",
          relative_error(in_bar_lane, op.pullback(points[which], bars[k], starts[k]),
                         options.floor),
          options.lane_tolerance);
    }
  }
}

inline bool check_operator(std::string_view name, const OperatorUnderTest& op,
                           const std::vector<Numbers>& points, const PullbackOptions& options) {
  Verdict verdict(name);
  verdict.expect("there are points to check at", !points.empty());
  if (points.empty()) return false;
  for (std::size_t k = 0; k < points.size(); ++k) {
    verdict.at(k);
    check_point(verdict, op, points[k], options);
  }
  check_lanes(verdict, op, points, options);
  if (verdict.passed()) mark_operator_tested(name);
  return verdict.passed();
}

template <class F, class P>
bool check_pullback(std::string_view name, int outputs, F f, P f_pullback,
                    const std::vector<Numbers>& points, const PullbackOptions& options = {}) {
  return check_operator(name, {outputs, f, f, f, f_pullback, f_pullback}, points, options);
}

// d/dε of Jᵀ(x + ε ẋ) ȳ by a Dual pullback, against Σ ȳ_i ∂²f_i/∂x_j∂ẋ by nested duals of f.
template <class F, class P>
bool check_pullback_derivative(std::string_view name, int outputs, F f, P f_pullback,
                               const std::vector<Numbers>& points,
                               const PullbackOptions& options = {}) {
  using D = Dual<double, 1>;
  using DD = Dual<D, 1>;
  Verdict verdict(name);
  for (std::size_t k = 0; k < points.size(); ++k) {
    verdict.at(k);
    const Numbers& x = points[k];
    const std::size_t n = x.size(), m = static_cast<std::size_t>(outputs);
    FixedNumbers random(k + 3);
    const Numbers x_tan = random.vector(n), out_bar = random.vector(m);
    std::vector<D> in(n), in_bar(n, D(0.0)), bar(m);
    for (std::size_t i = 0; i < m; ++i) bar[i] = D(out_bar[i]);
    for (std::size_t j = 0; j < n; ++j) {
      in[j] = D(x[j]);
      in[j].tangent[0] = x_tan[j];
    }
    f_pullback(static_cast<const D*>(in.data()), static_cast<const D*>(bar.data()), in_bar.data());
    Numbers actual(n), reference(n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<DD> nested(in.begin(), in.end()), out(m, DD(0.0));
      nested[j].tangent[0] = D(1.0);
      f(static_cast<const DD*>(nested.data()), out.data());
      for (std::size_t i = 0; i < m; ++i) reference[j] += out_bar[i] * out[i].tangent[0].tangent[0];
      actual[j] = in_bar[j].tangent[0];
    }
    verdict.expect_small("derivative of the pullback",
                         relative_error(actual, reference, options.floor), options.tolerance);
  }
  return verdict.passed();
}

}  // namespace cycloid::test
