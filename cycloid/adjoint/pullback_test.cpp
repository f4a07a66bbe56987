// Trajectory::pullback (rollout.h, pullback.cpp): what the gradient of a rollout is.
#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/make_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"

namespace cycloid::pullback_test {

using test::all_zero;
using test::contains;
using test::Dipole;
using test::DrivenOscillator;
using test::largest;
using test::Numbers;
using test::relative_error;
using test::rollout_case;
using test::RolloutCase;
using test::same_bits;
using test::same_gradient;
using test::seeded;
using test::text_of_error;

using Failed = PullbackOptions::Failed;

double dot(std::span<const double> a, std::span<const double> b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The gradient of ⟨bar, states⟩, number by number from dual numbers.
struct ForwardModeGradient {
  Numbers x0_tangent, controls, params;
};

ForwardModeGradient forward_mode_gradient(const RolloutCase<double>& c, const Numbers& bar,
                                          const RolloutOptions& options) {
  const auto part = [&](std::size_t n, std::span<const double> Direction::* which) {
    Numbers gradient(n), unit(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      unit[i] = 1;
      Direction direction;
      direction.*which = unit;
      gradient[i] = dot(
          bar, pushforward(c.system, c.x0, c.inputs(), direction, c.params, options).states_tan());
      unit[i] = 0;
    }
    return gradient;
  };
  const std::size_t tangents = c.x0.size() / static_cast<std::size_t>(c.system.states().size()) *
                               static_cast<std::size_t>(c.system.states().tangent_size());
  return {part(tangents, &Direction::x0), part(c.controls.size(), &Direction::controls),
          part(c.params.size(), &Direction::params)};
}

// Each number for itself, over max(|reference|, 1e-3).
double largest_entry_error(std::span<const double> actual, std::span<const double> reference) {
  REQUIRE(actual.size() == reference.size());
  double most = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    most = std::max(most, relative_error(actual.subspan(i, 1), reference.subspan(i, 1)));
  }
  return most;
}

// Holds the pullback of a case to dual numbers: every number, and ⟨ȳ, J ẋ⟩ = ⟨Jᵀȳ, ẋ⟩.
void check_against_dual_numbers(const RolloutCase<double>& c, const RolloutOptions& options = {}) {
  constexpr double kTolerance = 1e-10;  // as held to; sums of some hundred terms leave 1e-13
  const Trajectory<double> run = c.run(options);
  const Numbers bar = seeded<double>(99, run.states().size());
  const Gradient<double> g = run.pullback(bar);
  const ForwardModeGradient reference = forward_mode_gradient(c, bar, options);
  CHECK(largest_entry_error(g.x0_tangent, reference.x0_tangent) < kTolerance);
  CHECK(largest_entry_error(g.controls, reference.controls) < kTolerance);
  CHECK(largest_entry_error(g.params, reference.params) < kTolerance);
  CHECK(largest(g.x0_tangent) > 1e-2);
  if (!c.controls.empty()) CHECK(largest(g.controls) > 1e-4);
  for (const double p : g.params) CHECK(p != 0);

  const Numbers dx = seeded<double>(5, g.x0_tangent.size()),
                du = seeded<double>(6, c.controls.size()), dp = seeded<double>(7, c.params.size());
  const Pushforward forward =
      pushforward(c.system, c.x0, c.inputs(), {dx, du, dp}, c.params, options);
  const double there = dot(bar, forward.states_tan());
  const double back = dot(g.x0_tangent, dx) + dot(g.controls, du) + dot(g.params, dp);
  CHECK(std::abs(there - back) < kTolerance * std::max(std::abs(there), 1e-3));
}

// Rows of parameters, one per environment, all different.
void vary_parameters(RolloutCase<double>& c) {
  Numbers rows;
  for (std::int64_t e = 0; e < c.batch; ++e) {
    const Numbers row = test::seeded_parameters(c.system, static_cast<std::uint64_t>(100 + e));
    rows.insert(rows.end(), row.begin(), row.end());
  }
  c.params = rows;
}

std::vector<std::string> parameter_names(const System& system) {
  std::vector<std::string> names;
  for (const Parameter& p : system.parameters().all()) names.push_back(p.name);
  return names;
}

TEST_CASE("pullback: projectile gradients equal the closed form to 1e-12") {
  // Without drag rk4 and verlet give the parabola exactly, to rounding.
  //   p_k = p0 + t v0 - ½ g t² e_z,   v_k = v0 - g t e_z,   t = k h
  for (const char* integrator : {"rk4", "verlet"}) {
    const double h = 0.02, g = 9.3;
    const System system = systems::projectile({.gravity = g}, {.dt = h, .integrator = integrator});
    const Numbers x0 = {0.4, -1.0, 2.0, 7.0, -3.0, 11.0};
    for (const bool all : {false, true}) {
      const std::int64_t T = 100;
      RolloutOptions options;
      options.save = all ? Save::all() : Save::last();
      const Trajectory<double> run = rollout(system, x0, T, {}, options);
      const Numbers w = seeded<double>(3, run.states().size());
      const Gradient<double> gradient = run.pullback(w);

      Numbers x0_bar(6, 0.0);
      double g_bar = 0, h_bar = 0;
      for (std::size_t s = 0; s < run.saved_steps().size(); ++s) {
        const double k = static_cast<double>(run.saved_steps()[s]), t = k * h;
        const double* p_bar = w.data() + 6 * s;
        const double* v_bar = p_bar + 3;
        for (int i = 0; i < 3; ++i) {
          x0_bar[static_cast<std::size_t>(i)] += p_bar[i];
          x0_bar[static_cast<std::size_t>(3 + i)] += v_bar[i] + t * p_bar[i];
          h_bar += k * p_bar[i] * x0[static_cast<std::size_t>(3 + i)];
        }
        g_bar -= 0.5 * t * t * p_bar[2] + t * v_bar[2];
        h_bar -= k * g * (t * p_bar[2] + v_bar[2]);
      }
      CHECK(relative_error(gradient.x0, x0_bar) < 1e-12);
      const Parameters& names = system.parameters();
      const auto of = [&](const char* name) {
        return gradient.params[static_cast<std::size_t>(names.find(name).offset)];
      };
      CHECK(std::abs(of("gravity") / g_bar - 1) < 1e-12);
      CHECK(std::abs(of("option.timestep") / h_bar - 1) < 1e-12);
      CHECK(of("mass") == 0);  // a body falls like any other
    }
  }
}

TEST_CASE("pullback: equals dual numbers for each law and integrator, alone") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    check_against_dual_numbers(rollout_case<double>(system, 1, 30));
  }
}

