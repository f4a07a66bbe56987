#include "cycloid/page/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cycloid::inline page {

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", std::max(0, digits), value);
  if (text[0] == '-' && std::string(text).find_first_of("123456789") == std::string::npos) {
    return text + 1;
  }
  return text;
}

std::string significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return fixed(value, 0);
  // Rounding may carry into another digit: 9.996 has its first digit at 10.
  const double magnitude = std::floor(std::log10(std::abs(value)));
  const double unit = std::pow(10.0, magnitude - digits + 1);
  const double rounded = std::round(value / unit) * unit;
  const int first = static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-12));
  return fixed(rounded, std::max(0, digits - 1 - first));
}

std::string typeset(std::string number) {
  if (!number.empty() && number[0] == '-') number.replace(0, 1, "\u2212");
  return number;
}

std::string power_of_ten(int exponent) {
  static const char* const kSuperscripts[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (exponent == 0) return "1";
  if (exponent == 1) return "10";
  std::string text = "10";
  for (const char c : std::to_string(exponent)) text += c == '-' ? "⁻" : kSuperscripts[c - '0'];
  return text;
}

std::string scientific(double value) {
  if (value == 0) return "0";
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  double leading = std::round(value / std::pow(10.0, exponent));
  if (std::abs(leading) >= 10) leading /= 10, ++exponent;
  return typeset(fixed(leading, 0)) + " × " + power_of_ten(exponent);
}

Quantity unit_of_length(double metres) {
  const double size = std::abs(metres);
  if (size >= 0.995) return {1, "m"};
  if (size >= 0.00995) return {1e2, "cm"};
  if (size >= 0.000995) return {1e3, "mm"};
  if (size >= 0.995e-6) return {1e6, "µm"};
  return {1e9, "nm"};
}

std::string length_text(double metres) {
  const Quantity q = unit_of_length(metres);
  return significant(metres * q.scale, 3) + " " + q.unit;
}

}  // namespace cycloid::inline page
