// Numbers as people read them, in the terminal and on the page.
#pragma once

#include <string>

namespace cycloid::inline page {

// With so many digits after the point: "-0.05". Never "-0.00".
std::string fixed(double value, int digits);

// With so many significant digits, without an exponent: "0.0479", "1250".
std::string significant(double value, int digits = 3);

// A minus sign (U+2212) instead of a hyphen.
std::string typeset(std::string number);

// "10⁻³"
std::string power_of_ten(int exponent);

// A small or large number in words of powers of ten: "4 × 10⁻¹¹".
std::string scientific(double value);

// A length in the unit that suits it. shown = value · scale.
struct Quantity {
  double scale = 1;
  std::string unit;
};
Quantity unit_of_length(double metres);

// "21.6 m", "0.77 mm", "96 nm"
std::string length_text(double metres);

}  // namespace cycloid::inline page
