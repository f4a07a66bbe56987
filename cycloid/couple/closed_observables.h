// What a closed loop shows: what its inner System shows, under the input of the feedback.
//
//   y = observe(x, u(x), p, t)
//   ū of the inner pullback goes on through the feedback, to x̄ and to its parameters
// An energy stays the inner System's: that of its bodies and springs, to which the feedback adds.
#pragma once

#include "cycloid/couple/closing.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline couple {

// Of a System with these inner parts.
std::shared_ptr<const Observables> closed_observables(const SystemParts& inner,
                                                      const Closing& closing);

}  // namespace cycloid::inline couple
