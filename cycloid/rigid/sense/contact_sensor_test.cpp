#include "cycloid/rigid/sense/contact_sensor.h"

#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::contact_sensor_test {

using test::Numbers;
using test::SenseCase;
using test::SensorModel;

// held_robot, joined to the cart by a connect and to the post by a weld. Sites: 0 on the base, 1 on
// the leg, 2 on the cart, 3 on the post, 4 in the world.
struct SensedRobot : SensorModel {
  explicit SensedRobot(bool elliptic) {
    model = test::held_robot(RigidIntegrator::euler);
    model.options.elliptic = elliptic;
    for (const int body : {1, 5, 7, 6, 0}) model.sites.push_back({{body, {0.1, 0.2, -0.1}, kTurn}});
    Named<Equality> joined;
    joined.object1 = 3, joined.object2 = 7;
    joined.data = {0.1, 0.2, 0.1, -0.1, 0.1, 0.3};
    model.equalities.push_back(joined);
    joined.kind = EqualityKind::weld;
    joined.object1 = 6, joined.object2 = 8;
    joined.data = {0.1, 0.2, 0.1, -0.1, 0.1, 0.3, 0.9, 0.1, 0.2, 0.3, 0.7};
    model.equalities.push_back(joined);
  }
  void add_interactions() {
    for (int site = 0; site < 5; ++site) {
      add(SensorKind::force, site);
      if (site < 4) add(SensorKind::torque, site);
      add(SensorKind::accelerometer, site);
    }
    add(SensorKind::frame_angular_acceleration, 5, ObjectKind::xbody);
  }
  // Of a volume that holds everything near.
  Sensor& add_touch(int site, Shape shape) {
    add(SensorKind::touch, site);
    Sensor& s = model.sensors.back();
    s.dimension = 1;
    s.zone = shape;
    s.zone_size = {30, 30, 30};
    return s;
  }
  Sensor& add_contact(int fields, ContactReduction by, int places) {
    add(SensorKind::contact, -1);
    Sensor& s = model.sensors.back();
    s.object_type = s.reference_type = 0;
    s.fields = fields;
    s.reduction = static_cast<int>(by);
    s.dimension = places * for_each_field(s, [](ContactField, int) {});
    return s;
  }
};

constexpr int kAllFields = (1 << kContactFields) - 1;
constexpr int kNetFields = (1 << static_cast<int>(ContactField::linear_velocity)) - 1;

// The solver stops at 1e-10 of the forces, of which sensors of mass times acceleration have all.
constexpr test::PullbackOptions kConstrained{.tolerance = 1e-8, .lane_tolerance = 1e-9};

// At the point of the case, and higher, where less touches; the lanes differ in their contacts.
void check_held(const Model& m) {
  const SenseCase c(m, 0.3);
  std::vector<Numbers> points(3, c.point);
  points[1][2] += 1.2, points[2][2] -= 0.1;  // the base along z
  test::check_pullback(
      "sense", c.list.size, [&](const auto* in, auto* out) { c.value(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
      points, kConstrained);
}

double sum(const Numbers& y, std::size_t first, std::size_t n, std::size_t stride) {
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) total += y[first + i * stride];
  return total;
}

TEST_CASE("sense: forces between bodies pull back through contacts, limits and equalities") {
  for (const bool elliptic : {false, true}) {
    SensedRobot s(elliptic);
    s.add_interactions();
    check_held(s.model);
  }
}

TEST_CASE("sense: ... touch, and contacts in every field, reduced in every way") {
  SensedRobot s(true);
  s.add_touch(0, Shape::sphere);
  s.add_touch(1, Shape::box);
  s.add_contact(kAllFields, ContactReduction::none, 3);
  Sensor& turned = s.add_contact(kAllFields, ContactReduction::nearest, 2);
  turned.object_type = static_cast<int>(ObjectKind::xbody), turned.object = 1;
  s.add_contact(kAllFields, ContactReduction::strongest, 2);
  s.add_contact(kNetFields, ContactReduction::net, 1);
  check_held(s.model);
}

TEST_CASE("contact_sensor: touch adds the normal forces of its body, and net all forces") {
  SensedRobot s(true);
  const int force = 1 << static_cast<int>(ContactField::force);
  const int normal = 1 << static_cast<int>(ContactField::normal);
  s.add_touch(0, Shape::capsule);
  s.add_touch(1, Shape::cylinder);
  s.add_touch(4, Shape::ellipsoid);
  s.add_contact(force, ContactReduction::none, 4);
  Sensor& turned = s.add_contact(normal, ContactReduction::none, 1);
  turned.object_type = static_cast<int>(ObjectKind::xbody), turned.object = 1;
  s.add_contact(normal, ContactReduction::none, 1);
  const Numbers y = SenseCase(s.model, 0.3).values();
  const double all = sum(y, 3, 4, 3);
  CHECK(all > 1);
  CHECK(y[0] + y[1] == doctest::Approx(all));  // the floor touches base and leg
  CHECK(y[2] == doctest::Approx(all));
  for (std::size_t i = 15; i < 18; ++i) CHECK(y[i] == -y[i + 3]);
  CHECK(std::hypot(y[15], y[16], y[17]) == doctest::Approx(1));
}

TEST_CASE("contact_sensor: where nothing touches all is zero") {
  SensedRobot s(true);
  s.add_touch(0, Shape::sphere);
  s.add_contact(kAllFields, ContactReduction::strongest, 2);
  s.add_contact(kNetFields, ContactReduction::net, 1);
  SenseCase c(s.model, 0.3);
  c.point[2] += 100;
  CHECK(test::largest(c.values()) == 0);
  s.model.options.acting.constraints = false;
  CHECK(test::largest(SenseCase(s.model, 0.3).values()) == 0);
}

}  // namespace cycloid::contact_sensor_test
