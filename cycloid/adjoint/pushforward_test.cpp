#include "cycloid/adjoint/pushforward.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/make_system.h"
#include "tests/support/diagonal_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/field_world.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"

namespace cycloid::pushforward_test {

using test::contains;
using test::Dipole;
using test::DrivenOscillator;
using test::Numbers;
using test::relative_error;
using test::rollout_case;
using test::RolloutCase;
using test::same_bits;
using test::seeded;
using test::text_of_error;

// A direction that owns its numbers.
struct OwnDirection {
  Numbers x0, controls, params;
  Direction view() const { return {x0, controls, params}; }
};

OwnDirection seeded_direction(const RolloutCase<double>& c, std::uint64_t seed) {
  const Space& space = c.system.states();
  const std::size_t rows = c.x0.size() / static_cast<std::size_t>(space.size());
  const std::size_t inputs = c.controls.empty()
                                 ? static_cast<std::size_t>(c.steps * c.system.inputs().size())
                                 : c.controls.size();
  OwnDirection d{seeded<double>(seed, rows * static_cast<std::size_t>(space.tangent_size())),
                 seeded<double>(seed + 1, inputs), seeded<double>(seed + 2, c.params.size())};
  // The time step moves by a share of itself.
  const std::size_t np = static_cast<std::size_t>(c.system.parameters().size());
  for (std::size_t i = np - 1; i < d.params.size(); i += np) d.params[i] *= 0.01;
  return d;
}

Pushforward push(const RolloutCase<double>& c, const OwnDirection& d,
                 const RolloutOptions& options = {}) {
  return pushforward(c.system, c.x0, c.inputs(), d.view(), c.params, options);
}

// The case with its inputs moved by e along the direction.
RolloutCase<double> moved(const RolloutCase<double>& c, const OwnDirection& d, double e) {
  RolloutCase<double> m = c;
  const Space& space = c.system.states();
  const std::size_t nx = static_cast<std::size_t>(space.size()),
                    nt = static_cast<std::size_t>(space.tangent_size());
  Numbers scaled = d.x0;
  for (double& x : scaled) x *= e;
  for (std::size_t r = 0; r < c.x0.size() / nx; ++r) {
    space.normalise(m.x0.data() + r * nx);
    const Numbers from(m.x0.begin() + static_cast<std::ptrdiff_t>(r * nx),
                       m.x0.begin() + static_cast<std::ptrdiff_t>((r + 1) * nx));
    space.retract(from.data(), scaled.data() + r * nt, m.x0.data() + r * nx);
  }
  if (m.controls.empty()) m.controls.assign(d.controls.size(), 0.0);
  for (std::size_t i = 0; i < m.controls.size(); ++i) m.controls[i] += e * d.controls[i];
  for (std::size_t i = 0; i < m.params.size(); ++i) m.params[i] += e * d.params[i];
  return m;
}

void check_differences(const RolloutCase<double>& c, const RolloutOptions& options = {}) {
  const OwnDirection d = seeded_direction(c, 21);
  const Pushforward forward = push(c, d, options);
  CHECK(relative_error(forward.states(), c.run(options).states()) < 1e-12);
  const double e = 1e-5;
  const Trajectory<double> plus = moved(c, d, e).run(options), minus = moved(c, d, -e).run(options);
  Numbers difference(plus.states().size());
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] = (plus.states()[i] - minus.states()[i]) / (2 * e);
  }
  CHECK(relative_error(forward.states_tan(), difference) < 1e-7);
  CHECK(test::largest(difference) > 0.1);
}

// The law's System without dual kernels.
template <class Law>
System without_dual(const Law& law, const LawSettings& settings) {
  SystemParts parts = law_parts(law, settings);
  parts.float64 = float64_steppers<Law, Rk4>(law);
  parts.float64.dual = nullptr;
  return System(std::move(parts));
}

// Both ways to push forward agree.
template <class Law>
void check_without_dual(const Law& law, const LawSettings& settings, std::int64_t batch,
                        bool own_parameters) {
  RolloutCase<double> c = rollout_case<double>(make_system(law, settings), batch, 25);
  if (own_parameters) {
    c.params.clear();
    for (std::int64_t e = 0; e < batch; ++e) {
      const Numbers row = test::seeded_parameters(c.system, static_cast<std::uint64_t>(e));
      c.params.insert(c.params.end(), row.begin(), row.end());
    }
  }
  const OwnDirection d = seeded_direction(c, 33);
  RolloutOptions options;
  options.t0 = 1.3;
  const Pushforward expected = push(c, d, options);
  c.system = without_dual(law, settings);
  const Pushforward got = push(c, d, options);
  CHECK(relative_error(got.states(), expected.states()) < 1e-12);
  CHECK(relative_error(got.states_tan(), expected.states_tan()) < 1e-11);
  CHECK(test::largest(expected.states_tan()) > 0.1);
  options.save = Save::at({0, 7, -1});
  CHECK(relative_error(push(c, d, options).states_tan().last(1), got.states_tan().last(1)) < 1e-12);
}

