// Room system: what a System is, and how a law of motion becomes one.
//
// A System is one differentiable time step over a batch of environments:
//   x⁺ = step(x, u, p)                          x state, u input, p parameters
//   (x̄, ū, p̄) += step_pullback(x, u, p, x̄⁺)
// Rollouts, gradients, checks and optimisers are written once, against it.
//
// Where to start reading:
//   space.h        states with named blocks; quaternions; coordinates and tangents
//   parameters.h   the registry of physical numbers, with constraint.h and randomise.h
//   stepper.h      the chunk interface that does the work; the life of a step and of a gradient
//   law.h          a law of motion, x_dot(t, x, u, p), and its pullback
//   integrator/    euler.h semi_implicit.h verlet.h rk4.h with their discrete adjoints;
//                  interpolation.h, states inside a step that has no parts
//   law/           law_stepper.h, a law and an integrator in lanes;   make_system.h  as a System
//   event/         event.h, events of a law: impacts, ends;  event_walk.h, how a step meets them
//   admission.h    starts and parameters that a law refuses
//   laws/          pendulum, double pendulum, projectile, spring chain, Kepler, Lorenz; with
//                  events: bouncing ball, bead on a curve, stick-slip block, rimless wheel
//   systems.h      ... as Systems, by name
//   gradient_mode.h  what the way back differentiates
//   variant.h      the same world with another step, integrator or contact
//   observer.h     what a System shows besides its state: an energy, a robot's sensors
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "cycloid/system/event/event_spec.h"
#include "cycloid/system/gradient_mode.h"
#include "cycloid/system/parameters.h"
#include "cycloid/system/space.h"
#include "cycloid/system/stepper.h"
#include "cycloid/system/variant.h"

namespace cycloid::inline system {

enum class Precision { float32, float64 };

const char* name(Precision precision);

// The forms in which one System computes. Two or more environments run in `packed` lanes, a lone
// one in the scalar type. `dual` carries W values and then W tangents in its lanes
// (adjoint/pushforward.h).
template <class T>
struct Steppers {
  std::shared_ptr<const Stepper<T>> one, packed, dual;
};

class Observables;   // observer.h
class KernelSource;  // kernel_source.h
struct OnDevice;

// Of an input; infinite where there is none.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// What a System is made of. Steppers that it does not have stay null.
struct SystemParts {
  std::string name;
  Precision precision = Precision::float64;
  double timestep = 0.01;  // nominal [s]; the registry's option.timestep, if there, is what acts
  Space states, inputs;
  Parameters parameters;
  std::vector<std::string> vary;  // parameters that may differ between environments
  std::vector<double> initial_state;
  std::vector<EventSpec> events;
  std::vector<std::string> counters;  // what steps count in their notes (stepper.h), by name
  // What the law refuses (admission.h); null: nothing.
  std::function<std::string(const double* p)> refuse;
  std::function<std::string(const double* p, double rounding, double* x)> admit;
  Steppers<float> float32;
  Steppers<double> float64;
  std::shared_ptr<const Observables> observables = {};  // besides the state's blocks; null: none
  std::vector<Bounds> input_bounds = {};                // of each input; empty: none has any
  GradientMode gradient = ExactGradient{};
  // Gives parts the steppers that see pairs which do not touch up to this width [m] (0: none), for
  // FromDistance; null: nothing touches.
  std::function<void(double width, SystemParts& parts)> feel_distance = {};
  Ways ways = {};  // other ways to compute the same world
  // What a device runs it by (kernel_source.h), or null.
  std::shared_ptr<const KernelSource> kernels = {};
  std::shared_ptr<const OnDevice> on_device = {};  // where it runs; null: on this machine's threads
};

// Immutable and cheap to copy.
class System {
 public:
  // Throws ModelError when the parts contradict each other, ParameterError on an unknown name in
  // `vary`.
  explicit System(SystemParts parts);

  const std::string& name() const { return parts_->name; }
  Precision precision() const { return parts_->precision; }
  double timestep() const { return parts_->timestep; }
  const Space& states() const { return parts_->states; }
  const Space& inputs() const { return parts_->inputs; }
  const Parameters& parameters() const { return parts_->parameters; }
  const std::vector<std::string>& vary() const { return parts_->vary; }
  const std::vector<double>& initial_state() const { return parts_->initial_state; }
  const std::vector<EventSpec>& events() const { return parts_->events; }
  const std::vector<std::string>& counters() const { return parts_->counters; }
  // What it shows besides its state, or null. observe (adjoint/observe.h) knows both.
  const Observables* observables() const { return parts_->observables.get(); }
  // Throws ParameterError unless there are as many as the registry has, each within its constraint,
  // and the law makes sense of them together.
  void check_parameters(std::span<const double> values) const;
  // Why no run can start at x, or nothing. Puts a start that is beyond a surface by `rounding`, in
  // units of the state, onto it.
  std::string admit(const double* p, double rounding, double* x) const {
    return parts_->admit ? parts_->admit(p, rounding, x) : std::string();
  }
  bool admits_every_start() const { return !parts_->admit; }
  // Whether number `i` of the parameter vector may differ between environments.
  bool varies(int i) const { return varies_->at(static_cast<std::size_t>(i)); }

  Bounds input_bounds(int i) const {
    return parts_->input_bounds.empty() ? Bounds()
                                        : parts_->input_bounds.at(static_cast<std::size_t>(i));
  }
  // The width of an input's range, by which noise on it is measured; 1 where it has none.
  double input_width(int i) const;
  const GradientMode& gradient() const { return parts_->gradient; }
  // Throws Error when the mode means nothing, or nothing here.
  void check_gradient_mode(const GradientMode& mode) const;
  // The same system with another gradient. Throws Error where it has none such.
  System with_gradient(const GradientMode& mode) const;

  // What `variant` can vary besides the time step.
  const Ways& ways() const { return parts_->ways; }
  // The same world, computed otherwise. Throws Error that names what cannot be varied.
  System variant(const Variant& variant) const;

  // The system's kernels in precision T. Throws Error when the system computes in the other one.
  template <class T>
  const Steppers<T>& steppers() const;

  // The same system in float64. Throws ModelError when it has no double-precision kernels.
  System in_double() const;

  // Everything that it is made of, for Systems that are made of it.
  const SystemParts& parts() const { return *parts_; }

  // "System pendulum: 2 states, 1 input, dt 10 ms"
  std::string describe() const;

 private:
  std::shared_ptr<const SystemParts> parts_;
  std::shared_ptr<const std::vector<bool>> varies_;
};

template <>
const Steppers<float>& System::steppers<float>() const;
template <>
const Steppers<double>& System::steppers<double>() const;

}  // namespace cycloid::inline system
