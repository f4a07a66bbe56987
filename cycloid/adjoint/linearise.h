// linearise: the Jacobians of one step, in tangent coordinates.
//
//   difference(f(x, u, p), f(x ⊕ dx, u + du, p + dp)) = A dx + B du + P dp + …
// for x⁺ = f(x, u, p), row-major, one block per environment. They are exact to rounding;
// environments run in lanes. A System that knows its Jacobians says so (Stepper::jacobian); of the
// others, and for P, each row is a pullback of a unit cotangent.
//
// Where dense matrices are too large, one environment's A and B come in two other forms:
//   sparse_linearise   their entries, where the System knows them (Stepper::sparse_jacobian), or
//                      those of a small dense matrix that are not zero
//   StepOperator       products A dx + B du, by a pushforward, and (Aᵀ w, Bᵀ w), by a pullback
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/system/system.h"

namespace cycloid::inline adjoint {

struct LineariseOptions {
  bool params = false;  // P too
  // Directions of the parameters, (q, parameters): P is then along these, (batch, tangents, q).
  std::span<const double> directions = {};
  bool unsolved = false;  // accept steps whose solver stopped short of its tolerance
  double t = 0;           // time of x [s], when it is state 0
  std::int64_t step = 0;  // number of x in a run from t: its time is t + step h, of which P knows
  int threads = 0;
  KeepGoing keep_going = {};  // asked between chunks; Interrupted when it says no
  // What dense matrices may take [bytes]; 0: half of the memory that the machine has free.
  std::int64_t most_bytes = 0;
};

// The most states whose sparse matrices are made from dense ones.
inline constexpr int kMostDenseStates = 2000;

template <class T>
struct Linearisation {
  std::int64_t batch = 0;
  std::vector<T> next;  // (batch, states)
  std::vector<T> A;     // (batch, tangents, tangents)
  std::vector<T> B;     // (batch, tangents, inputs)
  std::vector<T> P;     // (batch, tangents, parameters or directions), if asked for
};

// Rows as in rollout.h; u may be empty for zero inputs. Throws Error on wrong sizes and where the
// result does not fit, GradientError when a step fails or has no finite derivative.
Linearisation<double> linearise(const System& system, std::span<const double> x,
                                std::span<const double> u = {}, std::span<const double> params = {},
                                const LineariseOptions& options = {});
Linearisation<float> linearise(const System& system, std::span<const float> x,
                               std::span<const float> u = {}, std::span<const double> params = {},
                               const LineariseOptions& options = {});

template <class T>
struct SparseLinearisation {
  std::vector<T> next;  // (states)
  SparseMatrix<T> A;    // (tangents, tangents)
  SparseMatrix<T> B;    // (tangents, inputs)
};

// Of one environment. Throws Error where the System does not know its entries and has more states
// than kMostDenseStates.
SparseLinearisation<double> sparse_linearise(const System& system, std::span<const double> x,
                                             std::span<const double> u = {},
                                             std::span<const double> params = {},
                                             const LineariseOptions& options = {});
SparseLinearisation<float> sparse_linearise(const System& system, std::span<const float> x,
                                            std::span<const float> u = {},
                                            std::span<const double> params = {},
                                            const LineariseOptions& options = {});

// A and B of one environment's step as linear maps, in double precision, also of a float32 system.
// The step is made once. Cheap to copy; calls from several threads wait for each other.
class StepOperator {
 public:
  StepOperator(const System& system, std::span<const double> x, std::span<const double> u = {},
               std::span<const double> params = {}, const LineariseOptions& options = {});

  std::int64_t tangents() const;
  std::int64_t inputs() const;
  std::span<const double> next() const;  // (states) the state after the step
  // A x_tan + B u_tan, (tangents); either may be empty for zero. Throws GradientError where the
  // System has no pushforward.
  std::vector<double> push(std::span<const double> x_tan, std::span<const double> u_tan) const;
  // Whether push comes from dual numbers or the step's own pushforward, not from a dense Jacobian.
  bool has_push() const;
  // Adds to x_bar = Aᵀ bar (tangents) and u_bar = Bᵀ bar (inputs), unless they are empty.
  void pull(std::span<const double> bar, std::span<double> x_bar, std::span<double> u_bar) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cycloid::inline adjoint
