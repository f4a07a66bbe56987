#include "cycloid/optimise/planning/trajectory_cost.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/system/systems.h"

namespace cycloid::trajectory_cost_test {

using Vector = std::vector<double>;

Vector random_numbers(std::uint64_t seed, std::size_t n) {
  Vector out(n);
  RandomStream random(seed);
  for (double& v : out) v = random.uniform(-1.0, 1.0);
  return out;
}

Cost pendulum_cost() {
  return Cost(Reach{"angle", {1.0}, {2.0}, When::all()}) + Reach{"state", {0.5, -0.5}} +
         Cost(Reach{"energy", {3.0}, {0.1}, When::at({1, -2})}) + Cost(Effort{{0.3}}) +
         Cost(Smooth{{0.7}});
}

TEST_CASE("trajectory_cost: values are the sums of the definitions") {
  const System system = systems::pendulum();
  const std::int64_t T = 4;
  const Vector x = random_numbers(1, 10), u = random_numbers(2, 4);
  const TrajectoryCost cost(system, pendulum_cost(), T, {}, 1);
  double expected = 0;
  for (int t = 0; t <= T; ++t) expected += 2 * std::pow(x[t * 2] - 1, 2);
  expected += std::pow(x[8] - 0.5, 2) + std::pow(x[9] + 0.5, 2);
  const auto energy = [&](int t) {
    return 0.5 * x[t * 2 + 1] * x[t * 2 + 1] - 9.81 * std::cos(x[t * 2]);
  };
  expected += 0.1 * (std::pow(energy(1) - 3, 2) + std::pow(energy(3) - 3, 2));
  for (int t = 0; t < T; ++t) expected += 0.3 * u[t] * u[t];
  for (int t = 1; t < T; ++t) expected += 0.7 * std::pow(u[t] - u[t - 1], 2);
  CHECK(cost.values(x, u, 1)[0] == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("trajectory_cost: gradients equal central differences, of blocks and observables") {
  const auto hold = [](const System& system, const Cost& terms, std::int64_t T, const Vector& x,
                       const Vector& u) {
    const TrajectoryCost cost(system, terms, T, {}, 1);
    Vector x_bar(x.size()), u_bar(u.size());
    const double value = cost.gradient(x, u, x_bar, u_bar);
    CHECK(value == doctest::Approx(cost.values(x, u, 1)[0]).epsilon(1e-13));
    const double h = 1e-6;
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Vector up = x, down = x;
      up[i] += h;
      down[i] -= h;
      const double slope = (cost.values(up, u, 1)[0] - cost.values(down, u, 1)[0]) / (2 * h);
      CHECK(x_bar[i] == doctest::Approx(slope).epsilon(1e-6).scale(1));
      largest = std::max(largest, std::abs(x_bar[i]));
    }
    for (std::size_t i = 0; i < u.size(); ++i) {
      Vector up = u, down = u;
      up[i] += h;
      down[i] -= h;
      const double slope = (cost.values(x, up, 1)[0] - cost.values(x, down, 1)[0]) / (2 * h);
      CHECK(u_bar[i] == doctest::Approx(slope).epsilon(1e-6).scale(1));
    }
    CHECK(largest > 0.1);
  };
  hold(systems::pendulum(), pendulum_cost(), 4, random_numbers(1, 10), random_numbers(2, 4));
}

TEST_CASE("trajectory_cost: the model's gradient is the gradient, its curvature Gauss-Newton") {
  const System system = systems::pendulum();
  const std::int64_t T = 4;
  const Vector x = random_numbers(1, 10), u = random_numbers(2, 4);
  // Without Smooth, which is not in the model, and with targets that the residuals meet: there
  // Gauss-Newton is the Hessian.
  const Cost terms =
      Cost(Reach{"angle", {x[2]}, {2.0}, When::at({1})}) + Cost(Effort{{0.3}}) +
      Cost(Reach{"energy", {0.5 * x[5] * x[5] - 9.81 * std::cos(x[4])}, {0.1}, When::at({2})});
  const TrajectoryCost cost(system, terms, T, {}, 1);
  Expansion e;
  cost.expand(x, u, e);
  Vector x_bar(x.size()), u_bar(u.size());
  cost.gradient(x, u, x_bar, u_bar);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(e.lx[i] == doctest::Approx(x_bar[i]));
  for (std::size_t i = 0; i < u.size(); ++i) CHECK(e.lu[i] == doctest::Approx(u_bar[i]));
  const double h = 1e-6;
  for (std::int64_t i = 0; i < 2; ++i) {
    for (const std::int64_t t : {1, 2}) {
      Vector up = x, down = x, up_bar(x.size()), down_bar(x.size());
      up[t * 2 + i] += h;
      down[t * 2 + i] -= h;
      cost.gradient(up, u, up_bar, u_bar);
      cost.gradient(down, u, down_bar, u_bar);
      for (std::int64_t j = 0; j < 2; ++j) {
        const double second = (up_bar[t * 2 + j] - down_bar[t * 2 + j]) / (2 * h);
        CHECK(e.lxx[(t * 2 + i) * 2 + j] == doctest::Approx(second).epsilon(1e-6).scale(1));
      }
    }
  }
  CHECK(e.lxx[(2 * 2 + 0) * 2 + 0] > 0.1);
}

TEST_CASE("trajectory_cost: a Keep costs nothing inside, and its multipliers push outside") {
  const System system = systems::pendulum();
  TrajectoryCost cost(system, Keep{"angle", {-1.0}, {1.0}}, 1, {}, 1);
  const Vector inside{0.5, 0, -0.5, 0}, outside{0.5, 0, 1.5, 0}, u{0.0};
  CHECK(cost.has_constraints());
  CHECK(cost.values(inside, u, 1)[0] == 0);
  CHECK(cost.violation(inside, u) == 0);
  CHECK(cost.violation(outside, u) == doctest::Approx(0.5));
  const double before = cost.values(outside, u, 1)[0];
  CHECK(before == doctest::Approx(10 / 2.0 * 0.25));
  cost.update_multipliers(outside, u, 1);
  CHECK(cost.values(outside, u, 1)[0] > before);
}

TEST_CASE("trajectory_cost: what does not fit is refused by the name of its term") {
  const System system = systems::pendulum();
  const auto refused = [&](const Cost& terms) {
    try {
      const TrajectoryCost cost(system, terms, 3, {}, 1);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused(Reach{"angel", {1.0}}).find("\"angle\"") != std::string::npos);
  CHECK(refused(Reach{"angle", {1.0, 2.0}}).find("Reach(\"angle\")") != std::string::npos);
  CHECK(refused(Reach{"angle", {NAN}}).find("finite") != std::string::npos);
  CHECK(refused(Reach{"angle", {1.0}, {1.0, 2.0}}).find("weight") != std::string::npos);
  CHECK(refused(Reach{"angle", {1.0}, {-1.0}}).find("negative") != std::string::npos);
  CHECK(refused(Reach{"angle", {1.0}, {1.0}, When::at({4})}).find("step 4") != std::string::npos);
  CHECK(refused(Reach{"state[5]", {1.0}}).find("state") != std::string::npos);
  CHECK(refused(Effort{{1, 2, 3}}).find("Effort") != std::string::npos);
  CHECK(refused(Keep{"angle", {1.0}, {0.0}}).find("low") != std::string::npos);
  CHECK(refused(Function{}).find("function") != std::string::npos);
}

}  // namespace cycloid::trajectory_cost_test
