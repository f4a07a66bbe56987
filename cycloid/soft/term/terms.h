// Terms of a body: its laws besides the cells, together.
//
// A law's number is a constant, a parameter and an input added up, each where there is one. The
// numbers of all terms lie one after the other (`TermNumbers`), and so do their cotangents. What
// terms remember from step to step (plastic strains) lies one after the other too: `memory`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cycloid/base/thread_pool.h"
#include "cycloid/soft/term/stencil_kernels.h"

namespace cycloid::inline soft {

struct StencilTerm {
  StencilLaw law;
  int form = 0;
  bool stores = true;                  // its energy is the body's: not so for loads
  std::vector<int> nodes = {};         // (stencils, nodes)
  std::vector<double> constants = {};  // (stencils, constants)
  struct Source {
    double constant = 0;
    int parameter = -1, input = -1;  // among those in lanes, in the row of inputs
  };
  std::vector<Source> sources = {};  // (numbers)
  std::string name = {};             // for messages: "floor"

  // Made by the plan.
  const StencilKernels* kernels = nullptr;
  std::vector<std::vector<int>> colours = {};  // chunks that share no vertex
  std::vector<int> slot = {};                  // as in BlockRows
  int first_number = 0, first_memory = 0;

  int count() const { return static_cast<int>(nodes.size()) / kernels->nodes; }
};

using Terms = std::vector<StencilTerm>;
using TermNumbers = std::vector<double>;

// Chunks of `items` groups of `each` vertices that share none of one colour: greedy.
inline constexpr int kTermChunk = 32;
std::vector<std::vector<int>> colour_chunks(std::span<const int> nodes, int each, int vertices,
                                            int chunk);

TermNumbers term_numbers(const Terms& terms, const double* parameters, const double* inputs);
// Their tangents, along those of parameters and inputs; null: zero.
TermNumbers term_numbers_tangent(const Terms& terms, const double* parameters,
                                 const double* inputs);
// Cotangents of the numbers, to those of parameters in lanes and of inputs; null: not wanted.
template <class S>
void term_numbers_pullback(const Terms& terms, const std::vector<S>& bar, S* parameters_bar,
                           S* inputs_bar) {
  std::size_t i = 0;
  for (const StencilTerm& term : terms) {
    for (const StencilTerm::Source& source : term.sources) {
      if (source.parameter >= 0 && parameters_bar) parameters_bar[source.parameter] += bar[i];
      if (source.input >= 0 && inputs_bar) inputs_bar[source.input] += bar[i];
      ++i;
    }
  }
}

// A body's arrays as all terms see them.
struct TermsAt {
  const double *rest = nullptr, *now = nullptr;
  const double* before[2] = {nullptr, nullptr};
  const double* numbers = nullptr;  // TermNumbers; of a tangent: null for zeros
  const double* memory = nullptr;   // null: zeros
  // Without a step: from where frames of rods are carried (rod_laws.h); null: from rest.
  const double* frames = nullptr;
  StencilStep step;
};
struct TermsBars {
  double *rest = nullptr, *now = nullptr;
  double* before[2] = {nullptr, nullptr};
  double* numbers = nullptr;
  double* memory = nullptr;
  double* frames = nullptr;
};

// stored: only of terms whose energy is the body's.
double terms_energy(const Terms& terms, const TermsAt& at, int threads, bool stored);
void terms_energy_pullback(const Terms& terms, const TermsAt& at, int threads, double bar,
                           const TermsBars& bars);  // of stored ones
void terms_force(const Terms& terms, const TermsAt& at, int threads, double* f);
void terms_force_pullback(const Terms& terms, const TermsAt& at, int threads, const double* f_bar,
                          const TermsBars& bars);
void terms_force_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent, int threads,
                         double* f_tan);
// The tangents of pullbacks along a direction, with what is given back held.
void terms_force_pullback_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent,
                                  int threads, const double* f_bar, const TermsBars& bars);
// f += the forces less the derivative of the energy: of terms that have no potential.
void terms_rotational_force(const Terms& terms, const TermsAt& at, int threads, double* f);
// first: as in BlockRows. skew: null, or as long as values.
void terms_stiffness(const Terms& terms, const TermsAt& at, int threads, bool positive,
                     const std::int64_t* first, double* values, double* skew);
void terms_mass(const Terms& terms, const TermsAt& at, int threads, double* mass);
void terms_mass_pullback(const Terms& terms, const TermsAt& at, int threads, const double* mass_bar,
                         const TermsBars& bars);
void terms_mass_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent, int threads,
                        double* mass_tan);
void terms_mass_pullback_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent,
                                 int threads, const double* mass_bar, const TermsBars& bars);

// How many numbers the terms remember.
int memory_size(const Terms& terms);
// What they remember after a step to the positions now: memory_size numbers, added to.
void terms_flow(const Terms& terms, const TermsAt& at, int threads, double* next);
void terms_flow_pullback(const Terms& terms, const TermsAt& at, int threads, const double* next_bar,
                         const TermsBars& bars);
void terms_flow_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent, int threads,
                        double* next_tan);
void terms_flow_pullback_tangent(const Terms& terms, const TermsAt& at, const TermsAt& tangent,
                                 int threads, const double* next_bar, const TermsBars& bars);
// Mean stress (cells, 9) of a law that is the material of all cells; false where there is none.
bool terms_stress(const Terms& terms, const TermsAt& at, int threads, double* stress);
void terms_stress_pullback(const Terms& terms, const TermsAt& at, int threads, const double* bar,
                           const TermsBars& bars);

bool all_symmetric(const Terms& terms);
bool any_barrier(const Terms& terms);

// How much of a step d from y no barrier forbids, in 0 … 1: by steps that are as long as the
// distance is (obstacle.h), up to a tenth of it.
double admissible_part(const Terms& terms, const TermNumbers& numbers, const double* y,
                       const double* d);
// The first vertex that is not outside of an obstacle with a barrier: -1 where there is none.
struct Trespass {
  int vertex = -1;
  double distance = 0;
  std::string obstacle = {};
};
Trespass first_trespass(const Terms& terms, const TermNumbers& numbers, const double* y);
// Moves vertices that are inside such an obstacle straight out of it, half the barrier's width off.
void push_out(const Terms& terms, const TermNumbers& numbers, std::span<const char> held,
              double* y);

}  // namespace cycloid::inline soft
