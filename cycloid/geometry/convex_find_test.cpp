// Tests of convex_find.h: closed forms, symmetry, the best of all directions, bad numbers.
#include "cycloid/geometry/convex_find.h"

#include "cycloid/geometry/branching_case_test.h"

namespace cycloid::test {
namespace {

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

}  // namespace
}  // namespace cycloid::test
