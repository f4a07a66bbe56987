// Tests of convex_pair.h and what it is made of, against MuJoCo's distances and dual numbers.
#include "cycloid/geometry/convex/convex_pair.h"

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::convex_pair_test {

#define CYCLOID_CONVEX_PAIR(Name, k1, k2)                                       \
  struct Name {                                                                 \
    static constexpr GeomKind kKind1 = GeomKind::k1, kKind2 = GeomKind::k2;     \
    static constexpr int kTouches = k##Name##Touches;                           \
    static void collide(auto&&... a) { collide_##k1##_##k2(a...); }             \
    static void pullback(auto&&... a) { collide_##k1##_##k2##_pullback(a...); } \
  }
CYCLOID_CONVEX_PAIR(SphereEllipsoid, sphere, ellipsoid);
CYCLOID_CONVEX_PAIR(CapsuleEllipsoid, capsule, ellipsoid);
CYCLOID_CONVEX_PAIR(CapsuleCylinder, capsule, cylinder);
CYCLOID_CONVEX_PAIR(EllipsoidEllipsoid, ellipsoid, ellipsoid);
CYCLOID_CONVEX_PAIR(EllipsoidCylinder, ellipsoid, cylinder);
CYCLOID_CONVEX_PAIR(EllipsoidBox, ellipsoid, box);
CYCLOID_CONVEX_PAIR(CylinderCylinder, cylinder, cylinder);
CYCLOID_CONVEX_PAIR(CylinderBox, cylinder, box);
#undef CYCLOID_CONVEX_PAIR

// Forms that meet; how lines meet; what crosses in a manifold.
template <class Pair>
int kind_of_convex_contact(int code) {
  if (code < kConvexCodes) {
    const int pair = code / kLinePairs;
    const Form f1 = feature_form(Pair::kKind1, pair / kFeatureCodes);
    const Form f2 = feature_form(Pair::kKind2, pair % kFeatureCodes);
    const bool lines = f1 == Form::line && f2 == Form::line;
    return 10 * static_cast<int>(f1) + static_cast<int>(f2) +
           (lines && line_pair_of(code % kLinePairs).cross_sign == 0 ? 100 : 0);
  }
  if (code < kEdgeBase) {
    const CapFeature f = decode_cap(code - kConvexCodes, Pair::kKind2);
    return 1000 + 10 * (f.line[0] >= 16) + (f.line[1] >= 16);
  }
  const EdgeFeature f = decode_edge(code - kEdgeBase, Pair::kKind1, Pair::kKind2);
  return 2000 + 100 * f.on_second + (f.place >= kFirstSide);
}

template <class Pair>
void check_convex_pullback(std::string_view name, int kinds) {
  CHECK(check_collide_pullback<Pair>(
      name, points_of_kinds<Pair>(kind_of_convex_contact<Pair>, 3, kinds, 4000)));
}

TEST_CASE("collide_sphere_ellipsoid: pullback equals dual numbers") {
  check_convex_pullback<SphereEllipsoid>("collide_sphere_ellipsoid", 1);
}
TEST_CASE("collide_capsule_ellipsoid: pullback equals dual numbers at ends and sides") {
  check_convex_pullback<CapsuleEllipsoid>("collide_capsule_ellipsoid", 2);
}
TEST_CASE("collide_capsule_cylinder: pullback equals dual numbers at every pair of forms") {
  check_convex_pullback<CapsuleCylinder>("collide_capsule_cylinder", 8);
}
TEST_CASE("collide_ellipsoid_ellipsoid: pullback equals dual numbers") {
  check_convex_pullback<EllipsoidEllipsoid>("collide_ellipsoid_ellipsoid", 1);
}
TEST_CASE("collide_ellipsoid_cylinder: pullback equals dual numbers at side, rim and cap") {
  check_convex_pullback<EllipsoidCylinder>("collide_ellipsoid_cylinder", 3);
}
TEST_CASE("collide_ellipsoid_box: pullback equals dual numbers at face, edge and corner") {
  check_convex_pullback<EllipsoidBox>("collide_ellipsoid_box", 3);
}
TEST_CASE("collide_cylinder_cylinder: pullback equals dual numbers at every pair of forms") {
  check_convex_pullback<CylinderCylinder>("collide_cylinder_cylinder", 14);
}
TEST_CASE("collide_cylinder_box: pullback equals dual numbers at every pair of forms") {
  check_convex_pullback<CylinderBox>("collide_cylinder_box", 14);
}

// Forward over reverse: the pullback in Dual is the derivative of the pullback.
TEST_CASE("collide_cylinder_box: the pullback's own derivative equals nested dual numbers") {
  const std::vector<Numbers> points =
      points_of_kinds<CylinderBox>(kind_of_convex_contact<CylinderBox>, 1, 14, 4000);
  CHECK(check_pullback_derivative(
      "collide_cylinder_box", CylinderBox::kTouches * kTouchNumbers,
      [](const auto* in, auto* out) {
        std::remove_cvref_t<decltype(*in)> feature[CylinderBox::kTouches];
        collide_flat<CylinderBox>(in, out, feature);
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        collide_flat_pullback<CylinderBox>(in, out_bar, in_bar);
      },
      points, {.tolerance = 1e-9}));
}

TEST_CASE("convex pairs: number of contacts and distances are MuJoCo's") {
  check_mujoco_distances<SphereEllipsoid>(kSphereEllipsoidDistances);
  check_mujoco_distances<CapsuleEllipsoid>(kCapsuleEllipsoidDistances);
  check_mujoco_distances<CapsuleCylinder>(kCapsuleCylinderDistances);
  check_mujoco_distances<EllipsoidEllipsoid>(kEllipsoidEllipsoidDistances);
  check_mujoco_distances<EllipsoidCylinder>(kEllipsoidCylinderDistances);
  check_mujoco_distances<EllipsoidBox>(kEllipsoidBoxDistances);
  check_mujoco_distances<CylinderCylinder>(kCylinderCylinderDistances);
  check_mujoco_distances<CylinderBox>(kCylinderBoxDistances);
}

TEST_CASE("convex pairs: pullback equals central differences of search and all") {
  check_differences<SphereEllipsoid>(100);
  check_differences<CapsuleEllipsoid>(100);
  check_differences<CapsuleCylinder>(50);
  check_differences<EllipsoidEllipsoid>(100);
  check_differences<EllipsoidCylinder>(100);
  check_differences<EllipsoidBox>(100);
  check_differences<CylinderCylinder>(50);
  check_differences<CylinderBox>(50);
}

template <class Pair>
void check_hard() {
  FixedNumbers random(5);
  check_finite<Pair>(hard_placements(), random_placement(random, 0, 0.5));
  Numbers far(kCollideInputs, 0.2);
  far[18] = 5;
  check_no_contact_is_zero<Pair>(far);
}

TEST_CASE("convex pairs: finite when coincident, aligned, flat or without size; zeros when apart") {
  check_hard<SphereEllipsoid>();
  check_hard<CapsuleEllipsoid>();
  check_hard<CapsuleCylinder>();
  check_hard<EllipsoidEllipsoid>();
  check_hard<EllipsoidCylinder>();
  check_hard<EllipsoidBox>();
  check_hard<CylinderCylinder>();
  check_hard<CylinderBox>();
}

// With forward's touches the pullback starts at their normals instead of searching again.
template <class Pair>
void check_start() {
  FixedNumbers random(31);
  for (int trial = 0; trial < 60; ++trial) {
    const Numbers in = random_placement(random, trial % 3, 0.7);
    const CollideInputs<double> x(in.data());
    Touch<double> out[Pair::kTouches];
    TouchBar<double> bar[Pair::kTouches];
    double feature[Pair::kTouches], size1[2][3] = {}, size2[2][3] = {};
    Pair::collide(x.size1, x.pose1, x.size2, x.pose2, x.margin, out, feature);
    for (auto& b : bar) {
      b = {random.next(),
           load_vec3(random.vector(3).data()),
           load_vec3(random.vector(3).data()),
           {}};
    }
    PoseBar<double> bar1[2]{}, bar2[2]{};
    Pair::pullback(x.size1, x.pose1, x.size2, x.pose2, feature, bar, bar1[0], bar2[0], size1[0],
                   size2[0]);
    Pair::pullback(x.size1, x.pose1, x.size2, x.pose2, feature, bar, bar1[1], bar2[1], size1[1],
                   size2[1], static_cast<const Touch<double>*>(out));
    double difference = 0, scale = 1;
    for (int i = 0; i < 3; ++i) {
      for (const auto& [a, b] :
           {std::pair(bar1[0].force[i], bar1[1].force[i]),
            std::pair(bar2[0].torque[i], bar2[1].torque[i]), std::pair(size1[0][i], size1[1][i]),
            std::pair(size2[0][i], size2[1][i])}) {
        difference = std::max(difference, std::abs(a - b));
        scale = std::max(scale, std::abs(a));
      }
    }
    CHECK(difference < 1e-10 * scale);
  }
}

TEST_CASE("convex pairs: the pullback is the same with and without forward's touches") {
  check_start<CapsuleEllipsoid>();
  check_start<EllipsoidBox>();
  check_start<CapsuleCylinder>();
  check_start<CylinderBox>();
}

}  // namespace cycloid::test::convex_pair_test
