#include "cycloid/rigid/constraint/connect.h"

#include "cycloid/rigid/constraint/row_case_test.h"

namespace cycloid::connect_test {

using test::Numbers;

TEST_CASE("connect: rate and acceleration are the residual's time derivatives, J gives the rate") {
  using D = Dual<double, 1>;
  test::follow_in_time([](const StaticRows& rows, const test::RowScene<double>& at,
                          const test::RowScene<D>& in_time, const Numbers& products) {
    CHECK(rows.connects.size() == 4);
    const std::size_t entry = rows.joint_limits.size() + rows.dof_frictions.size();
    for (std::size_t c = 0; c < rows.connects.size(); ++c) {
      const Anchor* end = rows.connects[c].end;
      const AnchorPair<double> now(end, at.scene.p.data(), at.instant(at.a.data()));
      const AnchorPair<D> later(end, in_time.scene.p.data(), in_time.instant(in_time.a.data()));
      const std::size_t row = static_cast<std::size_t>(at.place[entry + c]);
      for (int k = 0; k < 3; ++k) {
        CHECK(later.residual[k].tangent[0] == doctest::Approx(now.rate[k]).epsilon(1e-12));
        CHECK(later.rate[k].tangent[0] == doctest::Approx(now.acceleration[k]).epsilon(1e-12));
        CHECK(products[row + static_cast<std::size_t>(k)] ==
              doctest::Approx(now.rate[k]).epsilon(1e-12));
      }
    }
  });
}

}  // namespace cycloid::connect_test
