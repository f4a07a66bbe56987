#include "cycloid/system/law/law_stepper.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cycloid/math/rotation.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"
#include "tests/support/test_laws.h"

namespace cycloid::law_stepper_test {

using test::Dipole;
using test::DrivenOscillator;
using test::LaneMemory;
using test::Numbers;
using test::Rows;
using test::run_step;
using test::StepOutcome;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class S, class Law = Pendulum, class Scheme = Rk4>
using StepperOf = LawStepper<Law, Scheme, S>;

// Four pendulums, each with its own state, torque, parameters and time step.
const Rows<double> kStates = {{0.4, -1.1}, {3.0, 0.2}, {-2.0, 5.0}, {0.0, 0.1}};
const Rows<double> kInputs = {{0.3}, {0.0}, {-1.0}, {2.0}};
const Rows<double> kParams = {{0.7, 1.3, 0.4, 9.81, 0.01},
                              {1.0, 1.0, 0.0, 9.81, 0.05},
                              {2.0, 0.5, 0.1, 1.62, 0.1},
                              {0.3, 3.0, 0.0, 9.81, 0.001}};
const Rows<double> kBars = {{0.6, -0.8}, {1.0, 0.5}, {-0.3, 0.2}, {0.0, 1.0}};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Everything that a step gives a lane, as one vector.
template <class T>
Numbers lane_of(const StepOutcome<T>& out, std::size_t l) {
  Numbers all(out.x_next[l].begin(), out.x_next[l].end());
  all.insert(all.end(), out.x_bar[l].begin(), out.x_bar[l].end());
  all.insert(all.end(), out.u_bar[l].begin(), out.u_bar[l].end());
  all.insert(all.end(), out.p_bar[l].begin(), out.p_bar[l].end());
  return all;
}

StepOutcome<double> in_double(std::size_t i, std::int64_t step = 0) {
  return run_step(StepperOf<double>(Pendulum{}), {kStates[i]}, {kInputs[i]}, {kParams[i]},
                  {kBars[i]}, step);
}

// Its acceleration is not a number from t = 0.3 on.
struct Fuse {
  static constexpr const char* kName = "fuse";
  static constexpr std::array kState = {BlockSpec{"place", 2, "m"}, BlockSpec{"speed", 2, "m/s"}};
  static constexpr std::array kParameters = {ParameterSpec{"blow", 0.3, "s"}};
  static constexpr bool kSecondOrder = true;
  template <class S>
  void x_dot(const S& t, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = x[2];
    dx[1] = x[3];
    dx[2] = S(1);
    dx[3] = sqrt(p[0] - t);
  }
};

// A finite rate that carries its state beyond the largest double.
struct Burst {
  static constexpr const char* kName = "burst";
  static constexpr std::array kState = {BlockSpec{"calm", 1, "1"}, BlockSpec{"wild", 1, "1"}};
  template <class S>
  void x_dot(const S&, const S*, const S*, const S*, S* dx) const {
    dx[0] = S(0);
    dx[1] = S(1e308);
  }
};

// A constant slope: every step adds h to its cotangent.
struct Ramp {
  static constexpr const char* kName = "ramp";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}};
  static constexpr std::array kParameters = {ParameterSpec{"slope", 1.0, "m/s"}};
  template <class S>
  void x_dot(const S&, const S*, const S*, const S* p, S* dx) const {
    dx[0] = p[0];
  }
};

// ẋ = t, to see what time the law gets and that its cotangent is carried to h.
struct TimeSeen {
  static constexpr const char* kName = "time_seen";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}};
  template <class S>
  void x_dot(const S& t, const S*, const S*, const S*, S* dx) const {
    dx[0] = t;
  }
};

struct FirstStage {  // x⁺ = x_dot(t, x)
  static constexpr const char* kName = "first_stage";
  static constexpr int kStages = 1;
  template <class Law, class S>
  static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S* record) {
    law_x_dot(at, at.t, x, record, record + 1);
    x_next[0] = record[0];
  }
  template <class Law, class S>
  static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S* record,
                            const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    law_x_dot_pullback(at, at.t, x, record + 1, x_next_bar, at_bar.t, x_bar, at_bar.u, at_bar.p);
  }
};

