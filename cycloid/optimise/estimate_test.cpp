#include "cycloid/optimise/estimate.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/optimise/qr.h"
#include "cycloid/system/systems.h"

namespace cycloid::estimate_test {

using Row = std::vector<double>;

const double kNaN = std::nan("");

// A linear System's step as a matrix: its columns are what unit states and unit inputs become.
struct StepMatrix {
  Row A, B;  // (n, n), (n, m)
};

StepMatrix step_matrix(const System& system) {
  const std::size_t n = static_cast<std::size_t>(system.states().size());
  const std::size_t m = static_cast<std::size_t>(system.inputs().size());
  StepMatrix out{Row(n * n), Row(n * m)};
  for (std::size_t j = 0; j < n + m; ++j) {
    Row x(n, 0.0), u(m, 0.0);
    (j < n ? x[j] : u[j - n]) = 1;
    const Row next = step(system, x, u);
    for (std::size_t i = 0; i < n; ++i) {
      (j < n ? out.A[i * n + j] : out.B[i * m + j - n]) = next[i];
    }
  }
  return out;
}

// A least-squares problem, row by row.
struct Stacked {
  std::size_t columns;
  Row a, b;
  void add(const std::vector<std::pair<std::size_t, double>>& entries, double right, double std) {
    Row line(columns, 0.0);
    for (const auto& [at, v] : entries) line[at] += v / std;
    a.insert(a.end(), line.begin(), line.end()), b.push_back(right / std);
  }
};

struct ChainCase {
  System system =
      systems::spring_chain(2, {.mass = 1.3, .stiffness = 4, .damping = 0.2}, {.dt = 0.05});
  Recording recording;
  EstimateOptions options;
};

// Positions of a chain, some of which were not measured; the force on the first mass is unknown.
ChainCase chain_case() {
  ChainCase c;
  RandomStream random(3);
  for (int i = 0; i < 12; ++i) {
    c.recording.times.push_back(1 + 0.05 * i);
    for (int j = 0; j < 2; ++j) {
      c.recording.values.push_back(i == 4 || (i == 7 && j == 0) ? kNaN : random.normal());
    }
    c.recording.controls.insert(c.recording.controls.end(), {0.3 * i, 1.0});
  }
  c.recording.names = {"positions"};
  c.recording.sigma = {0.1, 0.2};
  c.options.forces = {"forces[0]"};
  c.options.x0 = {0.1, 0.2, 0.3, -0.1};
  c.options.x0_std = {0.5, 0.6, 0.7, 0.8};
  c.options.process = {0.02, 0.03, 0.4, 0.5};
  c.options.force_std = {2}, c.options.force_rate = {3};
  return c;
}

// The same as one least-squares problem of all states and forces.
Stacked stacked(const ChainCase& c) {
  const StepMatrix M = step_matrix(c.system);
  const std::size_t S = c.recording.samples(), n = 4, z = 5;
  const double root = std::sqrt(0.05);
  Stacked out{S * z, {}, {}};
  for (std::size_t i = 0; i < n; ++i) out.add({{i, 1}}, c.options.x0[i], c.options.x0_std[i]);
  out.add({{4, 1}}, 0, 2);
  for (std::size_t k = 0; k < S; ++k) {
    for (std::size_t j = 0; j < 2; ++j) {
      const double v = c.recording.values[2 * k + j];
      if (!std::isnan(v)) out.add({{k * z + j, 1}}, v, c.recording.sigma[j]);
    }
    if (k + 1 == S) break;
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<std::pair<std::size_t, double>> entries = {{(k + 1) * z + i, 1}};
      double right = 0;
      for (std::size_t j = 0; j < n; ++j) entries.push_back({k * z + j, -M.A[i * n + j]});
      for (std::size_t j = 0; j < 2; ++j) right += M.B[i * 2 + j] * c.recording.controls[2 * k + j];
      entries.push_back({k * z + 4, -M.B[i * 2]});
      out.add(entries, right, c.options.process[i] * root);
    }
    out.add({{(k + 1) * z + 4, 1}, {k * z + 4, -1}}, 0, 3 * root);
  }
  return out;
}