TEST_CASE("pullback: equals dual numbers for each law and integrator, in a batch") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    check_against_dual_numbers(rollout_case<double>(system, 5, 12, 8));
  }
}

TEST_CASE("pullback: equals dual numbers with parameters of each environment's own") {
  for (const std::string& law : systems::names()) {
    if (!systems::make(law).events().empty()) continue;  // adjoint/events_test.cpp
    CAPTURE(law);
    const std::vector<std::string> names = parameter_names(systems::make(law));
    const System system = systems::make(law, {}, {.vary = names});
    RolloutCase<double> c = rollout_case<double>(system, 3, 20);
    vary_parameters(c);
    check_against_dual_numbers(c);
  }
}

TEST_CASE("pullback: equals dual numbers for a law in time, with t0, and for the time step") {
  const System system = make_system<VelocityVerlet>(DrivenOscillator{}, {.dt = 0.05});
  for (const std::int64_t batch : {1, 3}) {
    RolloutOptions options;
    options.t0 = 2.5;
    RolloutCase<double> c = rollout_case<double>(system, batch, 70);
    check_against_dual_numbers(c, options);
    options.save = Save::at({3, 64, -1});
    check_against_dual_numbers(c, options);

    // And central differences of the time step; cubic error times h², and rounding over h.
    const Trajectory<double> run = c.run(options);
    const Numbers bar = seeded<double>(4, run.states().size());
    const double gradient = run.pullback(bar).params.back(), e = 1e-5;
    const auto loss = [&](double shift) {
      RolloutCase<double> moved = c;
      moved.params.back() += shift;
      return dot(bar, moved.run(options).states());
    };
    const double difference = (loss(e) - loss(-e)) / (2 * e);
    CHECK(std::abs(gradient) > 1);
    CHECK(std::abs(gradient / difference - 1) < 1e-6);
    options.t0 = 0;
    const double elsewhere = c.run(options).pullback(bar).params.back();
    CHECK(std::abs(elsewhere / difference - 1) > 1e-3);
  }
}

