#include "cycloid/adjoint/linearise.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/pushforward.h"
#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"
#include "tests/support/diagonal_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"

namespace cycloid::linearise_test {

using test::contains;
using test::Numbers;
using test::relative_error;
using test::rollout_case;
using test::RolloutCase;
using test::same_bits;
using test::text_of_error;

// Column j of a row-major (rows, columns) matrix.
Numbers column(std::span<const double> matrix, std::size_t columns, std::size_t j) {
  Numbers c;
  for (std::size_t i = j; i < matrix.size(); i += columns) c.push_back(matrix[i]);
  return c;
}

// The new state of the case's lone environment, displaced in tangents, as a difference from `from`.
Numbers moved_step(const RolloutCase<double>& c, const Numbers& dx, const Numbers& du,
                   const Numbers& dp, const Numbers& from) {
  const Space& space = c.system.states();
  RolloutCase<double> moved = c;
  Numbers unit = c.x0;
  space.normalise(unit.data());
  space.retract(unit.data(), dx.data(), moved.x0.data());
  for (std::size_t i = 0; i < du.size(); ++i) moved.controls[i] += du[i];
  for (std::size_t i = 0; i < dp.size(); ++i) moved.params[i] += dp[i];
  const Trajectory<double> run = moved.run();
  Numbers d(static_cast<std::size_t>(space.tangent_size()));
  space.difference(from.data(), run.state(0, 1).data(), d.data());
  return d;
}

// The tangent d of a state x that moves with `velocity` in coordinates: inverts Space::velocity.
Numbers tangent_of(const Space& space, const Numbers& x, std::span<const double> velocity) {
  Numbers d(static_cast<std::size_t>(space.tangent_size()));
  for (const Block& b : space.blocks()) {
    const double* v = velocity.data() + b.offset;
    double* to = d.data() + b.tangent_offset;
    if (b.kind == BlockKind::quaternion) {
      const Quat<double> half = conjugate(load_quat(x.data() + b.offset)) * load_quat(v);
      store(to, Vec3<double>{2 * half.x, 2 * half.y, 2 * half.z});
    } else {
      std::copy_n(v, b.size, to);
    }
  }
  return d;
}

// Columns of A, B and P against dual numbers and central differences.
void check_columns(const System& system, double t = 0) {
  const RolloutCase<double> c = rollout_case<double>(system, 1, 1, 17);
  const Linearisation<double> lin =
      linearise(system, c.x0, c.controls, c.params, {.params = true, .t = t});
  const Space& space = system.states();
  const std::size_t nt = static_cast<std::size_t>(space.tangent_size()), nu = c.controls.size(),
                    np = c.params.size();
  REQUIRE(lin.batch == 1);
  REQUIRE(lin.A.size() == nt * nt);
  REQUIRE(lin.B.size() == nt * nu);
  REQUIRE(lin.P.size() == nt * np);
  RolloutOptions options;
  options.t0 = t;
  options.save = Save::last();
  CHECK(same_bits(lin.next, c.run(options).states()));
  const auto check = [&](const Numbers& matrix, std::size_t columns, int part) {
    for (std::size_t j = 0; j < columns; ++j) {
      CAPTURE(part);
      CAPTURE(j);
      const Numbers got = column(matrix, columns, j);
      Numbers unit[3] = {Numbers(nt, 0.0), Numbers(nu, 0.0), Numbers(np, 0.0)};
      unit[part][j] = 1;
      const Pushforward forward =
          pushforward(system, c.x0, c.inputs(), {unit[0], unit[1], unit[2]}, c.params, options);
      const Numbers expected = tangent_of(space, lin.next, forward.states_tan());
      CHECK(relative_error(got, expected) < 1e-12);
      if (t != 0) continue;

      const double e = 1e-5;
      for (Numbers& u : unit) {
        for (double& z : u) z *= e;
      }
      const Numbers plus = moved_step(c, unit[0], unit[1], unit[2], lin.next);
      for (Numbers& u : unit) {
        for (double& z : u) z = -z;
      }
      const Numbers minus = moved_step(c, unit[0], unit[1], unit[2], lin.next);
      for (std::size_t i = 0; i < nt; ++i) {
        const double difference = (plus[i] - minus[i]) / (2 * e);
        // e² times a third derivative, which for the time step reaches (rate)² of the states.
        CHECK(std::abs(got[i] - difference) < 1e-6 * std::max(1.0, std::abs(difference)));
      }
    }
  };
  check(lin.A, nt, 0);
  check(lin.B, nu, 1);
  check(lin.P, np, 2);
  CHECK(test::largest(lin.A) > 0.5);
  CHECK(test::largest(lin.P) > 1e-3);
}

TEST_CASE("linearise: columns equal dual numbers and differences, for each law and integrator") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    check_columns(system);
  }
}

