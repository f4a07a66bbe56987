#include "cycloid/rigid/sense/field_sensor.h"

#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/constraint/row_case_test.h"
#include "cycloid/rigid/sense/observed_field.h"
#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::field_sensor_test {

using test::Numbers;
using test::SenseCase;

// The model with these fields in place of its sensors.
Model with_fields(Model m, const std::vector<std::string>& names) {
  m.sensors.clear();
  for (const std::string& name : names) {
    const ObservedField field = find_field(m, name).value();
    for (const Sensor& part : field.parts) m.sensors.push_back({{part}});
  }
  return m;
}

// held_robot, joined to the cart by a connect and to the post by a weld, in contact with the floor.
Model joined_robot(bool elliptic) {
  Model m = test::held_robot(RigidIntegrator::euler);
  m.options.elliptic = elliptic;
  Named<Equality> joined;
  joined.object1 = 3, joined.object2 = 7;
  joined.data = {0.1, 0.2, 0.1, -0.1, 0.1, 0.3};
  m.equalities.push_back(joined);
  joined.kind = EqualityKind::weld;
  joined.object1 = 6, joined.object2 = 8;
  joined.data = {0.1, 0.2, 0.1, -0.1, 0.1, 0.3, 0.9, 0.1, 0.2, 0.3, 0.7};
  m.equalities.push_back(joined);
  return m;
}

// The solver stops at 1e-10 of the forces, which these fields are; the smallest of them have a
// hundredth of the largest.
constexpr test::PullbackOptions kConstrained{.tolerance = 1e-7, .lane_tolerance = 1e-8};

void check_fields(const Model& m, double spread, const test::PullbackOptions& options) {
  const SenseCase c(m, spread);
  test::check_pullback(
      "sense", c.list.size, [&](const auto* in, auto* out) { c.value(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
      {c.point}, options);
}

TEST_CASE("sense_field: places, inertias and velocities pull back as dual numbers do") {
  test::SensorModel s;
  check_fields(with_fields(s.model, {"qpos", "qvel", "act", "ctrl", "actuator_force", "xpos",
                                     "xipos", "xquat", "site_xpos", "subtree_com", "cinert", "cvel",
                                     "qfrc_actuator"}),
               0.4, test::kSense);
}

TEST_CASE("sense_field: ... accelerations and forces, without constraints") {
  test::SensorModel s;
  check_fields(with_fields(s.model, {"qacc", "cfrc_ext"}), 0.4, test::kSense);
}

TEST_CASE("sense_field: ... accelerations and forces through contacts, limits and equalities") {
  for (const bool elliptic : {false, true}) {
    check_fields(with_fields(joined_robot(elliptic), {"cfrc_ext", "qfrc_constraint", "qacc"}), 0.3,
                 kConstrained);
  }
}

TEST_CASE("sense_field: ... forces of welds and spatial tendons, with their rows of every kind") {
  Model m = test::RowModel().model();
  m.qpos0.assign(static_cast<std::size_t>(m.nq), 0.0);
  for (const Joint& j : m.joints) {  // upright
    if (qpos_numbers(j.kind) < 4) continue;
    m.qpos0[static_cast<std::size_t>(j.qpos + qpos_numbers(j.kind) - 4)] = 1;
  }
  check_fields(with_fields(m, {"cfrc_ext"}), 0.2, kConstrained);
}

TEST_CASE("sense_field: without constraints their force is zero and has no gradient") {
  test::SensorModel s;
  const SenseCase c(with_fields(s.model, {"qfrc_constraint"}));
  CHECK(test::largest(c.values()) == 0);
  Numbers bar(c.point.size(), 0.0);
  c.pullback(c.point.data(), Numbers(static_cast<std::size_t>(c.list.size), 1.0).data(),
             bar.data());
  CHECK(test::largest(bar) == 0);
}

}  // namespace cycloid::field_sensor_test
