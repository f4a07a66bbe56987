// A small robot in which every table has elements, for tests of room model: a sliding cart with a
// pole on a hinge and a ball on its tip, and a free box.
#pragma once

#include "cycloid/model/model.h"

namespace cycloid::test {

inline Model small_robot() {
  Model m;
  m.name = "cart with Fu\xc3\x9f";
  m.options.integrator = RigidIntegrator::implicitfast;
  m.options.elliptic = true;
  m.options.acting.midphase = false;
  const auto body = [&](const char* name, int parent, int tree) -> Body& {
    Named<Body> b;
    b.name = name;
    b.parent = parent;
    b.tree = tree;
    b.welded = static_cast<int>(m.bodies.size());
    b.first_joint = static_cast<int>(m.joints.size());
    b.first_dof = static_cast<int>(m.dofs.size());
    b.mass = 0.5 + tree;
    b.inertia = {1, 1.5, 2, 0, 0.1, 0.2};
    m.bodies.push_back(b);
    return m.bodies.back();
  };
  const auto joint = [&](const char* name, JointKind kind, int dof_parent) {
    Body& b = m.bodies.back();
    Named<Joint> j;
    j.name = name;
    j.kind = kind;
    j.body = static_cast<int>(m.bodies.size()) - 1;
    j.qpos = m.nq;
    j.dof = m.nv;
    j.range = {true, -1, 2};
    for (int i = 0; i < dof_numbers(kind); ++i) {
      Dof d;
      d.joint = static_cast<int>(m.joints.size());
      d.body = j.body;
      d.parent = i == 0 ? dof_parent : m.nv + i - 1;
      m.dofs.push_back(d);
    }
    m.joints.push_back(j);
    b.joints += 1;
    b.dofs += dof_numbers(kind);
    m.nq += qpos_numbers(kind);
    m.nv += dof_numbers(kind);
  };
  m.trees = 2;
  body("world", 0, -1);
  body("cart", 0, 0);
  joint("rail", JointKind::slide, -1);
  body("pole", 1, 0);
  joint("hinge", JointKind::hinge, 0);
  body("ball", 2, 0);
  joint("socket", JointKind::ball, 1);
  body("box", 0, 1);
  joint("", JointKind::free, -1);
  m.nmocap = 1;
  body("hand", 0, -1).mocap = 0;
  m.bodies.back().welded = 0;

  m.sites = {{{2, {0, 0, 1}, {1, 0, 0, 0}}, "tip"}, {{1, {}, {1, 0, 0, 0}}, "base"}};
  m.cameras = {{{1, {0, 1, 0}, {1, 0, 0, 0}}, "eye"}};
  Named<Geom> floor, block;
  floor.shape = Shape::plane;
  block.name = "block";
  block.body = 4;
  block.shape = Shape::box;
  block.condim = 4;
  block.priority = 2;
  block.contype = 3;
  block.conaffinity = 5;
  m.geoms = {floor, block};
  m.pairs = {{{.geom1 = 0, .geom2 = 1, .condim = 6, .soft = {}}, "pair"}};
  m.exclusions = {{1, 4}};
  Named<Equality> tie, hold;
  tie.kind = EqualityKind::joint;
  tie.object1 = 1;
  hold.name = "hold";
  hold.kind = EqualityKind::weld;
  hold.object1 = 4;
  hold.object2 = 5;
  hold.active = false;
  m.equalities = {tie, hold};
  m.wraps = {{WrapKind::joint, 1, 2.0}, {WrapKind::site, 0, 0}, {WrapKind::site, 1, 0}};
  Named<Tendon> fixed, cable;
  fixed.name = "fixed";
  fixed.wraps = 1;
  cable.kind = TendonKind::spatial;
  cable.first_wrap = 1;
  cable.wraps = 2;
  m.tendons = {fixed, cable};
  Named<Actuator> motor, muscle;
  motor.name = "motor";
  motor.target = 0;
  motor.control = 0;
  muscle.transmission = TransmissionKind::site;
  muscle.target = 0;
  muscle.reference_site = 1;
  muscle.control = 1;
  muscle.dynamics = ActuatorDynamics::filter;
  muscle.act = 0;
  m.actuators = {motor, muscle};
  m.na = 1;
  m.nu = 2;
  ListedSensor place, clock, other;
  place.name = "place";
  place.type = 26;
  place.object_type = 6;
  place.object = 1;
  place.dimension = 3;
  clock.type = 45;
  other.type = 6;
  other.unsupported = "sensors of this type are not supported";
  m.sensors = {place, clock, other};
  const auto numbers = [](int n) { return std::vector<double>(static_cast<std::size_t>(n), 0.25); };
  m.keyframes = {{"home", 1.5, numbers(m.nq), numbers(m.nv), numbers(m.na), numbers(m.nu),
                  numbers(3), numbers(4)}};
  m.qpos0 = numbers(m.nq);
  return m;
}

}  // namespace cycloid::test
