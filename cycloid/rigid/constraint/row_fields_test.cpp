#include "cycloid/rigid/constraint/row_fields.h"

#include <doctest/doctest.h>

#include <vector>

namespace cycloid::row_fields_test {

TEST_CASE("RowFieldBars: clear leaves zeros for every body in all five") {
  const Force<double> W{{1, 2, 3}, {4, 5, 6}};
  std::vector<Force<double>> m(3, W), alpha(m), a(m), v(m), pose(m);
  const RowFieldBars<double> bars{m.data(), alpha.data(), a.data(), v.data(), pose.data()};
  bars.clear(2);
  for (const auto* list : {&m, &alpha, &a, &v, &pose}) {
    for (std::size_t b = 0; b < 3; ++b) {
      CHECK(((*list)[b].torque.y == 0) == (b < 2));
      CHECK(((*list)[b].force.z == 0) == (b < 2));
    }
  }
}

}  // namespace cycloid::row_fields_test
