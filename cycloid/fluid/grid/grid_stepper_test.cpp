#include "cycloid/fluid/grid/grid_stepper.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/fluid/grid/grid_flow.h"
#include "cycloid/fluid/grid/observe/grid_observables.h"

namespace cycloid {
namespace {

GridOptions channel() {
  GridOptions o;
  o.shape = {10, 8}, o.size = {1.0, 0.8}, o.viscosity = 0.02, o.dt = 0.01;
  std::vector<double> profile;
  for (int j = 0; j < 8; ++j) profile.push_back(1 + 0.1 * j), profile.push_back(0.02 * j);
  o.sides = {{GridSide{SideKind::inflow, profile}, GridSide{SideKind::outflow}},
             {GridSide{SideKind::wall, {0.3, 0}}, GridSide{SideKind::slip}}};
  o.inputs = {"force", "inflow:left", "wall:bottom"};
  return o;
}

double some(int i) { return 0.3 * std::sin(2.3 * i + 0.7); }

// A step of any System of W = 1, with its pullback.
template <class T>
struct OneStep {
  explicit OneStep(const System& system)
      : stepper(*system.steppers<T>().one), workspace(stepper.make_workspace({})) {
    for (const double p : system.parameters().default_values()) parameters.push_back(T(p));
    for (int i = 0; i < stepper.sizes().state; ++i) x.push_back(T(some(i)));
    for (int i = 0; i < stepper.sizes().input; ++i) u.push_back(T(0.3 * some(i + 5)));
  }
  std::vector<T> next() {
    StepParameters<T> p;
    p.lanes = parameters.data();
    stepper.begin(p, *workspace);
    std::vector<T> out(x.size());
    numbers.resize(static_cast<std::size_t>(stepper.sizes().record));
    record.data = reinterpret_cast<std::byte*>(numbers.data());
    record.bytes = numbers.size() * sizeof(T);
    REQUIRE(stepper.step({x.data(), u.data(), 0, 0.0}, out.data(), &record, *workspace) ==
            StepStatus::ok);
    return out;
  }
  const Stepper<T>& stepper;
  std::unique_ptr<StepWorkspace> workspace;
  std::vector<T> parameters, x, u, numbers;
  StepRecord record;
};

TEST_CASE("grid step: float follows double") {
  GridOptions o = channel();
  o.obstacles = {{ObstacleKind::circle, {0.43, 0.38, 0.14}}};
  const std::vector<double> wide = OneStep<double>(grid_flow(o)).next();
  o.precision = Precision::float32;
  const System single = grid_flow(o);
  const std::vector<float> narrow = OneStep<float>(single).next();
  double most = 0, difference = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    most = std::max(most, std::abs(wide[i]));
    difference = std::max(difference, std::abs(wide[i] - static_cast<double>(narrow[i])));
  }
  CHECK(difference < 2e-5 * most);
}

TEST_CASE(
    "grid step: cotangents of parameters are those since begin, however often they are read") {
  GridOptions o = channel();
  o.obstacles = {{ObstacleKind::circle, {0.43, 0.38, 0.14}}};
  o.temperature = {.diffusivity = 0.02,
                   .expansion = 0.3,
                   .sides = {{1.0, std::nullopt}, {std::nullopt, std::nullopt}},
                   .obstacles = {0.5}};
  o.gravity = {0.0, -9.81};
  const System flow = grid_flow(o);
  OneStep<double> one(flow);
  const std::vector<double> bar = one.next();
  std::vector<double> x_bar(bar.size(), 0.0), u_bar(one.u.size(), 0.0), once(one.parameters.size()),
      twice(once);
  one.stepper.pullback({one.x.data(), one.u.data(), 0, 0.0}, one.record, bar.data(), x_bar.data(),
                       u_bar.data(), *one.workspace);
  one.stepper.finish(*one.workspace, once.data());
  one.stepper.finish(*one.workspace, twice.data());
  CHECK(once == twice);
  for (const double number : once) CHECK(std::isfinite(number));
  CHECK(std::abs(once[0]) > 1e-3);
}

TEST_CASE("grid step: any start is without divergence after a step") {
  for (const bool obstructed : {false, true}) {
    GridOptions o = channel();
    if (obstructed) o.obstacles = {{ObstacleKind::box, {0.43, 0.38, 0.24, 0.3}}};
    const System flow = grid_flow(o);
    OneStep<double> one(flow);
    const std::vector<double> next = one.next();
    const auto observer = flow.observables()->differentiable({"divergence"});
    const auto workspace = observer->make_workspace({});
    StepParameters<double> p;
    p.lanes = one.parameters.data();
    observer->begin(p, *workspace);
    double before = 0, after = 0;
    observer->observe({one.x.data(), one.u.data(), 0}, &before, *workspace);
    observer->observe({next.data(), one.u.data(), 0}, &after, *workspace);
    CHECK(before > 1);
    CHECK(after < 1e-12);
  }
}

TEST_CASE("grid step: a step beyond stability is not taken, and says what is allowed") {
  GridOptions o = channel();
  GridModel model;
  model.box = GridBox(o.shape, o.size,
                      {{SideKind::wall, SideKind::wall}, {SideKind::wall, SideKind::wall}});
  model.dt = 0.5;
  CHECK(beyond_stability(model, 0.0, 1.7).empty());
  CHECK(beyond_stability(model, 0.0, 1.8).find("at most 0.48") != std::string::npos);
  CHECK(beyond_stability(model, 0.01, 0.0).find("CFL") != std::string::npos);
}

TEST_CASE("grid_flow: what makes no sense is refused with the reason") {
  const auto refuses = [](GridOptions o, const char* words) {
    try {
      grid_flow(o);
    } catch (const Error& error) {
      CAPTURE(error.what());
      CHECK(std::string(error.what()).find(words) != std::string::npos);
      return;
    }
    FAIL("nothing was thrown: " << words);
  };
  GridOptions o = channel();
  o.sides[0][1].kind = SideKind::wall;
  refuses(o, "needs an \"outflow\" side");
  o = channel(), o.shape = {1, 8};
  refuses(o, "at least 2 cells");
  o = channel(), o.obstacles = {{ObstacleKind::circle, {3.0, 0.4, 0.1}}};
  refuses(o, "covers no cell");
  o = channel(), o.sides[1][0].velocity = {0.3, 0.1};
  refuses(o, "moves along itself");
  o = channel(), o.inputs = {"forse"};
  refuses(o, "did you mean \"force\"");
  o = channel(), o.sides[1][0].kind = SideKind::periodic;
  refuses(o, "periodic together");
}

}  // namespace
}  // namespace cycloid
