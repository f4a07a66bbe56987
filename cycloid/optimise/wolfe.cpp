#include "cycloid/optimise/wolfe.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline optimise {
namespace {

constexpr double kGrowLeast = 2, kGrowMost = 10;  // of the step, while no interval is known
constexpr double kMargin = 0.1;                   // of the interval, kept from its ends
constexpr double kSlow = 0.6;  // an interval that two trials did not shrink by this much is halved

bool is_finite(const LinePoint& p) { return std::isfinite(p.value) && std::isfinite(p.slope); }

// Higher by more than rounding. Values that rounding makes equal are told apart by their slopes.
bool is_above(const LinePoint& p, const LinePoint& q) {
  return p.value > q.value + kValueRounding * std::abs(q.value);
}

// (3); not a number where the cubic has no minimiser.
double cubic_minimiser(const LinePoint& a, const LinePoint& b) {
  const double w = a.slope + b.slope - 3 * (a.value - b.value) / (a.a - b.a);
  const double q = std::copysign(std::sqrt(w * w - a.slope * b.slope), b.a - a.a);
  return b.a - (b.a - a.a) * (b.slope + q - w) / (b.slope - a.slope + 2 * q);
}

class Search {
 public:
  Search(const LineFunction& phi, const LinePoint& start, const WolfeOptions& options)
      : phi_(phi), start_(start), options_(options), best_{LineStatus::failed, start, 0} {}

  LineResult run(double first) {
    LinePoint previous = start_;
    double a = std::min(first, options_.max_step);
    while (budget_left()) {
      const LinePoint p = evaluate(a);
      const bool rises = previous.a > 0 && is_above(p, previous);
      if (!is_finite(p) || !decreases_enough(start_, p, options_) || rises) {
        return zoom(previous, p);
      }
      if (accepted(p)) return best_;
      if (p.slope >= 0) return zoom(p, previous);
      if (a >= options_.max_step) return best_;
      a = std::min(grown(previous, p), options_.max_step);
      previous = p;
    }
    return best_;
  }

 private:
  bool budget_left() const { return best_.evaluations < options_.max_evaluations; }

  // Keeps the lowest point with (1) at hand, for the case that none with (2) is found. Without (2)
  // a decrease must be seen, not only be possible within rounding.
  LinePoint evaluate(double a) {
    LinePoint p = phi_(a);
    p.a = a;
    ++best_.evaluations;
    if (is_finite(p) && decreases_enough(start_, p, options_) && p.value < best_.point.value) {
      best_.status = LineStatus::decrease;
      best_.point = p;
    }
    return p;
  }

  bool accepted(const LinePoint& p) {
    if (!flattens_enough(start_, p, options_)) return false;
    best_.status = LineStatus::wolfe;
    best_.point = p;
    return true;
  }

  static double grown(const LinePoint& previous, const LinePoint& p) {
    const double a = cubic_minimiser(previous, p);
    if (!(a > p.a)) return kGrowLeast * p.a;  // also where a is not a number
    return std::clamp(a, kGrowLeast * p.a, kGrowMost * p.a);
  }

  // `low` has (1) and the lowest value so far, and its slope points towards `high`.
  LineResult zoom(LinePoint low, LinePoint high) {
    double width_two_ago = INFINITY, width_before = INFINITY;
    while (budget_left()) {
      const double width = std::abs(high.a - low.a);
      if (width <= 1e-16 * std::max(low.a, high.a)) break;
      const bool slow = width > kSlow * width_two_ago;
      width_two_ago = width_before, width_before = width;
      const LinePoint p = evaluate(trial(low, high, slow));
      if (!is_finite(p) || !decreases_enough(start_, p, options_) || is_above(p, low)) {
        high = p;
        continue;
      }
      if (accepted(p)) break;
      if (p.slope * (high.a - low.a) >= 0) high = low;
      low = p;
    }
    return best_;
  }

  static double trial(const LinePoint& low, const LinePoint& high, bool slow) {
    const double width = high.a - low.a;
    if (slow) return low.a + 0.5 * width;
    // Not finite where `high` is not, too: then the interval is halved.
    const double share = (cubic_minimiser(low, high) - low.a) / width;
    return low.a + (std::isfinite(share) ? std::clamp(share, kMargin, 1 - kMargin) : 0.5) * width;
  }

  const LineFunction& phi_;
  const LinePoint start_;
  const WolfeOptions options_;
  LineResult best_;
};

}  // namespace

bool decreases_enough(const LinePoint& start, const LinePoint& p, const WolfeOptions& options) {
  return p.value <=
         start.value + options.c1 * p.a * start.slope + kValueRounding * std::abs(start.value);
}

bool flattens_enough(const LinePoint& start, const LinePoint& p, const WolfeOptions& options) {
  return std::abs(p.slope) <= options.c2 * std::abs(start.slope);
}

LineResult wolfe_search(const LineFunction& phi, const LinePoint& start, double first,
                        const WolfeOptions& options) {
  if (!(0 < options.c1 && options.c1 < options.c2 && options.c2 < 1)) {
    throw Error(message("line search: expected 0 < c1 < c2 < 1, got c1 = ", options.c1,
                        ", c2 = ", options.c2));
  }
  if (!(first > 0 && options.max_step > 0 && options.max_evaluations > 0)) {
    throw Error(message("line search: first step ", first, ", max_step ", options.max_step,
                        " and max_evaluations ", options.max_evaluations, " must be positive"));
  }
  if (!(start.slope < 0)) {
    throw Error(message("line search: the slope at the start is ", start.slope,
                        "; the direction must lead down"));
  }
  return Search(phi, start, options).run(first);
}

}  // namespace cycloid::inline optimise
