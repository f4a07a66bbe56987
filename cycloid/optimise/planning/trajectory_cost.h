// TrajectoryCost: the cost of trajectories of one System, its gradient, and its quadratic model.
//
// Every Reach and Keep is a sum of φ(r_i) over numbers of residuals r (output.h):
//   Reach   φ = w r²                                          φ' = 2 w r             φ'' = 2 w  (1)
//   Keep    φ = (ρ/2)(max(0, c + λ/ρ)² - (λ/ρ)²)              φ' = max(0, λ + ρ c)   φ'' = ρ    (2)
// with c = y - high, or low - y, and multiplier λ ≥ 0 for each: the augmented Lagrangian
// [NocedalWright2006, 17.4]; where low = high, without the max. Then, R = ∂r/∂dx, S = ∂r/∂du,
//   ∂J/∂dx += Rᵀ φ',   ∂²J/∂dx² ≈ Rᵀ φ'' R,   ∂²J/∂du dx ≈ Sᵀ φ'' R, …                         (3)
// which is Gauss–Newton: the curvature of the residuals is left out, so that no Hessian is
// indefinite.
#pragma once

#include <memory>
#include <span>

#include "cycloid/optimise/cost.h"
#include "cycloid/optimise/output.h"

namespace cycloid::inline optimise {

// The quadratic model of a cost along one trajectory, in tangents of the states:
//   J ≈ J₀ + Σ_t lx·dx + lu·du + ½ dx·lxx dx + ½ du·luu du + du·lux dx
struct Expansion {
  std::vector<double> lx, lxx;  // (T+1, n), (T+1, n, n)
  std::vector<double> lu, luu;  // (T, m), (T, m, m)
  std::vector<double> lux;      // (T, m, n), or empty: zero
};

class TrajectoryCost {
 public:
  // The System must compute in double. Throws Error, with the term's name, on a term that does not
  // fit it, and ModelError with the nearest name.
  TrajectoryCost(const System& system, const Cost& cost, std::int64_t steps,
                 std::span<const double> params, int threads);
  ~TrajectoryCost();
  TrajectoryCost(const TrajectoryCost&) = delete;
  TrajectoryCost& operator=(const TrajectoryCost&) = delete;

  // Of (rows, T+1, states) and (rows, T, inputs).
  std::vector<double> values(std::span<const double> states, std::span<const double> controls,
                             std::int64_t rows, const KeepGoing& keep_going = {}) const;
  // Of one trajectory. Writes the gradient in coordinates: states_bar (T+1, states), controls_bar
  // (T, inputs). Throws Error where a Function has none.
  double gradient(std::span<const double> states, std::span<const double> controls,
                  std::span<double> states_bar, std::span<double> controls_bar,
                  const KeepGoing& keep_going = {}) const;
  // (3) of one trajectory, without Smooth, which couples neighbours: see smooth().
  void expand(std::span<const double> states, std::span<const double> controls, Expansion& out,
              const KeepGoing& keep_going = {}) const;

  // The weights of Smooth, one for each input; empty: there is none.
  const std::vector<double>& smooth() const { return smooth_; }
  // A term that `expand` cannot take, or nothing: a Function.
  std::string without_model() const;
  // A Function without a gradient, or nothing.
  std::string without_gradient() const;

  // Sentences about each Reach whose target a trajectory misses by much of the way that there was.
  std::vector<std::string> missed(std::span<const double> states,
                                  std::span<const double> controls) const;

  // Constraints. The largest violation along a trajectory, in the units of the outputs.
  bool has_constraints() const;
  double violation(std::span<const double> states, std::span<const double> controls) const;
  // λ ← max(0, λ + ρ c) along a trajectory, and ρ ← factor ρ.
  void update_multipliers(std::span<const double> states, std::span<const double> controls,
                          double factor);
  void set_penalty(double rho);  // and multipliers of zero

 private:
  struct Residuals;  // a Reach or a Keep, made ready
  OutputRows rows_of(const Residuals& term, std::span<const double> states,
                     std::span<const double> controls, std::int64_t rows, std::vector<double>& x,
                     std::vector<double>& u, const KeepGoing& keep_going) const;

  System system_;
  std::int64_t steps_;
  std::vector<double> params_;
  int threads_;
  std::vector<std::unique_ptr<Residuals>> residuals_;
  std::vector<double> effort_, smooth_;
  std::vector<Function> functions_;
};

}  // namespace cycloid::inline optimise
