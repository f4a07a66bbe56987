#include "cycloid/system/system.h"

#include <cmath>
#include <sstream>

#include "cycloid/base/error.h"

namespace cycloid::inline system {
namespace {

bool same_arrays(const StepperSizes& sizes, const Parameters& parameters) {
  std::size_t next = 0;
  for (const Parameter& p : parameters.all()) {
    if (!p.array) continue;
    if (next == sizes.arrays.size() || sizes.arrays[next++] != p.size) return false;
  }
  return next == sizes.arrays.size();
}

template <class T>
void check_stepper(const SystemParts& parts, const Stepper<T>* stepper, int rows) {
  if (!stepper) return;
  const StepperSizes& s = stepper->sizes();
  if (s.state != parts.states.size() || s.tangent != parts.states.tangent_size() ||
      s.input != parts.inputs.size() || s.parameters != parts.parameters.lane_size() ||
      !same_arrays(s, parts.parameters) || s.lanes < rows) {
    throw ModelError(message("system \"", parts.name, "\": its stepper has ", s.state, " states, ",
                             s.input, " inputs and ", s.parameters + s.array_numbers(),
                             " parameters, ", s.arrays.size(), " of them arrays; its spaces have ",
                             parts.states.size(), ", ", parts.inputs.size(), " and ",
                             parts.parameters.size()));
  }
}

template <class T>
void check_steppers(const SystemParts& parts, const Steppers<T>& steppers) {
  check_stepper(parts, steppers.one.get(), 1);
  check_stepper(parts, steppers.packed.get(), 1);
  check_stepper(parts, steppers.dual.get(), 2);
}

std::string counted(int n, const char* noun) { return message(n, " ", noun, n == 1 ? "" : "s"); }

}  // namespace

const char* name(Precision precision) {
  return precision == Precision::float32 ? "float32" : "float64";
}

System::System(SystemParts parts) {
  check_steppers(parts, parts.float32);
  check_steppers(parts, parts.float64);
  const bool has = parts.precision == Precision::float32
                       ? parts.float32.one && parts.float32.packed
                       : parts.float64.one && parts.float64.packed;
  if (!has) {
    throw ModelError(message("system \"", parts.name, "\" has no steppers for ",
                             cycloid::name(parts.precision)));
  }
  if (parts.initial_state.size() != static_cast<std::size_t>(parts.states.size())) {
    throw ModelError(message("system \"", parts.name, "\": the initial state has ",
                             parts.initial_state.size(), " numbers, the state space ",
                             parts.states.size()));
  }
  if (parts.counters.size() > static_cast<std::size_t>(kMostCounters)) {
    throw ModelError(message("system \"", parts.name, "\" declares ", parts.counters.size(),
                             " counters; there is room for ", kMostCounters));
  }
  if (!parts.input_bounds.empty() &&
      parts.input_bounds.size() != static_cast<std::size_t>(parts.inputs.size())) {
    throw ModelError(message("system \"", parts.name, "\" has bounds of ",
                             parts.input_bounds.size(), " inputs, of ", parts.inputs.size()));
  }
  auto varies = std::make_shared<std::vector<bool>>(parts.parameters.size(), false);
  for (const std::string& v : parts.vary) {
    const Parameter& p = parts.parameters.find(v);
    for (int i = 0; i < p.size; ++i) varies->at(static_cast<std::size_t>(p.offset + i)) = true;
  }
  varies_ = std::move(varies);
  parts_ = std::make_shared<const SystemParts>(std::move(parts));
  check_parameters(parameters().default_values());
  check_gradient_mode(parts_->gradient);
}

void System::check_parameters(std::span<const double> values) const {
  parameters().check(values);
  if (!parts_->refuse) return;
  if (const std::string why = parts_->refuse(values.data()); !why.empty()) {
    throw ParameterError(message("system \"", name(), "\": ", why));
  }
}

template <>
const Steppers<float>& System::steppers<float>() const {
  if (precision() != Precision::float32) {
    throw Error(message("system \"", name(),
                        "\" computes in float64, but the numbers given are float32; "
                        "give doubles, or make the system with float32"));
  }
  return parts_->float32;
}

template <>
const Steppers<double>& System::steppers<double>() const {
  if (precision() != Precision::float64) {
    throw Error(message("system \"", name(),
                        "\" computes in float32, but the numbers given are float64; "
                        "give floats, or make the system with float64"));
  }
  return parts_->float64;
}

double System::input_width(int i) const {
  const Bounds b = input_bounds(i);
  const double width = b.high - b.low;
  return std::isfinite(width) && width > 0 ? width : 1;
}

void System::check_gradient_mode(const GradientMode& mode) const {
  check(mode);
  if (std::holds_alternative<FromDistance>(mode) && !parts_->feel_distance) {
    throw Error(message("FromDistance is for robots that touch something; system \"", name(),
                        "\" has no contacts"));
  }
}

System System::with_gradient(const GradientMode& mode) const {
  if (mode == gradient()) return *this;
  check_gradient_mode(mode);
  SystemParts parts = *parts_;
  const double width = near_width(mode);
  if (width != near_width(parts.gradient)) parts.feel_distance(width, parts);
  parts.gradient = mode;
  return System(std::move(parts));
}

System System::in_double() const {
  if (precision() == Precision::float64) return *this;
  SystemParts parts = *parts_;
  parts.precision = Precision::float64;
  return System(std::move(parts));
}

std::string System::describe() const {
  std::ostringstream out;
  out << "System " << name() << ": " << counted(states().size(), "state") << ", "
      << counted(inputs().size(), "input") << ", dt " << timestep() * 1e3 << " ms";
  if (precision() == Precision::float32) out << ", float32";
  return out.str();
}

}  // namespace cycloid::inline system
