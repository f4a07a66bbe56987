// Tests of convex_contact.h: what is solved for n, and where it is singular.
#include "cycloid/geometry/convex/convex_contact.h"

#include "cycloid/geometry/convex/convex_find.h"
#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::convex_contact_test {

TEST_CASE("find_meeting: the features are stationary to rounding") {
  FixedNumbers random(13);
  int checked = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const GeomPair<double> g = pair_of(random_placement(random, 0, 0.7));
    for (const GeomKind k2 : {GeomKind::ellipsoid, GeomKind::cylinder, GeomKind::box}) {
      const ConvexMeeting m = find_meeting(GeomKind::ellipsoid, k2, g, 1);
      if (!m.found) continue;
      const ConvexContact<double> c = convex_contact(GeomKind::ellipsoid, k2, g, m.code, m.n, 0);
      if (c.i11 == 0) continue;
      const double along1 = dot(c.t1, c.g), along2 = c.pointed2 ? dot(c.t2, c.g) : 0;
      CHECK(std::abs(along1) + std::abs(along2) < 1e-14);  // metres, of sizes near one
      ++checked;
    }
  }
  CHECK(checked > 100);
}

TEST_CASE("convex codes: features and lines survive encoding") {
  for (int code = 0; code < kConvexCodes; ++code) {
    const int pair = code / kLinePairs;
    const LinePair lines = line_pair_of(code % kLinePairs);
    CHECK(encode(pair / kFeatureCodes, pair % kFeatureCodes, lines) == code);
  }
}

TEST_CASE(
    "convex_contact: n stands still in the middle of a ball, where every way out is as short") {
  const GeomPair<double> g{pose_at(0), {0.1, 0, 0}, pose_at(0), {0.3, 0.3, 0.3}};
  const int code = encode(0, 0, {-1, 0, 0});
  const Vec3<double> start{0.6, 0, 0.8};
  const auto c = convex_contact(GeomKind::sphere, GeomKind::ellipsoid, g, code, start);
  CHECK(c.i11 == 0);
  CHECK(std::abs(c.n.x - 0.6) < 1e-15);
  CHECK(std::abs(c.dist + 0.4) < 1e-15);
}

}  // namespace cycloid::test::convex_contact_test
