#include "cycloid/rigid/solver/cone_stiffness.h"

#include "tests/support/pullback_check.h"

namespace cycloid::cone_stiffness_test {

TEST_CASE("ConeStiffness: products equal those of the matrix it stands for") {
  constexpr int n = 6;
  test::FixedNumbers random(2);
  ConeStiffness<double, n> K;
  K.beta = random.next();
  for (int k = 0; k < n; ++k) {
    K.diagonal[k] = random.next();
    K.cross[k] = random.next();
    K.z[k] = random.next();
  }
  const test::Numbers x = random.vector(n);
  test::Numbers y(n), arrow(n), expected(n, 0.0), expected_arrow(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double entry = i == j ? K.diagonal[i] : 0;
      if (i == 0 && j > 0) entry = K.cross[j];
      if (j == 0 && i > 0) entry = K.cross[i];
      expected_arrow[i] += entry * x[j];
      if (i > 0 && j > 0) entry += K.beta * K.z[i] * K.z[j];
      expected[i] += entry * x[j];
    }
  }
  K.multiply(x.data(), y.data());
  K.multiply_arrow(x.data(), arrow.data());
  CHECK(test::relative_error(y, expected) < 1e-15);
  CHECK(test::relative_error(arrow, expected_arrow) < 1e-15);
}

}  // namespace cycloid::cone_stiffness_test