TEST_CASE("pullback: equals dual numbers on quaternions, in tangents") {
  for (const std::int64_t batch : {1, 3}) {
    RolloutCase<double> c = rollout_case<double>(make_system(Dipole{}), batch, 20);
    c.params = {1.0, 2.0, 2.8, 0.7, 0.02};
    check_against_dual_numbers(c);
    RolloutOptions options;
    options.save = Save::at({4, 17});
    check_against_dual_numbers(c, options);
  }
}

TEST_CASE("pullback: g.x0 of a quaternion is the gradient with respect to the raw numbers") {
  RolloutCase<double> c = rollout_case<double>(make_system(Dipole{}), 2, 25);
  const Numbers q = {1.2, -0.7, 0.4, 1.9};  // not of unit length
  std::copy(q.begin(), q.end(), c.x0.begin());
  const Trajectory<double> run = c.run();
  const Numbers bar = seeded<double>(4, run.states().size());
  const Gradient<double> g = run.pullback(bar);
  CHECK(std::abs(dot(std::span(g.x0).first(4), q)) < 1e-12 * largest(g.x0));
  const auto loss = [&](std::size_t i, double shift) {
    RolloutCase<double> moved = c;
    moved.x0[i] += shift;
    return dot(bar, moved.run().states());
  };
  for (std::size_t i = 0; i < c.x0.size(); ++i) {
    const double e = 1e-5, difference = (loss(i, e) - loss(i, -e)) / (2 * e);
    CHECK(std::abs(g.x0[i] - difference) < 1e-7 * std::max(1.0, std::abs(difference)));
  }
  CHECK(largest(std::span(g.x0).first(4)) > 0.1);
}

TEST_CASE("pullback: states_bar refers to what is saved") {
  const RolloutCase<double> c = rollout_case<double>(systems::double_pendulum(), 3, 90);
  const Trajectory<double> all = c.run();
  for (const Save& save : {Save::last(), Save::every(8), Save::at({0, 5, 64, -3})}) {
    RolloutOptions options;
    options.save = save;
    const Trajectory<double> part = c.run(options);
    const Numbers bar = seeded<double>(4, part.states().size());
    // The same cotangent, with zeros at the states that are not saved.
    Numbers wide(all.states().size(), 0.0);
    const std::size_t S = part.saved_steps().size();
    for (std::size_t e = 0; e < 3; ++e) {
      for (std::size_t s = 0; s < S; ++s) {
        const std::size_t k = static_cast<std::size_t>(part.saved_steps()[s]);
        std::copy_n(bar.begin() + static_cast<std::ptrdiff_t>((e * S + s) * 4), 4,
                    wide.begin() + static_cast<std::ptrdiff_t>((e * 91 + k) * 4));
      }
    }
    const Gradient<double> g = part.pullback(bar);
    CHECK(same_gradient(g, all.pullback(wide)));
    CHECK(largest(g.x0) > 0.1);
  }
}

