// A plan as a page: how it ended, its inputs and states over time, and its cost on the way.
#pragma once

#include <string>

#include "cycloid/optimise/plan.h"
#include "cycloid/page/page.h"

namespace cycloid::inline optimise {

// `timestep`: of the plan [s]. `low`, `high`: of the inputs, or empty. `verdict`: a sentence on
// top, or empty.
Page plan_page(const System& system, const Plan& plan, double timestep,
               std::span<const double> low = {}, std::span<const double> high = {},
               const std::string& verdict = "");

}  // namespace cycloid::inline optimise
