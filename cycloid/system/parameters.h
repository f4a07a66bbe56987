// Parameters: the registry of a System's physical numbers. One flat vector, one gradient.
//
// Every number has a name (`length`, `body:pole.mass`, `option.timestep`), a shape, a unit, a
// default, a constraint and its smooth map to free variables (constraint.h). A parameter that the
// System does not differentiate says why; asking for its gradient by name is a ParameterError, and
// its place in a flat gradient holds NaN, never a silent zero.
//
// Most parameters are numbers, which a stepper gets in its lanes and which may differ between
// environments. An array (a field over cells, the weights of a network) is read where it lies, by
// all lanes together; arrays are the last parameters of a registry.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cycloid/system/constraint.h"

namespace cycloid::inline system {

// How a law declares a parameter, in a form that it can keep as a compile-time constant.
struct ParameterSpec {
  const char* name;
  double value;      // default of each of its numbers; of an inertia: of xx, yy and zz
  const char* unit;  // SI
  Constraint constraint = Constraint::none;
  int size = 1;
};

struct Parameter {
  std::string name, unit;
  std::vector<int> shape;  // () for one number
  Constraint constraint = Constraint::none;
  int offset = 0, size = 1;
  std::string not_differentiable;  // the reason; empty when it is differentiated
  bool array = false;              // lanes share it (stepper.h)
};

inline constexpr std::string_view kTimestepName = "option.timestep";

class Parameters {
 public:
  // Appends a parameter; `value` has one entry per number, row-major. Throws ModelError on a
  // repeated name or a number behind an array, ParameterError when the default breaks the
  // constraint.
  void add(Parameter parameter, std::span<const double> value);

  int size() const { return static_cast<int>(default_.size()); }
  // How many of them are not in arrays: the first ones.
  int lane_size() const { return lane_size_; }
  const std::vector<Parameter>& all() const { return parameters_; }
  const std::vector<double>& default_values() const { return default_; }
  bool contains(std::string_view name) const;
  // Throws ParameterError with the nearest name.
  const Parameter& find(std::string_view name) const;
  // The parameter that holds number `i` of the flat vector.
  const Parameter& holding(int i) const;
  // The name of number `i` for a message: "wind[1]".
  std::string number_name(int i) const;

  // The default vector with the named values in place. Throws ParameterError on an unknown name or
  // wrong size.
  std::vector<double> pack(const std::map<std::string, std::vector<double>>& named) const;
  std::map<std::string, std::vector<double>> unpack(std::span<const double> values) const;

  // Throws ParameterError unless there are size() numbers, all finite, all within their
  // constraints.
  void check(std::span<const double> values) const;

  // Free variables of a parameter vector, back, and the cotangent's way back.
  std::vector<double> to_free(std::span<const double> values) const;
  std::vector<double> from_free(std::span<const double> free) const;
  std::vector<double> from_free_pullback(std::span<const double> free,
                                         std::span<const double> values_bar) const;

 private:
  std::vector<Parameter> parameters_;
  std::unordered_map<std::string, std::size_t> index_;  // of a name
  std::vector<double> default_;
  int lane_size_ = 0;
};

}  // namespace cycloid::inline system
