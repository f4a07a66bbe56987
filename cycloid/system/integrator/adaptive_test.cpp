#include "cycloid/system/integrator/adaptive.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/law/law_stepper.h"
#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/standard_problems.h"
#include "tests/support/stepper_run.h"
#include "tests/support/test_laws.h"

namespace cycloid::adaptive_test {

using test::DrivenOscillator;
using test::Numbers;
using test::Rows;

// Largest error at the end over the tolerance, relative above 1 and absolute below.
double error_over(double tolerance, const Numbers& end, const Numbers& reference) {
  double error = 0;
  for (std::size_t i = 0; i < end.size(); ++i) {
    error = std::max(error, std::abs(end[i] - reference[i]) / (1 + std::abs(reference[i])));
  }
  return error / tolerance;
}

// The tolerance bounds each substep's error; over a run they add up as the problem lets them (on
// the orbits of class D an error in the period grows with the square of time). What a problem lets
// them is seen from SciPy, of whose errors most_of makes a bound.
template <class Scheme>
void check_end_errors(const std::vector<double>& tolerances,
                      double (*most_of)(const test::ScipyErrors&)) {
  for (const test::StandardProblem& problem : test::detest<Scheme>()) {
    for (const double tolerance : tolerances) {
      const double error =
          error_over(tolerance, problem.solve({tolerance, tolerance}), problem.end);
      INFO(problem.name, " at ", tolerance, ": error over tolerance ", error);
      CHECK(error < most_of(problem.scipy()));
      CHECK(error > 1e-5);  // an answer to rounding would be one that does not look at it
    }
  }
}

// What DETEST means by meeting a tolerance: local errors below it. `most` bounds the largest on any
// problem, `deceived` the share of substeps above the tolerance, `sampled` the dense output.
template <class Scheme>
void check_local_errors(double tolerance, double most, double deceived, double sampled) {
  int substeps = 0, above = 0;
  for (const test::StandardProblem& problem : test::detest<Scheme>()) {
    const test::LocalErrors errors = problem.local_errors({tolerance, tolerance});
    INFO(problem.name, " at ", tolerance, ": largest ", errors.largest, ", sampled ",
         errors.largest_sampled, ", deceived ", errors.deceived, " of ", errors.substeps);
    CHECK(errors.largest < most);
    CHECK(errors.largest_sampled < sampled);
    substeps += errors.substeps;
    above += errors.deceived;
  }
  INFO(above, " of ", substeps, " substeps deceived at ", tolerance);
  CHECK(above <= deceived * substeps);
}

// q̈ = -q; it ends where q falls through zero.
struct Turning {
  static constexpr const char* kName = "turning";
  static constexpr std::array kState = {BlockSpec{"q", 1, "1"}, BlockSpec{"v", 1, "1/s"}};
  static constexpr std::array kEvents = {
      EventSpec{"zero", EventDirection::falling, EventEffect::end}};
  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    dx[0] = x[1];
    dx[1] = -x[0];
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S*, S* g) const {
    g[0] = x[0];
  }
};

// Kepler in lanes: orbits of very different work, one that falls into the centre, one unbound.
const Rows<double> kOrbits = {{0.1, 0, 0, 4.3}, {1, 0, 0, 1},     {1, 0, 0, 0},
                              {2, 0, 0.5, 3},   {0.5, 0, 0, 1.7}, {3, 0, 0, 0.1}};
const Rows<double> kBars = {{1, 0.5, -0.3, 0.2}};

template <class Scheme>
test::StepOutcome<double> orbit_of(std::size_t i, const Rows<double>& neighbours, double dt) {
  using S = Pack<double, 4>;
  Rows<double> rows = neighbours;
  rows[i % 4] = kOrbits[i];
  return test::run_step(LawStepper<Kepler, Scheme, S>(Kepler{}, Scheme{{1e-6, 1e-6}}), rows, {{}},
                        {{1.0, dt}}, kBars);
}

