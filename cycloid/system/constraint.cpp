#include "cycloid/system/constraint.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline system {
namespace {

// Σ = ½ tr(I) 1 - I, the second moment of mass, as (xx yy zz xy xz yz).
void second_moment(const double* p, double* m) {
  const double half_trace = 0.5 * p[0] + 0.5 * p[1] + 0.5 * p[2];
  for (int i = 0; i < 3; ++i) m[i] = half_trace - p[i];
  for (int i = 3; i < 6; ++i) m[i] = -p[i];
}

// The Cholesky factor of (5) in its free variables; false when Σ is not positive definite.
bool inertia_to_free(const double* p, double* z) {
  double m[6];
  second_moment(p, m);
  const double a2 = m[0];
  if (!(a2 > 0)) return false;
  const double a = std::sqrt(a2);
  z[3] = m[3] / a;
  z[4] = m[4] / a;
  const double b2 = m[1] - z[3] * z[3];
  if (!(b2 > 0)) return false;
  const double b = std::sqrt(b2);
  z[5] = (m[5] - z[3] * z[4]) / b;
  const double c2 = m[2] - z[4] * z[4] - z[5] * z[5];
  if (!(c2 > 0)) return false;
  z[0] = std::log(a);
  z[1] = std::log(b);
  z[2] = 0.5 * std::log(c2);
  return true;
}

double scalar_to_free(Constraint constraint, double p) {
  switch (constraint) {
    case Constraint::positive: return std::log(p);
    case Constraint::non_negative: {
      const double inside = std::max(p, kBorder);
      return inside > 30 ? inside : std::log(std::expm1(inside));
    }
    case Constraint::unit_interval: {
      const double inside = std::clamp(p, kBorder, 1 - kBorder);
      return std::log(inside) - std::log1p(-inside);
    }
    default: return p;
  }
}

}  // namespace

const char* describe(Constraint constraint) {
  switch (constraint) {
    case Constraint::positive: return "positive";
    case Constraint::non_negative: return "zero or positive";
    case Constraint::unit_interval: return "between 0 and 1";
    case Constraint::inertia:
      return "the inertia (xx yy zz xy xz yz) of a real body: positive definite, and no principal "
             "moment above the sum of the other two";
    default: return "any number";
  }
}

bool satisfies(Constraint constraint, const double* p, int size) {
  for (int i = 0; i < size; ++i) {
    const bool ok = constraint == Constraint::positive        ? p[i] > 0
                    : constraint == Constraint::non_negative  ? p[i] >= 0
                    : constraint == Constraint::unit_interval ? p[i] >= 0 && p[i] <= 1
                                                              : true;
    if (!ok || !std::isfinite(p[i])) return false;
  }
  double z[6];
  return constraint != Constraint::inertia || (size == 6 && inertia_to_free(p, z));
}

void free_from_value(Constraint constraint, const double* p, int size, double* z) {
  if (constraint == Constraint::inertia) {
    inertia_to_free(p, z);
    return;
  }
  for (int i = 0; i < size; ++i) z[i] = scalar_to_free(constraint, p[i]);
}

}  // namespace cycloid::inline system