TEST_CASE("LawStepper: its sizes are the law's, with the time step behind the parameters") {
  const StepperSizes s = StepperOf<Pack<double, 4>>(Pendulum{}).sizes();
  CHECK(s.lanes == 4);
  CHECK(s.state == 2);
  CHECK(s.tangent == 2);
  CHECK(s.input == 1);
  CHECK(s.parameters == 5);
  CHECK(s.record == 4 * (2 + 2));
  CHECK_FALSE(s.record_is_costly);
  CHECK(StepperOf<float>(Pendulum{}).sizes().lanes == 1);
  CHECK((StepperOf<Dual<Pack<double, 4>, 1>>(Pendulum{}).sizes().lanes == 8));
  CHECK((StepperOf<double, Dipole>(Dipole{}).sizes().tangent == 6));
  CHECK((StepperOf<double, SpringChain>(SpringChain{6}).sizes().record == 4 * 12));
}

TEST_CASE(
    "LawStepper: float, packs of float and of double agree with double, values and cotangents") {
  const StepOutcome<double> four =
      run_step(StepperOf<Pack<double, 4>>(Pendulum{}), kStates, kInputs, kParams, kBars, 3);
  const StepOutcome<float> eight =
      run_step(StepperOf<Pack<float, 8>>(Pendulum{}), kStates, kInputs, kParams, kBars, 3);
  for (std::size_t i = 0; i < 4; ++i) {
    const Numbers reference = lane_of(in_double(i, 3), 0);
    CHECK(test::largest(reference) > 0.1);
    CHECK(test::relative_error(lane_of(four, i), reference) < 1e-12);
    // Contract: relative error over the whole vector; float rounds to 6e-8, and a step adds a few
    // dozen.
    CHECK(test::relative_error(lane_of(eight, i), reference) < 1e-5);
    CHECK(same_bits(lane_of(eight, i), lane_of(eight, i + 4)));
    const StepOutcome<float> one = run_step(StepperOf<float>(Pendulum{}), {kStates[i]},
                                            {kInputs[i]}, {kParams[i]}, {kBars[i]}, 3);
    CHECK(test::relative_error(lane_of(one, 0), reference) < 1e-5);
  }
  CHECK(four.status == StepStatus::ok);
  CHECK(eight.status == StepStatus::ok);
}

TEST_CASE("LawStepper: dual lanes carry values and one tangent, of the step and of its pullback") {
  using Lanes = Pack<double, 2>;
  test::FixedNumbers random(6);
  const auto interleave = [](const Rows<double>& values, const Rows<double>& tangents) {
    return Rows<double>{values[0], values[1], tangents[0], tangents[1]};
  };
  const Rows<double> x_tan = {random.vector(2), random.vector(2)};
  const Rows<double> u_tan = {random.vector(1), random.vector(1)};
  Rows<double> p_tan = {random.vector(5), random.vector(5)};
  for (auto& row : p_tan) {
    for (double& v : row) v *= 0.01;
  }
  const Rows<double> bar_tan = {random.vector(2), random.vector(2)};
  const StepOutcome<double> dual = run_step(
      StepperOf<Dual<Lanes, 1>>(Pendulum{}), interleave(kStates, x_tan), interleave(kInputs, u_tan),
      interleave(kParams, p_tan), interleave(kBars, bar_tan), 3);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(test::relative_error(lane_of(dual, i), lane_of(in_double(i, 3), 0)) < 1e-12);
    const auto along = [&](double e) {
      const auto moved = [&](const Numbers& a, const Numbers& d) {
        Numbers m = a;
        for (std::size_t j = 0; j < m.size(); ++j) m[j] += e * d[j];
        return Rows<double>{m};
      };
      return lane_of(run_step(StepperOf<double>(Pendulum{}), moved(kStates[i], x_tan[i]),
                              moved(kInputs[i], u_tan[i]), moved(kParams[i], p_tan[i]),
                              moved(kBars[i], bar_tan[i]), 3),
                     0);
    };
    const double h = 1e-3;  // fourth order: truncation and rounding near 1e-11
    const Numbers a = along(h), b = along(-h), c = along(2 * h), d = along(-2 * h);
    Numbers expected(a.size());
    for (std::size_t j = 0; j < a.size(); ++j) {
      expected[j] = (8 * (a[j] - b[j]) - (c[j] - d[j])) / (12 * h);
    }
    CHECK(test::relative_error(lane_of(dual, 2 + i), expected) < 1e-8);
  }
}

