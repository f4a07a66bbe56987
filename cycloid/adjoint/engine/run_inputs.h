// From what a user gives to a Run: sizes, rows and numbers are checked here, once, with messages
// that name them.
#pragma once

#include "cycloid/adjoint/engine/run.h"

namespace cycloid::inline adjoint {

// A Run for these inputs, all but what the engine decides.
template <class T>
Run<T> checked_run(const System& system, std::span<const T> x0, const Controls<T>& controls,
                   std::span<const double> params, const RolloutOptions& options);

// Where these times lie in a run of steps of length h [s] from t0. Throws Error unless they
// increase and lie within it.
std::vector<Sample> samples_at(std::span<const double> times, double t0, std::int64_t steps,
                               double h);

// Why the law of a run whose numbers were changed since refuses a start (admission.h), or nothing.
std::string refused_start(const Run<double>& run);

// The forward run itself, for a Run that has all its parts.
template <class T>
Trajectory<T> roll_out(Run<T> run, const KeepGoing& keep_going);

// Throws GradientError where the report names an environment that failed or is not solved.
void refuse_failed(const Report& report);
// ... of a step to be linearised; unsolved: a solver that stopped short is accepted.
void refuse_unfit(const Report& report, bool unsolved);

// NaN for parameters that have no derivative, in rows of their cotangents.
void mark_not_differentiable(const Parameters& registry, std::vector<double>& rows);

// Throws Error unless every number is finite; `what` and the shape's row length name the place.
template <class T>
void check_finite(std::span<const T> values, const char* what, std::int64_t row,
                  const Space* space);

}  // namespace cycloid::inline adjoint
