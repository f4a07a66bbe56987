#include "cycloid/system/observed_rows.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline system {
namespace {

std::int64_t row_count(const ObservedRows& at, int row) {
  const std::int64_t numbers = static_cast<std::int64_t>(at.states.size());
  const bool whole = row == 0 ? numbers == 0 : numbers > 0 && numbers % row == 0;
  const std::int64_t rows = row == 0 ? std::max<std::int64_t>(at.rows, 1) : numbers / row;
  if (!whole || (at.rows != 0 && at.rows != rows)) {
    throw Error(message("states: expected rows of ", row, " numbers, got ", numbers, " numbers"));
  }
  return rows;
}

}  // namespace

void check_finite_rows(std::span<const double> values, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(message(what, " must be finite; number ", i, " is ", values[i]));
    }
  }
}

void check_row_count(std::span<const double> values, std::int64_t rows, int row, const char* what) {
  if (static_cast<std::int64_t>(values.size()) == rows * row) return;
  throw Error(message(what, ": expected ", rows, " rows of ", row, " numbers, got ", values.size(),
                      " numbers"));
}

CheckedRows::CheckedRows(const System& system, const ObservedRows& at) : time(at.time) {
  const Space &states = system.states(), &inputs = system.inputs();
  rows = row_count(at, states.size());
  if (!at.inputs.empty()) check_row_count(at.inputs, rows, inputs.size(), "inputs");
  check_finite_rows(at.states, "states");
  check_finite_rows(at.inputs, "inputs");
  check_finite_rows(std::span(&at.time, 1), "time");
  raw.assign(at.states.begin(), at.states.end());
  x = raw;
  for (std::int64_t i = 0; i < rows && !states.flat(); ++i) {
    if (!states.normalise(x.data() + i * states.size())) {
      throw Error(message("states: a quaternion of row ", i, " is zero, which is no orientation"));
    }
  }
  u.assign(at.inputs.begin(), at.inputs.end());
  u.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs.size()), 0.0);
  parameters = system.parameters().size();
  p = at.parameters.empty() ? system.parameters().default_values()
                            : std::vector<double>(at.parameters.begin(), at.parameters.end());
  const std::size_t np = static_cast<std::size_t>(parameters);
  if (p.size() != np && p.size() != static_cast<std::size_t>(rows) * np) {
    throw ParameterError(message("expected ", np, " parameter numbers, or ", rows,
                                 " rows of as many, got ", p.size()));
  }
  parameter_rows = p.size() == np ? 1 : rows;
  for (std::int64_t i = 0; i < parameter_rows; ++i) {
    system.check_parameters(std::span(p).subspan(static_cast<std::size_t>(i) * np, np));
  }
}

ObservationGradient CheckedRows::zero_gradient(const System& system) const {
  const std::size_t n = static_cast<std::size_t>(rows);
  const auto zeros = [](std::size_t count) { return std::vector<double>(count, 0.0); };
  return {zeros(x.size()), zeros(n * static_cast<std::size_t>(system.states().tangent_size())),
          zeros(u.size()), zeros(p.size())};
}

}  // namespace cycloid::inline system