// L = Σ ½ w s² over the saved states: its cotangent and that along the direction.
HessianProduct hessian_product(const RolloutCase<double>& c, const OwnDirection& d,
                               const RolloutOptions& options = {}) {
  const Pushforward forward = push(c, d, options);
  const Numbers w = seeded<double>(77, forward.states().size());
  Numbers bar(w.size()), bar_tan(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    bar[i] = w[i] * forward.states()[i];
    bar_tan[i] = w[i] * forward.states_tan()[i];
  }
  return forward.pullback(bar, bar_tan);
}

Gradient<double> gradient_at(const RolloutCase<double>& c, const RolloutOptions& options) {
  const Trajectory<double> run = c.run(options);
  const Numbers w = seeded<double>(77, run.states().size());
  Numbers bar(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) bar[i] = w[i] * run.states()[i];
  return run.pullback(bar);
}

double dot(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Hessian-vector products against central differences of gradients, and vᵀHw = wᵀHv.
void check_hessian(const RolloutCase<double>& c, const RolloutOptions& options = {}) {
  const OwnDirection v = seeded_direction(c, 41), w = seeded_direction(c, 51);
  const HessianProduct Hv = hessian_product(c, v, options), Hw = hessian_product(c, w, options);
  const Gradient<double> here = gradient_at(c, options);
  CHECK(relative_error(Hv.gradient.x0, here.x0) < 1e-12);
  CHECK(relative_error(Hv.gradient.controls, here.controls) < 1e-12);
  CHECK(relative_error(Hv.gradient.params, here.params) < 1e-12);

  const double e = 1e-5;
  const Gradient<double> plus = gradient_at(moved(c, v, e), options),
                         minus = gradient_at(moved(c, v, -e), options);
  const auto check = [&](const Numbers& got, const Numbers& p, const Numbers& m) {
    REQUIRE(got.size() == p.size());
    Numbers difference(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) difference[i] = (p[i] - m[i]) / (2 * e);
    CHECK(relative_error(got, difference) < 1e-6);
    if (!difference.empty()) CHECK(test::largest(difference) > 1e-4);
  };
  check(Hv.gradient_tan.x0, plus.x0, minus.x0);
  check(Hv.gradient_tan.controls, plus.controls, minus.controls);
  check(Hv.gradient_tan.params, plus.params, minus.params);

  const auto product = [](const HessianProduct& H, const OwnDirection& d) {
    return dot(H.gradient_tan.x0_tangent, d.x0) + dot(H.gradient_tan.controls, d.controls) +
           dot(H.gradient_tan.params, d.params);
  };
  const double vHw = product(Hw, v), wHv = product(Hv, w);
  CHECK(std::abs(vHw) > 1e-3);
  CHECK(std::abs(vHw - wHv) <
        1e-10 * std::max(std::abs(vHw), test::largest(Hv.gradient_tan.params)));
}

TEST_CASE("pushforward: tangents equal central differences, for each law and integrator") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    check_differences(rollout_case<double>(system, 1, 20));
    check_differences(rollout_case<double>(system, 5, 20));
  }
}

TEST_CASE(
    "pushforward: tangents equal central differences in time, on quaternions, at saved steps") {
  RolloutOptions options;
  options.t0 = 0.7;
  options.save = Save::at({1, 20, -1});
  check_differences(rollout_case<double>(make_system(DrivenOscillator{}), 3, 40), options);
  check_differences(rollout_case<double>(make_system(Dipole{}), 3, 40), options);
  check_differences(rollout_case<double>(make_system<VelocityVerlet>(Dipole{}), 1, 40), options);
}

TEST_CASE("pushforward: rows that environments share share their tangents") {
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 5, 20);
  SUBCASE("x0") { c.x0 = {0.3, 0.2}; }
  SUBCASE("controls") { c.controls = seeded<double>(3, 20); }
  SUBCASE("zero controls") { c.controls.clear(); }
  check_differences(c);
  check_hessian(c);
}

