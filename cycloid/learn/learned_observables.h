// What a learned law shows besides its state: x_dot, and its energy where it has one.
#pragma once

#include "cycloid/learn/learned_law.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline learn {

std::shared_ptr<const Observables> learned_observables(const LearnedLaw& law,
                                                       const systems::Settings& settings);

}  // namespace cycloid::inline learn