TEST_CASE("pullback: a loss that looks at state 0 alone has the identity as its gradient") {
  const RolloutCase<double> c = rollout_case<double>(systems::lorenz(), 2, 10);
  const Trajectory<double> run = c.run(Memory::automatic(), Save::at({0}));
  const Numbers bar = seeded<double>(4, 6);
  const Gradient<double> g = run.pullback(bar);
  CHECK(g.x0 == bar);
  CHECK(all_zero(g.params));
}

TEST_CASE("pullback: rows that environments share get the sum of the gradients") {
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 40, 70);
  const auto [x0, controls] = std::pair(Numbers{0.7, -0.3}, seeded<double>(3, 70));
  const auto repeated = [](const Numbers& row, std::size_t n) {
    Numbers rows;
    for (std::size_t i = 0; i < n; ++i) rows.insert(rows.end(), row.begin(), row.end());
    return rows;
  };
  const Numbers bar = seeded<double>(4, 40 * 71 * 2);
  const auto sum = [](const Numbers& rows, std::size_t row) {
    Numbers total(row, 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) total[i % row] += rows[i];
    return total;
  };
  // Sums of 40 terms in another order: a few units in the last place.
  constexpr double kSumTolerance = 1e-13;

  SUBCASE("x0") {
    c.x0 = x0;
    const Gradient<double> shared = c.run().pullback(bar);
    c.x0 = repeated(x0, 40);
    const Gradient<double> own = c.run().pullback(bar);
    REQUIRE(shared.x0.size() == 2);
    REQUIRE(shared.x0_tangent.size() == 2);
    CHECK(relative_error(shared.x0, sum(own.x0, 2)) < kSumTolerance);
    CHECK(same_bits(shared.controls, own.controls));
  }
  SUBCASE("controls") {
    c.controls = controls;
    const Gradient<double> shared = c.run().pullback(bar);
    c.controls = repeated(controls, 40);
    const Gradient<double> own = c.run().pullback(bar);
    REQUIRE(shared.controls.size() == 70);
    CHECK(relative_error(shared.controls, sum(own.controls, 70)) < kSumTolerance);
    CHECK(largest(shared.controls) > 1e-2);
    CHECK(same_bits(shared.x0, own.x0));
  }
  SUBCASE("zero controls") {
    c.controls.clear();
    const Gradient<double> shared = c.run().pullback(bar);
    c.controls.assign(40 * 70, 0.0);
    const Gradient<double> own = c.run().pullback(bar);
    REQUIRE(shared.controls.size() == 70);
    CHECK(relative_error(shared.controls, sum(own.controls, 70)) < kSumTolerance);
  }
  SUBCASE("parameters") {
    const System varying = systems::pendulum({}, {.vary = parameter_names(systems::pendulum())});
    const Gradient<double> shared = c.run().pullback(bar);
    c.system = varying;
    c.params = repeated(c.params, 40);
    const Gradient<double> own = c.run().pullback(bar);
    REQUIRE(shared.params.size() == 5);
    REQUIRE(own.params.size() == 40 * 5);
    CHECK(relative_error(shared.params, sum(own.params, 5)) < kSumTolerance);
    CHECK(same_bits(shared.x0, own.x0));
  }
  SUBCASE("a batch that only the parameters make") {
    c.system = systems::pendulum({}, {.vary = {"length"}});
    c.x0 = x0;
    c.controls = controls;
    Numbers rows = repeated(c.params, 40);
    for (std::size_t e = 0; e < 40; ++e) rows[e * 5] = 0.5 + 0.02 * static_cast<double>(e);
    c.params = rows;
    const Trajectory<double> run = c.run();
    REQUIRE(run.batch() == 40);
    const Gradient<double> g = run.pullback(bar);
    CHECK(g.x0.size() == 2);
    CHECK(g.controls.size() == 70);
    CHECK(g.params.size() == 40 * 5);
  }
}

