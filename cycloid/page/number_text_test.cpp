#include "cycloid/page/number_text.h"

#include <doctest/doctest.h>

namespace cycloid::inline page {

TEST_CASE("number_text: digits after the point, and no negative zero") {
  CHECK(fixed(1.005, 1) == "1.0");
  CHECK(fixed(-0.26, 1) == "-0.3");
  CHECK(fixed(-0.004, 2) == "0.00");
  CHECK(fixed(-0.0, 0) == "0");
  CHECK(fixed(12.5, -3) == "12");
}

TEST_CASE("number_text: significant digits, also where rounding carries") {
  CHECK(significant(0.047923) == "0.0479");
  CHECK(significant(9.996) == "10.0");
  CHECK(significant(0.9996) == "1.00");
  CHECK(significant(1254.4) == "1250");
  CHECK(significant(-21.55) == "-21.6");
  CHECK(significant(0.000001, 1) == "0.000001");
  CHECK(significant(0) == "0");
}

TEST_CASE("number_text: powers of ten, minus signs") {
  CHECK(power_of_ten(0) == "1");
  CHECK(power_of_ten(1) == "10");
  CHECK(power_of_ten(-12) == "10⁻¹²");
  CHECK(scientific(4.04e-11) == "4 × 10⁻¹¹");
  CHECK(scientific(9.7e5) == "1 × 10⁶");
  CHECK(scientific(-2e3) == "−2 × 10³");
  CHECK(typeset("-3.5") == "−3.5");
  CHECK(typeset("3.5") == "3.5");
}

TEST_CASE("number_text: lengths in the unit that suits them") {
  CHECK(length_text(22.53) == "22.5 m");
  CHECK(length_text(0.9999) == "1.00 m");
  CHECK(length_text(0.241) == "24.1 cm");
  CHECK(length_text(0.00198903) == "1.99 mm");
  CHECK(length_text(42.7e-6) == "42.7 µm");
  CHECK(length_text(132.6e-9) == "133 nm");
}

}  // namespace cycloid::inline page
