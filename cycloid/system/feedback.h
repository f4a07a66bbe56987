// A feedback: a function of state, inputs and parameters of its own, in the lanes of steppers.
//
//   u = f(x, v, p, t)           v: inputs
//   (x̄, v̄, p̄) += f_pullback(x, v, p, t, ū)
// What room couple closes loops with, and what may be added to a law (term_law.h). Its parameters
// follow those of the inner System: numbers in lanes behind its numbers, arrays behind its arrays;
// it may read the inner ones too, and adds to their cotangents in finish.
//
// The life of a chunk is that of a Stepper (system/stepper.h): begin, then input and pullback for
// each step, then finish.
#pragma once

#include "cycloid/system/system.h"

namespace cycloid::inline system {

// Where a feedback is added to a law (term_law.h).
enum class TermPlace { rate, acceleration, force };

template <class T>
struct FeedbackPoint {
  const T* x;             // (states, W)
  const T* v;             // (inputs, W)
  double t;               // [s]
  std::int64_t step = 0;  // the time as a number of steps, of a feedback that is asked once in each
};

template <class T>
class Feedback {
 public:
  virtual ~Feedback() = default;

  virtual std::unique_ptr<StepWorkspace> make_workspace() const = 0;
  // p: of the whole System.
  virtual void begin(const StepParameters<T>& p, StepWorkspace& workspace) const = 0;
  // Writes u (outputs, W).
  virtual void input(const FeedbackPoint<T>& at, T* u, StepWorkspace& workspace) const = 0;
  // Adds to x_bar (tangents, W) and v_bar (inputs, W), and to p̄ in the workspace where it is
  // wanted.
  virtual void pullback(const FeedbackPoint<T>& at, const T* u_bar, bool wants_parameters, T* x_bar,
                        T* v_bar, StepWorkspace& workspace) const = 0;
  // Writes u_tan (outputs, W); or returns false.
  virtual bool pushforward(const FeedbackPoint<T>& /*at*/, const StepTangents<T>& /*tangents*/,
                           T* /*u_tan*/, StepWorkspace& /*workspace*/) const {
    return false;
  }
  // Writes its own part of p_bar (parameters of the whole System, W), adds to the inner System's.
  virtual void finish(StepWorkspace& workspace, double* p_bar) const = 0;
};

// A feedback for steppers of any width. `dual`: W values in its lanes and then W tangents; null
// where there is no such form.
class FeedbackLaw {
 public:
  virtual ~FeedbackLaw() = default;
  virtual int numbers() const = 0;                       // of its own in lanes
  virtual std::vector<std::int64_t> arrays() const = 0;  // numbers of each of its own
  virtual std::shared_ptr<const Feedback<float>> float32(int lanes, bool dual) const = 0;
  virtual std::shared_ptr<const Feedback<double>> float64(int lanes, bool dual) const = 0;
  template <class T>
  std::shared_ptr<const Feedback<T>> in_lanes(int lanes, bool dual) const {
    if constexpr (std::is_same_v<T, float>) return float32(lanes, dual);
    else return float64(lanes, dual);
  }
};

}  // namespace cycloid::inline system
