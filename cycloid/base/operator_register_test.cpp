#include "cycloid/base/operator_register.h"

#include <doctest/doctest.h>

namespace cycloid {

TEST_CASE("operator_register: an entry is differentiable exactly when it gives no reason") {
  constexpr Operator kEntries[] = {
      differentiable("cross"),
      not_differentiable("ldlt_factor", "its solve is differentiated by the implicit rule"),
  };
  static_assert(kEntries[0].is_differentiable());
  static_assert(!kEntries[1].is_differentiable());
  CHECK(kEntries[0].name == "cross");
  CHECK(kEntries[1].name == "ldlt_factor");
  CHECK(kEntries[1].reason == "its solve is differentiated by the implicit rule");
}

}  // namespace cycloid
