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

// The pullback of a stage against differences, in the plane and in space.
void hold_stage(Advection advection) {
  for (const int dimensions : {2, 3}) {
    for (const bool obstructed : {false, true}) {
      CAPTURE(dimensions);
      CAPTURE(obstructed);
      if (obstructed && advection == Advection::maccormack) continue;
      GridOptions o = options(dimensions, obstructed);
      o.advection = advection;
      StageSum sum(o);
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
}

TEST_CASE("grid stage: the pullback equals differences, plane and space, with and without walls") {
  hold_stage(Advection::central);
  for (const char* name : {"load", "fill_ghosts", "set_sides", "rate", "stage"}) {
    test::mark_operator_tested(std::string("GridWork::") + name);
  }
}

TEST_CASE("grid stage: ... and where velocity is carried along characteristics") {
  hold_stage(Advection::semi_lagrangian);
  hold_stage(Advection::maccormack);
  test::mark_operator_tested("follow");
  test::mark_operator_tested("GridWork::carried_rate");
}

TEST_CASE("heat stage: pullbacks of heat and buoyancy equal differences") {
  GridOptions o = options(2, false);
  GridHeat& heat = o.heat.emplace();
  heat.diffusivity = 0.02, heat.expansion = 0.3, heat.gravity = {0.5, -9.0};
  heat.sides = {{1.0, std::nullopt}, {std::nullopt, -0.4}};
  GridWork<double> work(model_of(o), 1);
  const std::vector<double> p = grid_flow(o).parameters().default_values();
  const std::size_t cells = static_cast<std::size_t>(work.box.cells);
  const StageRule<double> rule = {0.25, 0.75, 0.02};
  const std::vector<double> weight = row(static_cast<std::size_t>(work.box.numbers), 0.9);
  const std::vector<double> x = row(static_cast<std::size_t>(work.box.states()), 0.2);
  Velocities<double> u = work.make();

  // <., heat after the stage> + <., buoyancy>.
  const auto value = [&](const std::vector<double>& t, const std::vector<double>& numbers) {
    work.read(numbers.data());
    work.set_inputs(nullptr);
    work.load(x.data(), u);
    work.fill_ghosts(u);
    std::vector<double> from(weight.size(), 0.0), to(from), out(cells);
    Velocities<double> r = work.make();
    work.load_heat(t.data(), from);
    work.heat_stage(rule, u, from, from, to);
    work.buoyancy(from, r);
    work.store_heat(to, out.data());
    double sum = 0;
    for (std::size_t i = 0; i < cells; ++i) sum += out[i] * weight[i];
    for (const int a : {1, 2}) {
      for (std::size_t m = 0; m < weight.size(); ++m) sum += r[GridBox::u(a)][m] * weight[m];
    }
    return sum;
  };
  const std::vector<double> t = row(cells, 0.4);
  const double start = value(t, p);
  CHECK(std::abs(start) > 0);
  work.read(p.data());
  work.set_inputs(nullptr);
  std::vector<double> from(weight.size(), 0.0), out_bar(from), bar0(from), bar(from), t_bar(cells);
  Velocities<double> g = work.make(), u_bar = work.make();
  work.load_heat(t.data(), from);
  for (int i = 0, cell = 0; i < work.box.n[1]; ++i) {
    for (int j = 0; j < work.box.n[2]; ++j, ++cell) {
      out_bar[static_cast<std::size_t>(work.box.index(0, i, j))] =
          weight[static_cast<std::size_t>(cell)];
    }
  }
  for (const int a : {1, 2}) {
    for (int i = 0; i < work.box.count(a, 1); ++i) {
      for (int j = 0; j < work.box.count(a, 2); ++j) {
        const std::size_t m = static_cast<std::size_t>(work.box.index(0, i, j));
        g[GridBox::u(a)][m] = weight[m];
      }
    }
  }
  work.heat_stage_pullback(rule, u, from, out_bar, bar0, bar, u_bar);
  work.buoyancy_pullback(from, g, bar);
  work.fill_heat_pullback(bar);
  for (std::size_t m = 0; m < bar.size(); ++m) bar[m] += bar0[m];
  work.store_heat(bar, t_bar.data());
  std::vector<double> p_bar(p.size());
  work.give_back(p_bar.data());

  const auto check = [&](const std::vector<double>& at, const std::vector<double>& of,
                         auto&& along) {
    const std::vector<double> d = row(at.size(), 1.3);
    std::vector<double> up = at, down = at;
    double slope = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      up[i] += 1e-5 * d[i], down[i] -= 1e-5 * d[i], slope += d[i] * of[i];
    }
    CHECK(slope == doctest::Approx((along(up) - along(down)) / 2e-5).epsilon(1e-7));
    CHECK(std::abs(slope) > 1e-3);
  };
  check(t, t_bar, [&](const auto& v) { return value(v, p); });
  // Of the parameters, those of heat: the velocity is held, its sides aside.
  std::vector<double> numbers = p;
  for (const int i : {work.model.diffusivity, work.model.expansion, work.model.gravity + 1,
                      work.model.side_temperature[1][0], work.model.side_temperature[2][1]}) {
    const std::size_t k = static_cast<std::size_t>(i);
    numbers = p, numbers[k] += 1e-5;
    const double up = value(t, numbers);
    numbers[k] -= 2e-5;
    CHECK(p_bar[k] == doctest::Approx((up - value(t, numbers)) / 2e-5).epsilon(1e-7));
    CHECK(std::abs(p_bar[k]) > 1e-6);
  }
  for (const char* name : {"fill_heat", "heat_stage", "buoyancy"}) {
    test::mark_operator_tested(std::string("GridWork::") + name);
  }
}

}  // namespace
}  // namespace cycloid
