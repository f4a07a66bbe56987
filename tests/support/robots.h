// Small robots for tests, built by hand: numbers that no symmetry hides.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "cycloid/base/random.h"
#include "cycloid/model/model.h"

namespace cycloid::test {

class RobotBuilder {
 public:
  explicit RobotBuilder(std::uint64_t seed = 1) : random_(seed) {
    model.name = "test robot";
    model.options.timestep = 0.005;
    model.bodies.emplace_back();
    model.bodies[0].name = "world";
  }

  // tree: of the body; -1 for one that stands still.
  int body(int parent, int tree) {
    Named<Body> b;
    b.name = "body" + std::to_string(model.bodies.size());
    b.parent = parent;
    b.tree = tree;
    b.mass = 1 + 0.5 * next();
    for (double& x : b.com) x = 0.1 * next();
    b.inertia = {0.10, 0.12, 0.11, 0.01, -0.02, 0.015};
    for (double& x : b.pos) x = 0.3 * next();
    b.quat = unit_quaternion();
    b.first_joint = static_cast<int>(model.joints.size());
    b.first_dof = model.nv;
    model.bodies.push_back(b);
    model.trees = std::max(model.trees, tree + 1);
    return static_cast<int>(model.bodies.size()) - 1;
  }

  int joint(int body, JointKind kind) {
    Body& owner = model.bodies[static_cast<std::size_t>(body)];
    Named<Joint> j;
    j.name = "joint" + std::to_string(model.joints.size());
    j.kind = kind;
    j.body = body;
    j.qpos = model.nq;
    j.dof = model.nv;
    for (double& x : j.pos) x = 0.1 * next();
    const std::array<double, 4> q = unit_quaternion();
    const double length = std::sqrt(1 - q[0] * q[0]);
    j.axis = {q[1] / length, q[2] / length, q[3] / length};
    j.stiffness = {0.5, 0.3, 0.2};
    const bool turns = kind == JointKind::free || kind == JointKind::ball;
    const std::size_t linear = kind == JointKind::free ? 3 : 0;
    if (turns) {
      for (std::size_t i = 0; i < linear; ++i) j.spring[i] = 0.2 * next();
      const std::array<double, 4> rest = unit_quaternion();
      j.qpos0[linear] = 1;
      for (std::size_t i = 0; i < 4; ++i) j.spring[linear + i] = rest[i];
    } else {
      j.qpos0[0] = 0.1 * next();
      j.spring[0] = 0.2 * next();
    }
    for (int i = 0; i < qpos_numbers(kind); ++i) {
      model.qpos0.push_back(j.qpos0[static_cast<std::size_t>(i)]);
    }
    int parent = owner.dofs > 0 ? model.nv - 1 : last_dof_above(owner);
    for (int i = 0; i < dof_numbers(kind); ++i) {
      Dof d;
      d.joint = static_cast<int>(model.joints.size());
      d.body = body;
      d.parent = parent;
      d.armature = 0.02 + 0.01 * next();
      d.damping = {0.1 + 0.05 * next(), 0.05, 0.02};
      parent = model.nv++;
      model.dofs.push_back(d);
      ++owner.dofs;
    }
    model.nq += qpos_numbers(kind);
    ++owner.joints;
    model.joints.push_back(j);
    return static_cast<int>(model.joints.size()) - 1;
  }

  // On a hinge or slide, with an affine gain and bias.
  void actuator(int joint, ActuatorDynamics dynamics, bool early = false) {
    Named<Actuator> a;
    a.name = "actuator" + std::to_string(model.actuators.size());
    a.target = joint;
    a.gear[0] = 1.5;
    a.affine_gain = a.affine_bias = true;
    a.gain = {2, 0.1, 0.2};
    a.bias = {0.1, -0.5, -0.3};
    a.control = model.nu++;
    a.dynamics = dynamics;
    a.dynamics_numbers = {0.1, 0.3};
    if (dynamics != ActuatorDynamics::none) a.act = model.na++;
    a.early = early;
    model.actuators.push_back(a);
  }

  int site(int body) {
    Named<Marker> s;
    s.name = "site" + std::to_string(model.sites.size());
    s.body = body;
    for (double& x : s.pos) x = 0.2 * next();
    s.quat = unit_quaternion();
    model.sites.push_back(s);
    return static_cast<int>(model.sites.size()) - 1;
  }

  // Of joints with coefficients, or through sites.
  int tendon(TendonKind kind, const std::vector<Wrap>& wraps) {
    Named<Tendon> t;
    t.name = "tendon" + std::to_string(model.tendons.size());
    t.kind = kind;
    t.first_wrap = static_cast<int>(model.wraps.size());
    t.wraps = static_cast<int>(wraps.size());
    t.stiffness = {1.5, 0.4, 0.3};
    t.damping = {0.3, 0.1, 0.2};
    t.spring_length = {0.05, 0.1};
    model.wraps.insert(model.wraps.end(), wraps.begin(), wraps.end());
    model.tendons.push_back(t);
    return static_cast<int>(model.tendons.size()) - 1;
  }

