#include "cycloid/rigid/solver/lane_bits.h"

#include <doctest/doctest.h>

#include "cycloid/math/dual.h"

namespace cycloid::lane_bits_test {

TEST_CASE("lane_bits and lanes_of_bits: one bit per lane, there and back") {
  using S = Pack<double, 8>;
  for (unsigned bits = 0; bits <= kAllLanes<S>; ++bits) {
    const Mask<S> m = lanes_of_bits<S>(bits);
    for (int l = 0; l < 8; ++l) CHECK(m[l] == ((bits >> l & 1) != 0));
    CHECK(lane_bits(m) == bits);
  }
}

TEST_CASE("lanes_of_bits: a scalar is one lane, and so is a Dual of it") {
  CHECK(kAllLanes<double> == 1);
  CHECK(kAllLanes<Dual<double, 3>> == 1);
  CHECK(lanes_of_bits<double>(1));
  CHECK_FALSE(lanes_of_bits<Dual<double, 3>>(2));
}

}  // namespace cycloid::lane_bits_test