TEST_CASE("LawStepper: a law of run-time size and one with quaternions agree between lane types") {
  const auto check = [](const auto& one, const auto& packed, int parameters, double spread) {
    const StepperSizes s = one.sizes();
    test::FixedNumbers random(12);
    Rows<double> x, u, p, bars;
    for (int l = 0; l < 4; ++l) {
      x.push_back(random.vector(s.state));
      if (s.tangent != s.state) store(x.back().data(), normalise(load_quat(x.back().data())));
      u.push_back(random.vector(s.input));
      bars.push_back(random.vector(s.tangent));
      p.emplace_back();
      for (int i = 0; i < parameters; ++i) p.back().push_back(1 + spread * i + 0.1 * l);
      p.back().push_back(0.05 + 0.01 * l);
    }
    const StepOutcome<double> four = run_step(packed, x, u, p, bars, 7);
    for (std::size_t l = 0; l < 4; ++l) {
      const StepOutcome<double> alone = run_step(one, {x[l]}, {u[l]}, {p[l]}, {bars[l]}, 7);
      CHECK(test::relative_error(lane_of(four, l), lane_of(alone, 0)) < 1e-12);
    }
  };
  check(StepperOf<double, SpringChain>(SpringChain{5}),
        StepperOf<Pack<double, 4>, SpringChain>(SpringChain{5}), 3, 0.2);
  check(StepperOf<double, Dipole>(Dipole{}), StepperOf<Pack<double, 4>, Dipole>(Dipole{}), 4, 0.2);
}

TEST_CASE("LawStepper: without a record the step is the same, bit for bit") {
  const auto check = []<class S>(const StepperOf<S>& stepper) {
    using T = Scalar<S>;
    const StepperSizes s = stepper.sizes();
    const auto numbers = [&](int n) { return static_cast<std::size_t>(n * s.lanes); };
    const auto workspace = stepper.make_workspace({});
    test::RecordRoom record(stepper);
    LaneMemory<T> x(numbers(2)), u(numbers(1)), p(numbers(5)), with(numbers(2)),
        without(numbers(2));
    test::to_lanes(kStates, 2, s.lanes, x.data());
    test::to_lanes(kInputs, 1, s.lanes, u.data());
    test::to_lanes(kParams, 5, s.lanes, p.data());
    stepper.begin({p.data()}, *workspace);
    const StepInput<T> in{x.data(), u.data(), 11, 0.5};
    CHECK(stepper.step(in, with.data(), &record, *workspace) == StepStatus::ok);
    CHECK(stepper.step(in, without.data(), nullptr, *workspace) == StepStatus::ok);
    CHECK(std::memcmp(with.data(), without.data(), numbers(2) * sizeof(T)) == 0);
  };
  check(StepperOf<double>(Pendulum{}));
  check(StepperOf<Pack<float, 8>>(Pendulum{}));
}

TEST_CASE(
    "LawStepper::pullback: adds to x_bar, u_bar and the parameters' sums; begin clears those") {
  const StepperOf<double> stepper(Pendulum{});
  const StepperSizes s = stepper.sizes();
  const auto workspace = stepper.make_workspace({});
  test::RecordRoom record(stepper);
  double x_next[2], p_once[5], p_twice[5], p_again[5];
  const StepInput<double> in{kStates[0].data(), kInputs[0].data(), 4, 0};
  stepper.begin({kParams[0].data()}, *workspace);
  stepper.step(in, x_next, &record, *workspace);
  double x_bar[2] = {}, u_bar[1] = {}, started[2] = {10, 20}, u_started[1] = {30};
  stepper.pullback(in, record, kBars[0].data(), x_bar, u_bar, *workspace);
  stepper.finish(*workspace, p_once);
  stepper.pullback(in, record, kBars[0].data(), started, u_started, *workspace);
  stepper.finish(*workspace, p_twice);
  for (int i = 0; i < 2; ++i)
    CHECK(started[i] - 10 * (i + 1) == doctest::Approx(x_bar[i]).epsilon(1e-12));
  CHECK(u_started[0] - 30 == doctest::Approx(u_bar[0]).epsilon(1e-9));
  for (int i = 0; i < 5; ++i) {
    CHECK(std::abs(p_once[i]) > 1e-6);
    CHECK(p_twice[i] == 2 * p_once[i]);
  }
  stepper.begin({kParams[0].data()}, *workspace);
  stepper.finish(*workspace, p_again);
  for (int i = 0; i < 5; ++i) CHECK(p_again[i] == 0);
}

