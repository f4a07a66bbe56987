// The linear feedback in the lanes of steppers, in dual numbers too.
#pragma once

#include "cycloid/system/feedback.h"

namespace cycloid::inline couple {

// `numbers`: of the inner System, in lanes.
std::shared_ptr<const FeedbackLaw> linear_loop(const Space& states, int inputs, int numbers);

}  // namespace cycloid::inline couple