TEST_CASE("linearise: a law in time is linearised at the time that is given") {
  const System system = make_system(test::DrivenOscillator{}, {.dt = 0.1});
  check_columns(system);
  check_columns(system, 1.9);
}

TEST_CASE("linearise: the time of a state of a run moves with the time step") {
  // State 7 of a run from t: the same point as state 0 at t + 7 h, but ∂/∂h has 7 ∂/∂t more.
  const System system = make_system(test::DrivenOscillator{}, {.dt = 0.1});
  const Numbers x = {0.3, -0.2}, params = {4.0, 0.3, 1.5, 1.3, 0.1};
  const auto at = [&](double t, std::int64_t step) {
    return linearise(system, x, {}, params, {.params = true, .t = t, .step = step});
  };
  const Linearisation<double> there = at(0.5, 7), here = at(0.5 + 7 * 0.1, 0);
  CHECK(relative_error(there.next, here.next) < 1e-14);
  CHECK(relative_error(there.A, here.A) < 1e-14);
  const double e = 1e-5;
  const Linearisation<double> after = at(1.2 + e, 0), before = at(1.2 - e, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const double by_time = (after.next[i] - before.next[i]) / (2 * e);
    CHECK(std::abs(by_time) > 1e-3);
    CHECK(there.P[5 * i + 4] - here.P[5 * i + 4] == doctest::Approx(7 * by_time).epsilon(1e-6));
  }
}

TEST_CASE("linearise: quaternions, in tangent coordinates") {
  check_columns(make_system(test::Dipole{}, {.dt = 0.05, .values = {{"field", {0.4}}}}));
  check_columns(make_system<SemiImplicitEuler>(test::Dipole{}, {.dt = 0.05}));
}

TEST_CASE("linearise: rows of a batch equal single ones, and rows may be shared") {
  for (const System& system : {systems::double_pendulum(), make_system(test::Dipole{})}) {
    const RolloutCase<double> c = rollout_case<double>(system, 11, 1);
    const Linearisation<double> all =
        linearise(system, c.x0, c.controls, c.params, {.params = true});
    REQUIRE(all.batch == 11);
    for (std::int64_t e = 0; e < 11; ++e) {
      const RolloutCase<double> own = c.slice(e, 1);
      const Linearisation<double> one =
          linearise(system, own.x0, own.controls, own.params, {.params = true});
      const auto row = [&](const Numbers& rows, const Numbers& single) {
        return std::span(rows).subspan(static_cast<std::size_t>(e) * single.size(), single.size());
      };
      // Scalars against lanes.
      CHECK(relative_error(row(all.A, one.A), one.A) < 1e-12);
      CHECK(relative_error(row(all.B, one.B), one.B) < 1e-12);
      CHECK(relative_error(row(all.P, one.P), one.P) < 1e-12);
      CHECK(relative_error(row(all.next, one.next), one.next) < 1e-12);
    }
    const Numbers shared(c.controls.begin(), c.controls.begin() + system.inputs().size());
    Numbers repeated;
    for (int e = 0; e < 11; ++e) repeated.insert(repeated.end(), shared.begin(), shared.end());
    CHECK(same_bits(linearise(system, c.x0, shared).A, linearise(system, c.x0, repeated).A));
    CHECK(linearise(system, c.x0, shared).P.empty());
    CHECK(same_bits(linearise(system, c.x0).A,
                    linearise(system, c.x0, Numbers(repeated.size(), 0.0)).A));
  }
}

TEST_CASE("linearise: a float32 system gives floats near the double's") {
  const RolloutCase<double> c = rollout_case<double>(systems::double_pendulum(), 3, 1);
  const System in_float = systems::double_pendulum({}, {.precision = Precision::float32});
  const std::vector<float> x(c.x0.begin(), c.x0.end()), u(c.controls.begin(), c.controls.end());
  const Linearisation<float> f = linearise(in_float, x, u, c.params, {.params = true});
  const Linearisation<double> d = linearise(c.system, c.x0, c.controls, c.params, {.params = true});
  CHECK(relative_error(Numbers(f.A.begin(), f.A.end()), d.A) < 1e-6);
  CHECK(relative_error(Numbers(f.P.begin(), f.P.end()), d.P) < 1e-6);
}

