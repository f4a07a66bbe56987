// Why an optimiser stopped, as a word and as advice.
#pragma once

#include <span>
#include <string>

namespace cycloid::inline optimise {

enum class OptimiserStatus {
  converged_gradient,  // the slope is as small as was asked
  converged_step,      // the variables no longer move
  converged_value,     // the value no longer falls
  line_search_failed,  // no lower value along a direction that should lead down
  max_iterations,
  non_finite,      // the function or its derivative is not finite where the search stands
  rank_deficient,  // the residuals do not feel some direction of the variables
  stopped,         // the callback asked for it
};

// "converged_gradient"
const char* name(OptimiserStatus status);

// What it means and what to try, one or two sentences.
std::string advice(OptimiserStatus status);

// True for the three kinds of converged.
bool is_converged(OptimiserStatus status);

// False: OptimiserStatus::non_finite.
bool all_finite(std::span<const double> numbers);

}  // namespace cycloid::inline optimise