TEST_CASE("pushforward: a direction of zero has no tangents, and parts may be left out") {
  const RolloutCase<double> c = rollout_case<double>(systems::lorenz(), 3, 10);
  CHECK(test::all_zero(push(c, {}).states_tan()));
  OwnDirection only = seeded_direction(c, 3);
  only.params.clear();
  OwnDirection padded = only;
  padded.params.assign(c.params.size(), 0.0);
  CHECK(same_bits(push(c, only).states_tan(), push(c, padded).states_tan()));
}

TEST_CASE("pushforward: without dual kernels the Jacobians of the steps give the same") {
  for (const std::int64_t batch : {1, 5}) {
    check_without_dual(Pendulum{}, {}, batch, false);
    check_without_dual(DoublePendulum{}, {}, batch, false);
    check_without_dual(Dipole{}, {.dt = 0.03}, batch, false);
  }
}

TEST_CASE("pushforward: ... also for the time step of a law in time, each environment's own too") {
  check_without_dual(DrivenOscillator{}, {.dt = 0.05}, 1, false);
  check_without_dual(DrivenOscillator{}, {.dt = 0.05}, 5, false);
  check_without_dual(
      DrivenOscillator{},
      {.dt = 0.05, .vary = {"stiffness", "damping", "amplitude", "frequency", "option.timestep"}},
      5, true);
}

TEST_CASE(
    "pushforward: a step that fails is named by its environment, with and without dual kernels") {
  const LawSettings settings{.dt = 0.1, .vary = {"breaks_at"}};
  RolloutCase<double> c = rollout_case<double>(make_system(test::Brittle{}, settings), 20, 20);
  const Numbers row = c.system.parameters().default_values();
  c.params.clear();
  for (int e = 0; e < 20; ++e) c.params.insert(c.params.end(), row.begin(), row.end());
  c.params[17 * 3 + 1] = 1.25;
  const OwnDirection d = seeded_direction(c, 3);
  const auto text = [&] { return text_of_error<GradientError>([&] { (void)push(c, d); }); };
  CHECK(contains(text(), "environment 17, step 12"));
  c.system = without_dual(test::Brittle{}, settings);
  CHECK(contains(text(), "environment 17, step 12"));
}

TEST_CASE("Pushforward::pullback: what is not finite is named by the user's environment and step") {
  // n reaches zero in environment 17 at step 6; along a direction of zero the run itself is finite.
  const System system = make_system(test::RootsOfCountdown{});
  Numbers x0(2 * 20, 30.5);
  x0[2 * 17] = 6;
  const Pushforward forward = pushforward(system, x0, 10, {});
  const Numbers bar(forward.states().size(), 1.0);
  const std::string text = text_of_error<GradientError>([&] { (void)forward.pullback(bar, bar); });
  CHECK(contains(text, "environment 17: the cotangent of n at step 6 is not finite"));
}

TEST_CASE("Pushforward::pullback: Hessian-vector products equal differences of gradients") {
  for (const char* law :
       {"pendulum", "double_pendulum", "projectile", "spring_chain", "kepler", "lorenz"}) {
    CAPTURE(law);
    check_hessian(rollout_case<double>(systems::make(law), 1, 20));
    check_hessian(rollout_case<double>(systems::make(law), 5, 20));
  }
  for (const char* integrator :
       {"euler", "semi_implicit", "verlet", "implicit_midpoint", "dopri5", "sdirk4"}) {
    CAPTURE(integrator);
    check_hessian(
        rollout_case<double>(systems::make("pendulum", {}, {.integrator = integrator}), 3, 20));
  }
}

TEST_CASE("Pushforward::pullback: ... for a law in time with saved steps and a small tape") {
  RolloutOptions options;
  options.t0 = 0.4;
  options.save = Save::at({2, 11, -1});
  options.memory = Memory::checkpoints(3);
  check_hessian(rollout_case<double>(make_system(DrivenOscillator{}), 3, 30), options);
}

TEST_CASE("Pushforward::pullback: ... with parameters of each environment's own") {
  const System system =
      systems::pendulum({}, {.vary = {"length", "mass", "damping", "gravity", "option.timestep"}});
  RolloutCase<double> c = rollout_case<double>(system, 5, 20);
  c.params.clear();
  for (std::uint64_t e = 0; e < 5; ++e) {
    const Numbers row = test::seeded_parameters(system, e);
    c.params.insert(c.params.end(), row.begin(), row.end());
  }
  check_hessian(c);
}

TEST_CASE("pushforward: a float32 system is pushed forward in double") {
  const System in_float = systems::pendulum({}, {.precision = Precision::float32});
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 3, 20);
  const OwnDirection d = seeded_direction(c, 3);
  const Pushforward expected = push(c, d);
  c.system = in_float;
  CHECK(same_bits(push(c, d).states_tan(), expected.states_tan()));
}

