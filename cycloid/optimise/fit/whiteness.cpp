#include "cycloid/optimise/fit/whiteness.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline optimise {
namespace {

constexpr std::size_t kMostLags = 10;

// Q(a, x) = Γ(a, x) / Γ(a): by the series of P below a + 1, else by the continued fraction.
double upper_gamma(double a, double x) {
  if (x <= 0) return 1;
  const double front = std::exp(-x + a * std::log(x) - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < 1000 && std::abs(term) > 1e-17 * std::abs(sum); ++n) {
      sum += term *= x / (a + n);
    }
    return 1 - front * sum;
  }
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int n = 1; n < 1000; ++n) {  // Lentz
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = b + an / c;
    c = std::abs(c) < kTiny ? kTiny : c;
    const double factor = c * d;
    h *= factor;
    if (std::abs(factor - 1) < 1e-16) break;
  }
  return front * h;
}

}  // namespace

double chi_square_above(double x, double degrees) {
  return std::clamp(upper_gamma(degrees / 2, x / 2), 0.0, 1.0);
}

double ljung_box(const std::vector<std::vector<double>>& series) {
  double Q = 0, degrees = 0;
  for (const std::vector<double>& given : series) {
    const std::size_t n = given.size(), h = std::min(kMostLags, n / 5);
    if (h == 0) continue;
    std::vector<double> e = given;
    double mean = 0, square = 0;
    for (const double v : e) mean += v / static_cast<double>(n);
    for (double& v : e) v -= mean, square += v * v;
    const double N = static_cast<double>(n);
    if (square <= 1e-24 * N * mean * mean) continue;  // constant, but for rounding
    for (std::size_t k = 1; k <= h; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i + k < n; ++i) sum += e[i] * e[i + k];
      const double rho = sum / square;                              // (1)
      Q += N * (N + 2) * rho * rho / (N - static_cast<double>(k));  // (2)
    }
    degrees += static_cast<double>(h);
  }
  return degrees > 0 ? chi_square_above(Q, degrees) : 1;
}

}  // namespace cycloid::inline optimise
