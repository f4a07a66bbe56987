// A network's shape in both precisions, as Python holds it.
#pragma once

#include "cycloid/network/mlp_pass.h"

namespace cycloid::python {

struct Mlp {
  MlpPlan<float> float32;
  MlpPlan<double> float64;
};

}  // namespace cycloid::python
