#include "cycloid/rigid/parameter_jacobian.h"

#include "cycloid/rigid/step_case_test.h"

namespace cycloid::parameter_jacobian_test {

using test::Numbers;
using test::StepCase;
using test::StepKind;

// As in step_jacobian_test.cpp: the mass matrix's condition costs three digits.
constexpr double kTolerance = 1e-11;

template <class S>
struct Found {
  Found(const StepCase& c, const ParameterDirections& directions)
      : P(static_cast<std::size_t>(c.tangents) * directions.size()) {
    const test::MadeStep<S> made(c);
    const S *x = made.x.data(), *u = made.u, *record = made.record();
    std::vector<S> p_bar(static_cast<std::size_t>(c.tree.parameters.size()), S(7));
    JacobianSpace<S> space;
    const Arena own = carve_memory(space, c.tree, c.input_size);
    euler_parameter_jacobian(made.robot, x, u, record, made.memory.work, space, c.input_size,
                             directions, p_bar.data(), P.data());
    std::vector<S> rows(static_cast<std::size_t>(c.shape.nv) * directions.size());
    const Instant<S> at{x, x + c.shape.nq, x + c.shape.nq + c.shape.nv, u};
    direct = direct_columns(made.robot, at, made.memory.work, space, record, c.input_size,
                            directions, p_bar.data(), rows.data());
  }
  std::vector<S> P;
  bool direct = false;  // no sweeps were needed
};

// Places of all numbers whose names end in one of these.
std::vector<std::int64_t> places_of(const Parameters& registry,
                                    const std::vector<std::string>& endings) {
  std::vector<std::int64_t> out;
  for (const Parameter& own : registry.all()) {
    for (const std::string& ending : endings) {
      if (!own.name.ends_with(ending)) continue;
      for (int i = 0; i < own.size; ++i) out.push_back(own.offset + i);
    }
  }
  return out;
}

// Every place by itself, and one direction of them all.
ParameterDirections directions_of(const std::vector<std::int64_t>& places) {
  ParameterDirections out;
  std::vector<DirectionEntry> all;
  for (const std::int64_t place : places) {
    out.push_back({{place, 1}});
    all.push_back({place, std::sin(1.0 + static_cast<double>(place))});
  }
  out.push_back(all);
  return out;
}

void check_columns(const Model& m, const StepKind& kind, const std::vector<std::string>& endings,
                   bool direct) {
  const StepCase c(m, 0.4, kind);
  const ParameterDirections directions = directions_of(places_of(c.tree.parameters, endings));
  const Found<double> found(c, directions);
  const Found<Pack<double, 4>> lanes(c, directions);
  CHECK(found.direct == direct);
  const std::size_t q = directions.size(),
                    first = static_cast<std::size_t>(c.tangents + c.input_size);
  double largest = 0, worst = 0, worst_lane = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.tangents); ++i) {
    Numbers bar(static_cast<std::size_t>(c.tangents), 0.0), row(c.point.size(), 0.0);
    bar[i] = 1;
    c.pullback(c.point.data(), bar.data(), row.data());
    for (std::size_t j = 0; j < q; ++j) {
      double expected = 0;
      for (const DirectionEntry& e : directions[j]) {
        expected += e.value * row[first + static_cast<std::size_t>(e.place)];
      }
      largest = std::max(largest, std::abs(expected));
      worst = std::max(worst, std::abs(found.P[i * q + j] - expected));
      worst_lane = std::max(worst_lane, std::abs(lane(lanes.P[i * q + j], 2) - found.P[i * q + j]));
    }
  }
  CHECK(largest > 1e-3);
  CHECK(worst < kTolerance * largest);
  CHECK(worst_lane < kTolerance * largest);
}

// A robot without activations whose forces act on joints alone.
Model joints_only(RigidIntegrator integrator) {
  Model m = test::two_trees(integrator);
  for (Body& b : m.bodies) b.gravity_compensation = 0;
  for (Actuator& a : m.actuators) a.dynamics = ActuatorDynamics::none, a.act = -1;
  m.na = 0;
  return m;
}

TEST_CASE("parameter_jacobian: columns of masses, joints and gravity equal pullbacks, directly") {
  for (const auto integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast}) {
    const Model m = joints_only(integrator);
    const StepKind kind{.wrenches = false, .shortcut = false};
    for (const char* ending : {".mass", ".com", ".inertia", ".damping", ".stiffness", ".armature",
                               ".gainprm", ".gear", "option.gravity"}) {
      CAPTURE(ending);
      check_columns(m, kind, {ending}, true);
    }
    check_columns(m, kind, {".mass", ".inertia", ".damping", ".biasprm", ".gravity"}, true);
    check_columns(m, StepKind{.wrenches = false, .shortcut = true}, {".com", ".gainprm"}, true);
  }
}

TEST_CASE("parameter_jacobian: columns of other parameters and robots equal pullbacks, swept") {
  for (const auto integrator : {RigidIntegrator::euler, RigidIntegrator::implicitfast}) {
    const Model m = joints_only(integrator);
    check_columns(m, StepKind{.wrenches = false}, {".mass", ".pos", ".axis"}, false);
    check_columns(m, StepKind{}, {".mass", ".com", ".damping"}, false);
  }
}

}  // namespace cycloid::parameter_jacobian_test
