#include "cycloid/fluid/grid/observe/grid_observables.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/fluid/grid/grid_flow.h"
#include "tests/support/operator_coverage.h"

namespace cycloid {
namespace {

// Every kind of side, an obstacle, probes beside and behind it, lines, buoyancy.
GridOptions shown_flow(int dimensions) {
  GridOptions o;
  o.shape = {7, 6}, o.size = {1.0, 0.9}, o.viscosity = 0.03, o.density = 1.3, o.dt = 0.02;
  o.obstacles = {{ObstacleKind::circle, {0.47, 0.43, 0.24}}};
  o.probes = {0.21, 0.33, 0.83, 0.52};
  o.gravity = {0.2, -9.81};
  if (dimensions == 3) {
    o.shape.push_back(5), o.size.push_back(0.8), o.gravity.push_back(0.1);
    o.obstacles[0].numbers = {0.47, 0.43, 0.37, 0.24};
    o.probes = {0.21, 0.33, 0.4, 0.83, 0.52, 0.11};
  } else {
    o.lines = {0.2, 0.1, 0.3, 0.8};
  }
  std::vector<double> profile;
  for (int i = 0; i < 6 * (dimensions == 3 ? 5 : 1) * dimensions; ++i) {
    profile.push_back(0.4 + 0.1 * std::sin(i));
  }
  o.sides = {{GridSide{SideKind::inflow, profile}, GridSide{SideKind::outflow}},
             {GridSide{SideKind::wall}, GridSide{SideKind::slip}}};
  if (dimensions == 3) o.sides.emplace_back();
  o.inputs = {"force", "inflow:left", "wall:bottom", "obstacle:#0.angular_velocity"};
  o.temperature = {.diffusivity = 0.02, .expansion = 0.3, .sides = {{1.0, {}}, {}, {}}};
  o.temperature->sides.resize(o.shape.size());
  return o;
}

std::vector<double> wave(int size, double phase) {
  std::vector<double> out;
  for (int i = 0; i < size; ++i) out.push_back(0.4 * std::sin(2.3 * i + phase));
  return out;
}

// <c, what goes by a name>, and its gradient.
class ShownSum {
 public:
  ShownSum(const System& flow, const std::string& name)
      : observer_(flow.observables()->differentiable({name})),
        workspace_(observer_->make_workspace({})),
        c_(wave(observer_->size(), 0.9)) {}

  double value(const std::vector<double>& x, const std::vector<double>& u,
               const std::vector<double>& p) {
    begin(p);
    std::vector<double> y(c_.size());
    observer_->observe({x.data(), u.data(), 0.0}, y.data(), *workspace_);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += c_[i] * y[i];
    return sum;
  }
  void gradient(const std::vector<double>& x, const std::vector<double>& u,
                const std::vector<double>& p, std::vector<double> (&bar)[3]) {
    begin(p);
    observer_->pullback({x.data(), u.data(), 0.0}, c_.data(), bar[0].data(), bar[1].data(),
                        *workspace_);
    observer_->finish(*workspace_, bar[2].data());
  }

 private:
  void begin(const std::vector<double>& p) {
    StepParameters<double> lanes;
    lanes.lanes = p.data();
    observer_->begin(lanes, *workspace_);
  }
  std::shared_ptr<const DifferentiableObserver> observer_;
  std::unique_ptr<StepWorkspace> workspace_;
  std::vector<double> c_;
};

void hold_to_differences(const System& flow, const std::string& name) {
  CAPTURE(name);
  const GridModel& model = dynamic_cast<const GridObservables&>(*flow.observables()).model();
  const std::vector<double> at[3] = {wave(model.states(), 0.1), wave(model.inputs, 0.5),
                                     flow.parameters().default_values()};
  std::vector<double> bar[3];
  for (int part = 0; part < 3; ++part) bar[part].assign(at[part].size(), 0.0);
  ShownSum sum(flow, name);
  sum.gradient(at[0], at[1], at[2], bar);
  bool acts = false;
  for (int part = 0; part < 3; ++part) {
    CAPTURE(part);
    const std::vector<double> d = wave(static_cast<int>(at[part].size()), 1.3);
    std::vector<double> up[3] = {at[0], at[1], at[2]}, down[3] = {at[0], at[1], at[2]};
    double slope = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      up[part][i] += 1e-6 * d[i], down[part][i] -= 1e-6 * d[i], slope += d[i] * bar[part][i];
    }
    const double difference =
        (sum.value(up[0], up[1], up[2]) - sum.value(down[0], down[1], down[2])) / 2e-6;
    CHECK(slope == doctest::Approx(difference).epsilon(1e-6).scale(1e-3));
    acts = acts || std::abs(slope) > 1e-3;
  }
  CHECK(acts);
}

TEST_CASE("grid observables: the pullback of every name equals differences") {
  for (const int dimensions : {2, 3}) {
    CAPTURE(dimensions);
    const System flow = grid_flow(shown_flow(dimensions));
    for (const Observable& one : flow.observables()->listed()) hold_to_differences(flow, one.name);
  }
  for (const char* name : {"kinetic_energy", "enstrophy", "vorticity", "divergence", "pressure",
                           "force_on", "GridInstant::press", "probe", "probe_pressure", "flux"}) {
    test::mark_operator_tested(name);
  }
}

}  // namespace
}  // namespace cycloid
