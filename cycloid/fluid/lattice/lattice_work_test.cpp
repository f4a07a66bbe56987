#include "cycloid/fluid/lattice/lattice_work.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/operator_coverage.h"

namespace cycloid {
namespace {

using Sides = std::vector<std::array<SideKind, 2>>;

// A box whose walls stand still, with or without a disc; parameters: viscosity, density.
std::shared_ptr<const LatticeModel> closed_box(const std::vector<int>& shape, const Sides& sides,
                                               Relaxation relaxation) {
  auto model = std::make_shared<LatticeModel>();
  model->box = GridBox(shape, std::vector<double>(shape.begin(), shape.end()), sides);
  model->dt = 1, model->relaxation = relaxation;
  return model;
}

std::vector<double> wave(std::size_t n, double scale, double phase) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) {
    x.push_back(scale * std::sin(1.7 * static_cast<double>(i) + phase));
  }
  return x;
}

constexpr std::array<SideKind, 2> kRing = {SideKind::periodic, SideKind::periodic},
                                  kWalls = {SideKind::wall, SideKind::wall},
                                  kSlip = {SideKind::slip, SideKind::slip},
                                  kOut = {SideKind::outflow, SideKind::wall};

const std::pair<std::vector<int>, Sides> kBoxes[] = {
    {{7, 5}, {kRing, kRing}},           {{9, 6}, {kWalls, kRing}},
    {{5, 7}, {kSlip, kWalls}},          {{6, 6}, {kOut, kSlip}},
    {{4, 5, 3}, {kRing, kRing, kRing}}, {{3, 5, 4}, {kSlip, kOut, kWalls}},
    {{17, 3}, {kRing, kSlip}},          {{2, 1100}, {kWalls, kRing}},
    {{3, 700}, {kRing, kOut}},          {{3, 2, 530}, {kRing, kSlip, kWalls}},
};

TEST_CASE("lattice work: mass stays in every box without an outflow") {
  const double p[] = {0.1, 1.0};
  for (const auto& [shape, sides] : kBoxes) {
    const auto model = closed_box(shape, sides, Relaxation::several);
    LatticeWork<double> work(model, 1);
    work.read(p), work.set_inputs(nullptr);
    const auto x = wave(static_cast<std::size_t>(model->states()), 1e-2, 0.3);
    std::vector<double> next(x.size());
    REQUIRE(work.step(x.data(), next.data()));
    double before = 0, after = 0;
    for (std::size_t i = 0; i < x.size(); ++i) before += x[i], after += next[i];
    if (model->box.has(SideKind::outflow)) CHECK(std::abs(after - before) > 1e-6);
    else CHECK(after == doctest::Approx(before).epsilon(1e-13));
  }
}

// Every node by itself, as if every axis were periodic.
template <class T>
double most_gap_of_push(const std::vector<int>& shape, int threads) {
  const auto model = closed_box(shape, Sides(shape.size(), kRing), Relaxation::two);
  const T p[] = {T(0.1), T(1)};
  LatticeWork<T> work(model, threads);
  work.read(p), work.set_inputs(nullptr);
  const auto wide = wave(static_cast<std::size_t>(model->states()), 1e-2, 0.3);
  const std::vector<T> x(wide.begin(), wide.end());
  std::vector<T> X(x.size());
  REQUIRE(work.step(x.data(), X.data()));
  const int* const n = model->box.n.data();
  const double omega = 1 / (3 * 0.1 + 0.5), odd = 8 * (2 - omega) / (8 - omega);
  const LatticeRates<double> rates{omega, omega, odd, omega};
  const double force[3] = {};
  double most = 0;
  for (int m = 0; m < model->box.cells; ++m) {
    double g[kMostDirections];
    for (int i = 0; i < work.set.directions; ++i) {
      g[i] = static_cast<double>(x[static_cast<std::size_t>(i * work.nodes + m)]);
    }
    if (shape.size() == 2) collide<D2Q9, false>(rates, force, g);
    else collide<D3Q19, false>(rates, force, g);
    const int place[3] = {m / n[2] / n[1], m / n[2] % n[1], m % n[2]};
    for (int i = 0; i < work.set.directions; ++i) {
      int q[3];
      for (int a = 0; a < 3; ++a) q[a] = (place[a] + work.set.c[i][a] + n[a]) % n[a];
      const auto to = static_cast<std::size_t>(i * work.nodes + (q[0] * n[1] + q[1]) * n[2] + q[2]);
      most = std::max(most, std::abs(static_cast<double>(X[to]) - g[i]));
    }
  }
  return most;
}

