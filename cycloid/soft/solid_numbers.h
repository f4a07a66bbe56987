// SolidNumbers: the parameters of a solid body, read once for a run, and their cotangents.
//
// The registry (solid.h) holds young, poisson and density as one number or one per cell; damping
// [s], drag [1/s], mooney and gravity [m/s²]; mass (point masses [kg]) and vertices. What steps and
// observers need of them is derived here:
//   mu, lam of each cell from young and poisson                          (1)   coefficients.h
//   m = Σ over cells of cell_mass + of terms + point masses              (2)   [kg]
// and at the end their cotangents go back through (1) and (2).
//
// SolidDuals has the same numbers with a tangent, and cotangents with one, under the same names:
// formulas of a step are written once, for numbers and for dual numbers (solid_step.h).
#pragma once

#include <type_traits>
#include <vector>

#include "cycloid/math/dual.h"
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

using Dual1 = Dual<double, 1>;

// Cotangents of what kernels take, added to.
struct NumberBars {
  void clear_bars(const SolidBody& body);
  // Places for the pullbacks of kernels; damping's is in z_bar, cell by cell, and add_damping puts
  // it where it belongs.
  SolidBars bars();
  void add_damping(double z_over_damping);

  std::vector<double> rest_bar, mass_bar, mu_bar, lam_bar, mooney_bar, z_bar;
  TermNumbers terms_bar;
  double damping_bar = 0, drag_bar = 0, gravity_bar[3] = {};
};

class SolidNumbers : public NumberBars {
 public:
  SolidNumbers(const SolidBody& body, int threads);

  // Reads the parameters; clears the cotangents.
  void read(const StepParameters<double>& p);
  // Gives back the cotangents of the parameters in lanes, and adds those of arrays.
  void give_back(double* p_bar);

  SolidView view() const;  // without positions
  // What pulls on a number [m/s²]: angles of rods weigh nothing.
  double gravity_at(std::size_t i) const { return i < points_ ? gravity[i % 3] : 0; }
  double mass_at(std::size_t i) const { return mass[i / 3]; }
  double drag_rate() const { return drag; }
  double rest_at(std::size_t i) const { return rest[i]; }
  void add_gravity(std::size_t i, double bar) {
    if (i < points_) gravity_bar[i % 3] += bar;
  }
  void add_mass(std::size_t i, double bar) { mass_bar[i / 3] += bar; }
  void add_drag(double bar) { drag_bar += bar; }
  void add_rest(const std::vector<double>& bar);
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

 private:
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
  std::vector<double> young, poisson, density, mu, lam, mass;
  const double* lanes = nullptr;  // of the parameters there; null: zero
  double damping = 0, drag = 0, mooney = 0, gravity[3] = {};
};

class SolidDuals {
 public:
  SolidDuals(SolidNumbers& at, const StepTangents<double>& tangents);

  Dual1 gravity_at(std::size_t i) const { return dual(at.gravity_at(i), along.gravity_at(i)); }
  Dual1 mass_at(std::size_t i) const { return dual(at.mass_at(i), along.mass[i / 3]); }
  Dual1 drag_rate() const { return dual(at.drag, along.drag); }
  Dual1 rest_at(std::size_t i) const { return dual(at.rest[i], along.rest ? along.rest[i] : 0); }
  void add_gravity(std::size_t i, const Dual1& bar) {
    at.add_gravity(i, bar.value);
    if (i < along.points) tangent.gravity_bar[i % 3] += bar.tangent[0];
  }
  void add_mass(std::size_t i, const Dual1& bar) {
    at.add_mass(i, bar.value);
    tangent.mass_bar[i / 3] += bar.tangent[0];
  }
  void add_drag(const Dual1& bar) {
    at.add_drag(bar.value);
    tangent.drag_bar += bar.tangent[0];
  }
  void add_rest(const std::vector<Dual1>& bar);
  const Dual1* spread_force(const Dual1* u, std::vector<Dual1>& space) const;
  std::vector<Dual1> numbers_of_terms(const Dual1* u) const;
  void add_terms(const std::vector<Dual1>& bar, Dual1* u_bar);
  // As SolidNumbers::give_back, whose cotangents it gives back too; tangents of arrays are added
  // where somebody asks for them.
  void give_back(Dual1* p_bar, double* const* arrays_bar_tan);

  static Dual1 dual(double value, double tangent) {
    Dual1 x(value);
    x.tangent[0] = tangent;
    return x;
  }

  SolidNumbers& at;
  SolidNumbersTangent along;
  NumberBars tangent;  // of the cotangents
};

// The numbers in a scalar: of a double, of dual numbers.
template <class S>
using NumbersIn = std::conditional_t<std::is_same_v<S, double>, SolidNumbers, SolidDuals>;

inline SolidNumbers& values_of(SolidNumbers& n) { return n; }
inline const SolidNumbers& values_of(const SolidNumbers& n) { return n; }
inline SolidNumbers& values_of(const SolidDuals& n) { return n.at; }

}  // namespace cycloid::inline soft