  // An actuator with an affine gain and bias on anything.
  Actuator& pull(TransmissionKind kind, int target) {
    Named<Actuator> a;
    a.name = "actuator" + std::to_string(model.actuators.size());
    a.transmission = kind;
    a.target = target;
    for (double& g : a.gear) g = 1 + 0.4 * next();
    a.affine_gain = a.affine_bias = true;
    a.gain = {1.2, 0.3, 0.2};
    a.bias = {0.2, -0.4, -0.3};
    a.control = model.nu++;
    model.actuators.push_back(a);
    return model.actuators.back();
  }

  Model model;

 private:
  double next() { return random_.uniform(-1.0, 1.0); }
  std::array<double, 4> unit_quaternion() {
    std::array<double, 4> q{};
    double square = 0;
    for (double& x : q) {
      x = next();
      square += x * x;
    }
    for (double& x : q) x /= std::sqrt(square);
    return q;
  }
  int last_dof_above(const Body& b) const {
    for (int i = b.parent; i > 0;) {
      const Body& above = model.bodies[static_cast<std::size_t>(i)];
      if (above.dofs > 0) return above.first_dof + above.dofs - 1;
      i = above.parent;
    }
    return -1;
  }

  RandomStream random_;
};

// A free base with two arms of every joint kind, a body without joints between, gravity
// compensation, actuators of every dynamics; and a second tree on a body that stands still.
inline Model two_trees(RigidIntegrator integrator = RigidIntegrator::euler) {
  RobotBuilder r;
  r.model.options.integrator = integrator;
  r.model.options.gravity = {0.3, -0.2, -9.81};
  const int base = r.body(0, 0);
  r.joint(base, JointKind::free);
  const int arm = r.body(base, 0);
  const int shoulder = r.joint(arm, JointKind::hinge), elbow = r.joint(arm, JointKind::hinge);
  const int hand = r.body(r.body(arm, 0), 0);
  r.joint(hand, JointKind::ball);
  r.joint(hand, JointKind::slide);
  const int leg = r.body(base, 0);
  const int hip = r.joint(leg, JointKind::slide);
  const int post = r.body(0, -1);
  const int cart = r.body(post, 1);
  r.joint(cart, JointKind::slide);
  const int pole = r.joint(cart, JointKind::hinge);
  const int tip = r.joint(r.body(cart, 1), JointKind::hinge);
  r.model.bodies[2].gravity_compensation = 0.4;
  r.model.bodies[5].gravity_compensation = 1.2;
  r.actuator(shoulder, ActuatorDynamics::none);
  r.actuator(elbow, ActuatorDynamics::integrator);
  r.actuator(hip, ActuatorDynamics::filter);
  r.actuator(pole, ActuatorDynamics::filter_exact);
  r.actuator(tip, ActuatorDynamics::filter_exact, true);
  return r.model;
}

// A free body with another fixed to it, beside an arm.
inline Model free_block(RigidIntegrator integrator = RigidIntegrator::implicitfast) {
  RobotBuilder r(9);
  r.model.options.integrator = integrator;
  r.joint(r.body(0, 0), JointKind::hinge);
  const int block = r.body(0, 1);
  r.joint(block, JointKind::free);
  r.body(r.body(block, 1), 1);
  r.actuator(0, ActuatorDynamics::none);
  return r.model;
}

// two_trees with tendons of both kinds, also between the trees, actuators on them, on sites and on
// joints that turn freely, tendons with inertia, and a medium.
inline Model with_cables(RigidIntegrator integrator = RigidIntegrator::euler) {
  RobotBuilder r(5);
  r.model = two_trees(integrator);
  const int pulled =
      r.tendon(TendonKind::fixed,
               {{WrapKind::joint, 1, 0.7}, {WrapKind::joint, 2, -0.4}, {WrapKind::joint, 5, 0.9}});
  r.pull(TransmissionKind::tendon, pulled);
  const int a = r.site(2), b = r.site(4), c = r.site(5), d = r.site(7), e = r.site(6);
  const int cable = r.tendon(TendonKind::spatial, {{WrapKind::site, a, 0},
                                                   {WrapKind::site, b, 0},
                                                   {WrapKind::site, c, 0},
                                                   {WrapKind::pulley, -1, 2},
                                                   {WrapKind::site, d, 0},
                                                   {WrapKind::site, e, 0}});
  r.pull(TransmissionKind::tendon, cable);
  r.pull(TransmissionKind::site, b);
  r.pull(TransmissionKind::site, b).reference_site = c;
  Actuator& turning = r.pull(TransmissionKind::joint, 3);
  turning.gear = {0.7, -0.5, 0.4, 0, 0, 0};
  turning.damping = {0.1, 0.05, 0.02};
  turning.armature = 0.04;
  r.pull(TransmissionKind::joint_in_parent, 0);
  Actuator& servo = r.pull(TransmissionKind::joint, 3);  // its setpoint is turns away
  servo.affine_gain = false;
  servo.gain = {40, 0, 0};
  servo.bias = {0.3, -40, -0.5};
  servo.gear = {0.03, 0.02, -0.04, 0, 0, 0};
  r.model.options.density = 1.2;
  r.model.options.viscosity = 0.3;
  r.model.options.wind = {0.5, -0.4, 0.3};
  r.model.actuators[0].damping = {0.2, 0.1, 0.05};
  r.model.actuators[0].armature = 0.03;
  r.model.tendons[0].armature = 0.2;
  r.model.tendons[1].armature = 0.3;
  return r.model;
}

}  // namespace cycloid::test
