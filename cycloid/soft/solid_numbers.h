// SolidNumbers: the parameters of a solid body, read once for a run, and their cotangents.
//
// The registry (solid.h) holds young, poisson and density as one number or one per cell; damping
// [s], drag [1/s], mooney and gravity [m/s²]; mass (point masses [kg]) and vertices. What steps and
// observers need of them is derived here:
//   mu, lam of each cell from young and poisson                          (1)   coefficients.h
//   m = Σ over cells of cell_mass + of terms + point masses              (2)   [kg]
// and at the end their cotangents go back through (1) and (2).
#pragma once

#include <vector>

#include "cycloid/soft/solid_plan.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline soft {

enum class SolidIntegrator { implicit_euler, newmark, bdf2 };

// A body, as its steppers and observers share it.
struct SolidBody {
  std::shared_ptr<const SolidPlan> plan;
  const SolidKernels* kernels = nullptr;
  Material material = Material::neo_hookean;
  bool elastic = true;  // false: a term is the material, and cells only damp
  SolidIntegrator integrator = SolidIntegrator::implicit_euler;
  double dt = 0.01;
  int force_input = -1, held_input = -1;  // where they begin; -1: there is none
  int turned_input = -1;                  // likewise, of a rod's clamped segments in their order
  int inputs = 0;
  // Of the registry: where a parameter is among those in lanes, or which array it is.
  struct Place {
    int at = -1;
    bool array = false;
  };
  Place young, poisson, density, damping, drag, mooney, gravity, mass, vertices;
  int lane_numbers = 0;
  bool has_rates = false;  // besides damping: friction, dampers along edges
};

class SolidNumbers {
 public:
  SolidNumbers(const SolidBody& body, int threads);

  // Reads the parameters; clears the cotangents.
  void read(const StepParameters<double>& p);
  // Gives back the cotangents of the parameters in lanes, and adds those of arrays.
  void give_back(double* p_bar);

  SolidView view() const;  // without positions
  // What pulls on a number [m/s²]: angles of rods weigh nothing.
  double gravity_at(std::size_t i) const { return i < points_ ? gravity[i % 3] : 0; }
  void add_gravity(std::size_t i, double bar) {
    if (i < points_) gravity_bar[i % 3] += bar;
  }
  // A force on every position as one on every number; null for null.
  const double* spread_force(const double* u, std::vector<double>& space) const;
  const Terms& terms() const { return body.plan->terms; }
  // Of all terms, at a row of inputs (or null).
  TermNumbers numbers_of_terms(const double* u) const;
  // Takes the cotangents of those, and adds what is the inputs' to u_bar (or null).
  void add_terms(const TermNumbers& bar, double* u_bar);

  const SolidBody& body;
  int threads;
  const double* rest = nullptr;                          // vertices (numbers)
  std::vector<double> young, poisson, density, mu, lam;  // (cells)
  std::vector<double> mass;                              // m (vertices)
  double damping = 0, drag = 0, mooney = 0, gravity[3] = {};

  bool wants_back = false;  // somebody asks for cotangents
  std::vector<double> rest_bar, mass_bar, mu_bar, lam_bar, mooney_bar, z_bar;
  TermNumbers terms_bar;
  double damping_bar = 0, drag_bar = 0, gravity_bar[3] = {};

  // Places for the pullbacks of kernels; damping's is in z_bar, cell by cell, and add_damping puts
  // it where it belongs.
  SolidBars bars();
  void add_damping(double z_over_damping);

 private:
  void clear();
  StepParameters<double> parameters_;
  std::size_t points_;            // numbers that are positions
  std::vector<double> all_rest_;  // with those of angles, zeros
};

// The direction of a body's parameters.
struct SolidNumbersTangent {
  SolidNumbersTangent(const SolidNumbers& at, const StepTangents<double>& tangents);

  double gravity_at(std::size_t i) const { return i < points ? gravity[i % 3] : 0; }

  const double* rest = nullptr;  // null: zero
  std::size_t points = 0;        // numbers that are positions
  std::vector<double> all_rest;
  std::vector<double> mu, lam, mass;
  const double* lanes = nullptr;  // of the parameters there; null: zero
  double damping = 0, drag = 0, mooney = 0, gravity[3] = {};
};

}  // namespace cycloid::inline soft
