#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/fluid/grid/grid_flow.h"
#include "tests/support/allocation_count.h"

namespace cycloid {
namespace {

constexpr GridSide kWall{SideKind::wall, {}};

GridOptions walled(FluidObstacle obstacle) {
  GridOptions o;
  o.shape = {14, 12}, o.size = {1.4, 1.2}, o.viscosity = 0.01, o.dt = 0.01;
  o.sides = {{kWall, kWall}, {GridSide{}, GridSide{}}};
  o.obstacles = {std::move(obstacle)};
  o.inputs = {"obstacle:#0.velocity", "obstacle:#0.angular_velocity"};
  return o;
}

// What steps allocate with their pullbacks while an obstacle crosses some cells.
template <class T>
std::int64_t allocations_of(const GridOptions& o) {
  const System flow = grid_flow(o);
  const Stepper<T>& stepper = *flow.steppers<T>().one;
  const auto workspace = stepper.make_workspace({});
  const StepperSizes sizes = stepper.sizes();
  const auto u = [](int n) { return static_cast<std::size_t>(n); };
  const auto defaults = flow.parameters().default_values();
  std::vector<T> p(defaults.begin(), defaults.end()), x(u(sizes.state), T(0)), next(x), x_bar(x),
      controls(u(sizes.input), T(0)), controls_bar(controls), numbers(u(sizes.record));
  std::vector<double> p_bar(p.size());
  if (sizes.input > 0) controls = {T(0.9), T(0.4), T(2)};
  StepRecord record;
  record.data = reinterpret_cast<std::byte*>(numbers.data());
  record.bytes = numbers.size() * sizeof(T);
  StepParameters<T> parameters;
  parameters.lanes = p.data();
  stepper.begin(parameters, *workspace);
  std::int64_t before = 0;
  for (int step = 0; step < 20; ++step) {
    if (step == 1) before = test::allocation_count();
    const StepInput<T> in = {x.data(), controls.data(), step, 0.0};
    CHECK(stepper.step(in, next.data(), &record, *workspace) == StepStatus::ok);
    stepper.pullback(in, record, next.data(), x_bar.data(), controls_bar.data(), *workspace);
    x = next;
  }
  const std::int64_t count = test::allocation_count() - before;
  stepper.finish(*workspace, p_bar.data());
  return count;
}

TEST_CASE("GridStepper: neither a step nor its pullback allocates, whatever moves") {
  const FluidObstacle disc{ObstacleKind::circle, {0.53, 0.57, 0.23}};
  FluidObstacle moved = disc, paddle{ObstacleKind::box, {0.6, 0.6, 0.5, 0.3}, true, true};
  moved.moves = true;
  for (const FluidObstacle& one : {disc, moved, paddle}) {
    CAPTURE(one.moves);
    CAPTURE(one.turns);
    CHECK(allocations_of<double>(walled(one)) == 0);
    GridOptions o = walled(one);
    o.precision = Precision::float32;
    CHECK(allocations_of<float>(o) == 0);
    o.precision = Precision::float64;
    o.temperature = {.diffusivity = 0.01, .sides = {{}, {}}, .obstacles = {2.0}};
    CHECK(allocations_of<double>(o) == 0);
    o.temperature.reset(), o.implicit_viscosity = true;
    CHECK(allocations_of<double>(o) == 0);
  }
  GridOptions cycles = walled(disc);
  cycles.pressure = PressureMethod::multigrid;
  CHECK(allocations_of<double>(cycles) == 0);
  cycles = walled(moved), cycles.pressure = PressureMethod::multigrid;
  CHECK(allocations_of<double>(cycles) == 0);
  cycles.shape = {56, 48};  // levels above the coarsest
  CHECK(allocations_of<double>(cycles) == 0);
  GridOptions open = walled(disc);
  open.obstacles.clear(), open.inputs.clear();
  CHECK(allocations_of<double>(open) == 0);
}

}  // namespace
}  // namespace cycloid