TEST_CASE("LawStepper: parameters' cotangents of a float run are summed in double") {
  // Every step adds h = 1e-3 to the cotangent of the slope. In float the sum would stop growing
  // evenly: after a million steps its unit in the last place is 6e-5.
  const StepperOf<float, Ramp> stepper(Ramp{});
  const auto workspace = stepper.make_workspace({});
  const float x = 0, p[2] = {1, 1e-3f}, bar = 1;
  test::RecordRoom record(stepper);
  float x_next, x_bar = 0, u_bar = 0;
  stepper.begin({p}, *workspace);
  const StepInput<float> in{&x, &u_bar, 0, 0};
  stepper.step(in, &x_next, &record, *workspace);
  const int n = 200000;
  float in_float = 0;
  for (int k = 0; k < n; ++k) {
    stepper.pullback(in, record, &bar, &x_bar, &u_bar, *workspace);
    in_float += 1e-3f;
  }
  double p_bar[2];
  stepper.finish(*workspace, p_bar);
  const double expected = n * static_cast<double>(1e-3f);
  // One float rounding in each term, which 1 h is computed with exactly up to the weights of RK4.
  CHECK(std::abs(p_bar[0] / expected - 1) < 1e-6);
  CHECK(std::abs(in_float / expected - 1) > 1e-5);  // what it would be otherwise
}

TEST_CASE("LawStepper: a lane that is NaN, infinite or huge leaves its neighbours bit for bit") {
  const auto check = [](const auto& stepper, auto zero) {
    using T = decltype(zero);
    const StepOutcome<T> healthy = run_step(stepper, kStates, kInputs, kParams, kBars, 5);
    for (const double bad : {kNaN, kInfinity, -kInfinity, 1e30}) {
      for (const bool in_state : {true, false}) {
        Rows<double> x = kStates, bars = kBars;
        (in_state ? x[2][0] : bars[2][0]) = bad;
        const StepOutcome<T> sick = run_step(stepper, x, kInputs, kParams, bars, 5);
        if (in_state && bad != 1e30) CHECK(sick.status == StepStatus::non_finite);
        for (std::size_t l = 0; l < healthy.x_next.size(); ++l) {
          if (l % 4 == 2) continue;
          CHECK(same_bits(lane_of(sick, l), lane_of(healthy, l)));
        }
      }
    }
  };
  check(StepperOf<Pack<double, 4>>(Pendulum{}), 0.0);
  check(StepperOf<Pack<float, 8>>(Pendulum{}), 0.0f);
}

TEST_CASE("LawStepper: lane and neighbours do not matter, bit for bit") {
  const StepperOf<Pack<double, 4>> stepper(Pendulum{});
  const auto shuffled = [](const Rows<double>& rows) {
    return Rows<double>{rows[3], rows[0], rows[1], rows[1]};
  };
  const StepOutcome<double> a = run_step(stepper, kStates, kInputs, kParams, kBars, 5);
  const StepOutcome<double> b = run_step(stepper, shuffled(kStates), shuffled(kInputs),
                                         shuffled(kParams), shuffled(kBars), 5);
  const std::size_t from[4] = {3, 0, 1, 1};
  for (std::size_t l = 0; l < 4; ++l) CHECK(same_bits(lane_of(b, l), lane_of(a, from[l])));
}

