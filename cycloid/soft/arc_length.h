// arc_length: places of rest of a body under a share λ of its loads, along a path on which λ may
// fall as well as rise, as it does where the body snaps.
//
//   r(y, λ) = 0, r that of minimise.h, whose loads and held numbers are λ times theirs      (1)
// A step of length s [m] begins along the path,
//   H d = -∂r/∂λ,   Δy = Δλ d,   |Δλ d| = s, on the side to which the last step went        (2)
// with |d|² the mean over vertices of their squared displacement, and is mended by Newton's method
// in the plane across the step so far (Riks1979):
//   H e = -r,   δλ = -Δy·e / Δy·d,   Δy += e + δλ d,   Δλ += δλ                             (3)
// H has a negative eigenvalue beyond each limit point; regular_solver.h solves with it. A step that
// does not converge, or turns off by more than 60°, is halved; one that was easy makes the next
// longer, up to the length that was asked for. The path ends where λ reaches 1, or with its steps.
#pragma once

#include <functional>
#include <vector>

#include "cycloid/soft/regular_solver.h"

namespace cycloid::inline soft {

struct PathPoint {
  double load = 0;        // λ
  std::vector<double> y;  // (numbers)
  bool stable = true;     // H is positive definite
};

struct RestPath {
  std::vector<PathPoint> points;
  bool complete = false;  // the last one has λ = 1
  int iterations = 0;     // factorisations
};

// The problem under a share of the loads. Its origin and targets may depend on λ, all in a straight
// line.
using ProblemAt = std::function<Incremental(double load)>;

// start: the place of rest without loads. length: of a step [m].
RestPath follow_path(const SolidPlan& plan, const SolidKernels& kernels, const ProblemAt& problem,
                     const std::vector<double>& start, double length, int most_steps, int threads);

// With H at y, under the load of the problem.
RegularSolver solver_at(const SolidPlan& plan, const SolidKernels& kernels,
                        const Incremental& problem, const std::vector<double>& y, int threads);

}  // namespace cycloid::inline soft
