#include "cycloid/rigid/contact/solids_apart.h"

#include "cycloid/geometry/convex/hull_case_test.h"
#include "cycloid/rigid/contact/extent.h"
#include "cycloid/rigid/contact/narrow_phase.h"

namespace cycloid::test::solids_apart_test {

// A flat mesh and a height field of a model.
struct Solids {
  Mesh mesh;
  HeightData data;
  HullTable table;
  SolidShape hull, field;

  Solids() {
    const HullParts parts = prism_parts(6);
    mesh.vertex = prism_points(6, 0.4, 0.05);
    for (std::size_t i = 0; i < mesh.vertex.size(); i += 3) mesh.vertex[i] += 0.1;
    table = make_hull(parts);
    data.rows = 4, data.columns = 5, data.size = {0.5, 0.4, 0.2, 0.1};
    FixedNumbers random(31);
    for (int i = 0; i < 20; ++i) data.data.push_back(std::abs(random.next()));
    hull = solid_mesh(mesh, table, 0, SolidArrays<double>{});
    field = solid_field(data, 1, SolidArrays<double>{});
  }
  const SolidShape* of(GeomKind k) const {
    return k == GeomKind::mesh ? &hull : k == GeomKind::hfield ? &field : nullptr;
  }
};

TEST_CASE("solid_mesh, solid_field: the box holds every corner, and no less would") {
  const Solids s;
  for (const SolidShape* solid : {&s.hull, &s.field}) {
    Vec3<double> most{};
    const auto look = [&](const Vec3<double>& v) {
      for (int k = 0; k < 3; ++k) most[k] = std::max(most[k], std::abs(v[k] - solid->middle[k]));
    };
    if (solid == &s.hull) {
      for (int c = 0; c < 12; ++c) look(s.hull.hull.corner<double>(c));
    } else {
      for (int i = 0; i < s.field.field.prisms(); ++i) {
        const Prism prism(s.field.field, i);
        for (int c = 0; c < 6; ++c) look(prism.hull.corner<double>(c));
      }
    }
    for (int k = 0; k < 3; ++k) CHECK(std::abs(most[k] - solid->half[k]) < 1e-15);
  }
}

TEST_CASE("solids_apart: never of solids that touch, and of many whose balls meet") {
  const Solids s;
  FixedNumbers random(7);
  int touched = 0, met = 0, apart = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Pose<double> x1 = random_pose(random, 0), x2 = random_pose(random, 0.5);
    const double margin = trial % 2 ? 0.02 : 0;
    for (int i = 0; i < kGeomKinds; ++i) {
      for (int j = std::max(i, 2); j < kGeomKinds; ++j) {
        const GeomKind k1 = static_cast<GeomKind>(i), k2 = static_cast<GeomKind>(j);
        const PairSolids solids{s.of(k1), s.of(k2)};
        if (!solids.one && !solids.two) continue;
        const double s1[3] = {solids.one ? solids.one->radius : 0.05, 0.3, 0.1},
                     s2[3] = {solids.two ? solids.two->radius : 0.05, 0.3, 0.1};
        Touch<double> touch[kMostTouches];
        double feature[2 * kMostTouches];
        collide(k1, k2, s1, x1, s2, x2, margin, touch, feature, solids);
        const bool touches = feature[0] >= 0;
        const bool is_apart = solids_apart(k1, s1, x1, k2, s2, x2, solids, margin);
        CHECK_FALSE((touches && is_apart));
        touched += touches;
        if (touches || shapes_apart(k1, s1, x1, k2, s2, x2, margin)) continue;
        ++met, apart += is_apart;
      }
    }
  }
  CHECK(touched > 300);
  CHECK(met > 300);
  CHECK(3 * apart > 2 * met);
}

TEST_CASE(
    "solids_apart: lanes answer as scalars do, and those that are not numbers are not apart") {
  using S = Pack<double, 4>;
  const Solids s;
  FixedNumbers random(9);
  const PairSolids solids{nullptr, &s.hull};
  for (int trial = 0; trial < 50; ++trial) {
    Pose<double> x1[4], x2[4];
    Pose<S> y1, y2;
    for (int l = 0; l < 4; ++l) {
      x1[l] = random_pose(random, 0), x2[l] = random_pose(random, 0.5);
      if (l == 3) x2[l].p.x = NAN;
      for (int i = 0; i < 9; ++i) {
        set_lane(y1.R.e[i], l, x1[l].R.e[i]), set_lane(y2.R.e[i], l, x2[l].R.e[i]);
      }
      for (int i = 0; i < 3; ++i) {
        set_lane(y1.p[i], l, x1[l].p[i]), set_lane(y2.p[i], l, x2[l].p[i]);
      }
    }
    const double size[3] = {0.1, 0.2, 0.3};
    const S sizes[3] = {S(0.1), S(0.2), S(0.3)};
    const Mask<S> lanes =
        solids_apart(GeomKind::box, sizes, y1, GeomKind::mesh, sizes, y2, solids, S(0));
    for (int l = 0; l < 4; ++l) {
      CHECK(bool(lanes[l]) ==
            solids_apart(GeomKind::box, size, x1[l], GeomKind::mesh, size, x2[l], solids, 0.0));
    }
    CHECK_FALSE(bool(lanes[3]));
  }
}

TEST_CASE("above_field: a ball in a valley is apart from a field whose box it lies in") {
  Solids s;
  std::fill(s.data.data.begin(), s.data.data.end(), 0.1);
  s.data.data[0] = 1;  // a hill in a corner
  const SolidShape field = solid_field(s.data, 1, SolidArrays<double>{});
  Pose<double> ground{};
  for (int i = 0; i < 3; ++i) ground.R(i, i) = 1;
  const auto apart = [&](double x, double y, double z) {
    Pose<double> ball = ground;
    ball.p = {x, y, z};
    const double radius[3] = {0.03, 0, 0}, none[3] = {};
    PairSolids solids;
    solids.one = &field;
    return solids_apart(GeomKind::hfield, none, ground, GeomKind::sphere, radius, ball, solids,
                        0.0);
  };
  CHECK(apart(0.1, 0.1, 0.06));                // 0.02 + 0.03 is the ground's height and its radius
  CHECK_FALSE(apart(0.1, 0.1, 0.045));         // touches
  CHECK_FALSE(apart(-0.45, -0.35, 0.06));      // within the hill
  CHECK_FALSE(apart(0.1, 0.1, std::nan("")));  // is left to the search
}

}  // namespace cycloid::test::solids_apart_test
