// A network as a feedback: inputs from what is observed, clipped to their bounds.
//
//   o = [observation of x, v]          (1)  sight.h; v where the network sees open inputs
//   y = N(o; w) + σ ξ                  (2)  network/mlp.h; σ ξ where noise is asked for
//   u = clip(y), number by number      (3)
//     hard   min(high, max(low, y));  its derivative is 1 where low <= y <= high, else 0
//     tanh   m + r tanh((y - m) / r),  m = (low + high)/2,  r = (high - low)/2
//     none   y
// An input without bounds is not clipped. Weights are arrays that lanes share; their cotangents are
// summed over the lanes that are not left out, in T over kStepsPerFlush steps, then in double.
//
// ξ are normal numbers that depend on the key, the environment (system/run_lanes.h) and the step,
// counted from t = 0, alone (base/random.h): a run that is computed again, in other lanes or on
// other threads, has the same, and one that goes on goes on with them. They are held in the
// pullback (reparametrisation), so that σ̄ = ξ ȳ. Where there is no run, ξ is zero.
//
// In dual numbers the network sees numbers of the state; observables that are computed have none.
#pragma once

#include <cmath>

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

// What a network gives goes through: bounds of each output, empty: none; behind the weights there
// are arrays of σ (outputs) and the key (1) where it is noisy.
struct NetworkOutput {
  std::vector<Bounds> bounds = {};
  Clip clip = Clip::none;
  bool noisy = false;

  // (3)
  template <class T>
  T clipped(int i, T y) const {
    if (bounds.empty() || clip == Clip::none) return y;
    const Bounds& b = bounds[static_cast<std::size_t>(i)];
    if (clip == Clip::hard) {
      const T low = static_cast<T>(b.low), high = static_cast<T>(b.high);
      return y < low ? low : y > high ? high : y;
    }
    if (!std::isfinite(b.low)) return y;
    return middle<T>(b) + reach<T>(b) * std::tanh((y - middle<T>(b)) / reach<T>(b));
  }
  // ∂u/∂y
  template <class T>
  T clip_slope(int i, T y) const {
    if (bounds.empty() || clip == Clip::none) return T(1);
    const Bounds& b = bounds[static_cast<std::size_t>(i)];
    if (clip == Clip::hard) {
      return y < static_cast<T>(b.low) || y > static_cast<T>(b.high) ? T(0) : T(1);
    }
    if (!std::isfinite(b.low)) return T(1);
    const T t = std::tanh((y - middle<T>(b)) / reach<T>(b));
    return T(1) - t * t;
  }
  // ∂²u/∂y²
  template <class T>
  T clip_bend(int i, T y) const {
    if (bounds.empty() || clip != Clip::tanh) return T(0);
    const Bounds& b = bounds[static_cast<std::size_t>(i)];
    if (!std::isfinite(b.low)) return T(0);
    const T t = std::tanh((y - middle<T>(b)) / reach<T>(b));
    return T(-2) * t * (T(1) - t * t) / reach<T>(b);
  }

  template <class T>
  static T middle(const Bounds& b) {
    return static_cast<T>((b.low + b.high) / 2);
  }
  template <class T>
  static T reach(const Bounds& b) {
    return static_cast<T>((b.high - b.low) / 2);
  }
};

// first_array: arrays of parameters before the weights.
std::shared_ptr<const FeedbackLaw> network_loop(const MlpShape& shape,
                                                std::shared_ptr<const Sight> sight, int open,
                                                int first_array, const NetworkOutput& output = {});
// The same in dual numbers; null where the network sees what is computed.
std::shared_ptr<const Feedback<double>> network_loop_in_duals(const MlpShape& shape,
                                                              std::shared_ptr<const Sight> sight,
                                                              int open, int first_array,
                                                              const NetworkOutput& output,
                                                              int lanes);

// ξ of (2), one environment's at one step.
void policy_noise(double key, std::int64_t environment, std::int64_t step, int outputs, double* xi);

// The network without normalisation (folded), checked against the sizes that are needed; `what` is
// the caller's name. Throws Error, with what was expected.
Network checked_network(const Network& given, int inputs, int outputs, const char* what,
                        const std::string& sees, const std::string& gives);

// Parameters "prefix.weight0" (out, in), "prefix.bias0" (out), …
std::vector<AddedParameter> network_parameters(const Network& network, const std::string& prefix);

}  // namespace cycloid::inline couple