template <class Scheme>
void check_lanes_are_alone() {
  const Rows<double> easy(4, {1, 0, 0, 1}), hard(4, {0.1, 0, 0, 3.5});
  for (std::size_t i = 0; i < kOrbits.size(); ++i) {
    const auto among_easy = orbit_of<Scheme>(i, easy, 2.0),
               among_hard = orbit_of<Scheme>(i, hard, 2.0);
    const auto same = [&](const auto& a, const auto& b) {
      return std::memcmp(a[i % 4].data(), b[i % 4].data(), a[i % 4].size() * sizeof(double)) == 0;
    };
    INFO("orbit ", i);
    CHECK(same(among_easy.x_next, among_hard.x_next));
    CHECK(same(among_easy.x_bar, among_hard.x_bar));
    CHECK(same(among_easy.p_bar, among_hard.p_bar));
  }
}

TEST_CASE("Adaptive: on a sample of DETEST, A to E, end errors are below SciPy's or near them") {
  // RK45 is the pair of dopri5, under a control of its own.
  check_end_errors<Dopri5>({1e-3, 1e-5, 1e-7, 1e-9}, [](const test::ScipyErrors& scipy) {
    return std::max(1.0, scipy.rk45);
  });
  // Radau is implicit too, but of order 5: it is allowed to be ten times better (measured: 6.2, on
  // D1). Where its error is nothing, two tolerances (measured: 1.6, on A3).
  check_end_errors<Sdirk4>({1e-3, 1e-5, 1e-7}, [](const test::ScipyErrors& scipy) {
    return std::max(2.0, 10 * scipy.radau);
  });
}

TEST_CASE("Adaptive: local errors are below the tolerance, but for coarse ones of dopri5") {
  // 1 and no substep deceived is what a tolerance means. At 1e-3 and 1e-5 the estimate of dopri5 is
  // too small, since substeps are too long for its expansion: measured 7.3 and 2.1, 11 % and 0.3 %
  // deceived, and bounded with some slack. Dense output is not under control; measured are 2.8 to
  // 7.3 for dopri5, 1.0 to 5.5 for sdirk4.
  check_local_errors<Dopri5>(1e-3, 10, 0.15, 10);
  check_local_errors<Dopri5>(1e-5, 3, 0.01, 10);
  check_local_errors<Dopri5>(1e-7, 1, 0, 10);
  check_local_errors<Dopri5>(1e-9, 1, 0, 10);
  for (const double tolerance : {1e-3, 1e-5, 1e-7}) {
    check_local_errors<Sdirk4>(tolerance, 1, 0, 10);
  }
}

TEST_CASE("Adaptive: sdirk4 meets its tolerance on Van der Pol's oscillator with mu = 1000") {
  // The value at the end is that of the test set of MazziaMagherini2008. The slow motion before it
  // forgets errors: measured are 0.03 to 0.27 tolerances.
  const Numbers start = {2, -0.66e-3}, mu = {1000};
  for (const double tolerance : {1e-3, 1e-4, 1e-5, 1e-6}) {
    const Tolerances tolerances{tolerance, 1e-3 * tolerance};
    const Numbers end =
        test::take_steps<Sdirk4>(test::VanDerPol{}, start, {}, mu, 0, 2000, 1, Sdirk4{tolerances});
    CHECK(std::abs(end[0] - 1.706167732170483) < 0.5 * tolerance);
    CHECK(std::abs(end[1] + 0.8928097010247975e-3) < 0.5e-3 * tolerance);
    const test::LocalErrors errors =
        test::local_errors<Sdirk4>(test::VanDerPol{}, start, mu, 2000, tolerances);
    CHECK(errors.substeps > 100);
    CHECK(errors.deceived == 0);
  }
}

