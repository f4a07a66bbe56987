#include "cycloid/optimise/identify.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/system/systems.h"

namespace cycloid::identify_test {

using Numbers = std::vector<double>;

// A run at these times with normal noise, as a recording of whole states.
Recording recorded(const System& system, const Numbers& x0, const Numbers& times, double noise,
                   const Numbers& controls = {}, std::uint64_t seed = 1) {
  const double h = system.timestep();
  const auto steps =
      static_cast<std::int64_t>(std::ceil((times.back() - times.front()) / h - 1e-6));
  const std::size_t nu = static_cast<std::size_t>(system.inputs().size());
  Numbers u(static_cast<std::size_t>(steps) * nu, 0.0);
  for (std::size_t k = 0; k < static_cast<std::size_t>(steps) && !controls.empty(); ++k) {
    std::size_t row = 0;
    while (row + 2 < times.size() &&
           times[row + 1] <= times.front() + static_cast<double>(k) * h + 1e-9) {
      ++row;
    }
    for (std::size_t i = 0; i < nu; ++i) u[k * nu + i] = controls[row * nu + i];
  }
  RolloutOptions options;
  options.times = times;
  options.t0 = times.front();
  const Trajectory<double> run = rollout(system, x0, Controls<double>(u, steps), {}, options);
  Recording r;
  r.times = times;
  RandomStream random(seed);
  for (const double x : run.states()) r.values.push_back(x + noise * random.normal());
  r.controls = controls;
  if (noise > 0) r.sigma = {noise};
  return r;
}

Numbers every(double dt, int n, double from = 0) {
  Numbers t;
  for (int i = 0; i < n; ++i) t.push_back(from + i * dt);
  return t;
}

double value(const Fit& fit, const std::string& name) {
  for (const FitParameter& p : fit.parameters) {
    if (p.name == name) return fit.values[static_cast<std::size_t>(p.place)];
  }
  FAIL(name);
  return 0;
}

bool says(const Fit& fit, const std::string& text) {
  for (const std::string& sentence : fit.weak) {
    if (sentence.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("identify: exact data give the parameters back, from a guess far away") {
  const System truth = systems::pendulum({.length = 0.7, .damping = 0.12});
  const Recording r = recorded(truth, {1.2, 0.0}, every(0.05, 60), 0);
  const Fit fit = identify(systems::pendulum(), {r}, {{{"length"}, {1.0}}, {{"damping"}, {0.0}}});
  CHECK(fit.converged);
  CHECK(value(fit, "length") == doctest::Approx(0.7).epsilon(1e-8));
  CHECK(value(fit, "damping") == doctest::Approx(0.12).epsilon(1e-7));
  CHECK(fit.weak.empty());
  CHECK(fit.steps > 0);
}

TEST_CASE("identify: samples between steps, gaps and several recordings count") {
  const System truth = systems::pendulum({.length = 0.7, .damping = 0.12});
  Numbers times{0, 0.013, 0.05, 0.0731, 0.2, 0.333, 0.4, 0.61, 0.9, 1.2345};
  Recording a = recorded(truth, {1.2, 0.0}, times, 0),
            b = recorded(truth, {0.3, -1}, every(0.02, 50, 3.0), 0);
  a.values[3] = NAN, a.values[8] = NAN;
  const Fit fit = identify(systems::pendulum(), {a, b}, {{{"length"}}, {{"damping"}, {0.5}}});
  CHECK(value(fit, "length") == doctest::Approx(0.7).epsilon(1e-8));
  CHECK(value(fit, "damping") == doctest::Approx(0.12).epsilon(1e-7));
  CHECK(fit.x0.size() == 4);
  CHECK(fit.x0[2] == doctest::Approx(0.3).epsilon(1e-8));
}

TEST_CASE("identify: intervals hold the truth, and sigma is found where it is not given") {
  const System truth = systems::pendulum({.length = 0.7, .damping = 0.12});
  int inside = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Recording r = recorded(truth, {1.2, 0.0}, every(0.05, 60), 0.02, {}, seed);
    const Fit fit = identify(systems::pendulum(), {r}, {{{"length"}}, {{"damping"}, {0.1}}});
    inside += std::abs(fit.values[0] - 0.7) < 1.96 * fit.std[0];
    inside += std::abs(fit.values[1] - 0.12) < 1.96 * fit.std[1];
  }
  CHECK(inside >= 69);  // of 80; 76 are expected
  Recording r = recorded(truth, {1.2, 0.0}, every(0.02, 300), 0.02);
  const Fit known = identify(systems::pendulum(), {r}, {{{"length"}}, {{"damping"}, {0.1}}});
  r.sigma.clear();
  const Fit found = identify(systems::pendulum(), {r}, {{{"length"}}, {{"damping"}, {0.1}}});
  for (const FitOutput& o : found.outputs) {
    CHECK(o.sigma == doctest::Approx(0.02).epsilon(0.12));
    CHECK(o.whiteness > 0.01);
  }
  CHECK(found.std[0] == doctest::Approx(known.std[0]).epsilon(0.12));
}

TEST_CASE("identify: what the data cannot tell apart is said as a product") {
  const System truth = systems::pendulum({.length = 0.7, .mass = 2, .damping = 0.12});
  const Recording r = recorded(truth, {1.2, 0.0}, every(0.05, 60), 0.01);
  const Fit fit = identify(systems::pendulum({.damping = 0.1}), {r},
                           {{{"length"}}, {{"mass"}}, {{"damping"}}, {{"gravity"}}});
  CHECK(says(fit, "length / gravity"));
  CHECK(std::isinf(fit.std[0]));
  const Fit idle = identify(systems::pendulum(), {r}, {{{"length"}}, {{"mass"}, {3.0}}});
  CHECK(says(idle, "mass does not act"));
  CHECK(value(idle, "mass") == 3);
  CHECK(std::isinf(idle.std[1]));
  CHECK(idle.std[0] < 0.01);
}

TEST_CASE("identify: robust losses let outliers go") {
  const System truth = systems::pendulum({.length = 0.7, .damping = 0.12});
  Recording r = recorded(truth, {1.2, 0.0}, every(0.05, 80), 0.01);
  for (std::size_t i = 7; i < r.values.size(); i += 13) r.values[i] += 2;
  IdentifyOptions options;
  double error[3];
  for (const Loss loss : {Loss::squared, Loss::huber, Loss::cauchy}) {
    options.loss = loss;
    const Fit fit =
        identify(systems::pendulum(), {r}, {{{"length"}, {0.8}}, {{"damping"}, {0.1}}}, options);
    error[static_cast<int>(loss)] = std::abs(value(fit, "length") - 0.7);
  }
  CHECK(error[1] < 0.2 * error[0]);
  CHECK(error[2] < 0.2 * error[0]);
  CHECK(error[2] < 0.002);
}

TEST_CASE("identify: multiple shooting finds a chaotic system, and its segments meet") {
  const System truth = systems::lorenz({.sigma = 10, .rho = 28, .beta = 8.0 / 3});
  const Recording r = recorded(truth, {1, 1, 20}, every(0.05, 121), 0.05);
  IdentifyOptions options;
  options.shooting = 0.5;
  const Fit fit = identify(systems::lorenz({.sigma = 8, .rho = 24, .beta = 2}), {r},
                           {{{"sigma"}}, {{"rho"}}, {{"beta"}}}, options);
  CHECK(fit.largest_gap < 1e-6);
  CHECK(fit.converged);
  CHECK(value(fit, "rho") == doctest::Approx(28).epsilon(0.005));
  CHECK(value(fit, "sigma") == doctest::Approx(10).epsilon(0.01));
  CHECK(value(fit, "beta") == doctest::Approx(8.0 / 3).epsilon(0.01));
}

TEST_CASE("identify: a sensor's offset, gain and delay are found") {
  const System truth = systems::pendulum({.length = 0.7, .damping = 0.12});
  const Numbers at = every(0.05, 100);
  Numbers early;
  for (const double t : at) early.push_back(std::max(0.0, t - 0.03) + (t < 0.03 ? 1e-4 * t : 0));
  Recording r = recorded(truth, {1.2, 0.0}, early, 0);
  r.times = at;
  for (std::size_t i = 0; i < r.values.size(); i += 2) r.values[i] = 1.5 * r.values[i] + 0.2;
  r.values[0] = r.values[1] = NAN;
  r.names = {"angle", "angular_velocity"};
  r.x0 = {1.2, 0};  // free, a start could make up for a delay of everything
  IdentifyOptions options;
  options.x0.known = true;
  const Fit fit = identify(systems::pendulum(), {r},
                           {{{"length"}},
                            {{"damping"}, {0.1}},
                            {{"output:angle.gain"}},
                            {{"output:angle.offset"}},
                            {{"output:angle.delay"}},
                            {{"output:angular_velocity.delay"}}},
                           options);
  CHECK(value(fit, "output:angle.gain") == doctest::Approx(1.5).epsilon(1e-5));
  CHECK(value(fit, "output:angle.offset") == doctest::Approx(0.2).epsilon(1e-5));
  CHECK(value(fit, "output:angle.delay") == doctest::Approx(0.03).epsilon(1e-4));
  CHECK(value(fit, "length") == doctest::Approx(0.7).epsilon(1e-5));
}

TEST_CASE("identify: bounds and priors hold") {
  const System truth = systems::pendulum({.length = 0.7, .damping = 0.12});
  const Recording r = recorded(truth, {1.2, 0.0}, every(0.05, 60), 0.01);
  IdentifyOptions options;
  options.unknowns.bounds = {{"length", {0.75}, {2}}};
  const Fit bound =
      identify(systems::pendulum(), {r}, {{{"length"}}, {{"damping"}, {0.1}}}, options);
  CHECK(value(bound, "length") == 0.75);
  options.unknowns.bounds = {};
  options.unknowns.priors = {{"mass", {2}, {0.1}}};
  const Fit prior = identify(systems::pendulum(), {r}, {{{"length"}}, {{"mass"}}}, options);
  CHECK(value(prior, "mass") == doctest::Approx(2));
  CHECK(prior.std[1] == doctest::Approx(0.1));
}

TEST_CASE("identify: restarts leave a valley that the guess lies in, the same for a seed") {
  const System truth = systems::pendulum({.length = 0.3}, {.vary = {"length"}});
  const Recording r = recorded(truth, {0.4, 0.0}, every(0.05, 120), 0.01);
  const System system = systems::pendulum({.length = 1.0}, {.vary = {"length"}});
  const Fit stuck = identify(system, {r}, {{{"length"}}});
  IdentifyOptions options;
  options.restarts = 4;
  const Fit fit = identify(system, {r}, {{{"length"}}}, options);
  CHECK(std::abs(value(stuck, "length") - 0.3) > 0.05);
  CHECK(value(fit, "length") == doctest::Approx(0.3).epsilon(1e-2));
  CHECK(identify(system, {r}, {{{"length"}}}, options).values == fit.values);
}

TEST_CASE("identify: stopped, it returns the best so far, and goes on from there") {
  const System truth = systems::pendulum({.length = 0.7, .damping = 0.12});
  const Recording r = recorded(truth, {1.2, 0.0}, every(0.05, 60), 0.01);
  IdentifyOptions options;
  options.watch = [](const Progress& now) { return now.iteration < 2; };
  const Fit part = identify(systems::pendulum(), {r}, {{{"length"}}, {{"damping"}}}, options);
  CHECK_FALSE(part.converged);
  CHECK(part.cost < part.start_cost);
  IdentifyOptions more;
  more.theta = part.theta, more.starts = part.starts;
  const Fit all = identify(systems::pendulum(), {r}, {{{"length"}}, {{"damping"}}}, more);
  CHECK(all.converged);
  CHECK(value(all, "length") == doctest::Approx(0.7).epsilon(0.02));
}

TEST_CASE("identify: what cannot be fitted is refused in words") {
  const System system = systems::pendulum();
  const Recording good = recorded(system, {1.2, 0.0}, every(0.05, 20), 0.01);
  const auto refused = [&](auto change) {
    Recording r = good;
    change(r);
    try {
      identify(system, {r}, {{{"length"}}});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(refused([](Recording& r) { r.times[3] = r.times[2]; }), "times must rise"));
  CHECK(has(refused([](Recording& r) { r.times[3] = NAN; }), "times must be finite"));
  CHECK(has(refused([](Recording& r) {
              r.controls.assign(20, 0.0);
              r.controls[4] = NAN;
            }),
            "controls must be finite"));
  CHECK(has(refused([](Recording& r) { r.names = {"angle", "energi"}; }), "energy"));
  CHECK(has(refused([](Recording& r) {
              for (std::size_t i = 1; i < r.values.size(); i += 2) r.values[i] = NAN;
            }),
            "never measured"));
  CHECK(has(refused([](Recording& r) { r.sigma = {-1}; }), "sigma"));
  CHECK(has(refused([](Recording& r) { r.values[5] = INFINITY; }), "infinite"));
  IdentifyOptions options;
  options.x0.known = true;
  Recording angles = good;
  angles.names = {"angle"};
  angles.values.resize(20);
  CHECK_THROWS_AS(identify(system, {angles}, {{{"length"}}}, options), Error);
  CHECK_THROWS_AS(identify(system, {}, {{{"length"}}}), Error);
}

}  // namespace cycloid::identify_test
