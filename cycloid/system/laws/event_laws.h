// The closed-form laws with events, by name.
#pragma once

#include <string_view>

#include "cycloid/system/laws/bouncing_ball.h"

namespace cycloid::inline system {

// Calls function(law) for the law of that name, if it is one of these; returns whether it is. `n`
// is its size, where it has one.
template <class Function>
bool for_event_law(std::string_view name, [[maybe_unused]] int n, Function&& function) {
  const auto try_law = [&]<class Law>(const Law& law) {
    if (name != Law::kName) return false;
    function(law);
    return true;
  };
  return try_law(BouncingBall{});
}

}  // namespace cycloid::inline system