// A pendulum with noise in its motion and in what is seen of it.
struct Noisy {
  Recording recording;
  Row truth;  // (S, 2)
};

Noisy noisy_pendulum(const System& system, std::uint64_t seed, double process, double sigma) {
  Noisy out;
  RandomStream random(seed);
  Row x = {1.2 + 0.3 * random.normal(), 0.3 * random.normal()};
  for (int i = 0; i < 60; ++i) {
    out.truth.insert(out.truth.end(), x.begin(), x.end());
    out.recording.times.push_back(system.timestep() * i);
    out.recording.values.push_back(x[0] + sigma * random.normal());
    x = step(system, x);
    for (double& v : x) v += process * std::sqrt(system.timestep()) * random.normal();
  }
  out.recording.names = {"angle"}, out.recording.sigma = {sigma};
  return out;
}

double nees(const Estimate& e, const Row& truth, std::size_t sample) {
  const double* P = e.covariance.data() + sample * e.tangents * e.tangents;
  const double a = P[0], b = P[1], d = P[e.tangents + 1], det = a * d - b * b;
  const double x = truth[2 * sample] - e.states[2 * sample],
               y = truth[2 * sample + 1] - e.states[2 * sample + 1];
  return (d * x * x - 2 * b * x * y + a * y * y) / det;
}

TEST_CASE("estimate: of a linear system it is the closed-form smoother, states and covariance") {
  const ChainCase c = chain_case();
  const Estimate found = estimate(c.system, c.recording, c.options);
  CHECK(found.converged);
  const Stacked all = stacked(c);
  const Qr qr(all.b.size(), all.columns, all.a);
  const Row expected = qr.solve(all.b), cov = qr.inverse_gram();
  CHECK(found.force_names == std::vector<std::string>{"forces[0]"});
  for (std::size_t k = 0; k < c.recording.samples(); ++k) {
    for (std::size_t i = 0; i < 5; ++i) {
      const double value = i < 4 ? found.states[4 * k + i] : found.forces[k];
      CHECK(std::abs(value - expected[5 * k + i]) < 1e-8);
      for (std::size_t j = 0; j < 5; ++j) {
        CHECK(std::abs(found.covariance[25 * k + 5 * i + j] -
                       cov[(5 * k + i) * all.columns + 5 * k + j]) < 1e-8);
      }
    }
  }
}

TEST_CASE("estimate: the filter is the smoother of what came before, and so is a moving window") {
  ChainCase c = chain_case();
  c.options.smooth = false;
  const Estimate filter = estimate(c.system, c.recording, c.options);
  c.options.smooth = true, c.options.horizon = 3;
  const Estimate windows = estimate(c.system, c.recording, c.options);
  for (const std::size_t last : {std::size_t{5}, std::size_t{11}}) {
    ChainCase part = chain_case();
    part.recording.times.resize(last + 1);
    part.recording.values.resize(2 * (last + 1)), part.recording.controls.resize(2 * (last + 1));
    const Estimate whole = estimate(part.system, part.recording, part.options);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(std::abs(filter.states[4 * last + i] - whole.states[4 * last + i]) < 1e-8);
      CHECK(std::abs(windows.states[4 * last + i] - whole.states[4 * last + i]) < 1e-8);
    }
  }
}

TEST_CASE("estimate: errors of a pendulum's states are as large as the covariance says") {
  const System system = systems::pendulum({.damping = 0.1}, {.dt = 0.05});
  double sum = 0, seen = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Noisy run = noisy_pendulum(system, seed, 0.15, 0.05);
    const Estimate found =
        estimate(system, run.recording, {.x0 = {1.2, 0}, .x0_std = {0.3}, .process = {0.15}});
    CHECK(found.converged);
    for (std::size_t i = 0; i < 60; i += 6) sum += nees(found, run.truth, i), ++seen;
  }
  // A mean of 400 draws of chi² with two degrees of freedom, nearly independent: 2 ± 0.1.
  CHECK(sum / seen > 1.6);
  CHECK(sum / seen < 2.4);
}

