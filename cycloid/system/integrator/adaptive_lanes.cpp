#include "cycloid/system/integrator/adaptive_lanes.h"

#include "cycloid/base/error.h"

namespace cycloid::inline system {

StepTrouble explain_substeps(const char* method, int status, int most_substeps) {
  switch (status) {
    case kTooMany:
      return {method, "",
              message("more than ", most_substeps,
                      " substeps in one step: the law is stiff (try sdirk4), the step too long for "
                      "it, or rtol and atol too small")};
    case kTooShort:
      return {method, "",
              "its substeps became shorter than time can be told apart: the law is singular or not "
              "finite there, or rtol and atol are too small"};
    case kNotFinite:
      return {method, "", "the rate of change (x_dot) at the start of the step is not finite"};
    default: return {};
  }
}

}  // namespace cycloid::inline system