TEST_CASE("pullback: with `each`, environments that share rows have a row of the gradient each") {
  const auto repeated = [](const Numbers& row) {
    Numbers rows;
    for (std::size_t i = 0; i < 40; ++i) rows.insert(rows.end(), row.begin(), row.end());
    return rows;
  };
  // A batch that only the first parameter makes; then nothing is shared. Dipole has a quaternion.
  const System dipole = make_system(
      Dipole{}, {.dt = 0.01, .vary = parameter_names(make_system(Dipole{}, {.dt = 0.01}))});
  RolloutCase<double> c = rollout_case<double>(dipole, 1, 30);
  const std::size_t np = c.params.size();
  Numbers rows = repeated(c.params);
  for (std::size_t e = 0; e < 40; ++e) rows[e * np] *= 1 + 0.01 * static_cast<double>(e);
  c.params = rows;
  const Numbers bar = seeded<double>(4, 40 * 31 * c.x0.size());
  const Trajectory<double> run = c.run();
  REQUIRE(run.batch() == 40);
  const Gradient<double> each = run.pullback(bar, {.each = true});
  const Gradient<double> shared = run.pullback(bar);
  CHECK(shared.x0.size() == c.x0.size());
  c.x0 = repeated(c.x0);
  c.controls = repeated(c.controls);
  const Gradient<double> own = c.run().pullback(bar);
  CHECK(same_bits(each.x0, own.x0));
  CHECK(same_bits(each.x0_tangent, own.x0_tangent));
  CHECK(same_bits(each.controls, own.controls));
  CHECK(same_bits(each.params, own.params));
  CHECK(largest(each.x0) > 0);

  RolloutCase<double> same = rollout_case<double>(systems::pendulum(), 40, 7);  // shares params
  const Numbers same_bar = seeded<double>(5, 40 * 8 * 2);
  const Gradient<double> parts = same.run().pullback(same_bar, {.each = true});
  const Gradient<double> total = same.run().pullback(same_bar);
  REQUIRE(parts.params.size() == 40 * total.params.size());
  Numbers sum(total.params.size(), 0.0);
  for (std::size_t i = 0; i < parts.params.size(); ++i) sum[i % sum.size()] += parts.params[i];
  CHECK(relative_error(sum, total.params) < 1e-13);  // the same terms in another order
}

TEST_CASE("pullback: only what is asked for is returned, and it is the same") {
  const RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 3, 20);
  const Trajectory<double> run = c.run();
  const Numbers bar = seeded<double>(4, run.states().size());
  const Gradient<double> all = run.pullback(bar);
  const Gradient<double> x0 = run.pullback(bar, {.controls = false, .params = false});
  CHECK(same_bits(x0.x0, all.x0));
  CHECK(x0.controls.empty());
  CHECK(x0.params.empty());
  const Gradient<double> controls = run.pullback(bar, {.x0 = false, .params = false});
  CHECK(controls.x0.empty());
  CHECK(controls.x0_tangent.empty());
  CHECK(same_bits(controls.controls, all.controls));
  const Gradient<double> params = run.pullback(bar, {.x0 = false, .controls = false});
  CHECK(same_bits(params.params, all.params));
  CHECK(params.controls.empty());
}

