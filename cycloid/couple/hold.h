// hold: the System whose step is several steps of another, under one input (a zero-order hold).
//
//   x_0 = x,   x_{i+1} = step(x_i, u, p),   i = 0 … k-1,   x⁺ = x_k                          (1)
// and back, from x̄_k = x̄⁺:
//   (x̄_i, ū, p̄) += step_pullback(x_i, u, p, x̄_{i+1})                                      (2)
// Its time step is k times the inner one, whose option.timestep goes by "inner.timestep": what a
// feedback gives (close_loop) then acts for k inner steps, as actions of Gymnasium's tasks do.
#pragma once

#include "cycloid/system/system.h"

namespace cycloid::inline couple {

// Throws Error where steps < 1, and ModelError for a System with events or a large world.
System hold(const System& system, int steps);

}  // namespace cycloid::inline couple
