#include "cycloid/optimise/bounded_number.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

namespace cycloid::bounded_number_test {

TEST_CASE("BoundedNumber: z gives u back, with its slope, for every kind of bounds") {
  for (const BoundedNumber& map :
       {BoundedNumber{-1, 3}, BoundedNumber{0, INFINITY}, BoundedNumber{-INFINITY, 2},
        BoundedNumber{-INFINITY, INFINITY}}) {
    for (const double u : {0.2, 1.0, 1.7}) {
      const double z = map.free_of(u), e = 1e-6;
      CHECK(map.value_of(z) == doctest::Approx(u).epsilon(1e-12));
      const double slope = (map.value_of(z + e) - map.value_of(z - e)) / (2 * e);
      CHECK(map.slope_of(z) == doctest::Approx(slope).epsilon(1e-8));
      CHECK(map.slope_of(z) != 0);
    }
    for (const double z : {-9.0, 0.0, 40.0}) {
      CHECK(map.value_of(z) >= map.low);
      CHECK(map.value_of(z) <= map.high);
    }
  }
}

TEST_CASE("BoundedNumber: a start on a bound is moved inside, where there is a slope") {
  const BoundedNumber map{0, 10};
  CHECK(map.slope_of(map.free_of(0)) > 0.1);
  CHECK(map.value_of(map.free_of(0)) == doctest::Approx(0.005));
}

}  // namespace cycloid::bounded_number_test
