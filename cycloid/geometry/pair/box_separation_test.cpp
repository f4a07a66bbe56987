// Tests of box_separation.h: closed forms, and lanes against one lane. box_box_test.cpp holds the
// choice to MuJoCo's contacts.
#include "cycloid/geometry/pair/box_separation.h"

#include <set>

#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::box_separation_test {

using Lanes = Pack<double, 4>;

int direction_of(const GeomPair<double>& g, double margin = 0) {
  const BoxRelative<double> r = relative_boxes(g);
  return static_cast<int>(box_separation(g, r, separation_limit(r, margin)));
}

TEST_CASE("box_separation: the face of least depth, the first of equals, none when apart") {
  GeomPair<double> g{pose_at(0), {1, 1, 0.5}, pose_at(0.1, 0.2, 0.6), {0.3, 0.2, 0.15}};
  CHECK(direction_of(g) == 2);
  g.x2.p = {1.2, 0, 0};
  CHECK(direction_of(g) == 0);
  g.x2.p = {1.31, 0, 0};
  CHECK(direction_of(g) == -1);
  CHECK(direction_of(g, 0.02) == 0);
}

TEST_CASE("box_separation: crossed edges win where they are less deep than any face") {
  // Two long boxes, an edge of each upwards, crossed at a right angle.
  const double c = std::sqrt(0.5);
  GeomPair<double> g{pose_at(0), {2, 0.1, 0.1}, pose_at(0, 0, 0.27), {0.1, 2, 0.1}};
  g.x1.R = {{1, 0, 0, 0, c, -c, 0, c, c}};
  g.x2.R = {{c, 0, c, 0, 1, 0, -c, 0, c}};
  CHECK(direction_of(g) == 6 + 3 * 0 + 1);
  g.x2.p.z = 0.29;  // 2 · 0.1 √2 apart
  CHECK(direction_of(g) == -1);
}

TEST_CASE("box_separation: lanes find what each finds alone") {
  FixedNumbers random(7);
  std::set<int> found;
  for (int i = 0; i < 200; ++i) {
    GeomPair<double> own[4];
    GeomPair<Lanes> g;
    for (int l = 0; l < 4; ++l) {
      own[l] = pair_of(random_placement(random, 0, 0.5));
      const double* from = reinterpret_cast<const double*>(&own[l]);
      Lanes* to = reinterpret_cast<Lanes*>(&g);
      for (std::size_t k = 0; k < sizeof g / sizeof(Lanes); ++k) set_lane(to[k], l, from[k]);
    }
    const BoxRelative<Lanes> r = relative_boxes(g);
    const Lanes which = box_separation(g, r, separation_limit(r, Lanes(0.01)));
    for (int l = 0; l < 4; ++l) {
      CHECK(which[l] == direction_of(own[l], 0.01));
      found.insert(static_cast<int>(which[l]));
    }
  }
  CHECK(found.size() >= 10);
}

}  // namespace cycloid::test::box_separation_test
