// Tests of by_lane.h: lanes taken out and put back, in every scalar.
#include "cycloid/geometry/pair/by_lane.h"

#include "cycloid/geometry/convex/convex_pair.h"
#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::by_lane_test {

struct CylinderBox {
  static constexpr int kTouches = kCylinderBoxTouches;
  static void collide(auto&&... a) { collide_cylinder_box(a...); }
};

TEST_CASE("take_lane, put_lane: each lane keeps its number, and its derivatives") {
  Pack<float, 4> x(0);
  for (int l = 0; l < 4; ++l) put_lane(x, l, 0.5 + l);
  CHECK(take_lane(x, 2) == 2.5);
  add_lane(x, 2, 1.0);
  CHECK(take_lane(x, 2) == 3.5);
  CHECK(take_lane(x, 1) == 1.5);

  Dual<Pack<double, 4>, 2> d(Pack<double, 4>(0));
  Dual<double, 2> one(3.0);
  one.tangent[1] = 7;
  put_lane(d, 3, one);
  CHECK(take_lane(d, 3).value == 3);
  CHECK(take_lane(d, 3).tangent[1] == 7);
  CHECK(take_lane(d, 0).tangent[1] == 0);
}

// Tangents in lanes: Dual<Pack> against Dual, a different placement in each lane.
TEST_CASE("collide_cylinder_box: tangents in lanes equal those of each lane alone") {
  using D = Dual<double, 1>;
  using DL = Dual<Pack<double, 4>, 1>;
  constexpr int outputs = kCylinderBoxTouches * kTouchNumbers;
  FixedNumbers random(11);
  std::vector<DL> in(kCollideInputs, DL(Pack<double, 4>(0))), out(outputs), feature(4);
  std::vector<std::vector<D>> single(4, std::vector<D>(kCollideInputs));
  for (int l = 0; l < 4; ++l) {
    const Numbers x = random_placement(random, l % 3, 0.6), tangent = random.vector(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      single[static_cast<std::size_t>(l)][i] = D(x[i]);
      single[static_cast<std::size_t>(l)][i].tangent[0] = tangent[i];
      put_lane(in[i], l, single[static_cast<std::size_t>(l)][i]);
    }
  }
  collide_flat<CylinderBox>(in.data(), out.data(), feature.data());
  int contacts = 0;
  for (int l = 0; l < 4; ++l) {
    std::vector<D> alone(outputs), alone_feature(4);
    collide_flat<CylinderBox>(single[static_cast<std::size_t>(l)].data(), alone.data(),
                              alone_feature.data());
    contacts += alone_feature[0].value >= 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      CHECK(take_lane(out[i], l).value == doctest::Approx(alone[i].value).epsilon(1e-12));
      CHECK(take_lane(out[i], l).tangent[0] == doctest::Approx(alone[i].tangent[0]).epsilon(1e-10));
    }
  }
  CHECK(contacts >= 2);
}

}  // namespace cycloid::test::by_lane_test