TEST_CASE(
    "linearise: a step that fails, or has no finite derivative, raises and names the environment") {
  const Numbers x = {1, 0, 0, 1, 0, 0, 0, 0};
  std::string text = text_of_error<GradientError>([&] { (void)linearise(systems::kepler(), x); });
  CHECK(contains(text, "environment 1, step 0, rk4 stage 1, velocity[0]"));
  const System roots = make_system(test::RootsOfCountdown{});
  const Numbers at_zero = {3, 0, 0, 0};
  text = text_of_error<GradientError>([&] { (void)linearise(roots, at_zero); });
  CHECK(contains(text, "environment 1"));
  CHECK(contains(text, "not finite"));
  const Numbers away = {3, 0, 2, 0};
  CHECK(test::largest(linearise(roots, away).A) == 1);
}

// Above 46,340 the square of the number of tangents does not fit an int.
constexpr int kLarge = 50'000;

TEST_CASE("linearise: dense Jacobians that do not fit are refused before they are made") {
  const System system = test::diagonal_system(kLarge);
  LineariseOptions options;
  options.most_bytes = std::int64_t{1} << 30;
  const std::string text = text_of_error<Error>(
      [&] { (void)linearise(system, system.initial_state(), {}, {}, options); });
  CHECK(contains(text, "50000 tangents"));
  CHECK(contains(text, "take 40.0008 GB"));  // the result, and one in lanes
  CHECK(contains(text, "form \"sparse\" or \"operator\""));
}

TEST_CASE("StepOperator: 50,000 states, by the step's own pushforward and pullback") {
  const System system = test::diagonal_system(kLarge);
  const Numbers x = test::seeded<double>(1, kLarge), v = test::seeded<double>(2, kLarge),
                w = test::seeded<double>(3, kLarge), u = {0.7}, du = {1.5};
  const StepOperator step(system, x, u);
  const Numbers Av = step.push(v, {}), Bu = step.push({}, du), both = step.push(v, du);
  Numbers wA(kLarge, 0.0), wB(1, 0.0);
  step.pull(w, wA, wB);
  double wAv = 0, wA_v = 0, wBu = 0, largest = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    CHECK(std::abs(Av[i] - v[i] * (1 + 0.1 * std::cos(x[i]))) < 1e-14);
    CHECK(std::abs(both[i] - Av[i] - Bu[i]) < 1e-14);
    wAv += w[i] * Av[i], wA_v += wA[i] * v[i], wBu += w[i] * Bu[i];
    largest = std::max(largest, std::abs(Bu[i]));
  }
  CHECK(std::abs(wAv - wA_v) < 1e-11 * kLarge);
  CHECK(std::abs(wBu - wB[0] * du[0]) < 1e-11 * kLarge);
  CHECK(std::abs(wAv) > 1);
  CHECK(largest > 0.1);
  CHECK(step.next()[7] == x[7] + 0.1 * (std::sin(x[7]) + 7.0 / kLarge * u[0] + 0.3));
}

TEST_CASE("sparse_linearise: the entries that a System knows, for 50,000 states") {
  const System system = test::diagonal_system(kLarge);
  const Numbers x = test::seeded<double>(1, kLarge);
  const SparseLinearisation<double> lin = sparse_linearise(system, x);
  CHECK(lin.A.value.size() == static_cast<std::size_t>(kLarge));
  CHECK(lin.A.column[40'000] == 40'000);
  CHECK(std::abs(lin.A.value[40'000] - (1 + 0.1 * std::cos(x[40'000]))) < 1e-15);
  CHECK(lin.B.columns == 1);
  CHECK(lin.next.size() == x.size());
}

TEST_CASE("sparse_linearise: without known entries those of the dense one, up to 2,000 states") {
  const System chain = systems::spring_chain(20);
  const Numbers x = test::seeded<double>(4, 40);
  const Linearisation<double> dense = linearise(chain, x);
  const SparseLinearisation<double> sparse = sparse_linearise(chain, x);
  Numbers filled(dense.A.size(), 0.0);
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::int64_t e = sparse.A.row_start[i]; e < sparse.A.row_start[i + 1]; ++e) {
      filled[i * 40 + static_cast<std::size_t>(sparse.A.column[static_cast<std::size_t>(e)])] =
          sparse.A.value[static_cast<std::size_t>(e)];
    }
  }
  CHECK(same_bits(filled, dense.A));
  CHECK(sparse.A.value.size() < dense.A.size());
  CHECK(same_bits(sparse.next, dense.next));
  const System large = test::diagonal_system(2001, {.pushforward = true, .entries = false});
  const std::string text =
      text_of_error<Error>([&] { (void)sparse_linearise(large, large.initial_state()); });
  CHECK(contains(text, "above 2000 states take form \"operator\""));
}