TEST_CASE("Pushforward::pullback: missing kernels are refused with the reason") {
  const RolloutCase<double> c = rollout_case<double>(without_dual(Pendulum{}, {}), 1, 5);
  const Pushforward forward = push(c, seeded_direction(c, 3));
  const Numbers bar(forward.states().size(), 1.0);
  const std::string text = text_of_error<GradientError>([&] { (void)forward.pullback(bar, bar); });
  CHECK(contains(text, "\"pendulum\" has no second derivatives"));
  CHECK(contains(text, "in dual numbers, in which it has no kernels"));
  const RolloutCase<double> ball = rollout_case<double>(systems::make("bouncing_ball"), 1, 5);
  const Pushforward bounced = push(ball, seeded_direction(ball, 3));
  CHECK(contains(text_of_error<GradientError>([&] { (void)bounced.pullback(bar, bar); }),
                 "its events are found by a search"));
}

// Along x0 + e d with x0 and d in coordinates, of any length: against differences of the gradient,
// and symmetric.
void check_hessian_in_coordinates(const RolloutCase<double>& c,
                                  const RolloutOptions& options = {}) {
  const auto direction = [&](std::uint64_t seed) {
    return OwnDirection{seeded<double>(seed, c.x0.size()),
                        seeded<double>(seed + 1, c.controls.size()),
                        seeded<double>(seed + 2, c.params.size())};
  };
  const OwnDirection v = direction(61), w = direction(71);
  const Trajectory<double> here = c.run(options);
  const Numbers bar = seeded<double>(77, here.states().size()), none(bar.size(), 0.0);
  const auto product = [&](const OwnDirection& d) {
    Direction along = d.view();
    std::swap(along.x0, along.x0_coordinates);
    return pushforward(here, along).pullback(bar, none);
  };
  const HessianProduct Hv = product(v), Hw = product(w);
  const Gradient<double> g = here.pullback(bar);
  CHECK(relative_error(Hv.gradient.x0, g.x0) < 1e-12);
  CHECK(relative_error(Hv.gradient.controls, g.controls) < 1e-12);
  const double e = 1e-5;
  const auto moved_gradient = [&](double by) {
    RolloutCase<double> m = c;
    for (std::size_t i = 0; i < m.x0.size(); ++i) m.x0[i] += by * v.x0[i];
    for (std::size_t i = 0; i < m.controls.size(); ++i) m.controls[i] += by * v.controls[i];
    for (std::size_t i = 0; i < m.params.size(); ++i) m.params[i] += by * v.params[i];
    return m.run(options).pullback(bar);
  };
  const Gradient<double> plus = moved_gradient(e), minus = moved_gradient(-e);
  const auto check = [&](const Numbers& got, const Numbers& p, const Numbers& m) {
    REQUIRE(got.size() == p.size());
    Numbers difference(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) difference[i] = (p[i] - m[i]) / (2 * e);
    CHECK(relative_error(got, difference) < 1e-6);
    CHECK(test::largest(difference) > 1e-4);
  };
  check(Hv.gradient_tan.x0, plus.x0, minus.x0);
  check(Hv.gradient_tan.x0_tangent, plus.x0_tangent, minus.x0_tangent);
  check(Hv.gradient_tan.controls, plus.controls, minus.controls);
  check(Hv.gradient_tan.params, plus.params, minus.params);
  const auto by = [](const HessianProduct& H, const OwnDirection& d) {
    return dot(H.gradient_tan.x0, d.x0) + dot(H.gradient_tan.controls, d.controls) +
           dot(H.gradient_tan.params, d.params);
  };
  CHECK(std::abs(by(Hv, w)) > 1e-3);
  CHECK(std::abs(by(Hv, w) - by(Hw, v)) < 1e-10 * std::abs(by(Hv, w)));
}

TEST_CASE(
    "Pushforward::pullback: on quaternions, in coordinates, also of a length other than one") {
  RolloutCase<double> c = rollout_case<double>(make_system(Dipole{}, {.dt = 0.03}), 3, 15);
  for (std::size_t i = 0; i < 4; ++i) c.x0[7 + i] *= 1.7;
  check_hessian_in_coordinates(c);
  RolloutOptions options;
  options.save = Save::at({3, -1});
  options.memory = Memory::checkpoints(2);
  check_hessian_in_coordinates(c, options);
  check_hessian_in_coordinates(rollout_case<double>(make_system<VelocityVerlet>(Dipole{}), 1, 15));
}

