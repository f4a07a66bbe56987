#include "cycloid/system/parameters.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline system {
namespace {

// Values that a message shows one and all.
constexpr std::size_t kMostShown = 8;

// "-1 at number 17", of a parameter with many numbers.
std::string first_offender(const Parameter& parameter, std::span<const double> value) {
  std::size_t i = 0;
  while (i + 1 < value.size() && satisfies(parameter.constraint, &value[i], 1)) ++i;
  return message(value[i], " at number ", i, " of ", value.size());
}

void check_value(const Parameter& parameter, std::span<const double> value) {
  for (const double v : value) {
    if (!std::isfinite(v)) {
      throw ParameterError(message("parameter \"", parameter.name, "\" must be finite; got ", v));
    }
  }
  if (!satisfies(parameter.constraint, value.data(), parameter.size)) {
    const bool bare = parameter.unit.empty() || parameter.unit == "1";
    throw ParameterError(
        message("parameter \"", parameter.name, "\" must be ", describe(parameter.constraint),
                bare ? std::string() : message(" [", parameter.unit, "]"), "; got ",
                value.size() <= kMostShown ? message(value) : first_offender(parameter, value)));
  }
}

ParameterError wrong_size(std::string_view name, int expected, std::size_t got) {
  return ParameterError(message("parameter \"", name, "\" takes ", expected,
                                expected == 1 ? " number" : " numbers", ", got ", got));
}

void check_size(std::size_t got, int expected) {
  if (got != static_cast<std::size_t>(expected)) {
    throw ParameterError(message("expected ", expected, " parameter numbers, got ", got,
                                 "; Parameters::pack makes the vector from names"));
  }
}

}  // namespace

void Parameters::add(Parameter parameter, std::span<const double> value) {
  if (contains(parameter.name)) {
    throw ModelError(message("two parameters are called \"", parameter.name, "\""));
  }
  if (!parameter.array && lane_size_ < size()) {
    throw ModelError(message("parameter \"", parameter.name,
                             "\" comes behind an array; arrays are the last parameters"));
  }
  parameter.size =
      std::accumulate(parameter.shape.begin(), parameter.shape.end(), 1, std::multiplies<>());
  parameter.offset = size();
  if (value.size() != static_cast<std::size_t>(parameter.size)) {
    throw wrong_size(parameter.name, parameter.size, value.size());
  }
  check_value(parameter, value);
  default_.insert(default_.end(), value.begin(), value.end());
  if (!parameter.array) lane_size_ = size();
  index_.emplace(parameter.name, parameters_.size());
  parameters_.push_back(std::move(parameter));
}

bool Parameters::contains(std::string_view name) const {
  return index_.contains(std::string(name));
}

const Parameter& Parameters::find(std::string_view name) const {
  if (const auto found = index_.find(std::string(name)); found != index_.end()) {
    return parameters_[found->second];
  }
  std::vector<std::string> names;
  for (const Parameter& p : parameters_) names.push_back(p.name);
  throw ParameterError(message("no parameter is called \"", name, "\"", did_you_mean(name, names)));
}

const Parameter& Parameters::holding(int i) const {
  CYCLOID_CHECK(i >= 0 && i < size(), i, size());
  const auto behind = [](int number, const Parameter& p) { return number < p.offset; };
  return *(std::upper_bound(parameters_.begin(), parameters_.end(), i, behind) - 1);
}

std::string Parameters::number_name(int i) const {
  const Parameter& p = holding(i);
  return p.size == 1 ? p.name : message(p.name, "[", i - p.offset, "]");
}

std::vector<double> Parameters::pack(
    const std::map<std::string, std::vector<double>>& named) const {
  std::vector<double> values = default_;
  for (const auto& [name, value] : named) {
    const Parameter& p = find(name);
    if (value.size() != static_cast<std::size_t>(p.size)) {
      throw wrong_size(name, p.size, value.size());
    }
    check_value(p, value);
    std::copy(value.begin(), value.end(), values.begin() + p.offset);
  }
  return values;
}

std::map<std::string, std::vector<double>> Parameters::unpack(
    std::span<const double> values) const {
  check_size(values.size(), size());
  std::map<std::string, std::vector<double>> named;
  for (const Parameter& p : parameters_) {
    named[p.name] = {values.begin() + p.offset, values.begin() + p.offset + p.size};
  }
  return named;
}

void Parameters::check(std::span<const double> values) const {
  check_size(values.size(), size());
  for (const Parameter& p : parameters_) {
    check_value(
        p, values.subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size)));
  }
}

std::vector<double> Parameters::to_free(std::span<const double> values) const {
  check(values);
  std::vector<double> free(values.size());
  for (const Parameter& p : parameters_) {
    free_from_value(p.constraint, values.data() + p.offset, p.size, free.data() + p.offset);
  }
  return free;
}

std::vector<double> Parameters::from_free(std::span<const double> free) const {
  check_size(free.size(), size());
  std::vector<double> values(free.size());
  for (const Parameter& p : parameters_) {
    const double* z = free.data() + p.offset;
    double* v = values.data() + p.offset;
    if (p.constraint == Constraint::inertia) {
      inertia_from_free(z, v);
    } else {
      for (int i = 0; i < p.size; ++i) v[i] = scalar_value_from_free(p.constraint, z[i]);
    }
  }
  return values;
}

std::vector<double> Parameters::from_free_pullback(std::span<const double> free,
                                                   std::span<const double> values_bar) const {
  check_size(free.size(), size());
  check_size(values_bar.size(), size());
  std::vector<double> free_bar(free.size(), 0.0);
  for (const Parameter& p : parameters_) {
    const double *z = free.data() + p.offset, *v_bar = values_bar.data() + p.offset;
    double* z_bar = free_bar.data() + p.offset;
    if (p.constraint == Constraint::inertia) {
      inertia_from_free_pullback(z, v_bar, z_bar);
    } else {
      for (int i = 0; i < p.size; ++i) {
        scalar_value_from_free_pullback(p.constraint, z[i], v_bar[i], z_bar[i]);
      }
    }
  }
  return free_bar;
}

}  // namespace cycloid::inline system
