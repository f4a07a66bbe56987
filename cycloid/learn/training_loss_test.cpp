#include "cycloid/learn/training_loss.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/learn/learned_law.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

System small(double dt = 0.1) {
  LearnedLaw law;
  law.n = 2, law.hidden = {5}, law.seed = 2;
  systems::Settings settings;
  settings.dt = dt;
  return make_learned(law, settings);
}

std::vector<std::int64_t> all_of(const TrainingLoss& loss) {
  std::vector<std::int64_t> learn, none;
  loss.split(0, learn, none);
  return learn;
}

// The gradient against a stencil of order 4 along a direction.
void check_gradient(const System& system, TrainingLoss& loss, int horizon) {
  const Numbers p = system.parameters().default_values();
  Numbers d = test::FixedNumbers(3).vector(p.size()), bar;
  d[0] = 0;  // the time step stays
  const auto chosen = all_of(loss);
  loss.value(p, {chosen, horizon, 0}, &bar);
  const auto at = [&](double s) {
    Numbers moved = p;
    for (std::size_t i = 0; i < p.size(); ++i) moved[i] += s * d[i];
    return loss.value(moved, {chosen, horizon, 0}, nullptr);
  };
  const double h = 1e-3, slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  CHECK(std::abs(slope) > 1e-3);
  CHECK(test::dot(bar, d) == doctest::Approx(slope).epsilon(1e-8));
}

Recording turning(int samples, double dt) {
  Recording r;
  for (int i = 0; i < samples; ++i) {
    r.times.push_back(i * dt);
    r.values.push_back(std::cos(i * dt)), r.values.push_back(std::sin(i * dt));
  }
  return r;
}

}  // namespace

TEST_CASE("derivative_loss: its gradient is its slope, noise by step alone") {
  const System system = small();
  Derivatives data;
  data.x = test::FixedNumbers(1).vector(2 * 150), data.x_dot = test::FixedNumbers(2).vector(300);
  LossOptions options;
  options.noise = {0.1, 0.2}, options.scale = {2, 0.5};
  const auto loss = derivative_loss(system, data, options);
  CHECK(loss->samples() == 150);
  check_gradient(system, *loss, 1);
  const Numbers p = system.parameters().default_values();
  const auto chosen = all_of(*loss);
  const double first = loss->value(p, {chosen, 1, 0}, nullptr);
  CHECK(first == loss->value(p, {chosen, 1, 0}, nullptr));
  CHECK(first != loss->value(p, {chosen, 1, 1}, nullptr));
  std::vector<std::int64_t> learn, validate;
  loss->split(0.2, learn, validate);
  CHECK(learn.size() == 120);
  CHECK(validate.size() == 30);
}

TEST_CASE("window_loss: its gradient is its slope, with terms and a recording of uneven times") {
  const System system = small();
  Recording gaps = turning(30, 0.1);
  gaps.times.erase(gaps.times.begin() + 7);
  gaps.values.erase(gaps.values.begin() + 14, gaps.values.begin() + 16);
  LossOptions options;
  options.horizon = 3;
  options.terms.push_back({LossTerm::Kind::smooth, 0.3, {}});
  const auto loss = window_loss(system, {turning(20, 0.2), gaps}, options);
  CHECK(loss->samples() == 17 + 26);
  check_gradient(system, *loss, 3);
  check_gradient(system, *loss, 1);
}

TEST_CASE("window_loss: whole recordings are held back where there are enough, else ends") {
  const System system = small();
  LossOptions options;
  options.horizon = 2;
  std::vector<std::int64_t> learn, validate;
  window_loss(system, {turning(10, 0.1), turning(10, 0.1)}, options)->split(0.5, learn, validate);
  CHECK(learn == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(validate.front() == 8);
  learn.clear(), validate.clear();
  window_loss(system, {turning(20, 0.1)}, options)->split(0.5, learn, validate);
  CHECK(learn.back() == 7);  // predicts sample 9
  CHECK(validate.front() == 10);
}

TEST_CASE("training losses refuse what they cannot learn from") {
  const System system = small();
  CHECK_THROWS_WITH_AS(window_loss(system, {}, {}), doctest::Contains("no recording"), Error);
  LossOptions longer;
  longer.horizon = 5;
  CHECK_THROWS_WITH_AS(window_loss(system, {turning(5, 0.1)}, longer),
                       doctest::Contains("longer than every recording"), Error);
  CHECK_THROWS_WITH_AS(window_loss(system, {turning(5, 0.13)}, {}),
                       doctest::Contains("multiples of the time step"), Error);
  Derivatives bad;
  bad.x = {1, 2}, bad.x_dot = {1, std::numeric_limits<double>::quiet_NaN()};
  CHECK_THROWS_WITH_AS(derivative_loss(system, bad, {}), doctest::Contains("row 0, column 1"),
                       Error);
  bad.x_dot = {1};
  CHECK_THROWS_AS(derivative_loss(system, bad, {}), Error);
  bad.x_dot = {1, 2};
  CHECK_THROWS_WITH_AS(derivative_loss(systems::pendulum(), bad, {}), doctest::Contains("x_dot"),
                       Error);
}

}  // namespace cycloid
