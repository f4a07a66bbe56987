// Measured: what a recording should show at states of a run, what it does show, and derivatives of
// the difference.
//
// An output is a name of the recording with its columns. Its reading at a state y of the run is
//   w = g h(y, u, p, t) + o                                                              (1)
// with the sensor's own gain g and offset o (1 and 0 where they are not unknown), and the residuals
//   r = (w - v) / σ                        of a number v                                 (2)
//   r = log(v* ⊗ h) / σ                    of a unit quaternion, three numbers, v or -v  (3)
// A delay δ means that the state is that of the time t - δ; before the start and behind the end of
// the run the sensor shows its first and last state.
// h comes from observe (adjoint/observe.h): numbers of the state are themselves, others have their
// Jacobian from a pullback for each number.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cycloid/adjoint/observe.h"
#include "cycloid/record/recording.h"

namespace cycloid::inline optimise {

// A number of an output, or four that are a quaternion.
struct MeasuredPiece {
  int output = 0;           // of which
  int within = 0;           // its first number there
  int column = 0;           // of the recording, and of a row of values
  bool quaternion = false;  // four columns, three residuals
  int residuals() const { return quaternion ? 3 : 1; }
  int columns() const { return quaternion ? 4 : 1; }
};

// Rows at which outputs are looked at.
struct LookedRows {
  std::vector<double> states, inputs, times;  // (rows, states), (rows, inputs), (rows)
  std::size_t rows() const { return times.size(); }
};

// Which tangents of the state a column may depend on, and where they stand in a row of slopes: a
// number of the state on its own, one of a quaternion on three, others on all.
struct ColumnSlopes {
  std::size_t tangent = 0, count = 0, place = 0;
};

// What they show: h (rows, columns), and in tangents ∂h/∂x (rows, slopes of all columns) and
// ∂h/∂(p·d) (rows, columns, directions). Derivatives are empty where they were not asked for.
struct Looked {
  std::vector<double> values, by_state, by_direction;
};

class Measured {
 public:
  Measured(const System& system, const Recording& recording);

  const std::vector<RecordedOutput>& outputs() const { return outputs_; }
  const std::vector<MeasuredPiece>& pieces() const { return pieces_; }
  std::size_t columns() const { return columns_; }
  const std::vector<ColumnSlopes>& slopes() const { return slopes_; }  // of each column
  std::size_t slope_numbers() const { return slope_numbers_; }         // of a row
  // Where a row of values is a whole state: its columns in the order of the state, else empty.
  const std::vector<int>& state_columns() const { return state_columns_; }
  // Column of a number of the state, or -1.
  int column_of_state(int i) const { return column_of_state_[static_cast<std::size_t>(i)]; }

  Looked look(const LookedRows& at, std::span<const double> parameters, int threads,
              const KeepGoing& keep_going) const;
  // With derivatives in so many directions of the parameters, (q, parameters).
  Looked look(const LookedRows& at, std::span<const double> parameters,
              std::span<const double> directions, int threads, const KeepGoing& keep_going) const;
  // From cotangents of the values to those of the rows' states, in their coordinates (rows,
  // states); adds to those of the parameters.
  std::vector<double> pull(const LookedRows& at, std::span<const double> parameters,
                           std::span<const double> values_bar, int threads,
                           const KeepGoing& keep_going, std::span<double> parameters_bar) const;

 private:
  // Rows that may be looked at together: calls function(first, count) for each part.
  template <class Function>
  void for_each_part(const LookedRows& at, Function&& function) const;
  template <class Visit>
  void for_each_state_column(Visit&& visit) const;
  void list_slopes();
  ObservedRows part(const LookedRows& at, std::size_t first, std::size_t count,
                    std::span<const double> parameters) const;
  Looked looked(const LookedRows& at, std::span<const double> parameters,
                std::span<const double> directions, bool derivatives, int threads,
                const KeepGoing& keep_going) const;
  void look_at_once(const LookedRows& at, std::size_t first, std::size_t count,
                    std::span<const double> parameters, std::span<const double> directions,
                    bool derivatives, int threads, const KeepGoing& keep_going, Looked& out) const;

  System system_;
  Observer observer_;
  std::vector<RecordedOutput> outputs_;
  std::vector<MeasuredPiece> pieces_;
  std::vector<int> state_columns_, column_of_state_;
  std::vector<ColumnSlopes> slopes_;
  std::size_t columns_ = 0, slope_numbers_ = 0;
  bool timeless_ = false;  // rows of all times may be looked at together
};

// (3): three numbers, and ∂r/∂(tangent of h), (3, 3). σ = 1.
void turn_between(const double* measured, const double* shown, double* r, double* by_tangent);

}  // namespace cycloid::inline optimise
