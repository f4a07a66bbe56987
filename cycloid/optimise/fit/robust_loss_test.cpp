#include "cycloid/optimise/fit/robust_loss.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

namespace cycloid::robust_loss_test {

TEST_CASE("robust_loss: the weight is the slope over the residual, on both sides of the bend") {
  for (const Loss loss : {Loss::squared, Loss::huber, Loss::cauchy}) {
    CAPTURE(name(loss));
    for (const double r : {-5.0, -1.0, 0.3, 1.3, 1.4, 8.0}) {
      const double e = 1e-5, slope = (loss_of(loss, r + e) - loss_of(loss, r - e)) / (2 * e);
      CHECK(weight_of(loss, r) * r == doctest::Approx(slope).epsilon(1e-8));
    }
    CHECK(weight_of(loss, 0) == 1);
    CHECK(loss_of(loss, 0) == 0);
  }
}

TEST_CASE("robust_loss: far out Huber grows like a line and Cauchy like a logarithm") {
  CHECK(loss_of(Loss::huber, 101) - loss_of(Loss::huber, 100) == doctest::Approx(1.345));
  const double k = 2.385;
  CHECK(loss_of(Loss::cauchy, 1e6) - loss_of(Loss::cauchy, 1e5) ==
        doctest::Approx(k * k * std::log(10.0)).epsilon(1e-6));
}

}  // namespace cycloid::robust_loss_test
