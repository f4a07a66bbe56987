#include "cycloid/rigid/refined_stepper.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/robot.h"
#include "tests/support/robots.h"
#include "tests/support/stepper_run.h"

namespace cycloid::refined_stepper_test {

using Numbers = std::vector<double>;

// A ball over a floor, and a slide with limits beside it.
Model ball_and_slide(RigidIntegrator integrator, double damping) {
  test::RobotBuilder b;
  const int ball = b.body(0, 0);
  b.joint(ball, JointKind::free);
  b.joint(b.body(0, 1), JointKind::slide);
  Model m = b.model;
  m.options.integrator = integrator;
  for (std::size_t i = 0; i < m.bodies.size(); ++i) {
    m.bodies[i].welded = m.bodies[i].tree >= 0 ? static_cast<int>(i) : 0;
    m.bodies[i].inverse_weight = {0.8, 5.0};
  }
  for (Dof& d : m.dofs) d.inverse_weight = 0.7;
  for (Joint& j : m.joints) j.stiffness = {};
  m.joints[1].range = {true, -0.2, 3.0};
  m.joints[1].limit.solref = {-3000, -damping};
  Named<Geom> floor, round;
  floor.name = "floor";
  floor.shape = Shape::plane;
  round.name = "round";
  round.body = ball;
  round.shape = Shape::sphere;
  round.size = {0.2, 0, 0};
  round.pos = {0.03, -0.02, 0.01};
  for (Named<Geom>* g : {&floor, &round}) {
    g->contype = g->conaffinity = 1;
    g->condim = 3;
    g->soft.solref = {-5000, -damping};
    g->soft.solimp = {0.8, 0.9, 0.01, 0.5, 2};
    g->friction = {0.4, 0.01, 0.001};
    m.geoms.push_back(*g);
  }
  return m;
}

// The ball's surface so far above the floor, coming down.
Numbers falling(const System& robot, double height) {
  Numbers x = robot.initial_state();
  x[2] = 0.2 + height - 0.01;
  const double v[] = {0.3, -0.2, -2.0, 0.4, 0.3, -0.5, -1.5};
  std::copy(std::begin(v), std::end(v), x.begin() + 8);
  x[7] = -0.195;
  return x;
}

struct Refined {
  const System robot;
  const Stepper<double>& stepper = *robot.steppers<double>().one;

  Refined(const Model& m, double tolerance)
      : robot(make_robot(m, {.inputs = {"qfrc_applied"}, .refine = tolerance})) {}

