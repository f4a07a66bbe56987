// gaussian_score.h: how well a normal forecast met what came, and its derivatives.
//
// With the miss e = mean - truth and the stated deviation s > 0, z = e / s, φ and Φ the normal
// density and distribution:
//   likelihood   L = ½ z² + log s                               (1)  [nat], without ½ log 2π
//   CRPS         C = s (z (2 Φ(z) - 1) + 2 φ(z) - 1/√π)         (2)  [unit of e]
// (2) is the continuous ranked probability score [Gneiting2007]: it grows with |e|, not with its
// square, so that outliers count less than in (1). Both are least in the mean where s is the true
// deviation. At s = 0 (2) is |e|.
#pragma once

#include <cmath>
#include <numbers>

namespace cycloid::inline learn {

enum class GaussianScore { likelihood, crps };

inline double normal_density(double z) {
  return std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}
inline double normal_distribution(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

inline double gaussian_likelihood(double e, double s) {
  return 0.5 * (e / s) * (e / s) + std::log(s);  // (1)
}

inline double gaussian_crps(double e, double s) {
  if (!(s > 0)) return std::abs(e);
  const double z = e / s;
  return s * (z * (2 * normal_distribution(z) - 1) + 2 * normal_density(z) -
              std::numbers::inv_sqrtpi);  // (2)
}

struct GaussianScoreGradient {
  double e = 0, s = 0;
};

inline GaussianScoreGradient gaussian_likelihood_gradient(double e, double s) {
  const double z = e / s;
  return {z / s, (1 - z * z) / s};  // (1)
}

inline GaussianScoreGradient gaussian_crps_gradient(double e, double s) {
  const double z = e / s;
  return {2 * normal_distribution(z) - 1, 2 * normal_density(z) - std::numbers::inv_sqrtpi};  // (2)
}

}  // namespace cycloid::inline learn
