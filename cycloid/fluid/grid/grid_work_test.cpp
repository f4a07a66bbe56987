#include "cycloid/fluid/grid/grid_work.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/fluid/grid/grid_flow.h"
#include "cycloid/fluid/grid/observe/grid_observables.h"
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
    work.sides.fill_ghosts(from);
    if (work.viscous) implicitly(from, to);
    else work.stage(rule, from, from, {}, to, q.data());
    std::vector<double> out(x.size());
    work.store(to, out.data());
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * some(i, 0.9);
    return sum;
  }
  void implicitly(const Velocities<double>& from, Velocities<double>& to) {
    Velocities<double> middle = work.make();
    work.implicit_stage(0, from, from, {}, {}, middle);
    work.sides.fill_ghosts(middle);
    work.implicit_stage(1, from, middle, {}, {}, to);
  }
  void gradient(const std::vector<double>& x, const std::vector<double>& u,
                const std::vector<double>& p, std::vector<double>& x_bar,
                std::vector<double>& u_bar, std::vector<double>& p_bar) {
    work.read(p.data());
    work.set_inputs(u.data());
    Velocities<double> from = work.make(), to = from, to_bar = from, bar0 = from, bar = from;
    work.load(x.data(), from);
    work.sides.fill_ghosts(from);
    if (!work.viscous) work.stage(rule, from, from, {}, to, q.data());
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
    Scalars<double> none;
    if (work.viscous) {
      // Both stages, the second from the first.
      Velocities<double> middle = work.make(), middle_bar = work.make();
      work.implicit_stage(0, from, from, {}, {}, middle);
      work.sides.fill_ghosts(middle);
      work.implicit_stage_pullback(1, from, middle, {}, {}, to_bar, bar, middle_bar, none, none,
                                   true);
      work.sides.fill_ghosts_pullback(middle_bar);
      work.implicit_stage_pullback(0, from, from, {}, {}, middle_bar, bar, bar, none, none, true);
    } else {
      work.stage_pullback(rule, from, {}, q.data(), to, to_bar, bar0, bar, none, true);
    }
    work.sides.fill_ghosts_pullback(bar);
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
void hold_stage(Advection advection, bool implicit = false) {
  for (const int dimensions : {2, 3}) {
    for (const bool obstructed : {false, true}) {
      CAPTURE(dimensions);
      CAPTURE(obstructed);
      GridOptions o = options(dimensions, obstructed);
      o.advection = advection, o.implicit_viscosity = implicit;
      if (implicit) o.viscosity = 3;
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
  for (const char* name :
       {"GridWork::load", "GridWork::rate", "GridWork::stage", "GridSides::fill_ghosts",
        "GridSides::set_sides", "Projection::project", "GridObstacles::place", "number_at"}) {
    test::mark_operator_tested(name);
  }
}

TEST_CASE("grid stage: ... and where velocity is carried along characteristics") {
  hold_stage(Advection::semi_lagrangian);
  hold_stage(Advection::maccormack);
  test::mark_operator_tested("follow");
  test::mark_operator_tested("CarriedRate::carried_rate");
}

TEST_CASE("grid stage: ... and where viscosity is implicit, beyond the explicit limit") {
  hold_stage(Advection::central, true);
  test::mark_operator_tested("GridWork::implicit_stage");
  test::mark_operator_tested("ViscousSolve::diffuse");
}

// <c, scalars after a stage> + <c, their buoyancy>, of a flow whose velocity is held, and its
// gradient by the scalars and the parameters.
struct CarriedSum {
  explicit CarriedSum(const GridOptions& o)
      : parameters(grid_flow(o).parameters().default_values()),
        work(model_of(o), 1),
        x(row(static_cast<std::size_t>(work.model.states()), 0.2)),
        weight(row(static_cast<std::size_t>(work.model.states()), 0.9)),
        u(work.make()) {}
  std::vector<double> parameters;
  GridWork<double> work;
  std::vector<double> x, weight;
  Velocities<double> u;
  StageRule<double> rule = {0.25, 0.75, 0.02};

  Scalars<double> begin(const std::vector<double>& at, const std::vector<double>& p) {
    work.read(p.data());
    work.set_inputs(nullptr, at.data());
    work.load(x.data(), u);
    work.sides.fill_ghosts(u);
    Scalars<double> from = work.make_scalars();
    work.load(at.data(), from);
    return from;
  }
  double value(const std::vector<double>& at, const std::vector<double>& p) {
    const Scalars<double> from = begin(at, p);
    Scalars<double> to = work.make_scalars();
    Velocities<double> r = work.make();
    work.carry(rule, u, from, from, to);
    for (std::size_t i = 0; i < to.size(); ++i) work.scalars[i].buoyancy(from[i], r);
    std::vector<double> out(x.size(), 0.0);
    work.store(to, out.data());
    work.store(r, out.data());
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * weight[i];
    return sum;
  }
  void gradient(std::vector<double>& x_bar, std::vector<double>& p_bar) {
    const Scalars<double> from = begin(x, parameters);
    Scalars<double> to_bar = work.make_scalars(), bar0 = to_bar, bar = to_bar;
    Velocities<double> g = work.make(), u_bar = g;
    work.add_row(weight.data(), g);
    work.add_row(weight.data(), to_bar);
    work.carry_pullback(rule, u, from, to_bar, bar0, bar, u_bar);
    for (std::size_t i = 0; i < bar.size(); ++i) {
      work.scalars[i].buoyancy_pullback(from[i], g, bar[i]);
      for (std::size_t m = 0; m < bar[i].size(); ++m) bar[i][m] += bar0[i][m];
      work.scalars[i].load_pullback(bar[i], x_bar.data() + work.model.scalar(i));
    }
    // Of the velocity's cotangent what obstacles give it.
    work.sides.fill_ghosts_pullback(u_bar);
    std::vector<double> nothing(x.size(), 0.0);
    work.load_pullback(u_bar, nothing.data());
    work.give_back_inputs(nullptr, nullptr, x_bar.data());
    work.give_back(p_bar.data());
  }
};

TEST_CASE("scalars: pullbacks equal differences, in the open and at obstacles of every kind") {
  for (const int obstacles : {0, 1, 2}) {
    CAPTURE(obstacles);
    GridOptions o = options(2, false);
    o.inputs = {};
    if (obstacles > 0) o.obstacles = {{ObstacleKind::circle, {0.43, 0.43, 0.21}}};
    if (obstacles > 1) o.obstacles.push_back({ObstacleKind::box, {0.82, 0.25, 0.22, 0.26}});
    o.temperature = {.diffusivity = 0.02,
                     .expansion = 0.3,
                     .sides = {{1.0, std::nullopt}, {std::nullopt, -0.4}}};
    o.concentration = {.diffusivity = 0.013,
                       .expansion = -0.2,
                       .sides = {{std::nullopt, std::nullopt}, {0.7, std::nullopt}}};
    if (obstacles > 0) o.temperature->obstacles = {0.8};
    if (obstacles > 1) o.concentration->obstacles = {std::nullopt, -0.6};
    o.gravity = {0.5, -9.0};
    CarriedSum sum(o);
    const std::vector<double>& p = sum.parameters;
    std::vector<double> x_bar(sum.x.size(), 0.0), p_bar(p.size(), 0.0);
    sum.gradient(x_bar, p_bar);
    std::vector<double> up = sum.x, down = sum.x, d = row(sum.x.size(), 1.3);
    double slope = 0;
    for (std::size_t i = static_cast<std::size_t>(sum.work.box.states()); i < d.size(); ++i) {
      up[i] += 1e-5 * d[i], down[i] -= 1e-5 * d[i], slope += d[i] * x_bar[i];
    }
    CHECK(slope == doctest::Approx((sum.value(up, p) - sum.value(down, p)) / 2e-5).epsilon(1e-7));
    CHECK(std::abs(slope) > 1e-3);
    int moved = 0;
    for (std::size_t k = 2; k < p.size(); ++k) {
      CAPTURE(k);
      std::vector<double> more = p, less = p;
      more[k] += 1e-6, less[k] -= 1e-6;
      const double by = (sum.value(sum.x, more) - sum.value(sum.x, less)) / 2e-6;
      CHECK(p_bar[k] == doctest::Approx(by).epsilon(2e-6).scale(1));
      moved += std::abs(p_bar[k]) > 1e-6;
    }
    CHECK(moved > 8);
  }
  for (const char* name : {"fill", "load", "advance", "buoyancy", "place"}) {
    test::mark_operator_tested(std::string("GridScalar::") + name);
  }
  test::mark_operator_tested("GridWork::carry");
  test::mark_operator_tested("Projection::flux");
}

}  // namespace
}  // namespace cycloid
