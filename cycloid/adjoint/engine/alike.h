// Environments whose steps have like work, side by side.
//
// A chunk works as long as its busiest lane: lanes that touch the same things, in like numbers, are
// quicker together. A Stepper that knows gives every environment a key at the start of a run, which
// names what its step works at (Stepper::work_keys). Chunks are filled in the order of keys; but
// where chunks in the order that the user gave work at hardly more (a third), that order stays, for
// neighbours that come along a run are alike for longer than the key of its start can tell. No
// number of an environment depends on its neighbours, so that the order is seen in the time alone,
// and in the rounding of sums over environments.
#pragma once

#include "cycloid/adjoint/engine/run.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::inline adjoint {

// Runs shorter than this stay as they are: the keys cost about half a step.
inline constexpr std::int64_t kWorthOrdering = 8;

// Chooses run.order.
template <class T>
void put_alike_together(Run<T>& run, const KeepGoing& keep_going);

}  // namespace cycloid::inline adjoint
