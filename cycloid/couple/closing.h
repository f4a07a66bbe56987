// A loop that is closed by a feedback (system/feedback.h): the step under the inputs that it gives.
#pragma once

#include <functional>

#include "cycloid/system/feedback.h"

namespace cycloid::inline couple {

// How the loop is closed: the outer System has the first `open` inputs of the inner one, and what
// the feedback gives is added to `outputs` inputs from `at` on.
struct Closing {
  std::shared_ptr<const FeedbackLaw> law;
  int open = 0, at = 0, outputs = 0;
  bool noisy = false;  // what it gives depends on the environment and the step
  std::function<System(const System& other)> again;  // the same around another inner System
};

struct AddedParameter {
  Parameter parameter;
  std::vector<double> value;
};

// The System in which the loop is closed, with the feedback's own parameters: those in lanes behind
// the inner numbers, arrays behind the inner arrays.
System close_with(const System& system, const Closing& closing, const std::string& name,
                  const std::vector<AddedParameter>& added);

// Parts around a System are varied (system/variant.h) by varying it and making them `again`, with
// the defaults and the initial state that they have.
void vary_inside(const System& system, const std::function<System(const System& other)>& again,
                 SystemParts& parts);

}  // namespace cycloid::inline couple
