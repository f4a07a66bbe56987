#include "cycloid/couple/closed_observables.h"

#include <doctest/doctest.h>

#include "cycloid/couple/close_loop.h"
#include "cycloid/couple/lane_array.h"
#include "cycloid/couple/linear_feedback.h"
#include "cycloid/couple/linear_loop.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

// A body that is pushed while it spins, so that states and tangents differ, and what is shown
// depends on the input.
struct Pushed {
  static constexpr const char* kName = "pushed";
  static constexpr std::array kState = {BlockSpec{"attitude", 4, "1", BlockKind::quaternion},
                                        BlockSpec{"rate", 3, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"push", 2, "N"}};
  static constexpr std::array kParameters = {ParameterSpec{"inertia", 2.0, "kg·m²"}};
  static constexpr std::array kObservables = {BlockSpec{"tip", 3, "m"}, BlockSpec{"power", 1, "W"}};

  template <class S>
  void x_dot(const S&, const S* x, const S* u, const S* p, S* dx) const {
    for (int i = 0; i < 3; ++i) dx[i] = x[4 + i];
    for (int i = 3; i < 6; ++i) dx[i] = u[i % 2] / p[0];
  }
  template <class S>
  S energy(const S* x, const S* p) const {
    return S(0.5) * p[0] * (x[4] * x[4] + x[5] * x[5] + x[6] * x[6]);
  }
  template <class S>
  void observe(const S&, const S* x, const S* u, const S* p, S* y) const {
    store(y, rotate(load_quat(x), Vec3<S>{S(1), u[1], p[0]}));
    y[3] = u[0] * x[4];
  }
};

const std::vector<std::string> kNames = {"power", "energy", "tip"};
constexpr std::size_t kValues = 5;

struct Loop {
  System open = make_system(Pushed{}), closed = close_loop(open, feedback());

  static LinearFeedback feedback() {
    return {test::FixedNumbers(1).vector(12), {1, 0.1, 0, 0.2, 0.3, 0.4, 0.5}, {0.7, -0.4}};
  }
  Numbers state(std::uint64_t seed) const {
    Numbers x = test::FixedNumbers(seed).vector(7);
    closed.states().normalise(x.data());
    return x;
  }
  Numbers input(const Numbers& x) const {
    Numbers d(6), u(2), p = feedback().gain;
    for (const Numbers& more : {feedback().target, feedback().command}) {
      p.insert(p.end(), more.begin(), more.end());
    }
    linear_feedback({open.states(), 2}, p.data(), x.data(), 1, d.data(), u.data());
    return u;
  }
};

// Rows in the lanes of an observer; the last one fills them up.
LaneArray<double> in_lanes(const std::vector<Numbers>& rows, int W) {
  LaneArray<double> out(rows[0].size() * static_cast<std::size_t>(W));
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    for (std::size_t l = 0; l < static_cast<std::size_t>(W); ++l) {
      out.data()[i * static_cast<std::size_t>(W) + l] = rows[std::min(l, rows.size() - 1)][i];
    }
  }
  return out;
}

// What an observer shows of one state, in lane 0 of chunks of its width.
Numbers shown(const DifferentiableObserver& observer, const Numbers& x, const Numbers& u,
              const Numbers& p) {
  const int W = observer.lanes();
  const auto xs = in_lanes({x}, W), us = in_lanes({u.empty() ? Numbers{0} : u}, W),
             ps = in_lanes({p}, W);
  const LaneArray<double> y(kValues * static_cast<std::size_t>(W));
  const auto w = observer.make_workspace({});
  observer.begin({ps.data()}, *w);
  observer.observe({xs.data(), us.data(), 0.3}, y.data(), *w);
  Numbers values;
  for (std::size_t k = 0; k < kValues; ++k) {
    values.push_back(y.data()[k * static_cast<std::size_t>(W)]);
  }
  return values;
}

}  // namespace

TEST_CASE(
    "closed_observables: lists and finds what the inner System does; null where it has none") {
  const Loop loop;
  REQUIRE(loop.closed.observables());
  const auto listed = loop.closed.observables()->listed();
  REQUIRE(listed.size() == 3);
  CHECK(listed[0].name == "energy");
  CHECK(loop.closed.observables()->find("power")->unit == "W");
  CHECK_FALSE(loop.closed.observables()->find("speed"));
  Closing closing;
  closing.law = linear_loop(loop.open.states(), 2, 2);
  closing.outputs = 2;
  CHECK_FALSE(closed_observables(make_system(Pushed{}).parts(), closing) == nullptr);
  SystemParts bare = loop.open.parts();
  bare.observables = nullptr;
  CHECK(closed_observables(bare, closing) == nullptr);
}

