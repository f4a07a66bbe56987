// LatticeWork: a flow on a lattice at given parameters and inputs: its step and the way back.
//
//   ω = 1 / (3 ν Δt / h² + ½)                                                        (1)
// is the rate of shear. With one rate the others are ω too. With two, that of odd parts makes flat
// walls lie half a cell away at any viscosity (GinzburgAdler1994):
//   ω_o = 8 (2 - ω) / (8 - ω)                                                        (2)
// With several, bulk and even rests relax with 1 and odd rests with 1.6, which keeps small
// viscosities stable. A step pushes (lattice_kernels.h), then mends (lattice_links.h).
#pragma once

#include <memory>
#include <vector>

#include "cycloid/fluid/lattice/lattice_links.h"

namespace cycloid::inline fluid {

template <class T>
class LatticeWork {
 public:
  LatticeWork(std::shared_ptr<const LatticeModel> model, int threads);

  const LatticeModel& model;
  const LatticeSet set;
  const std::ptrdiff_t nodes;
  int threads;

  // Reads the parameters, clears their cotangents.
  void read(const T* p);
  void give_back(double* p_bar);
  void set_inputs(const T* u);

  // X = what is pushed; false where a node is not slower than sound.
  bool push(const T* x, T* X);
  // What the links bring, from what was pushed, and its way into X.
  void links(const T* x, const T* X, T* values) const;
  void settle(const T* values, T* X) const;
  bool step(const T* x, T* X) {
    const bool slow = push(x, X);
    links(x, X, values_.data());
    settle(values_.data(), X);
    return slow;
  }
  // Adds to x_bar and, unless null, to u_bar.
  void step_pullback(const T* x, const T* X_bar, T* x_bar, T* u_bar);
  // The parts of it that observers use: of pushed numbers, and of the links' values.
  void push_pullback(const T* x, const T* X_bar, bool patched, T* x_bar);
  void link_pullback(std::size_t link, const T* x, T value_bar, T* x_bar, T* u_bar);
  // What the last push_pullback left for the force.
  void give_force(T* u_bar);
  // Null tangents are zero.
  void step_pushforward(const T* x, const T* x_tan, const T* p_tan, const T* u_tan, T* X_tan);

  const LatticeLinks& linked() const { return links_; }
  std::size_t link_count() const { return links_.all().size(); }
  // The velocity of a node in units of the lattice, half a force included, and its pullback.
  void velocity(const T* x, std::ptrdiff_t node, T* u) const;
  void velocity_pullback(std::ptrdiff_t node, const T* u_bar, T* x_bar, T* force_bar) const;
  T force(int a) const { return view_.force[a]; }
  void add_force_bar(int a, double bar) { force_bar_[a] += bar; }

  double density = 1, density_bar = 0;

 private:
  using Numbers = std::vector<const double*>;
  Numbers obstacle_numbers(const std::vector<double>& p) const;
  void set_rates();
  // dω/dν of (1), and dω_o/dω of (2) or 0.
  void rate_slopes(double& omega, double& odd) const;
  void make_patches();
  static double number(const T* p, const FlowModel::Place& place, int i, const T* u);
  // Calls visit(place, index, coefficient) for what c_j·W of a link is a sum of, and returns it.
  template <class Visit>
  double wall_speed(const LatticeLink& l, const T* p, const T* u, Visit&& visit) const;
  double term_scale(const LatticeLink& l) const;  // of the velocity, without s
  // Calls visit(chunk, begin, end) for chunks of runs, on several threads.
  template <class Visit>
  void for_chunks(Visit&& visit) const;
  template <class Visit>
  void for_links(std::size_t count, Visit&& visit) const;
  T outflow_term(const LatticeLink& l, const T* x) const;

  std::shared_ptr<const LatticeModel> keep_;
  const LatticeKernels<T>* kernels_;
  LatticeView<T> view_{};
  LatticeLinks links_;
  std::vector<T> p_;
  std::vector<double> wide_p_, p_bar_, linked_numbers_;
  Numbers numbers_;  // of each obstacle, in wide_p_ and p_bar_
  std::vector<double*> numbers_bar_;
  std::vector<T> terms_, values_, room_;
  // Of every link, where its number comes from and goes; those that do more than copy.
  std::vector<std::ptrdiff_t> from_, to_;
  std::vector<int> not_copied_;
  std::vector<LatticePatch<T>> patches_;
  std::vector<int> first_patch_;
  std::vector<double> chunk_sums_;
  double rates_bar_[4] = {}, force_bar_[3] = {};
  const T* inputs_ = nullptr;
  bool linked_ = false, terms_made_ = false, walls_have_inputs_ = false;
};

extern template class LatticeWork<float>;
extern template class LatticeWork<double>;

}  // namespace cycloid::inline fluid
