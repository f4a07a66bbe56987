// Rows of states, inputs and parameters at which something is evaluated in double, checked, and the
// gradient's rows.
//
// Rows are numbers of one environment after another. States are normalised, as in a rollout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline system {

// Inputs may be empty: zeros. Parameters may be empty, the defaults, or one row for all.
struct ObservedRows {
  std::span<const double> states;
  std::span<const double> inputs = {};
  std::span<const double> parameters = {};
  double time = 0;        // [s]
  std::int64_t rows = 0;  // 0: as many as there are states; of a System without states: one
};

// Shaped like what was observed; parameters (one row, a sum, where one row or none was given).
struct ObservationGradient {
  std::vector<double> states, states_tangent, inputs, parameters;
};

// A row in which a solve fell short: of its tolerance, or of room for contacts.
struct RowNote {
  std::int64_t row;
  LaneNote note;
};

// Copies. Throws Error on wrong sizes, a number that is not finite or a quaternion of zero,
// ParameterError on a parameter that cannot be.
struct CheckedRows {
  CheckedRows(const System& system, const ObservedRows& at);

  // The place of a row's parameters in p, and in a gradient.
  std::int64_t parameter_place(std::int64_t row) const {
    return parameter_rows == 1 ? 0 : row * parameters;
  }
  ObservationGradient zero_gradient(const System& system) const;

  std::int64_t rows = 0, parameter_rows = 1, parameters = 0;
  std::vector<double> raw, x;  // states as given, and with unit quaternions
  std::vector<double> u, p;
  double time = 0;
};

// Throw Error, for numbers of `what`.
void check_finite_rows(std::span<const double> values, const char* what);
void check_row_count(std::span<const double> values, std::int64_t rows, int row, const char* what);

}  // namespace cycloid::inline system