TEST_CASE("pushforward: a direction in coordinates moves only along the sphere") {
  const RolloutCase<double> c = rollout_case<double>(make_system(Dipole{}), 1, 10);
  Numbers along(7, 0.0);
  for (std::size_t i = 0; i < 4; ++i) along[i] = c.x0[i];
  const Pushforward none = pushforward(c.run(), {.x0_coordinates = along});
  CHECK(test::largest(none.states_tan()) < 1e-14);
  along[0] += 1;
  CHECK(test::largest(pushforward(c.run(), {.x0_coordinates = along}).states_tan()) > 0.1);
}

TEST_CASE("pushforward: one row of a direction for many, and many for one row") {
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 5, 20);
  const OwnDirection d = seeded_direction(c, 3);
  const Pushforward all = push(c, {Numbers(d.x0.begin(), d.x0.begin() + 2), {}, {}});
  OwnDirection repeated;
  for (int e = 0; e < 5; ++e) repeated.x0.insert(repeated.x0.end(), d.x0.begin(), d.x0.begin() + 2);
  CHECK(same_bits(all.states_tan(), push(c, repeated).states_tan()));
  c.x0.resize(2);
  const Pushforward many = push(c, {d.x0, {}, {}});
  const Numbers bar(many.states().size(), 1.0), none(bar.size(), 0.0);
  const HessianProduct each = many.pullback(bar, none, true), sum = many.pullback(bar, none);
  CHECK(each.gradient_tan.x0.size() == 10);
  double total = 0;
  for (std::size_t e = 0; e < 5; ++e) total += each.gradient_tan.x0[2 * e];
  CHECK(std::abs(total - sum.gradient_tan.x0[0]) < 1e-12);
  CHECK(std::abs(total) > 1e-3);
}

TEST_CASE("pushforward: by the steps' own pushforward, in lanes and alone, equals differences") {
  for (const std::int64_t batch : {1, 6}) {
    RolloutCase<double> c = rollout_case<double>(test::diagonal_system(7), batch, 12);
    check_differences(c);
    const OwnDirection d = seeded_direction(c, 5);
    const Pushforward by_steps = push(c, d);
    c.system = test::diagonal_system(7, {.pushforward = false, .entries = false});
    CHECK(relative_error(by_steps.states_tan(), push(c, d).states_tan()) < 1e-13);
  }
}

// x⁺ of Field, times 1 + n/10 after n steps: what is carried on acts.
struct GrowsWarm final : test::Field {
  using Field::Field;
  double warmth(const double* x, int l) const {
    return 1 + 0.1 * x[sizes_.state * sizes_.lanes + l];
  }
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const StepStatus status = Field::step(in, x_next, record, w);
    for (int i = 0; i < sizes_.state; ++i) {
      for (int l = 0; l < sizes_.lanes; ++l) x_next[i * sizes_.lanes + l] *= warmth(in.x, l);
    }
    return status;
  }
  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& w) const override {
    Numbers scaled(x_next_bar, x_next_bar + sizes_.state * sizes_.lanes);
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      scaled[i] *= warmth(in.x, static_cast<int>(i) % sizes_.lanes);
    }
    Field::pullback(in, record, scaled.data(), x_bar, u_bar, w);
  }
};

TEST_CASE("pushforward: steps that carry something on are differentiated with it") {
  const test::FieldWorldOf<GrowsWarm> world(3, 4);
  const Numbers x0 = seeded<double>(5, 6), x_tan = seeded<double>(6, 6);
  const Numbers p = {0.5, 0.1, 0.11, 0.12}, p_tan = {0, 0.3, -0.2, 0.1};
  const auto states = [&](double e) {
    Numbers x = x0, q = p;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += e * x_tan[i];
    for (std::size_t i = 0; i < q.size(); ++i) q[i] += e * p_tan[i];
    const Trajectory<double> run = rollout(world.system, x, Controls<double>(4), q);
    return Numbers(run.states().begin(), run.states().end());
  };
  const Numbers low = states(-1e-5), high = states(1e-5);
  const Pushforward found =
      pushforward(world.system, x0, Controls<double>(4), Direction{x_tan, {}, p_tan}, p);
  Numbers expected(low.size());
  for (std::size_t i = 0; i < low.size(); ++i) expected[i] = (high[i] - low[i]) / 2e-5;
  CHECK(relative_error(Numbers(found.states_tan().begin(), found.states_tan().end()), expected) <
        1e-8);
  CHECK(std::abs(expected.back()) > 0.1);
}

}  // namespace cycloid::pushforward_test