TEST_CASE("estimate: an unknown torque and a slowly changing length are found") {
  const System system = systems::pendulum({.length = 0.8}, {.dt = 0.02});
  Row x = {0.8, 0}, torque;
  Recording r;
  RandomStream random(1);
  for (int i = 0; i < 400; ++i) {
    r.times.push_back(0.02 * i);
    r.values.insert(r.values.end(),
                    {x[0] + 0.002 * random.normal(), x[1] + 0.01 * random.normal()});
    torque.push_back(std::sin(0.02 * i));
    x = step(system, x, Row{torque.back()});
  }
  r.sigma = {0.002, 0.01};
  EstimateOptions options;
  options.forces = {"torque"};
  options.force_rate = {1.5}, options.process = {1e-4};
  const Estimate found = estimate(system, r, options);
  CHECK(found.converged);
  double error = 0;
  for (std::size_t i = 50; i < 350; ++i) error += std::pow(found.forces[i] - torque[i], 2) / 300;
  CHECK(std::sqrt(error) < 0.1);
  CHECK(found.misfit / static_cast<double>(found.measured) == doctest::Approx(1).epsilon(0.2));

  EstimateOptions lengths;
  lengths.params = {{{"length"}, {1.1}}};
  lengths.param_rate = {1e-3}, lengths.process = {1e-4};
  r.controls = torque;
  const Estimate length = estimate(system, r, lengths);
  CHECK(length.converged);
  CHECK(length.params[200] == doctest::Approx(0.8).epsilon(0.01));
  const double std = std::sqrt(length.covariance[200 * 9 + 8]);
  CHECK(std::abs(length.params[200] - 0.8) < 4 * std);
  CHECK(std < 0.01);
}

TEST_CASE("estimate: samples off the steps have steps of their own length") {
  const System system = systems::pendulum({}, {.dt = 0.01});
  Recording r;
  r.times = {0, 0.013, 0.05, 0.0755};
  const System fine = systems::pendulum({}, {.dt = 0.0005});
  const Trajectory<double> run = rollout(fine, Row{1, 0}, 151);
  for (const std::size_t k : {0, 26, 100, 151}) r.values.push_back(run.states()[2 * k]);
  r.names = {"angle"}, r.sigma = {1e-6};
  const Estimate found = estimate(system, r, {.x0 = {1, 0}, .x0_std = {1e-9}, .process = {1e-9}});
  CHECK(found.states[2 * 3 + 1] == doctest::Approx(run.states()[2 * 151 + 1]).epsilon(1e-6));
}

TEST_CASE("estimate: what cannot be is refused with words") {
  const System system = systems::pendulum();
  Recording r;
  r.times = {0, 0.01, 0.02}, r.values = {0, 0, 0, 0, 0, 0};
  CHECK_THROWS_WITH_AS(estimate(system, r), doctest::Contains("sigma"), Error);
  r.sigma = {0.1};
  CHECK_THROWS_WITH_AS(estimate(system, r, {.forces = {"torqe"}}), doctest::Contains("torque"),
                       Error);
  CHECK_THROWS_WITH_AS(estimate(system, r, {.forces = {"torque[1]"}}), doctest::Contains("0 to 0"),
                       Error);
  CHECK_THROWS_AS(estimate(system, r, {.forces = {"torque", "torque"}}), Error);
  CHECK_THROWS_WITH_AS(estimate(system, r, {.process = {1, 2, 3}}), doctest::Contains("process"),
                       Error);
  CHECK_THROWS_AS(estimate(system, r, {.x0_std = {-1}}), Error);
  CHECK_THROWS_AS(estimate(system, r, {.params = {{{"lenght"}}}}), ParameterError);
}

}  // namespace cycloid::estimate_test