TEST_CASE("sparse_linearise and StepOperator take one environment") {
  const System system = systems::pendulum();
  const Numbers x(4, 0.1);
  CHECK(contains(text_of_error<Error>([&] { (void)sparse_linearise(system, x); }),
                 "\"sparse\" takes one environment; got a batch of 2"));
  CHECK(contains(text_of_error<Error>([&] { (void)StepOperator(system, x); }),
                 "\"operator\" takes one environment"));
}

// Products by the operator are those with the dense matrices.
void check_operator(const System& system, double t = 0) {
  RolloutCase<double> c = rollout_case<double>(system, 1, 1);
  LineariseOptions options;
  options.t = t;
  const Linearisation<double> lin = linearise(c.system, c.x0, c.controls, c.params, options);
  const StepOperator step(c.system, c.x0, c.controls, c.params, options);
  const std::size_t nt = static_cast<std::size_t>(system.states().tangent_size()),
                    nu = static_cast<std::size_t>(system.inputs().size());
  CHECK(relative_error(step.next(), lin.next) < 1e-12);
  Numbers unit(nt, 0.0), u_unit(nu, 0.0);
  for (std::size_t j = 0; j < nt; ++j) {
    unit[j] = 1;
    CHECK(relative_error(step.push(unit, {}), column(lin.A, nt, j)) < 1e-11);
    Numbers row(nt, 0.0), u_row(nu, 0.0);
    step.pull(unit, row, u_row);
    CHECK(relative_error(row, std::span(lin.A).subspan(j * nt, nt)) < 1e-11);
    CHECK(relative_error(u_row, std::span(lin.B).subspan(j * nu, nu)) < 1e-11);
    unit[j] = 0;
  }
  for (std::size_t j = 0; j < nu; ++j) {
    u_unit[j] = 1;
    CHECK(relative_error(step.push({}, u_unit), column(lin.B, nu, j)) < 1e-11);
    u_unit[j] = 0;
  }
}

TEST_CASE("StepOperator: of laws, in time, on quaternions, with events, and of a float32 system") {
  check_operator(systems::double_pendulum());
  check_operator(make_system(test::DrivenOscillator{}), 0.7);
  check_operator(make_system(test::Dipole{}));
  check_operator(test::diagonal_system(5, {.pushforward = false, .entries = false}));
  const Numbers five(5, 0.2);
  CHECK_FALSE(StepOperator(test::diagonal_system(5, {.pushforward = false}), five).has_push());
  CHECK(StepOperator(test::diagonal_system(5, {.pushforward = true}), five).has_push());
  const System ball = systems::bouncing_ball();
  const Numbers x = {0.05, -6.0};  // meets the ground
  const Linearisation<double> lin = linearise(ball, x);
  CHECK(relative_error(StepOperator(ball, x).push(Numbers{1, 0}, {}), column(lin.A, 2, 0)) < 1e-12);
  const System in_float = systems::pendulum({}, {.precision = Precision::float32});
  const Numbers at = {0.3, 0.2}, v = {1.0, -2.0};
  CHECK(same_bits(StepOperator(in_float, at).push(v, {}),
                  StepOperator(systems::pendulum(), at).push(v, {})));
}

TEST_CASE("linearise: along directions of the parameters P is the product with them") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    const RolloutCase<double> c = rollout_case<double>(system, 3, 1, 17);
    const std::size_t np = static_cast<std::size_t>(system.parameters().size());
    Numbers directions(2 * np);
    for (std::size_t i = 0; i < directions.size(); ++i) {
      directions[i] = i % 3 == 0 ? 0 : std::sin(1.0 + static_cast<double>(i));
    }
    const Linearisation<double> all =
                                    linearise(system, c.x0, c.controls, c.params, {.params = true}),
                                along = linearise(system, c.x0, c.controls, c.params,
                                                  {.directions = directions});
    CHECK(same_bits(all.A, along.A));
    Numbers expected(along.P.size(), 0.0);
    for (std::size_t row = 0; row < expected.size() / 2; ++row) {
      for (std::size_t j = 0; j < 2; ++j) {
        for (std::size_t i = 0; i < np; ++i) {
          expected[2 * row + j] += all.P[row * np + i] * directions[j * np + i];
        }
      }
    }
    CHECK(relative_error(along.P, expected) < 1e-12);
    CHECK(test::largest(along.P) > 1e-4);
    const std::span<const double> short_row(directions.data(), np - 1);
    CHECK_THROWS_AS(linearise(system, c.x0, c.controls, c.params, {.directions = short_row}),
                    Error);
  }
}

}  // namespace cycloid::linearise_test
