// single_observer: a flow that steps in single precision, observed in double.
#pragma once

#include "cycloid/system/observer.h"

namespace cycloid::inline fluid {

struct ObservedSizes {
  int states, inputs, parameters;
};

// of: an observer of one lane.
std::shared_ptr<const ChunkObserver<float>> single_observer(
    std::shared_ptr<const DifferentiableObserver> of, const ObservedSizes& sizes);

}  // namespace cycloid::inline fluid
