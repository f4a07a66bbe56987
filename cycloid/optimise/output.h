// output.h: what one name shows of a System, as a residual against a target, with its derivative.
//
//   y = h(x, u)                       a block of the state, the whole "state", or an observable
//   r = y ⊖ y*                  (1)   in tangents: of a unit quaternion the rotation vector [rad]
//   r = R dx + S du + …         (2)   dx, du: small changes of state (tangents) and input
// A name may end in the index of one number, "xpos:tip[2]". Blocks of the state are numbers of x:
// R is then made of unit rows and, for quaternions, of 3×3 blocks, and nothing is computed. Of
// other observables each row of (2) is a pullback of a unit cotangent, over all rows in lanes. A
// quaternion and its negative are one orientation; at half a turn from the target (1) jumps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cycloid/adjoint/observe.h"

namespace cycloid::inline optimise {

// Rows of states (rows, states) and inputs (rows, inputs) of one System, with its parameters.
struct OutputRows {
  std::span<const double> states, inputs;
  std::int64_t rows = 0;
  std::span<const double> params = {};  // one row, or empty for the defaults
  int threads = 0;
  KeepGoing keep_going = {};
};

// Robots give quaternions without a unit, by fours.
inline bool shows_quaternions(const Observable& o) {
  return o.of_state.empty() && o.unit == "1" && !o.shape.empty() && o.shape.back() == 4;
}

// Where residuals depend on the state directly: numbers of a piece of the output.
struct OutputPart {
  bool quaternion = false;
  int from = 0, tangent_from = 0;    // in the state, and in its tangents
  int place = 0, tangent_place = 0;  // in y, and in r
  int count = 0, tangent_count = 0;
};

class Output {
 public:
  // Throws ModelError with the nearest name, Error on a component that there is not.
  Output(const System& system, const std::string& name);

  const std::string& name() const { return name_; }
  int size() const { return space_.size(); }               // numbers of y
  int residuals() const { return space_.tangent_size(); }  // numbers of r
  bool has_quaternions() const { return !space_.flat(); }
  // True: y is numbers of the state, `parts` says which; no input acts.
  bool of_state() const { return !observer_; }
  const std::vector<OutputPart>& parts() const { return parts_; }
  // The target's quaternions are made unit. Returns false on one of zero.
  bool normalise(double* target) const { return space_.normalise(target); }

  // y (rows, size), and what pulls back where y is computed.
  struct Values {
    std::vector<double> y;
    std::optional<Observation> seen;
  };
  Values values(const OutputRows& rows) const;
  // (1) of one row.
  void residual(const double* target, const double* y, double* r) const {
    space_.difference(target, y, r);
  }
  // Adds Rᵀ r_bar to x_bar (rows, tangents) and Sᵀ r_bar to u_bar (rows, inputs). r: (1) of every
  // row.
  void add_pulled(const Values& values, std::span<const double> r, std::span<const double> r_bar,
                  double* x_bar, double* u_bar, const OutputRows& rows) const;
  // (2) of every row: R (rows, residuals, tangents) and S (rows, residuals, inputs).
  void jacobians(const Values& values, std::span<const double> r, const OutputRows& rows,
                 std::vector<double>& R, std::vector<double>& S) const;
  // Of an output of the state: ∂r/∂dx of a quaternion part, 3×3 row by row, at its residual r.
  static void quaternion_block(const double* r, double* block);

 private:
  System system_;
  std::string name_;
  Space space_;  // of y
  std::vector<OutputPart> parts_;
  std::shared_ptr<const Observer> observer_;  // null: of the state
  int first_ = 0;                             // of y among the observer's numbers
};

}  // namespace cycloid::inline optimise
