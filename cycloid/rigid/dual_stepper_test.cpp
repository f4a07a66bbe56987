// The step of a robot in dual numbers, against differences of its step and of its pullback.
#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/random.h"
#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/robot.h"
#include "tests/support/stepper_run.h"

namespace cycloid::dual_stepper_test {

using Numbers = std::vector<double>;

Numbers random_numbers(std::uint64_t seed, std::size_t n, double size = 1) {
  RandomStream random(seed);
  Numbers x(n);
  for (double& v : x) v = size * random.uniform(-1.0, 1.0);
  return x;
}

struct Stepped {
  Numbers next, x_bar, u_bar, p_bar;
};

// x, u, p and the cotangent of the next state, as the stepper takes them: numbers, or pairs.
Stepped step_and_pull(const Stepper<double>& stepper, const Numbers& x, const Numbers& u,
                      const Numbers& p, const Numbers& bar) {
  const StepperSizes& s = stepper.sizes();
  const std::size_t W = static_cast<std::size_t>(s.lanes);
  const auto workspace = stepper.make_workspace({});
  test::RecordRoom record(stepper);
  const auto zeros = [&](int n) { return Numbers(W * static_cast<std::size_t>(n), 0.0); };
  Stepped out{zeros(s.state), zeros(s.tangent), zeros(s.input), zeros(s.parameters)};
  const StepInput<double> in{x.data(), u.data(), 0, 0.0};
  stepper.begin({p.data()}, *workspace);
  REQUIRE(stepper.step(in, out.next.data(), &record, *workspace) == StepStatus::ok);
  stepper.pullback(in, record, bar.data(), out.x_bar.data(), out.u_bar.data(), *workspace);
  stepper.finish(*workspace, out.p_bar.data());
  return out;
}

Numbers paired(const Numbers& values, const Numbers& tangents) {
  Numbers pairs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    pairs.push_back(values[i]);
    pairs.push_back(tangents[i]);
  }
  return pairs;
}

// Values and tangents of `pairs` are `value` and the derivative of plus - minus over 2 e.
void check_pairs(const Numbers& pairs, const Numbers& value, const Numbers& plus,
                 const Numbers& minus, double e) {
  double error = 0, scale = 1e-3, value_error = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const double difference = (plus[i] - minus[i]) / (2 * e);
    error = std::max(error, std::abs(pairs[2 * i + 1] - difference));
    scale = std::max(scale, std::abs(difference));
    value_error = std::max(value_error, std::abs(pairs[2 * i] - value[i]));
  }
  CHECK(error < 1e-6 * scale);
  CHECK(value_error < 1e-9);
  CHECK(scale > 1e-3);
}

void check_dual(const Model& m) {
  const System system = make_robot(m, {.inputs = {"ctrl", "qfrc_applied"}});
  const Stepper<double>&one = *system.steppers<double>().one,
        &dual = *system.steppers<double>().dual;
  const Space& space = system.states();
  REQUIRE(dual.sizes().lanes == 2);
  const std::size_t nx = static_cast<std::size_t>(space.size()),
                    nt = static_cast<std::size_t>(space.tangent_size());
  const Numbers p = system.parameters().default_values();
  Numbers x = random_numbers(1, nx, 0.4);
  space.normalise(x.data());
  const Numbers u = random_numbers(2, static_cast<std::size_t>(system.inputs().size())),
                bar = random_numbers(3, nt), d = random_numbers(4, nt),
                u_tan = random_numbers(5, u.size());
  Numbers p_tan = random_numbers(6, p.size()), x_tan(nx);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const bool lacks = !system.parameters().holding(static_cast<int>(i)).not_differentiable.empty();
    p_tan[i] *= lacks ? 0 : 0.1 * p[i];
  }
  space.velocity(x.data(), d.data(), x_tan.data());
  const Stepped pairs = step_and_pull(dual, paired(x, x_tan), paired(u, u_tan), paired(p, p_tan),
                                      paired(bar, Numbers(nt, 0.0)));
  const auto moved = [&](double e) {
    Numbers x_e(nx), d_e = d, u_e = u, p_e = p;
    for (double& v : d_e) v *= e;
    space.retract(x.data(), d_e.data(), x_e.data());
    for (std::size_t i = 0; i < u.size(); ++i) u_e[i] += e * u_tan[i];
    for (std::size_t i = 0; i < p.size(); ++i) p_e[i] += e * p_tan[i];
    return step_and_pull(one, x_e, u_e, p_e, bar);
  };
  const double e = 1e-6;
  const Stepped here = moved(0), plus = moved(e), minus = moved(-e);
  check_pairs(pairs.next, here.next, plus.next, minus.next, e);
  check_pairs(pairs.x_bar, here.x_bar, plus.x_bar, minus.x_bar, e);
  check_pairs(pairs.u_bar, here.u_bar, plus.u_bar, minus.u_bar, e);
  check_pairs(pairs.p_bar, here.p_bar, plus.p_bar, minus.p_bar, e);
}

constexpr RigidIntegrator kIntegrators[] = {RigidIntegrator::euler, RigidIntegrator::implicitfast,
                                            RigidIntegrator::rk4};

TEST_CASE("dual_stepper: values, tangents and those of the pullback, without constraints") {
  for (const RigidIntegrator integrator : kIntegrators) {
    CAPTURE(static_cast<int>(integrator));
    check_dual(test::two_trees(integrator));
  }
}

TEST_CASE("dual_stepper: ... and of a robot that is held by contacts, limits and friction") {
  for (const RigidIntegrator integrator : kIntegrators) {
    CAPTURE(static_cast<int>(integrator));
    check_dual(test::held_robot(integrator));
  }
}

}  // namespace cycloid::dual_stepper_test
