#include "cycloid/math/dual_levels.h"

#include <doctest/doctest.h>

#include "cycloid/math/pack.h"

namespace cycloid {

TEST_CASE("kDualLevels: counts Duals, whatever they are made of") {
  CHECK(kDualLevels<double> == 0);
  CHECK(kDualLevels<Pack<float, 4>> == 0);
  CHECK(kDualLevels<Dual<Pack<double, 4>, 1>> == 1);
  CHECK(kDualLevels<Dual<Dual<double, 1>, 3>> == 2);
}

}  // namespace cycloid
