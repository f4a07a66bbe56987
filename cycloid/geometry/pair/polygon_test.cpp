// Tests of polygon.h.
#include "cycloid/geometry/pair/polygon.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cycloid::test::polygon_test {

using V = Vec3<double>;

TEST_CASE("polygon: a square cut by a line has five corners, which name their lines") {
  Polygon<16> square, cut;
  const double at[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
  for (int k = 0; k < 4; ++k) square.add({{at[k][0], at[k][1], 0}, {(k + 3) % 4, k}, k});
  clip(square, V{1, 1, 0}, 1, 9, 0, cut);
  REQUIRE(cut.size == 5);
  int named = 0;
  for (int k = 0; k < cut.size; ++k) {
    const PolygonCorner& c = cut.corner[k];
    CHECK(c.at.x + c.at.y <= 1 + 1e-15);
    named += c.line[0] == 9 || c.line[1] == 9;
    CHECK(c.next != cut.corner[(k + 1) % 5].next);
  }
  CHECK(named == 2);
  clip(square, V{1, 0, 0}, -2, 9, 0, cut);
  CHECK(cut.size == 0);
}

TEST_CASE("polygon: four corners of a 12-gon span three quarters of what the best would, or more") {
  const auto at = [](int k) { return V{std::cos(k * M_PI / 6), std::sin(k * M_PI / 6), 0}; };
  for (const bool from_all : {false, true}) {
    int q[4];
    large_quad(12, at, 1e-12, from_all, q);
    if (!from_all) CHECK(q[0] == 0);
    CHECK(quad_area(at(q[0]), at(q[1]), at(q[2]), at(q[3])) > 0.75 * 4);
  }
}

}  // namespace cycloid::test::polygon_test
