// Tests of convex_find.h: closed forms, symmetry, the best of all directions, bad numbers.
#include "cycloid/geometry/convex/convex_find.h"

#include "cycloid/geometry/convex/hull_case_test.h"
#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::convex_find_test {

TEST_CASE("find_meeting: a cylinder on a box, a ball in an ellipsoid: closed forms") {
  const GeomPair<double> stand{pose_at(0, 0, 0.9), {0.2, 0.5, 0}, pose_at(0), {1, 1, 0.5}};
  CHECK(std::abs(find_meeting(GeomKind::cylinder, GeomKind::box, stand, 0).dist + 0.1) < 1e-14);
  // Out of the middle of an ellipsoid along its shortest axis.
  const GeomPair<double> inside{pose_at(0), {0.1, 0, 0}, pose_at(0), {0.5, 0.3, 0.4}};
  const ConvexMeeting m = find_meeting(GeomKind::sphere, GeomKind::ellipsoid, inside, 0);
  CHECK(std::abs(m.dist + 0.4) < 1e-14);
  CHECK(std::abs(std::abs(m.n.y) - 1) < 1e-14);
}

TEST_CASE("find_meeting: geoms that change places meet in the opposite direction") {
  FixedNumbers random(19);
  int checked = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const GeomPair<double> g = pair_of(random_placement(random, 0, 0.7));
    const GeomPair<double> swapped{g.x2, g.size2, g.x1, g.size1};
    const ConvexMeeting m = find_meeting(GeomKind::cylinder, GeomKind::cylinder, g, 0.1);
    const ConvexMeeting w = find_meeting(GeomKind::cylinder, GeomKind::cylinder, swapped, 0.1);
    REQUIRE(m.found == w.found);
    if (!m.found) continue;
    CHECK(std::abs(m.dist - w.dist) < 1e-13);
    CHECK(dot(m.n, w.n) < -1 + 1e-12);
    ++checked;
  }
  CHECK(checked > 30);
}

TEST_CASE("find_meeting: the distance is the best that thousands of directions offer") {
  FixedNumbers random(29);
  const GeomKind kinds[] = {GeomKind::capsule, GeomKind::ellipsoid, GeomKind::cylinder,
                            GeomKind::box};
  for (int trial = 0; trial < 24; ++trial) {
    const GeomPair<double> g = pair_of(random_placement(random, 0, 0.5));
    const GeomKind k1 = kinds[trial % 3], k2 = kinds[1 + trial / 3 % 3];
    const ConvexShape a{k1, g.x1, g.size1}, b{k2, g.x2, g.size2};
    const ConvexMeeting m = find_meeting(k1, k2, g, 10);
    REQUIRE(m.found);
    double best = -1e300;
    for (int i = 0; i < 4000; ++i) {  // a spiral over the sphere
      const double z = 1 - (i + 0.5) / 2000, r = std::sqrt(1 - z * z),
                   angle = 2.399963229728653 * i;
      best = std::max(best, separation(a, b, {r * std::cos(angle), r * std::sin(angle), z}));
    }
    best -= swept_radius(a) + swept_radius(b);
    CHECK(m.dist >= best - 1e-12);
    CHECK(m.dist <= best + 0.05);  // the spiral's spacing is 0.03
  }
}

TEST_CASE("find_meeting: a hint spares searches and changes no answer") {
  TestHull a(prism_parts(7), prism_points(7, 0.3, 0.2)),
      b(prism_parts(16), prism_points(16, 0.2, 0.3));
  FixedNumbers random(3);
  ApartHint hint;
  int found = 0, apart = 0, kept = 0;
  GeomPair<double> g{random_pose(random, 0), {}, random_pose(random, 0), {}, &a.hull, &b.hull};
  for (int trial = 0; trial < 400; ++trial) {
    // A walk in small steps, with leaps.
    const double size = trial % 50 == 0 ? 0.5 : 0.02;
    g.x2.p += random_vector(random) * size;
    if (dot(g.x2.p, g.x2.p) > 0.5) g.x2.p = {};
    const ApartHint before = hint;
    const ConvexMeeting with = find_meeting(GeomKind::mesh, GeomKind::mesh, g, 0.01, &hint),
                        without = find_meeting(GeomKind::mesh, GeomKind::mesh, g, 0.01);
    CHECK(with.found == without.found);
    found += with.found, apart += !with.found;
    kept += !with.found && std::equal(hint.n, hint.n + 3, before.n);
    if (!with.found) continue;
    CHECK(with.dist == without.dist);
    CHECK(with.at.code1 == without.at.code1);
    CHECK(with.at.code2 == without.at.code2);
  }
  CHECK(found > 50);
  CHECK(apart > 50);
  CHECK(2 * kept > apart);
}

TEST_CASE("find_meeting: of a flat face that triangle is named which is met") {
  TestHull prism(prism_parts(8), prism_points(8, 0.4, 0.2));
  FixedNumbers random(4);
  const GeomPair<double> place{{identity_matrix<double, 3>(), {}},
                               {0.1, 0, 0},
                               random_pose(random, 0.2),
                               {},
                               nullptr,
                               &prism.hull};
  for (int trial = 0; trial < 100; ++trial) {
    GeomPair<double> g = place;
    const Vec3<double> up = axis(g.x2, 2);
    const double angle = 3 * random.next(), out = 0.3 * std::abs(random.next());
    const Vec3<double> own{out * std::cos(angle), 0.8 * out * std::sin(angle), 0.25};
    g.x1.p = g.x2.p + g.x2.R * own;
    const ConvexMeeting m = find_meeting(GeomKind::sphere, GeomKind::mesh, g, 0);
    REQUIRE(m.found);
    const HullPiece piece = hull_piece(prism.table, m.at.code2);
    REQUIRE(piece.kind == HullFeature::triangle);
    CHECK(std::abs(dot(m.n, up) + 1) < 1e-12);
    for (int k = 0; k < 3; ++k) {
      const Vec3<double> from = prism.hull.corner<double>(piece.at[k]),
                         to = prism.hull.corner<double>(piece.at[(k + 1) % 3]);
      CHECK(cross(to - from, own - from).z > -1e-12);
    }
  }
}

TEST_CASE("find_meeting: ends with numbers that are not numbers") {
  FixedNumbers random(7);
  GeomPair<double> g = pair_of(random_placement(random, 0, 0.5));
  g.x2.p.y = std::nan("");
  CHECK(!find_meeting(GeomKind::ellipsoid, GeomKind::box, g, 0.1).found);
  g.x2.p.y = 0;
  g.x1.R.e[4] = INFINITY;
  find_meeting(GeomKind::cylinder, GeomKind::cylinder, g, 0.1);
  CHECK(true);
}

}  // namespace cycloid::test::convex_find_test
