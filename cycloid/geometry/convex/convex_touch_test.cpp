// Tests of convex_touch.h: closed forms of crossing and parallel cylinders.
#include "cycloid/geometry/convex/convex_touch.h"

#include "cycloid/geometry/convex/convex_find.h"
#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::convex_touch_test {

using V = Vec3<double>;

// Axes along z and, for `crossed`, along x.
GeomPair<double> cylinders(bool crossed, const V& p2) {
  Pose<double> x2 = pose_at(p2.x, p2.y, p2.z);
  if (crossed) x2.R = {{0, 0, 1, 0, 1, 0, -1, 0, 0}};
  return {pose_at(0), {0.2, 1, 0}, x2, {0.3, 0.8, 0}};
}

Touch<double> touch_of(const GeomPair<double>& g) {
  const ConvexMeeting m = find_meeting(GeomKind::cylinder, GeomKind::cylinder, g, 1);
  REQUIRE(m.found);
  return convex_touch(GeomKind::cylinder, GeomKind::cylinder, g, m.code, m.n);
}

TEST_CASE("convex_touch: crossing cylinders touch between the nearest points of their axes") {
  const Touch<double> t = touch_of(cylinders(true, {0.3, 0.45, 0.4}));
  CHECK(std::abs(t.dist + 0.05) < 1e-15);
  CHECK(std::abs(t.normal.y - 1) < 1e-15);
  CHECK(std::abs(t.pos.x) < 1e-15);
  CHECK(std::abs(t.pos.y - 0.175) < 1e-15);
  CHECK(std::abs(t.pos.z - 0.4) < 1e-15);
}

TEST_CASE("convex_touch: parallel cylinders touch in the middle of their common stretch") {
  const Touch<double> t = touch_of(cylinders(false, {0.45, 0, 1.1}));
  CHECK(std::abs(t.dist + 0.05) < 1e-15);
  CHECK(std::abs(t.normal.x - 1) < 1e-15);
  CHECK(std::abs(t.pos.z - 0.65) < 1e-15);  // from 1.1 - 0.8 to 1
}

}  // namespace cycloid::test::convex_touch_test