TEST_CASE("pullback: Truncate(k) is the sum over windows of k steps, each rolled out by itself") {
  const RolloutCase<double> c = rollout_case<double>(systems::double_pendulum(), 3, 23);
  const Trajectory<double> whole = c.run(Memory::all());
  const Numbers bar = seeded<double>(4, whole.states().size());
  for (const std::int64_t k : {1, 5, 22}) {
    CAPTURE(k);
    const Gradient<double> g = c.run(Memory::truncate(k)).pullback(bar);
    Numbers params(c.params.size(), 0.0), controls(c.controls.size()), x0;
    for (std::int64_t begin = 0; begin < 23; begin += k) {
      // The loss looks at the states behind the window's first; that belongs to the one before.
      const std::int64_t steps = std::min<std::int64_t>(k, 23 - begin);
      RolloutCase<double> window = c;
      window.steps = steps;
      window.controls.clear();
      Numbers window_bar;
      window.x0.clear();
      for (std::int64_t e = 0; e < 3; ++e) {
        const auto start = whole.state(e, begin);
        window.x0.insert(window.x0.end(), start.begin(), start.end());
        const auto u = c.controls.begin() + (e * 23 + begin) * 2;
        window.controls.insert(window.controls.end(), u, u + steps * 2);
        const auto w = bar.begin() + (e * 24 + begin) * 4;
        window_bar.insert(window_bar.end(), w, w + (steps + 1) * 4);
        if (begin > 0) std::fill_n(window_bar.end() - (steps + 1) * 4, 4, 0.0);
      }
      const Gradient<double> part = window.run().pullback(window_bar);
      for (std::size_t i = 0; i < params.size(); ++i) params[i] += part.params[i];
      for (std::int64_t e = 0; e < 3; ++e) {
        std::copy_n(part.controls.begin() + e * steps * 2, steps * 2,
                    controls.begin() + (e * 23 + begin) * 2);
      }
      if (begin == 0) x0 = part.x0;
    }
    CHECK(same_bits(g.x0, x0));
    CHECK(same_bits(g.controls, controls));
    CHECK(relative_error(g.params, params) < 1e-13);  // sums in another order
    CHECK(!same_bits(g.x0, whole.pullback(bar).x0));
  }
  for (const std::int64_t k : {23, 24, 1000}) {
    CHECK(same_gradient(c.run(Memory::truncate(k)).pullback(bar), whole.pullback(bar)));
  }
}

TEST_CASE("pullback: float32 gradients are close to float64's, for each law and integrator") {
  const std::vector<test::NamedSystem> in_double = test::law_systems(),
                                       in_float = test::law_systems(Precision::float32);
  for (std::size_t i = 0; i < in_double.size(); ++i) {
    CAPTURE(in_double[i].name);
    const RolloutCase<double> c = rollout_case<double>(in_double[i].system, 3, 50);
    RolloutCase<float> f{in_float[i].system,
                         3,
                         50,
                         {c.x0.begin(), c.x0.end()},
                         {c.controls.begin(), c.controls.end()},
                         c.params};
    const Numbers bar = seeded<double>(4, c.run().states().size());
    const Gradient<double> g = c.run().pullback(bar);
    const Gradient<float> h = f.run().pullback(std::vector<float>(bar.begin(), bar.end()));
    // Rounding of 6e-8 per operation, some hundred operations deep.
    constexpr double kTolerance = 2e-5;
    CHECK(relative_error(Numbers(h.x0.begin(), h.x0.end()), g.x0) < kTolerance);
    CHECK(relative_error(Numbers(h.controls.begin(), h.controls.end()), g.controls) < kTolerance);
    CHECK(relative_error(h.params, g.params) < kTolerance);
  }
}

TEST_CASE("pullback: parameter cotangents of a float32 run are summed in double") {
  // Free fall for 1e5 steps, loss v_z at the end: its cotangent is 1 all the way, and
  // ∂v_z/∂g = -T h is a sum of 1e5 equal parts, each with a float's rounding of 6e-8.
  const std::int64_t T = 100000;
  const System system = systems::projectile({}, {.precision = Precision::float32});
  RolloutOptions options;
  options.save = Save::last();
  for (const std::size_t batch : {1, 3}) {
    const std::vector<float> x0(6 * batch, 0.0f);
    std::vector<float> bar(6 * batch, 0.0f);
    bar[5] = 1;
    const double gradient = rollout(system, x0, T, {}, options).pullback(bar).params[5];
    CHECK(std::abs(gradient / (-0.01 * static_cast<double>(T)) - 1) < 2e-7);
  }
  // The same sum in float is off by a thousand times as much.
  float in_float = 0;
  for (std::int64_t k = 0; k < T; ++k) in_float += 0.01f;
  CHECK(std::abs(in_float / (0.01 * static_cast<double>(T)) - 1) > 2e-4);
}

