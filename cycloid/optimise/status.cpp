#include "cycloid/optimise/status.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline optimise {

const char* name(OptimiserStatus status) {
  switch (status) {
    case OptimiserStatus::converged_gradient: return "converged_gradient";
    case OptimiserStatus::converged_step: return "converged_step";
    case OptimiserStatus::converged_value: return "converged_value";
    case OptimiserStatus::line_search_failed: return "line_search_failed";
    case OptimiserStatus::max_iterations: return "max_iterations";
    case OptimiserStatus::non_finite: return "non_finite";
    case OptimiserStatus::rank_deficient: return "rank_deficient";
    case OptimiserStatus::stopped: return "stopped";
  }
  return "unknown";
}

std::string advice(OptimiserStatus status) {
  switch (status) {
    case OptimiserStatus::converged_gradient:
      return "Converged: the gradient is within its tolerance of zero.";
    case OptimiserStatus::converged_step:
      return "Converged: the variables move by less than their tolerance.";
    case OptimiserStatus::converged_value:
      return "Converged: the value falls by less than its tolerance, and no more is to be "
             "expected.";
    case OptimiserStatus::line_search_failed:
      return "No lower value was found along the search direction. Either the value is exact to "
             "rounding already, which a looser gradient_tolerance accepts, or value and gradient "
             "do not belong together: hold the gradient to differences (check_gradient), and look "
             "for jumps in the value.";
    case OptimiserStatus::max_iterations:
      return "Stopped at max_iterations before converging. Allow more, start nearer, or scale the "
             "variables so that a unit of each matters about as much.";
    case OptimiserStatus::non_finite:
      return "The function or its derivative is not finite where the search stands. Start where it "
             "is, and see which input leads there (diagnose names the first non-finite number of a "
             "rollout).";
    case OptimiserStatus::rank_deficient:
      return "The residuals do not change along some direction of the variables (`undetermined`), "
             "so there is no single best estimate and no covariance. Fix one of the variables "
             "involved, or add measurements that tell them apart.";
    case OptimiserStatus::stopped: return "Stopped, as asked, before it converged.";
  }
  return "";
}

bool is_converged(OptimiserStatus status) {
  return status == OptimiserStatus::converged_gradient ||
         status == OptimiserStatus::converged_step || status == OptimiserStatus::converged_value;
}

bool all_finite(std::span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace cycloid::inline optimise
