// A network as a feedback: inputs from what is observed, clipped to their bounds.
//
//   o = [observation of x, v]          (1)  sight.h; v where the network sees open inputs
//   y = N(o; w)                        (2)  network/mlp.h
//   u = clip(y), number by number      (3)
//     hard   min(high, max(low, y));  its derivative is 1 where low <= y <= high, else 0
//     tanh   m + r tanh((y - m) / r),  m = (low + high)/2,  r = (high - low)/2
//     none   y
// An input without bounds is not clipped. Weights are arrays that lanes share; their cotangents are
// summed over the lanes that are not left out, in T over kStepsPerFlush steps, then in double.
#pragma once

#include "cycloid/couple/closing.h"
#include "cycloid/couple/sight.h"
#include "cycloid/network/mlp_shape.h"

namespace cycloid::inline couple {

enum class Clip { hard, tanh, none };

// A network with its weights, as the user gives it.
struct Network {
  MlpShape shape;
  std::vector<double> weights;
};

// first_array: arrays of parameters before the weights. bounds: of each output; empty: none.
std::shared_ptr<const FeedbackLaw> network_loop(const MlpShape& shape,
                                                std::shared_ptr<const Sight> sight, int open,
                                                int first_array, std::vector<Bounds> bounds,
                                                Clip clip);

// The network without normalisation (folded), checked against the sizes that are needed; `what` is
// the caller's name. Throws Error, with what was expected.
Network checked_network(const Network& given, int inputs, int outputs, const char* what,
                        const std::string& sees, const std::string& gives);

// Parameters "prefix.weight0" (out, in), "prefix.bias0" (out), …
std::vector<AddedParameter> network_parameters(const Network& network, const std::string& prefix);

}  // namespace cycloid::inline couple
