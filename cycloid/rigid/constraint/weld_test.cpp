#include "cycloid/rigid/constraint/weld.h"

#include "cycloid/rigid/constraint/row_case_test.h"

namespace cycloid::weld_test {

using test::Numbers;

TEST_CASE("weld: rate and acceleration of the turn are the residual's time derivatives") {
  using D = Dual<double, 1>;
  test::follow_in_time([](const StaticRows& rows, const test::RowScene<double>& at,
                          const test::RowScene<D>& in_time, const Numbers& products) {
    CHECK(rows.welds.size() == 4);
    const std::size_t entry =
        rows.joint_limits.size() + rows.dof_frictions.size() + rows.connects.size();
    for (std::size_t w = 0; w < rows.welds.size(); ++w) {
      const WeldTurn<double> now(rows.welds[w], at.scene.p.data(), at.instant(at.a.data()));
      const WeldTurn<D> later(rows.welds[w], in_time.scene.p.data(),
                              in_time.instant(in_time.a.data()));
      const std::size_t row = static_cast<std::size_t>(at.place[entry + w]) + 3;
      for (int k = 0; k < 3; ++k) {
        CHECK(later.residual[k].tangent[0] == doctest::Approx(now.rate[k]).epsilon(1e-12));
        CHECK(later.rate[k].tangent[0] == doctest::Approx(now.acceleration[k]).epsilon(1e-12));
        CHECK(products[row + static_cast<std::size_t>(k)] ==
              doctest::Approx(now.rate[k]).epsilon(1e-12));
      }
    }
  });
}

}  // namespace cycloid::weld_test