TEST_CASE(
    "pullback: a failed environment raises by name, or has a zero gradient and changes no other") {
  const System system = make_system(test::Brittle{}, {.dt = 0.1, .vary = {"breaks_at"}});
  RolloutCase<double> c = rollout_case<double>(system, 9, 30);
  const Numbers bar = seeded<double>(4, 9 * 31 * 2);
  const auto with_breaks = [&](double at) {
    const Numbers row = system.parameters().default_values();
    c.params.clear();
    for (int e = 0; e < 9; ++e) {
      c.params.insert(c.params.end(), row.begin(), row.end());
      if (e == 2 || e == 8) c.params[c.params.size() - 2] = at;
    }
  };
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(3)}) {
    with_breaks(1.25);
    const Trajectory<double> run = c.run(memory);
    REQUIRE(run.report().failed.size() == 2);
    const std::string text = text_of_error<GradientError>([&] { (void)run.pullback(bar); });
    CHECK(contains(text, "environment 2, step 12, rk4 stage 2, v"));
    CHECK(contains(text, "failed = skip"));

    const Gradient<double> g = run.pullback(bar, {.failed = Failed::skip});
    with_breaks(1e9);
    const Gradient<double> whole = c.run(memory).pullback(bar);
    for (std::size_t e = 0; e < 9; ++e) {
      const auto row = [&](const Numbers& rows, std::size_t n) {
        return std::span(rows).subspan(e * n, n);
      };
      if (e == 2 || e == 8) {
        CHECK(all_zero(row(g.x0, 2)));
        CHECK(all_zero(row(g.x0_tangent, 2)));
        CHECK(all_zero(row(g.controls, 30)));
        CHECK(all_zero(row(g.params, 3)));
      } else {
        CHECK(same_bits(row(g.x0, 2), row(whole.x0, 2)));
        CHECK(same_bits(row(g.controls, 30), row(whole.controls, 30)));
        CHECK(same_bits(row(g.params, 3), row(whole.params, 3)));
        CHECK(!all_zero(row(g.params, 3)));
      }
    }
  }

  // Shared rows: the sum is over the others.
  with_breaks(1.25);
  c.x0 = {0.4, 0.2};
  c.controls = seeded<double>(6, 30);
  const Gradient<double> g = c.run().pullback(bar, {.failed = Failed::skip});
  Numbers x0(2, 0.0), controls(30, 0.0);
  for (std::int64_t e = 0; e < 9; ++e) {
    if (e == 2 || e == 8) continue;
    const RolloutCase<double> one{
        system, 1,          30,
        c.x0,   c.controls, {c.params.begin() + e * 3, c.params.begin() + (e + 1) * 3}};
    const Gradient<double> own =
        one.run().pullback(Numbers(bar.begin() + e * 62, bar.begin() + (e + 1) * 62));
    for (std::size_t i = 0; i < 2; ++i) x0[i] += own.x0[i];
    for (std::size_t i = 0; i < 30; ++i) controls[i] += own.controls[i];
  }
  CHECK(relative_error(g.x0, x0) < 1e-12);
  CHECK(relative_error(g.controls, controls) < 1e-12);
}

