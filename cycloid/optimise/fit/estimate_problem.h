// EstimateProblem: a recording and a System as linear models about a path, for estimate.h.
//
// Knots are the steps of the recording's run. A path has z = (x, f, θ) at every knot; about it,
//   δ_{k+1} = F_k δ_k + d_k + w,   F = [A B_f P_θ; 0 1 0; 0 0 1]      by linearise.h            (1)
//   d_k     = step(x_k) ⊖ x_{k+1}, and the differences of f and θ     the path's own gaps       (2)
//   r_k     = (measured - shown) / σ = C_k δ_k + v                    by observe.h              (3)
// Tangents of a gap d are taken as those at the path: to first order in d.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/observe.h"
#include "cycloid/optimise/estimate.h"
#include "cycloid/optimise/fit/kalman.h"
#include "cycloid/optimise/fit/measured.h"

namespace cycloid::inline optimise {

// One step of the recording's run, or its last state.
struct EstimateKnot {
  double time = 0, h = 0;  // h: of the step that follows [s]
  std::size_t sample = 0;  // the interval that it lies in
  bool measured = false;   // a sample lies on it
};

// z along the knots.
struct EstimatePath {
  std::vector<double> x, f, theta;  // (knots, …)
};

class EstimateProblem {
 public:
  using Row = std::vector<double>;

  // Throws as `estimate` does. Keeps references.
  EstimateProblem(const System& system, const Recording& recording, const EstimateOptions& options);

  const System& system() const { return system_; }
  const Unknowns& unknowns() const { return unknowns_; }
  const std::vector<EstimateKnot>& knots() const { return knots_; }
  const std::vector<std::size_t>& knot_of_sample() const { return knot_of_sample_; }
  const std::vector<std::string>& force_names() const { return force_names_; }
  const Row& sigma() const { return sigma_; }  // of the columns
  // Numbers of a state, of its tangents, of forces, of parameters, and of all tangents.
  std::size_t nx() const { return nx_; }
  std::size_t nt() const { return nt_; }
  std::size_t nf() const { return nf_; }
  std::size_t np() const { return np_; }
  std::size_t nz() const { return nz_; }
  std::int64_t simulated() const { return simulated_; }  // steps so far

  Row first_state() const;
  Row first_covariance() const;
  // (1) with d = 0 of the steps `first` to `last` - 1, and where they lead, unless next is null.
  void linearise_steps(const EstimatePath& path, std::size_t first, std::size_t last,
                       std::vector<KalmanStep>& steps, Row* next) const;
  // (2) of step k, which leads to `next`.
  void add_gap(const EstimatePath& path, const double* next, std::size_t k, KalmanStep& step) const;
  // (3) at the measured knots among `first` … `last`.
  void see(const EstimatePath& path, std::size_t first, std::size_t last,
           std::vector<KalmanStep>& steps) const;
  // z of knot k moved by a share of the tangents, within the bounds of parameters.
  void move(EstimatePath& path, std::size_t k, const Row& change, double share) const;
  // The tangents from z of knot k of one path to that of another.
  Row change(const EstimatePath& from, const EstimatePath& to, std::size_t k) const;

 private:
  static constexpr std::size_t kMostRows = 512;  // of a batch of linearise, which P may make large

  std::vector<std::string> names_of_outputs() const;
  void set_deviations();
  void set_sigma();
  void set_knots();
  Row inputs(const EstimatePath& path, std::size_t k) const;
  Row parameters(const EstimatePath& path, std::size_t k) const;
  KalmanStep step_of(const Linearisation<double>& lin, std::size_t i, double h) const;
  void add_rows(const double* measured, const double* shown, const double* slopes,
                KalmanStep& step) const;

  System system_;
  const Recording& recording_;
  const EstimateOptions& options_;
  std::vector<std::size_t> force_places_;  // among the inputs
  std::vector<std::string> force_names_;
  Unknowns unknowns_;
  Measured measured_;
  Observer observer_;
  std::size_t nx_ = 0, nt_ = 0, nu_ = 0, nf_ = 0, np_ = 0, nz_ = 0;
  Row x0_std_, process_, force_std_, force_rate_, param_std_, param_rate_, sigma_;
  std::vector<EstimateKnot> knots_;
  std::vector<std::size_t> knot_of_sample_;
  mutable std::int64_t simulated_ = 0;
};

}  // namespace cycloid::inline optimise
