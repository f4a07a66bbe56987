// cost.h: what a trajectory costs, as a sum of terms, and what it must not do.
//
//   Cost cost = Reach{.name = "angle", .target = {kPi}} + Effort{{1e-3}};
// Of states x_0 … x_T and inputs u_0 … u_{T-1}, w a weight for each number, or one for all:
//   Reach      Σ_t w |y_t ⊖ y*|²         y: an output (output.h); t: the chosen steps, 0 to T   (1)
//   Effort     Σ_t w |u_t|²                                                                   (2)
//   Smooth     Σ_t w |u_{t+1} - u_t|²                                                         (3)
//   Function   any f(x, u), with its gradient                                                 (4)
//   Keep       low ≤ y_t ≤ high, a constraint: it adds nothing to the cost, and plans hold it
// No term has a factor of the time step. An output at t = T that depends on inputs sees zeros.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline optimise {

// The chosen steps: the last, all of 0 to T, or those listed; negative ones count from T, -1 is T.
struct When {
  enum class Kind { end, all, listed } kind = Kind::end;
  std::vector<std::int64_t> steps = {};

  static When end() { return {}; }
  static When all() { return {Kind::all, {}}; }
  static When at(std::vector<std::int64_t> listed) { return {Kind::listed, std::move(listed)}; }
  // Of a plan of T steps. Throws Error on one that there is not, or none.
  std::vector<std::int64_t> of(std::int64_t T) const;
};

struct Reach {
  std::string name;
  std::vector<double> target;        // of y; or one after another for each chosen step
  std::vector<double> weight = {1};  // one, or one for each number of the residual
  When when = {};
};

struct Effort {
  std::vector<double> weight = {1};  // one, or one for each input
};

struct Smooth {
  std::vector<double> weight = {1};
};

// f(rows, states (rows, T+1, n), controls (rows, T, m), values (rows), states_bar, controls_bar):
// writes values and, where states_bar is not null, the gradient, in coordinates.
struct Function {
  using Evaluate =
      std::function<void(std::int64_t rows, const double* states, const double* controls,
                         double* values, double* states_bar, double* controls_bar)>;
  std::string name = "function";
  Evaluate evaluate;
  bool has_gradient = true;
};

struct Keep {
  std::string name;
  std::vector<double> low, high;  // one, or one for each number of y; infinite where there is none
  When when = When::all();
};

using Term = std::variant<Reach, Effort, Smooth, Function, Keep>;

// What a term is called in messages: "Reach(\"tip\")".
std::string describe(const Term& term);

struct Cost {
  std::vector<Term> terms;

  Cost() = default;
  Cost(Term term) : terms{std::move(term)} {}  // implicit: a term is a cost
  Cost(Reach term) : terms{std::move(term)} {}
  Cost(Effort term) : terms{std::move(term)} {}
  Cost(Smooth term) : terms{std::move(term)} {}
  Cost(Function term) : terms{std::move(term)} {}
  Cost(Keep term) : terms{std::move(term)} {}
  friend Cost operator+(Cost a, const Cost& b) {
    a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
    return a;
  }
};

}  // namespace cycloid::inline optimise