TEST_CASE("closed_observables: values are the inner System's under the feedback's input") {
  const Loop loop;
  const auto inner = loop.open.observables()->differentiable(kNames),
             outer = loop.closed.observables()->differentiable(kNames);
  for (const std::uint64_t seed : {3, 4, 5}) {
    const Numbers x = loop.state(seed);
    const Numbers expected =
        shown(*inner, x, loop.input(x), loop.open.parameters().default_values());
    CHECK(shown(*outer, x, {}, loop.closed.parameters().default_values()) == expected);
    CHECK(std::abs(expected[0]) > 1e-2);
  }
}

TEST_CASE("closed_observables: steps in lanes and alone, in float and double, show the same") {
  const Loop loop;
  const Numbers x = loop.state(6), p = loop.closed.parameters().default_values();
  const Observables& all = *loop.closed.observables();
  const Numbers expected = shown(*all.differentiable(kNames), x, {}, p);
  const auto look = [&]<class T>(const ChunkObserver<T>& observer, double tolerance) {
    const std::size_t W = static_cast<std::size_t>(observer.lanes());
    const LaneArray<T> xs(x.size() * W), ps(p.size() * W), y(kValues * W);
    for (std::size_t i = 0; i < x.size() * W; ++i) xs.data()[i] = static_cast<T>(x[i / W]);
    for (std::size_t i = 0; i < p.size() * W; ++i) ps.data()[i] = static_cast<T>(p[i / W]);
    const auto w = observer.make_workspace({});
    observer.begin({ps.data()}, *w);
    const StepRecord record;
    for (const bool behind : {false, true}) {
      y.clear();
      const ObservedPoint<T> at{xs.data(), nullptr, 0.3};
      if (behind) {
        observer.observe_behind({at, record, nullptr}, y.data(), *w);
      } else {
        observer.observe(at, y.data(), *w);
      }
      for (std::size_t k = 0; k < kValues * W; ++k) {
        CHECK(static_cast<double>(y.data()[k]) ==
              doctest::Approx(expected[k / W]).epsilon(tolerance));
      }
    }
  };
  for (const int lanes : {1, loop.closed.steppers<double>().packed->sizes().lanes}) {
    look(*all.float64(kNames, lanes), 1e-14);
    look(*all.float32(kNames, lanes), 1e-5);
  }
}

TEST_CASE("closed_observables: pullback equals central differences by state and all parameters") {
  const Loop loop;
  const Numbers x = loop.state(7), p = loop.closed.parameters().default_values(),
                bar = test::FixedNumbers(8).vector(kValues);
  const auto observer = loop.closed.observables()->differentiable(kNames);
  const int W = observer->lanes();
  const std::size_t w_ = static_cast<std::size_t>(W);
  const auto xs = in_lanes({x}, W), ps = in_lanes({p}, W), bars = in_lanes({bar}, W);
  const LaneArray<double> x_bar(6 * w_), p_bar(p.size() * w_);
  const auto w = observer->make_workspace({});
  observer->begin({ps.data()}, *w);
  std::fill_n(x_bar.data(), 6 * w_, 0.25);  // added to
  observer->pullback({xs.data(), nullptr, 0.3}, bars.data(), x_bar.data(), nullptr, *w);
  observer->finish(*w, p_bar.data());
  const auto loss = [&](const Numbers& at, const Numbers& params) {
    const Numbers y = shown(*observer, at, {}, params);
    double sum = 0;
    for (std::size_t k = 0; k < kValues; ++k) sum += bar[k] * y[k];
    return sum;
  };
  const double e = 1e-6;
  for (std::size_t i = 0; i < 6; ++i) {
    const auto moved = [&](double by) {
      Numbers d(6, 0.0), to(7);
      d[i] = by;
      loop.closed.states().retract(x.data(), d.data(), to.data());
      return loss(to, p);
    };
    CHECK(x_bar.data()[i * w_] - 0.25 ==
          doctest::Approx((moved(e) - moved(-e)) / (2 * e)).epsilon(1e-7));
  }
  double largest = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto moved = [&](double by) {
      Numbers to = p;
      to[i] += by;
      return loss(x, to);
    };
    const double difference = (moved(e) - moved(-e)) / (2 * e);
    CAPTURE(loop.closed.parameters().number_name(static_cast<int>(i)));
    CHECK(p_bar.data()[i * w_] == doctest::Approx(difference).epsilon(1e-6));
    CHECK(p_bar.data()[i * w_ + w_ - 1] == p_bar.data()[i * w_]);
    if (i > 1) largest = std::max(largest, std::abs(difference));
  }
  CHECK(largest > 0.1);
}

}  // namespace cycloid
