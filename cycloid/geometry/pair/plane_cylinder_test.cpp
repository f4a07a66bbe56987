// Tests of plane_cylinder.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/plane_cylinder.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::plane_cylinder_test {

struct PlaneCylinder {
  static constexpr int kTouches = kPlaneCylinderTouches;
  static void collide(auto&&... a) { collide_plane_cylinder(a...); }
  static void pullback(auto&&... a) { collide_plane_cylinder_pullback(a...); }
};

// A cylinder that stands: its axis along the plane's normal, up or down.
void stand(Numbers& in) {
  for (int i = 0; i < 4; ++i) in[14 + i] = in[4 + i];
  if (in[17] > 0) {  // half a turn about its own x axis
    const Quat<double> q = hamilton_product(load_quat(&in[4]), Quat<double>{0, 1, 0, 0});
    store(&in[14], q);
  }
}

TEST_CASE("collide_plane_cylinder: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<PlaneCylinder>(kPlaneCylinderContacts);
}

TEST_CASE("collide_plane_cylinder: pullback equals dual numbers tilted up and down, and standing") {
  std::vector<Numbers> points = points_of_features<PlaneCylinder>({0, 1}, 6);
  for (const Numbers& x : points_of_features<PlaneCylinder>({2, 3}, 4, stand)) points.push_back(x);
  CHECK(check_collide_pullback<PlaneCylinder>("collide_plane_cylinder", points));
}

TEST_CASE("collide_plane_cylinder: a place without a contact passes nothing back") {
  check_no_contact_is_zero<PlaneCylinder>(scene({{}}, {{0.2, 0.3}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE("collide_plane_cylinder: finite standing, nearly standing, lying, and without size") {
  check_finite<PlaneCylinder>(
      {
          scene({{}}, {{0.3, 0.4}, {1, 0, 0, 0}, {0, 0, 0.4}}),      // standing
          scene({{}}, {{0.3, 0.4}, {1, 1e-10, 0, 0}, {0, 0, 0.4}}),  // nearly standing
          scene({{}}, {{0.3, 0.4}, {1, 1, 0, 0}, {0, 0, 0.3}}),      // lying
          scene({{}}, {{}}),                                         // no size
      },
      scene({{}, {0.9, 0.2, -0.3, 0.4}}, {{0.3, 0.2}, {1, 0, 0, 0}, {0.1, 0.1, 0.1}}));
}

TEST_CASE("collide_plane_cylinder: the third and fourth touch come together, whatever rounds") {
  FixedNumbers random(12);
  int together = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Numbers in = random.vector(kCollideInputs), out(kTouchNumbers * 4), feature(4);
    for (const std::size_t i : {11u, 12u}) in[i] = std::abs(in[i]);
    in[0] = 100;
    collide_flat<PlaneCylinder>(in.data(), out.data(), feature.data());
    in[0] = out[2 * kTouchNumbers];  // a margin that the third touch just meets
    const Numbers found = features_at<PlaneCylinder>(in);
    CHECK((found[2] >= 0) == (found[3] >= 0));
    together += found[3] >= 0;
  }
  CHECK(together == 200);
}

TEST_CASE("collide_plane_cylinder: in float, touches of a nearly upright cylinder stay on it") {
  // Radius 1, half-length ½, centre in a tilted plane: from the lower disc at height -½, tilted by
  // at most 1e-4. Float's rounding of a few 1e-7 is all that may be added.
  FixedNumbers random(6);
  for (int trial = 0; trial < 100; ++trial) {
    Numbers in = scene({}, {{1, 0.5}}, 1);
    for (std::size_t i = 0; i < 4; ++i) in[4 + i] = in[14 + i] = random.next();
    for (std::size_t i = 0; i < 4; ++i) in[14 + i] += 1e-5 * random.next();
    const std::vector<float> in_float(in.begin(), in.end());
    float out[4 * kTouchNumbers], feature[4];
    collide_flat<PlaneCylinder>(in_float.data(), out, feature);
    CHECK(std::abs(out[0] + 0.5f) < 1.01e-4f);
    CHECK(std::abs(out[2 * kTouchNumbers] + 0.5f) < 1.01e-4f);
  }
}

}  // namespace cycloid::test::plane_cylinder_test
