// A Field in dual numbers as what moves bare motion: W environments and a tangent of each.
#pragma once

#include "cycloid/learn/field.h"
#include "cycloid/system/feedback.h"

namespace cycloid::inline learn {

// lanes: W values and W tangents.
std::shared_ptr<const Feedback<double>> learned_in_duals(
    std::shared_ptr<const FieldPlan<double>> plan, int lanes);

}  // namespace cycloid::inline learn
