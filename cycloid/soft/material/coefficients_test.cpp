#include "cycloid/soft/material/coefficients.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("lame: the numbers of the table of uniaxial stretch, and their pullback") {
  const Coefficients<double> c = lame(1000.0, 0.3);
  CHECK(c.mu == doctest::Approx(384.615385).epsilon(1e-8));
  CHECK(c.lam == doctest::Approx(576.923077).epsilon(1e-8));
  test::check_pullback(
      "lame", 2,
      []<class S>(const S* in, S* out) {
        const Coefficients<S> made = lame(in[0], in[1]);
        out[0] = made.mu, out[1] = made.lam;
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        lame_pullback(in[0], in[1], {out_bar[0], out_bar[1], S(0)}, in_bar[0], in_bar[1]);
      },
      {{3, 0.3}, {2, -0.4}, {1, 0.49}, {5, 0.0}});
}

}  // namespace cycloid
