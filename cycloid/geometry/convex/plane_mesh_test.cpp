// Tests of plane_mesh.h.
#include "cycloid/geometry/convex/plane_mesh.h"

#include "cycloid/geometry/convex/hull_case_test.h"

namespace cycloid::test::plane_mesh_test {

Pose<double> upright(double z) { return {identity_matrix<double, 3>(), {0.1, 0.2, z}}; }

TEST_CASE("collide_plane_mesh: a prism stands on four corners, leans on one polygon, or is far") {
  const TestHull prism(prism_parts(8), prism_points(8, 0.4, 0.3));
  const Pose<double> floor{identity_matrix<double, 3>(), {}};
  const double size[3] = {prism.hull.radius, 0, 0};
  Touch<double> out[kPlaneMeshTouches];
  double f[kPlaneMeshTouches];
  collide_plane_mesh(floor, size, upright(0.29), 0.0, prism.hull, out, f);
  for (int k = 0; k < kPlaneMeshTouches; ++k) {
    REQUIRE(f[k] >= 0);
    CHECK(std::abs(out[k].dist + 0.01) < 1e-15);
    CHECK(std::abs(out[k].pos.z + 0.005) < 1e-15);
    CHECK(out[k].normal.z == 1);
    for (int j = 0; j < k; ++j) CHECK(f[j] != f[k]);
  }
  collide_plane_mesh(floor, size, upright(0.31), 0.0, prism.hull, out, f);
  CHECK(f[0] < 0);
  collide_plane_mesh(floor, size, upright(0.31), 0.02, prism.hull, out, f);
  CHECK(f[3] >= 0);
  // Tilted about y: only the low side is within reach.
  const double c = std::cos(0.3), s = std::sin(0.3);
  Pose<double> tilted = upright(0.38);
  tilted.R(0, 0) = c, tilted.R(0, 2) = s, tilted.R(2, 0) = -s, tilted.R(2, 2) = c;
  collide_plane_mesh(floor, size, tilted, 0.0, prism.hull, out, f);
  CHECK(f[0] == 0);
  CHECK(f[3] < 0);
}

TEST_CASE("collide_plane_mesh: pullback equals dual numbers") {
  TestHull prism(prism_parts(7), prism_points(7, 0.4, 0.3));
  FixedNumbers random(17);
  int checked = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Pose<double> x1 = random_pose(random, 0.3), x2 = random_pose(random, 0.3);
    const Vec3<double> v1 = random_vector(random), w1 = random_vector(random),
                       v2 = random_vector(random), w2 = random_vector(random);
    for (double& x : prism.tangents) x = random.next();
    const D size[3] = {D(prism.hull.radius), D(0.0), D(0.0)};
    Touch<D> out[kPlaneMeshTouches];
    D feature[kPlaneMeshTouches];
    collide_plane_mesh(moving(x1, v1, w1), size, moving(x2, v2, w2), D(0.0), prism.hull, out,
                       feature);
    if (feature[0].value < 0) continue;
    ++checked;
    DotTest dots;
    TouchBar<double> bar[kPlaneMeshTouches];
    take_touches(random, out, feature, kPlaneMeshTouches, bar, dots);
    double f[kPlaneMeshTouches];
    for (int k = 0; k < kPlaneMeshTouches; ++k) f[k] = feature[k].value;
    PoseBar<double> x1_bar{}, x2_bar{};
    std::vector<double> points_bar(prism.points.size(), 0.0);
    collide_plane_mesh_pullback(x1, x2, prism.hull, static_cast<const double*>(f),
                                static_cast<const TouchBar<double>*>(bar), x1_bar, x2_bar,
                                {points_bar.data(), nullptr});
    dots.in(x1_bar.force, v1), dots.in(x1_bar.torque, w1);
    dots.in(x2_bar.force, v2), dots.in(x2_bar.torque, w2);
    for (std::size_t i = 0; i < points_bar.size(); ++i) dots.in(points_bar[i], prism.tangents[i]);
    CHECK(dots.error() < 1e-12);
  }
  CHECK(checked > 20);
  mark_operator_tested("collide_plane_mesh");
}

}  // namespace cycloid::test::plane_mesh_test