TEST_CASE("Adaptive::step: pullback equals dual numbers with the substeps held, few or many") {
  // Points are [d, u, p, t, h]: one substep, and about 60, for which the way back needs two levels.
  const std::vector<Numbers> points = {{0.5, 1.0, 0.7, 4.0, 0.3, 1.5, 1.3, 2.1, 0.001},
                                       {-1.5, 0.2, 0.0, 1.0, 0.0, 2.0, 5.0, 0.0, 0.4},
                                       {0.1, 0.0, -3.0, 9.0, 1.0, 0.5, 0.1, 100.0, 3.0},
                                       {0.0, 0.0, 0.0, 2.0, 0.5, 1.0, 2.0, -1.0, 1.0}};
  const test::PullbackOptions options{.tolerance = 1e-10, .lane_tolerance = 1e-10};
  test::check_step_pullback<Dopri5>("Adaptive::step", DrivenOscillator{}, {0.3, -0.2}, points,
                                    options);
  test::check_step_pullback<Sdirk4>("Adaptive::step", DrivenOscillator{}, {0.3, -0.2}, points,
                                    options);
}

TEST_CASE("Adaptive: the gradient over many levels is the derivative of the solution") {
  // A harmonic oscillator over 20 periods in one step: some 2000 substeps, three levels of the way
  // back. x⁺ turns by ω t, so every derivative is known; stiffness and time step turn it further.
  using S = double;
  const SpringChain law{1};  // q̈ = -2 (k/m) q
  const double k = 0.5, t = 40 * std::numbers::pi;
  const LawStepper<SpringChain, Dopri5, S> stepper(law, Dopri5{{1e-11, 1e-11}});
  const auto out = test::run_step(stepper, {{1, 0}}, {{0}}, {{1, k, 0, t}}, {{0, 1}});
  // v⁺ = -sin(ω t) + …, ω = √(2k/m) = 1, at a whole number of turns.
  CHECK(out.x_bar[0][0] == doctest::Approx(0).epsilon(1e-8));
  CHECK(out.x_bar[0][1] == doctest::Approx(1).epsilon(1e-9));
  CHECK(out.p_bar[0][1] == doctest::Approx(-t).epsilon(1e-8));  // ∂ω/∂k = 1
  CHECK(out.p_bar[0][3] == doctest::Approx(-1).epsilon(1e-9));  // ∂v⁺/∂dt = -q
}

TEST_CASE_TEMPLATE("Adaptive: the gradient converges with the tolerance, far behind the state",
                   Scheme, Dopri5, Sdirk4) {
  // An orbit from [1, 0, 0, 0.3] passes the centre at 1/20 of its first distance. Energy is kept,
  // so the pullback of its gradient at the end has to be its gradient at the start. Held substeps
  // stay where they are when the passage, of τ = 7 ms, is moved by the state: energy's error e
  // varies over τ, and its derivative is of the size p e/τ, p being the order. Measured: 600 to
  // 5000 times e.
  const auto energy = [](const auto& x) {
    return 0.5 * (x[2] * x[2] + x[3] * x[3]) - 1 / std::hypot(x[0], x[1]);
  };
  const auto slope = [](const auto& x) {
    const double w = std::pow(std::hypot(x[0], x[1]), -3);
    return Numbers{w * x[0], w * x[1], x[2], x[3]};
  };
  const Numbers start = {1, 0, 0, 0.3};
  double before = HUGE_VAL, error = 0;
  for (const double rtol : {1e-5, 1e-7, 1e-9}) {
    const LawStepper<Kepler, Scheme, double> stepper(Kepler{}, Scheme{{rtol, 1e-2 * rtol}});
    const Rows<double> x0 = {start}, p = {{1, 2.0}};
    const auto end = test::run_step(stepper, x0, {{}}, p, kBars).x_next[0];
    const auto x_bar = test::run_step(stepper, x0, {{}}, p, {slope(end)}).x_bar[0];
    error = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      error = std::max(error, std::abs(x_bar[i] - slope(start)[i]));
    }
    INFO("rtol ", rtol, ": gradient off ", error, ", energy ", energy(end) - energy(start));
    CHECK(error > 100 * std::abs(energy(end) - energy(start)));
    // h_i is as rtol^(1/p), and errors as h_i^p: a hundredth, but for a factor of two.
    CHECK(error < before / 50);
    before = error;
  }
  CHECK(error < 1e-5);  // at 1e-9; measured 1.2e-6 and 7e-7, of a gradient of 1
}