TEST_CASE("pullback: a derivative that does not exist is named by step and block, or skipped") {
  // n counts down and reaches zero, where its root has no derivative, in environment 1 at step 6.
  const System system = make_system(test::RootsOfCountdown{});
  const Numbers x0 = {20.5, 0, 6, 0, 30.5, 0};
  const Numbers bar(3 * 11 * 2, 1.0);
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(2)}) {
    RolloutOptions options;
    options.memory = memory;
    const Trajectory<double> run = rollout(system, x0, 10, {}, options);
    REQUIRE(run.report().failed.empty());
    const std::string text = text_of_error<GradientError>([&] { (void)run.pullback(bar); });
    CHECK(contains(text, "environment 1: the cotangent of n at step 6 is not finite"));
    const Gradient<double> g = run.pullback(bar, {.failed = Failed::skip});
    CHECK(all_zero(std::span(g.x0).subspan(2, 2)));
    CHECK(largest(g.x0) > 1);
    // The shared parameters' sum is over the other two.
    const Numbers others = {20.5, 0, 30.5, 0};
    const Gradient<double> rest =
        rollout(system, others, 10, {}, options).pullback(Numbers(2 * 11 * 2, 1.0));
    CHECK(relative_error(g.params, rest.params) < 1e-14);
    CHECK(same_bits(std::span(g.x0).subspan(0, 2), std::span(rest.x0).subspan(0, 2)));
    CHECK(same_bits(std::span(g.x0).subspan(4, 2), std::span(rest.x0).subspan(2, 2)));
  }
}

TEST_CASE("pullback: an input's derivative that does not exist is not passed on in silence") {
  const System system = make_system(test::RootOfInput{});
  const Numbers x0 = {0, 0, 0}, bar(3 * 6, 1.0);
  Numbers controls(15, 1.0);
  controls[1 * 5 + 3] = 0;  // environment 1, step 3
  const Trajectory<double> own = rollout(system, x0, Controls<double>(controls, 5));
  std::string text = text_of_error<GradientError>([&] { (void)own.pullback(bar); });
  CHECK(contains(text, "environment 1: the cotangent of input u at step 3 is not finite"));
  const Gradient<double> g = own.pullback(bar, {.failed = Failed::skip});
  CHECK(all_zero(std::span(g.controls).subspan(5, 5)));
  CHECK(largest(g.controls) < 1e3);
  CHECK(largest(std::span(g.controls).first(5)) > 0);

  const Numbers shared = {1, 1, 1, 0, 1};
  const Trajectory<double> run = rollout(system, x0, Controls<double>(shared, 5));
  text = text_of_error<GradientError>([&] { (void)run.pullback(bar); });
  CHECK(contains(text, "environment 0"));
  CHECK(all_zero(run.pullback(bar, {.failed = Failed::skip}).controls));
  // Not asked for: not in the way.
  CHECK(largest(run.pullback(bar, {.controls = false}).x0) > 0);
}

TEST_CASE("pullback: a parameter that is not differentiated has NaN in its place, never zero") {
  SystemParts parts = law_parts(Pendulum{}, {});
  Parameters marked;
  for (Parameter p : parts.parameters.all()) {
    if (p.name == "damping") p.not_differentiable = "for this test";
    marked.add(p, std::vector<double>{parts.parameters.default_values()[static_cast<std::size_t>(
                      parts.parameters.find(p.name).offset)]});
  }
  parts.parameters = marked;
  parts.float64 = float64_steppers<Pendulum, Rk4>(Pendulum{});
  const System system{std::move(parts)};
  const Gradient<double> g = rollout(system, Numbers{1, 0}, 10).pullback(Numbers(22, 1.0));
  CHECK(std::isnan(g.params[2]));
  for (const std::size_t i : {0u, 3u, 4u}) CHECK(std::isfinite(g.params[i]));
}

TEST_CASE("pullback: may be called again and gives the same bits") {
  const RolloutCase<double> c = rollout_case<double>(systems::kepler(), 20, 40);
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(3)}) {
    const Trajectory<double> run = c.run(memory);
    const Numbers bar = seeded<double>(4, run.states().size());
    const Gradient<double> first = run.pullback(bar);
    (void)run.pullback(Numbers(bar.size(), -3.0));
    CHECK(same_gradient(run.pullback(bar), first));
  }
}

}  // namespace cycloid::pullback_test
