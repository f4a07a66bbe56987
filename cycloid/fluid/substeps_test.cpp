#include "cycloid/fluid/substeps.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cycloid/fluid/grid/grid_flow.h"
#include "cycloid/fluid/spectral/spectral.h"
#include "tests/support/allocation_count.h"

namespace cycloid {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

System disc_in_a_channel(double dt, bool substeps) {
  GridOptions o;
  o.shape = {14, 12}, o.size = {1.4, 1.2}, o.viscosity = 0.02, o.dt = dt, o.substeps = substeps;
  constexpr GridSide kWall{SideKind::wall, {}};
  o.sides = {{GridSide{}, GridSide{}}, {kWall, kWall}};
  o.obstacles = {FluidObstacle{ObstacleKind::circle, {0.53, 0.57, 0.23}}};
  o.inputs = {"force"};
  return grid_flow(o);
}

System vortices(double dt, bool substeps) {
  SpectralOptions o;
  o.shape = {12, 10}, o.size = {1.4, 1.2}, o.dt = dt, o.substeps = substeps;
  o.inputs = {"force"};
  return spectral(o);
}

// A step of a System with its pullback: the numbers that it takes and gives.
struct Step {
  explicit Step(const System& system)
      : flow(system),
        stepper(*flow.steppers<double>().one),
        workspace(stepper.make_workspace({})),
        p(flow.parameters().default_values()),
        numbers(at(stepper.sizes().record)),
        p_bar(p.size()) {
    record.data = reinterpret_cast<std::byte*>(numbers.data());
    parameters.lanes = p.data();
    stepper.begin(parameters, *workspace);
  }
  StepStatus take(const std::vector<double>& x, const std::vector<double>& u, std::int64_t step,
                  std::vector<double>& next) {
    record.bytes = numbers.size() * sizeof(double);
    return stepper.step({x.data(), u.data(), step, 0.0}, next.data(), &record, *workspace);
  }

  System flow;
  const Stepper<double>& stepper;
  std::unique_ptr<StepWorkspace> workspace;
  StepParameters<double> parameters;
  std::vector<double> p, numbers, p_bar;
  StepRecord record;
};

// The first component moves everywhere, nearly as fast.
std::vector<double> start_of(const Step& s, double speed) {
  std::vector<double> x(at(s.stepper.sizes().kept()), 0.0);
  for (int i = 0; i < s.stepper.sizes().state / 2; ++i) x[at(i)] = speed + 0.1 * std::sin(i);
  return x;
}

void compare(const System& in_four, const System& one, double speed) {
  Step whole(in_four), parts(one);
  const StepperSizes& s = parts.stepper.sizes();
  const std::vector<double> u = {0.3, -0.2}, x = start_of(whole, speed);
  std::vector<double> next(x.size());
  REQUIRE(whole.take(x, u, 3, next) == StepStatus::ok);
  CHECK(whole.stepper.notes(*whole.workspace)->counters[0] == 4);

  std::vector<std::vector<double>> states = {x};
  for (int i = 0; i < 4; ++i) {
    states.emplace_back(x.size());
    REQUIRE(parts.take(states[at(i)], u, 12 + i, states[at(i + 1)]) == StepStatus::ok);
  }
  CHECK(next == states.back());

  std::vector<double> bar(at(s.tangent)), x_bar(bar), u_bar(u.size());
  for (std::size_t i = 0; i < bar.size(); ++i) bar[i] = std::sin(static_cast<double>(i));
  whole.stepper.pullback({x.data(), u.data(), 3, 0.0}, whole.record, bar.data(), x_bar.data(),
                         u_bar.data(), *whole.workspace);
  whole.stepper.finish(*whole.workspace, whole.p_bar.data());
  std::vector<double> known = bar, known_u(u.size());
  for (int i = 4; i-- > 0;) {
    std::vector<double> before(bar.size());
    parts.take(states[at(i)], u, 12 + i, next);
    parts.stepper.pullback({states[at(i)].data(), u.data(), 12 + i, 0.0}, parts.record,
                           known.data(), before.data(), known_u.data(), *parts.workspace);
    known = before;
  }
  parts.stepper.finish(*parts.workspace, parts.p_bar.data());
  CHECK(x_bar == known);
  CHECK(u_bar == known_u);
  CHECK(whole.p_bar == parts.p_bar);
  CHECK(std::abs(whole.p_bar[0]) > 1e-3);
}

TEST_CASE("with_substeps: a step in four parts is four steps, there and back, bit for bit") {
  compare(disc_in_a_channel(0.16, true), disc_in_a_channel(0.04, false), 1.6);
  compare(vortices(0.4, true), vortices(0.1, false), 1.2);
}

TEST_CASE("with_substeps: slow flows take whole steps, too fast ones none") {
  Step flow(disc_in_a_channel(0.04, true)), plain(disc_in_a_channel(0.04, false));
  const std::vector<double> u = {0.3, -0.2}, slow = start_of(flow, 0.5);
  std::vector<double> next(slow.size()), known(next);
  REQUIRE(flow.take(slow, u, 0, next) == StepStatus::ok);
  REQUIRE(plain.take(slow, u, 0, known) == StepStatus::ok);
  CHECK(next == known);
  CHECK(flow.stepper.notes(*flow.workspace)->counters[0] == 1);

  const std::vector<double> fast = start_of(flow, 1e4);
  CHECK(flow.take(fast, u, 0, next) == StepStatus::non_finite);
  CHECK(!std::isfinite(next[0]));
  const StepTrouble why = flow.stepper.explain({fast.data(), u.data(), 0, 0.0}, 0, *flow.workspace);
  CHECK(why.reason.find("even in 64 substeps") == 0);
  CHECK(why.reason.find("CFL") != std::string::npos);
}

TEST_CASE("with_substeps: steps in parts allocate nothing once they have had their room") {
  Step flow(disc_in_a_channel(0.16, true));
  const std::vector<double> u = {0.3, -0.2}, x = start_of(flow, 1.6);
  std::vector<double> next(x.size()), x_bar(x.size()), u_bar(u.size());
  std::int64_t before = 0;
  for (int turn = 0; turn < 3; ++turn) {
    if (turn == 1) before = test::allocation_count();
    CHECK(flow.take(x, u, 0, next) == StepStatus::ok);
    flow.stepper.pullback({x.data(), u.data(), 0, 0.0}, flow.record, next.data(), x_bar.data(),
                          u_bar.data(), *flow.workspace);
  }
  CHECK(test::allocation_count() == before);
}

}  // namespace
}  // namespace cycloid
