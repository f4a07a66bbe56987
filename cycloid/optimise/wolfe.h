// Strong-Wolfe line search: how far to go along a direction that leads down.
//
// φ(a) = f(x + a d) with slope φ'(0) < 0. A step length a is accepted when
//   φ(a)  ≤ φ(0) + c1 a φ'(0)            (1)  the value falls by its share
//   |φ'(a)| ≤ c2 |φ'(0)|                 (2)  the slope has flattened
// 0 < c1 < c2 < 1; (2) makes the curvature that a quasi-Newton update sees positive.
//
// Algorithms 3.5 and 3.6 of [NocedalWright2006]. First the step grows until an interval is known to
// hold such an a; then the interval shrinks around it, by the minimiser of the cubic through values
// and slopes at its ends, kept away from them:
//   a_c = b - (b - a) (φ'(b) + q - w) / (φ'(b) - φ'(a) + 2 q)                        (3)
//   w = φ'(a) + φ'(b) - 3 (φ(a) - φ(b)) / (a - b),   q = sign(b - a) √(w² - φ'(a) φ'(b))
// Where φ is not finite the interval shrinks towards the side where it is. A decrease smaller than
// the rounding of φ(0) cannot be seen: (1) is meant up to kValueRounding |φ(0)|.
#pragma once

#include <functional>

namespace cycloid::inline optimise {

struct LinePoint {
  double a = 0;      // step length
  double value = 0;  // φ(a)
  double slope = 0;  // φ'(a)
};

using LineFunction = std::function<LinePoint(double a)>;

inline constexpr double kValueRounding = 4 * 2.220446049250313e-16;

struct WolfeOptions {
  double c1 = 1e-4;
  double c2 = 0.9;
  int max_evaluations = 40;
  double max_step = 1e10;
};

enum class LineStatus {
  wolfe,     // (1) and (2)
  decrease,  // (1) only: the evaluations were spent, or max_step was reached
  failed     // not even (1)
};

struct LineResult {
  LineStatus status = LineStatus::failed;
  LinePoint point;  // the start where it failed
  int evaluations = 0;
};

// (1) and (2) at p.
bool decreases_enough(const LinePoint& start, const LinePoint& p, const WolfeOptions& options);
bool flattens_enough(const LinePoint& start, const LinePoint& p, const WolfeOptions& options);

// `start` is φ at 0, `first` the step length tried first. Throws Error on options out of their
// range, or a slope at the start that is not negative.
LineResult wolfe_search(const LineFunction& phi, const LinePoint& start, double first,
                        const WolfeOptions& options = {});

}  // namespace cycloid::inline optimise