TEST_CASE("LawStepper::explain: names the stage and the block where x_dot is first not finite") {
  const auto explain = [](const Stepper<double>& stepper, double h, std::int64_t step, int lane) {
    const StepperSizes s = stepper.sizes();
    const auto workspace = stepper.make_workspace({});
    test::RecordRoom record(stepper);
    LaneMemory<double> x(static_cast<std::size_t>(s.state * s.lanes)),
        p(static_cast<std::size_t>(s.parameters * s.lanes)),
        x_next(static_cast<std::size_t>(s.state * s.lanes));
    // Only the asked lane's fuse blows, at t = 0.3.
    Rows<double> params(static_cast<std::size_t>(s.lanes), {1e9, h});
    params[static_cast<std::size_t>(lane)] = {0.3, h};
    test::to_lanes(params, 2, s.lanes, p.data());
    test::to_lanes(Rows<double>{{0, 0, 0, 0}}, 4, s.lanes, x.data());
    stepper.begin({p.data()}, *workspace);
    const StepInput<double> in{x.data(), x.data(), step, 0.0};
    CHECK(stepper.step(in, x_next.data(), nullptr, *workspace) == StepStatus::non_finite);
    return stepper.explain(in, lane, *workspace);
  };
  using Lanes = Pack<double, 4>;
  const StepTrouble last = explain(StepperOf<Lanes, Fuse>(Fuse{}), 0.11, 2, 1);
  CHECK(last.body == "speed[1]");
  CHECK(last.stage == "rk4 stage 4");
  CHECK(last.reason == "its rate of change (x_dot) is not finite");
  CHECK(explain(StepperOf<double, Fuse>(Fuse{}), 0.1, 4, 0).stage == "rk4 stage 1");
  CHECK(explain(StepperOf<double, Fuse>(Fuse{}), 0.4, 0, 0).stage == "rk4 stage 4");
  CHECK(explain(StepperOf<double, Fuse>(Fuse{}), 0.7, 0, 0).stage == "rk4 stage 2");

  // Finite rates, infinite sum.
  const StepperOf<double, Burst> burst(Burst{});
  const auto workspace = burst.make_workspace({});
  const double x[2] = {1, 1.7e308}, h = 0.5;
  double x_next[2];
  burst.begin({&h}, *workspace);
  const StepInput<double> in{x, nullptr, 0, 0};
  CHECK(burst.step(in, x_next, nullptr, *workspace) == StepStatus::non_finite);
  const StepTrouble trouble = burst.explain(in, 0, *workspace);
  CHECK(trouble.stage == "rk4");
  CHECK(trouble.body == "wild");
  CHECK(trouble.reason == "its new value is not finite");
}

TEST_CASE("time_of_step: is t0 + k h to the last bit that float has, for long runs too") {
  const float h = 1e-3f;
  const std::int64_t k = (std::int64_t{1} << 24) + 1;  // the first count that a float does not hold
  const double exact = 100.0 + static_cast<double>(k) * static_cast<double>(h);
  CHECK(time_of_step(100.0, k, h) == static_cast<float>(exact));
  CHECK(time_of_step(0.0, 10 * k + 3, h) ==
        static_cast<float>(static_cast<double>(10 * k + 3) * static_cast<double>(h)));
  Pack<float, 8> hs(h);
  set_lane(hs, 3, 2e-3f);
  const Pack<float, 8> t = time_of_step(100.0, k, hs);
  CHECK(lane(t, 0) == static_cast<float>(exact));
  CHECK(lane(t, 3) ==
        static_cast<float>(100.0 + static_cast<double>(k) * static_cast<double>(2e-3f)));
  CHECK(time_of_step(2.0, 1000000007, 0.25) == 2.0 + 1000000007 * 0.25);
}

TEST_CASE("LawStepper: the law sees t0 + k h, and the time step's cotangent the k of it") {
  const auto seen = run_step(LawStepper<TimeSeen, FirstStage, double>(TimeSeen{}), {{0.0}}, {{}},
                             {{0.25}}, {{1.0}}, 1000, 3.0);
  CHECK(seen.x_next[0][0] == 3.0 + 1000 * 0.25);
  CHECK(seen.p_bar[0][0] == 1000);
}

}  // namespace cycloid::law_stepper_test
