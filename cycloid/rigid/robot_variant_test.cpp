#include "cycloid/rigid/robot_variant.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "cycloid/rigid/robot.h"

namespace cycloid::robot_variant_test {

// A ball above a plane.
Model ball() {
  Model m;
  m.bodies.resize(2);
  m.bodies[0].name = "world", m.bodies[1].name = "ball";
  m.bodies[1].mass = 1, m.bodies[1].inertia = {0.1, 0.1, 0.1, 0, 0, 0}, m.bodies[1].tree = 0;
  m.trees = 1;
  Named<Joint> slide;
  slide.name = "z", slide.body = 1, slide.kind = JointKind::slide, slide.axis = {0, 0, 1};
  m.joints.push_back(slide);
  m.dofs.emplace_back();
  m.nq = m.nv = 1, m.qpos0 = {0.5};
  for (const auto& [name, shape, body] :
       {std::tuple{"floor", Shape::plane, 0}, {"shell", Shape::sphere, 1}}) {
    Named<Geom> g;
    g.name = name, g.shape = shape, g.body = body, g.size = {0.1, 0, 0};
    m.geoms.push_back(g);
  }
  m.geoms[1].soft.solref = {-400, -20};
  return m;
}

TEST_CASE("robot_variant: solref in both its forms becomes four times softer or harder") {
  using Pair = std::array<double, 2>;
  CHECK(scaled_solref({0.02, 1}, 2) == Pair{0.04, 1});
  CHECK(scaled_solref({0.02, 1}, 0.5) == Pair{0.01, 1});
  CHECK(scaled_solref({-400, -20}, 2) == Pair{-100, -10});
  CHECK(scaled_solref({0, 0}, 2) == Pair{0, 0});  // of a pair: as solref
}

TEST_CASE("robot_variant: a model takes another step, integrator and contact") {
  const Model m = varied_model(ball(), {.dt = 0.001, .integrator = "rk4", .contact = "soft"});
  CHECK(m.options.timestep == 0.001);
  CHECK(m.options.integrator == RigidIntegrator::rk4);
  CHECK(m.geoms[0].soft.solref[0] == 0.04);
  CHECK(m.geoms[1].soft.solref[0] == -100);
  Model apart = ball();
  apart.options.acting.contacts = false;
  CHECK(robot_ways(apart).contacts.empty());
  CHECK(robot_ways(ball()).integrator == "euler");
}

TEST_CASE("robot_variant: of a registry only the contacts of geoms are scaled") {
  Parameters before;
  const auto add = [&](const char* name, std::vector<double> value) {
    Parameter p;
    p.name = name, p.shape = {static_cast<int>(value.size())};
    before.add(p, value);
  };
  add("geom:floor.solref", {0.02, 1}), add("equality:e.solref", {0.02, 1}), add("geom:a.size", {1});
  const auto after = varied_values(before, {.contact = "hard"});
  CHECK(after.at("geom:floor.solref") == std::vector<double>{0.01, 1});
  CHECK(after.at("equality:e.solref") == std::vector<double>{0.02, 1});
  CHECK(after.at("geom:a.size") == std::vector<double>{1});
}

TEST_CASE("robot_variant: a contact takes the other law, and its numbers go with it") {
  const ContactChoice soft_ball = HuntCrossley{.dissipation = 0.3};
  CHECK(varied_contact(MujocoContact{}, {.contact = "compliant"}) == ContactChoice(HuntCrossley{}));
  CHECK(varied_contact(soft_ball, {.contact = "mujoco"}) == ContactChoice(MujocoContact{}));
  CHECK(varied_contact(soft_ball, {.contact = "soft"}) == soft_ball);
  CHECK(robot_ways(ball()).contacts.back() == "compliant");
  CHECK(robot_ways(ball(), soft_ball).contacts.back() == "mujoco");
  Parameters registry;
  Parameter p;
  p.name = "contact.dissipation", p.shape = {1};
  registry.add(p, std::vector<double>{0.3});
  CHECK(varied_values(registry, {.contact = "mujoco"}).empty());
  CHECK(varied_values(registry, {.contact = "soft"}).size() == 1);
}

}  // namespace cycloid::robot_variant_test