  int substeps = 0;
  Numbers step(const Numbers& x, const Numbers& u, const Numbers& p, const Numbers* bar = nullptr,
               Numbers* x_bar = nullptr, Numbers* u_bar = nullptr, Numbers* p_bar = nullptr) {
    const auto workspace = stepper.make_workspace({});
    StepRecord record;
    Numbers next(x.size());
    const StepInput<double> in{x.data(), u.data(), 0, 0.0};
    stepper.begin({p.data()}, *workspace);
    REQUIRE(stepper.step(in, next.data(), &record, *workspace) == StepStatus::ok);
    substeps = stepper.notes(*workspace)->counters[3];
    if (!bar) return next;
    stepper.pullback(in, record, bar->data(), x_bar->data(), u_bar->data(), *workspace);
    stepper.finish(*workspace, p_bar->data());
    return next;
  }
};

// ⟨bar, change of the next state⟩ along a direction, by the pullback and by differences.
void check_direction(const Model& m, double height) {
  Refined r(m, 1e-5);
  const Space& space = r.robot.states();
  const Numbers x = falling(r.robot, height), p = r.robot.parameters().default_values();
  const std::size_t nt = static_cast<std::size_t>(space.tangent_size());
  RandomStream random(5);
  const auto drawn = [&](std::size_t n, double size) {
    Numbers out(n);
    for (double& v : out) v = size * random.uniform(-1.0, 1.0);
    return out;
  };
  const Numbers d = drawn(nt, 1), bar = drawn(nt, 1), u = drawn(7, 1), u_tan = drawn(7, 1);
  Numbers p_tan = drawn(p.size(), 0.1);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const Parameter& of = r.robot.parameters().holding(static_cast<int>(i));
    if (!of.not_differentiable.empty()) p_tan[i] = 0;
    p_tan[i] *= of.name.ends_with("timestep") ? 0.01 : std::abs(p[i]);
  }
  Numbers x_bar(nt, 0.0), u_bar(7, 0.0), p_bar(p.size(), 0.0);
  const Numbers next = r.step(x, u, p, &bar, &x_bar, &u_bar, &p_bar);
  CHECK(r.substeps > 4);
  double expected = 0;
  for (std::size_t i = 0; i < nt; ++i) expected += x_bar[i] * d[i];
  for (std::size_t i = 0; i < 7; ++i) expected += u_bar[i] * u_tan[i];
  for (std::size_t i = 0; i < p.size(); ++i) expected += p_bar[i] * p_tan[i];
  const auto difference = [&](double e) {
    const auto moved = [&](double s) {
      Numbers x_s(x.size()), d_s = d, u_s = u, p_s = p, change(nt);
      for (double& v : d_s) v *= s;
      space.retract(x.data(), d_s.data(), x_s.data());
      for (std::size_t i = 0; i < 7; ++i) u_s[i] += s * u_tan[i];
      for (std::size_t i = 0; i < p.size(); ++i) p_s[i] += s * p_tan[i];
      const Numbers end = r.step(x_s, u_s, p_s);
      space.difference(next.data(), end.data(), change.data());
      double sum = 0;
      for (std::size_t i = 0; i < nt; ++i) sum += bar[i] * change[i];
      return sum;
    };
    return (moved(e) - moved(-e)) / (2 * e);
  };
  // Small enough for the shares of substeps to stay.
  CHECK(difference(1e-7) == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("RefinedStepper: the pullback through a touch and a limit is that of differences") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicit, RigidIntegrator::implicitfast}) {
    for (const double damping : {0.0, 40.0}) {
      for (const double height : {0.004, 0.0099, -0.001}) {
        CAPTURE(static_cast<int>(integrator));
        CAPTURE(damping);
        CAPTURE(height);
        check_direction(ball_and_slide(integrator, damping), height);
      }
    }
  }
}

TEST_CASE("RefinedStepper: constant acceleration is one substep, and exact") {
  Model m = ball_and_slide(RigidIntegrator::euler, 0.0);
  for (Dof& d : m.dofs) d.damping = {}, d.armature = 0;
  for (Body& b : m.bodies) b.com = {}, b.inertia = {0.1, 0.1, 0.1, 0, 0, 0};
  Refined r(m, 1e-3);
  Numbers x = falling(r.robot, 5.0);
  x[7] = 1;
  for (int i = 11; i < 14; ++i) x[static_cast<std::size_t>(i)] = 0;
  const double h = m.options.timestep;
  const Numbers next = r.step(x, Numbers(7, 0.0), r.robot.parameters().default_values());
  CHECK(r.substeps == 1);
  CHECK(next[2] == doctest::Approx(x[2] + h * x[10] - 0.5 * 9.81 * h * h).epsilon(1e-13));
}

TEST_CASE("check_refinement: refuses tolerances that make no sense, and RK4") {
  const auto euler = RigidIntegrator::euler;
  CHECK_NOTHROW(check_refinement(1e-4, euler, Precision::float32));
  CHECK_NOTHROW(check_refinement(1e-10, RigidIntegrator::implicitfast, Precision::float64));
  for (const double bad : {0.0, -1e-3, std::nan(""), 1.0, 1e-15}) {
    CHECK_THROWS_AS(check_refinement(bad, euler, Precision::float64), ParameterError);
  }
  CHECK_THROWS_AS(check_refinement(1e-6, euler, Precision::float32), ParameterError);
  CHECK_THROWS_WITH_AS(check_refinement(1e-4, RigidIntegrator::rk4, Precision::float64),
                       doctest::Contains("RK4"), ModelError);
}

}  // namespace cycloid::refined_stepper_test