TEST_CASE("lattice work: pushes wrap, in runs of lines, of parts of lines, in streams [threads]") {
  const std::vector<int> boxes[] = {{7, 5},      {3, 513},     {3, 1030},   {2, 2500},
                                    {200, 3},    {40, 41},     {2, 2, 2},   {3, 4, 700},
                                    {5, 40, 33}, {2, 3, 1100}, {60, 61, 59}};
  for (const auto& shape : boxes) {
    for (const int threads : {1, 2}) {
      CHECK(most_gap_of_push<double>(shape, threads) < 1e-16);
      CHECK(most_gap_of_push<float>(shape, threads) < 1e-8);
    }
  }
}

TEST_CASE("lattice work: the way back is the transpose of the tangent, in every box") {
  const double p[] = {0.1, 1.0}, p_tan[] = {0.3, 0.0};
  for (const auto& [shape, sides] : kBoxes) {
    for (const auto relaxation : {Relaxation::one, Relaxation::two, Relaxation::several}) {
      const auto model = closed_box(shape, sides, relaxation);
      LatticeWork<double> work(model, 1);
      work.read(p), work.set_inputs(nullptr);
      const std::size_t n = static_cast<std::size_t>(model->states());
      const auto x = wave(n, 1e-2, 0.3), x_tan = wave(n, 1, 1.1), bar = wave(n, 1, 2.3);
      std::vector<double> tan(n), x_bar(n, 0.0), p_bar(2);
      work.step_pushforward(x.data(), x_tan.data(), p_tan, nullptr, tan.data());
      work.step_pullback(x.data(), bar.data(), x_bar.data(), nullptr);
      work.give_back(p_bar.data());
      double forth = 0, back = p_bar[0] * p_tan[0];
      for (std::size_t i = 0; i < n; ++i) forth += bar[i] * tan[i], back += x_bar[i] * x_tan[i];
      CHECK(forth == doctest::Approx(back).epsilon(1e-12));
      CHECK(p_bar[0] != 0);
    }
  }
}

TEST_CASE("lattice work: ... and with an obstacle, whose place and size are among the parameters") {
  auto model = std::make_shared<LatticeModel>(*closed_box({9, 8}, {kRing, kOut}, Relaxation::two));
  model->obstacles = {{ObstacleKind::circle, {4.37, 4.21, 1.83}}};
  model->obstacle = {{2, 2, {}, {}}};
  model->parameters = 5;
  const double p[] = {0.1, 1.0, 4.37, 4.21, 1.83}, p_tan[] = {0.3, 0.0, 0.5, -0.7, 0.9};
  LatticeWork<double> work(model, 1);
  work.read(p), work.set_inputs(nullptr);
  const std::size_t n = static_cast<std::size_t>(model->states());
  const auto x = wave(n, 1e-2, 0.3), x_tan = wave(n, 1, 1.1), bar = wave(n, 1, 2.3);
  std::vector<double> tan(n), x_bar(n, 0.0), p_bar(5);
  work.step_pushforward(x.data(), x_tan.data(), p_tan, nullptr, tan.data());
  work.step_pullback(x.data(), bar.data(), x_bar.data(), nullptr);
  work.give_back(p_bar.data());
  double forth = 0, back = 0;
  for (std::size_t i = 0; i < n; ++i) forth += bar[i] * tan[i], back += x_bar[i] * x_tan[i];
  for (std::size_t i = 0; i < 5; ++i) back += p_bar[i] * p_tan[i];
  CHECK(forth == doctest::Approx(back).epsilon(1e-12));
  for (const std::size_t i : {0, 2, 3, 4}) CHECK(p_bar[i] != 0);
  // The tangent itself by differences along all parameters.
  double best = 1;
  for (const double e : {1e-4, 1e-5, 1e-6}) {
    std::vector<double> up(n), down(n);
    double moved[2][5];
    for (int i = 0; i < 5; ++i)
      moved[0][i] = p[i] + e * p_tan[i], moved[1][i] = p[i] - e * p_tan[i];
    LatticeWork<double> high(model, 1), low(model, 1);
    high.read(moved[0]), high.set_inputs(nullptr), low.read(moved[1]), low.set_inputs(nullptr);
    high.step(x.data(), up.data()), low.step(x.data(), down.data());
    std::vector<double> only_p(n);
    work.step_pushforward(x.data(), nullptr, p_tan, nullptr, only_p.data());
    double most = 0, gap = 0;
    for (std::size_t i = 0; i < n; ++i) {
      most = std::max(most, std::abs(only_p[i]));
      gap = std::max(gap, std::abs((up[i] - down[i]) / (2 * e) - only_p[i]));
    }
    best = std::min(best, gap / most);
  }
  CHECK(best < 1e-7);
  for (const char* name : {"LatticeLinks::theta", "LatticeWork::push", "LatticeWork::link",
                           "LatticeWork::step", "LatticeWork::velocity"}) {
    test::mark_operator_tested(name);
  }
}

}  // namespace
}  // namespace cycloid
