// minimise: the new positions of a solid as those of least incremental potential.
//
// One stage of a step (solid_stage.h), or a body at rest, asks for the positions y at which
//   Ψ(y) = Σ ½ a_i |y_i - x̃_i|² - b·(y - x̃) + W(y)                             (1)   [J]
//   r(y) = ∂Ψ/∂y = a (y - x̃) - b + f(y) = 0,  of numbers that are not held      (2)   [N]
// with W and f the energy and forces of cells and terms, damping included. Newton's method with a
// line search: the exact matrix H = a + ∂f/∂y where it is positive definite, else with cells and
// stencils made positive (cell_stiffness.h). No step is longer than what barriers admit. Of a body
// that touches itself, energy and forces are those of the pairs at y (touching_pairs.h), and the
// matrix has places for all pairs that were met on the way.
//
// Cloth that is pressed together buckles: H is not positive definite, and the search passes
// saddles, which the positive matrix is too stiff to leave. There the direction of cloth and rods
// is that of H itself, by conjugate gradients with the factor of the positive matrix, up to where H
// bends down (Steihaug1983), and it is doubled as long as that goes downhill.
//
// Forces without a potential (pressure on an open surface) have a skew part in their derivative,
// which the solves take into account (skew_solve.h); the line search takes them as constant. Held
// numbers go to their targets with the steps, as far as no cell is turned inside out by it. After a
// full step the same factor is used again as long as that converges by a factor of ten each time.
// The end is where steps are of rounding's size, or no longer get shorter; then H is factored once
// more at the solution: what the way back solves with. Of an iterative solver (stiffness_solver.h)
// it shows while it is solved with that a matrix is not positive definite; at the end a solve for
// what is left of (2) is the probe.
#pragma once

#include <memory>
#include <vector>

#include "cycloid/soft/stiffness_solver.h"
#include "cycloid/soft/touching_pairs.h"

namespace cycloid::inline soft {

struct Incremental {
  SolidView view;                  // `now` is the minimiser's own
  TermsAt terms = {};              // likewise
  TermNumbers numbers = {};        // of the terms
  std::vector<double> inertia;     // a (vertices) [N/m]
  std::vector<double> origin;      // x̃ (numbers) [m]
  std::vector<double> pull;        // b (numbers) [N]
  std::vector<double> target;      // of held numbers, in their order [m]
  std::vector<double> guess = {};  // another start (numbers), with held numbers as in the first
  int most_iterations = 60;
};

struct Minimum {
  std::unique_ptr<StiffnessSolver> factor;     // of H; null where it is not positive definite
  std::vector<double> skew = {};               // the skew part beside it; empty: there is none
  std::shared_ptr<const SolidPlan> plan = {};  // with the pairs that touch; null: there are none
  int iterations = 0;                          // factorisations but the last
  int linear_iterations = 0;                   // of conjugate gradients
  // The last step over the body's length: how far y may be from the solution. 0: it is found.
  double residual = 0;
  bool finite = true;
};

// Of (2): f of cells and terms but pairs that touch, added to force; ...
void add_forces(const SolidPlan& plan, const SolidKernels& kernels, const Incremental& problem,
                int threads, const std::vector<double>& y, std::vector<double>& force);
// ... and with it, r.
void balance(const SolidPlan& plan, const Incremental& problem, const std::vector<double>& y,
             std::vector<double>& force);
// ∂f/∂y, whole: rows of held numbers too. Sized by the caller; skew may be empty where all terms
// are symmetric.
void assemble_forces(const SolidPlan& plan, const SolidKernels& kernels, const Incremental& problem,
                     int threads, bool positive, const std::vector<double>& y,
                     std::vector<double>& values, std::vector<double>& skew);
// H of it: with the inertia, and 1 for held numbers.
void restrict_to_free(const SolidPlan& plan, const Incremental& problem,
                      std::vector<double>& values, std::vector<double>& skew);
// Calls visit(row, column, entry) for all; values may be empty.
template <class Visit>
void for_each_entry(const SparsePattern& p, std::vector<double>& values, Visit&& visit) {
  for (std::size_t i = 0; !values.empty() && i + 1 < p.first.size(); ++i) {
    for (auto e = static_cast<std::size_t>(p.first[i]);
         e < static_cast<std::size_t>(p.first[i + 1]); ++e) {
      visit(i, static_cast<std::size_t>(p.column[e]), values[e]);
    }
  }
}

// What the minimiser keeps from call to call.
struct MinimiserSpace {
  std::vector<double> force, direction, trial, values, skew, of_cells, moved, rotational;
  std::vector<double> anchor, anchor_direction;
  std::vector<double> exact, left, along;      // of a search beside an indefinite matrix
  std::shared_ptr<const SolidPlan> plan = {};  // the last one with pairs
};

// The largest last step that counts as a solution, over the body's length.
inline constexpr double kFound = 1e-10;

// y: the start, and the solution.
Minimum minimise(const SolidPlan& plan, const SolidKernels& kernels, const Incremental& problem,
                 int threads, std::vector<double>& y, MinimiserSpace& space);

}  // namespace cycloid::inline soft