TEST_CASE("Adaptive: a lane's numbers do not depend on its neighbours, bit for bit") {
  check_lanes_are_alone<Dopri5>();
  check_lanes_are_alone<Sdirk4>();
}

TEST_CASE("Adaptive: steps that cannot be made are named, and say why") {
  const auto reason_of = [](const auto& stepper, const Rows<double>& x, const Rows<double>& p) {
    const StepperSizes& s = stepper.sizes();
    const auto workspace = stepper.make_workspace({});
    test::RecordRoom record(stepper);
    test::LaneMemory<double> xs(s.state), us(1), ps(s.parameters), next(s.state);
    test::to_lanes(x, s.state, 1, xs.data());
    test::to_lanes(p, s.parameters, 1, ps.data());
    us.data()[0] = 0;
    stepper.begin({ps.data()}, *workspace);
    const StepInput<double> in{xs.data(), us.data(), 0, 0};
    CHECK(stepper.step(in, next.data(), &record, *workspace) == StepStatus::non_finite);
    // A pullback through it comes to an end.
    test::LaneMemory<double> bar(s.tangent), x_bar(s.tangent), u_bar(1);
    for (int i = 0; i < s.tangent; ++i) bar.data()[i] = 1, x_bar.data()[i] = 0;
    u_bar.data()[0] = 0;
    stepper.pullback(in, record, bar.data(), x_bar.data(), u_bar.data(), *workspace);
    return stepper.explain(in, 0, *workspace).reason;
  };
  // A fall into the centre: no substep is short enough.
  CHECK(reason_of(LawStepper<Kepler, Dopri5, double>(Kepler{}), {{1, 0, 0, 0}}, {{1, 2}})
            .find("singular") != std::string::npos);
  CHECK(reason_of(LawStepper<Kepler, Dopri5, double>(Kepler{}), {{0, 0, 0, 0}}, {{1, 2}})
            .find("start of the step") != std::string::npos);
  CHECK(reason_of(LawStepper<test::VanDerPol, Dopri5, double>({}, Dopri5{{1e-6, 1e-6, 1000}}),
                  {{2, 0}}, {{1e4, 100}})
            .find("try sdirk4") != std::string::npos);
}

TEST_CASE("Adaptive: events are looked for in every substep of a long step") {
  // Over four turns from q = 1 the ends and the middle of the step show nothing of the zeros
  // between them; the first one, after a quarter of a turn, ends the run.
  const LawStepper<Turning, Dopri5, double> stepper(Turning{}, Dopri5{{1e-8, 1e-8}});
  const auto workspace = stepper.make_workspace({});
  test::RecordRoom record(stepper);
  test::LaneMemory<double> next(2);
  const double x[] = {1, 0}, p[] = {8 * std::numbers::pi};
  stepper.begin({p}, *workspace);
  stepper.step({x, nullptr, 0, 0}, next.data(), &record, *workspace);
  const auto events = stepper.events(*workspace);
  REQUIRE(events.size() == 1);
  CHECK(events[0].time == doctest::Approx(std::numbers::pi / 2).epsilon(1e-7));
  CHECK(next.data()[1] == doctest::Approx(-1).epsilon(1e-7));
}

TEST_CASE("Adaptive: computes in float too, to a tolerance of its own") {
  const auto out = test::run_step(LawStepper<Kepler, Dopri5, float>(Kepler{}),
                                  {test::orbit(0.5, 0)}, {{}}, {{1, 6.0}}, kBars);
  const Numbers exact = test::orbit(0.5, 6.0);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(static_cast<double>(out.x_next[0][i]) == doctest::Approx(exact[i]).epsilon(1e-3));
  }
}

}  // namespace cycloid::adaptive_test
