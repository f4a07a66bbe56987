// The closed-form laws with events, by name.
#pragma once

#include <string_view>

#include "cycloid/system/laws/bead_on_curve.h"
#include "cycloid/system/laws/bouncing_ball.h"
#include "cycloid/system/laws/rimless_wheel.h"
#include "cycloid/system/laws/stick_slip.h"

namespace cycloid::inline system {

// Calls function(law) for the law of that name, if it is one of these; returns whether it is. `n`
// is its size, where it has one.
template <class Function>
bool for_event_law(std::string_view name, int n, Function&& function) {
  const auto try_law = [&]<class Law>(const Law& law) {
    if (name != Law::kName) return false;
    function(law);
    return true;
  };
  return try_law(BouncingBall{}) || try_law(BeadOnCurve{n}) || try_law(StickSlip{}) ||
         try_law(RimlessWheel{});
}

}  // namespace cycloid::inline system
