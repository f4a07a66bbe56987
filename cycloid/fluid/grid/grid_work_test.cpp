#include "cycloid/fluid/grid/grid_work.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/fluid/grid/grid_flow.h"
#include "cycloid/fluid/grid/grid_observables.h"
#include "tests/support/operator_coverage.h"

namespace cycloid {
namespace {

std::shared_ptr<const GridModel> model_of(const GridOptions& o) {
  const System flow = grid_flow(o);
  return std::make_shared<GridModel>(
      dynamic_cast<const GridObservables&>(*flow.observables()).model());
}

// Every kind of side, in the plane or in space, and an obstacle.
GridOptions options(int dimensions, bool obstructed) {
  GridOptions o;
  o.shape = {7, 6}, o.size = {1.0, 0.9}, o.viscosity = 0.03, o.dt = 0.02;
  std::vector<double> profile;
  if (dimensions == 3) o.shape.push_back(5), o.size.push_back(0.8);
  for (int i = 0; i < 6 * (dimensions == 3 ? 5 : 1) * dimensions; ++i) {
    profile.push_back(0.4 + 0.1 * std::sin(i));
  }
  o.sides = {{GridSide{SideKind::inflow, profile}, GridSide{SideKind::outflow}},
             {GridSide{SideKind::wall}, GridSide{SideKind::slip}}};
  if (dimensions == 3) o.sides.emplace_back();
  if (obstructed) {
    o.obstacles = {{ObstacleKind::circle, {0.47, 0.43, 0.24}}};
    if (dimensions == 3) o.obstacles[0].numbers = {0.47, 0.43, 0.37, 0.24};
  }
  o.inputs = {"force", "inflow:left", "wall:bottom"};
  if (obstructed) o.inputs.push_back("obstacle:#0.angular_velocity");
  return o;
}

double some(std::size_t i, double phase) { return 0.4 * std::sin(2.3 * double(i) + phase); }

std::vector<double> row(std::size_t size, double phase) {
  std::vector<double> out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(some(i, phase));
  return out;
}

// <c, a stage from x>, and its gradient.
struct StageSum {
  explicit StageSum(const GridOptions& o)
      : system(grid_flow(o)), work(model_of(o), 1), q(static_cast<std::size_t>(work.box.cells)) {}
  System system;
  GridWork<double> work;
  std::vector<double> q;
  StageRule<double> rule = {0.25, 0.75, 0.02};

  double value(const std::vector<double>& x, const std::vector<double>& u,
               const std::vector<double>& p) {
    work.read(p.data());
    work.set_inputs(u.data());
    Velocities<double> from = work.make(), to = work.make();
    work.load(x.data(), from);
    work.fill_ghosts(from);
    work.stage(rule, from, from, to, q.data());
    std::vector<double> out(x.size());
    work.store(to, out.data());
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * some(i, 0.9);
    return sum;
  }
  void gradient(const std::vector<double>& x, const std::vector<double>& u,
                const std::vector<double>& p, std::vector<double>& x_bar,
                std::vector<double>& u_bar, std::vector<double>& p_bar) {
    work.read(p.data());
    work.set_inputs(u.data());
    Velocities<double> from = work.make(), to = from, to_bar = from, bar0 = from, bar = from;
    work.load(x.data(), from);
    work.fill_ghosts(from);
    work.stage(rule, from, from, to, q.data());
    const std::vector<double> c = row(x.size(), 0.9);
    const GridBox& box = work.box;
    for (int a = box.first; a < 3; ++a) {
      std::size_t at = static_cast<std::size_t>(box.offset[GridBox::u(a)]);
      for (int i = 0; i < box.count(a, 0); ++i) {
        for (int j = 0; j < box.count(a, 1); ++j) {
          for (int k = 0; k < box.count(a, 2); ++k) {
            to_bar[GridBox::u(a)][static_cast<std::size_t>(box.index(i, j, k))] = c[at++];
          }
        }
      }
    }
    work.stage_pullback(rule, from, q.data(), to, to_bar, bar0, bar, true);
    work.fill_ghosts_pullback(bar);
    for (int a = box.first; a < 3; ++a) {
      for (std::size_t m = 0; m < bar[GridBox::u(a)].size(); ++m) {
        bar0[GridBox::u(a)][m] += bar[GridBox::u(a)][m];
      }
    }
    work.load_pullback(bar0, x_bar.data());
    work.give_back_inputs(u_bar.data());
    work.give_back(p_bar.data());
  }
};

TEST_CASE("grid stage: the pullback equals differences, plane and space, with and without walls") {
  for (const int dimensions : {2, 3}) {
    for (const bool obstructed : {false, true}) {
      CAPTURE(dimensions);
      CAPTURE(obstructed);
      StageSum sum(options(dimensions, obstructed));
      const std::vector<double> p = sum.system.parameters().default_values();
      const std::vector<double> x = row(static_cast<std::size_t>(sum.work.box.states()), 0.1);
      const std::vector<double> u = row(static_cast<std::size_t>(sum.work.model.inputs), 0.5);
      std::vector<double> x_bar(x.size(), 0.0), u_bar(u.size(), 0.0), p_bar(p.size(), 0.0);
      sum.gradient(x, u, p, x_bar, u_bar, p_bar);
      const auto check = [&](const std::vector<double>& at, const std::vector<double>& bar,
                             auto&& value) {
        const std::vector<double> d = row(at.size(), 1.3);
        std::vector<double> up = at, down = at;
        double slope = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
          up[i] += 1e-6 * d[i], down[i] -= 1e-6 * d[i], slope += d[i] * bar[i];
        }
        CHECK(slope == doctest::Approx((value(up) - value(down)) / 2e-6).epsilon(1e-6));
        CHECK(std::abs(slope) > 1e-3);
      };
      check(x, x_bar, [&](const auto& v) { return sum.value(v, u, p); });
      check(u, u_bar, [&](const auto& v) { return sum.value(x, v, p); });
      check(p, p_bar, [&](const auto& v) { return sum.value(x, u, v); });
    }
  }
  for (const char* name : {"load", "fill_ghosts", "set_sides", "rate", "stage"}) {
    test::mark_operator_tested(std::string("GridWork::") + name);
  }
}

}  // namespace
}  // namespace cycloid
