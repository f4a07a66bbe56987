// Field<T>: rate of change and energy of a learned law (learned_law.h) in columns, with pullbacks.
//
// Columns are environments or samples side by side, (number, columns), as in network/mlp_block.h:
// every product with weights is one of matrices. A Field has its memory and is used by one caller
// at a time. With the accelerations a of (5) or (7), which solve M a = r, and λ = M⁻ᵀ ā:
//   ā of a  ->  cotangents of λᵀ(r - M a) with λ and a held                     (8)
// which for (5) is ⟨(λ, 0), ∂L⟩ - ⟨(0, λ), ∂²L (v, a)⟩: one gradient and one Hessian product to
// pull back, whatever n. For (7), with Ḟ = J v and Z = J λ tangents of the network along v and λ:
//   λᵀ(B u - D v - ∂V) - λᵀ(Ḟ Fᵀ + F Ḟᵀ) v + vᵀ Z Fᵀ v - λᵀ (F Fᵀ + ε) a          (9)
// Of (11), with a and λ: J μ = 0 and m μ + Jᵀ ν = ā, by the factor of J m⁻¹ Jᵀ, then cotangents of
//   μᵀ(B u - D v - ∂V/∂q - m a) + Σ λ r·μ_r - ν (r·a_r + |w|² + 2 α r·w + α² Φ)          (12)
// with μ, ν, a and λ held, where μ_r, a_r and w are differences as r is, of μ, a and v.
// T is float, double, or Tangent1 (network/mlp_block.h): then everything comes with its derivative
// in a direction, which of pullbacks is a second one.
#pragma once

#include <algorithm>
#include <functional>

#include "cycloid/couple/lane_array.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/network/mlp_block.h"

namespace cycloid::inline learn {

// The networks of a law with their constants in T.
template <class T>
struct FieldPlan {
  explicit FieldPlan(const LearnedLaw& of);

  LearnedLaw law;
  std::vector<MlpPlan<T>> networks;
  std::vector<int> first_array;                            // of each network
  int own = 0, second = -1, dissipation = -1, input = -1;  // places of networks; -1: none
  int matrix = -1;                                         // the array "input.matrix", or -1
  int masses = -1, lengths = -1, anchors = -1;             // arrays of constrained, or -1
  std::vector<std::int64_t> arrays;                        // numbers of each array of parameters
};

template <class T>
class Field {
 public:
  // columns: 1, or whole registers (block_columns).
  Field(std::shared_ptr<const FieldPlan<Scalar<T>>> plan, int columns);

  int columns() const { return C_; }
  // Arrays in the order of FieldPlan::arrays; w_bar null: no cotangents of weights.
  void use(const T* const* w, T* const* w_bar);

  // Makes x_dot_bar of x_dot, both (states, columns).
  using Between = std::function<void(const T* x_dot, T* x_dot_bar)>;
  // Writes x_dot (states, columns) of x (states, columns) and u (inputs, columns).
  void rate(const T* x, const T* u, T* x_dot);
  // Likewise, and the way back: adds to x_bar, u_bar and the cotangents of weights.
  void rate_pullback(const T* x, const T* u, const Between& between, T* x_bar, T* u_bar);
  // E (columns).
  void energy(const T* x, T* E);
  void energy_pullback(const T* x, const T* E_bar, T* x_bar);
  // Of constrained: |r_k| - L_k (distances, columns), what is missing or too much of each length.
  void violation(const T* x, T* off);
  void violation_pullback(const T* x, const T* off_bar, T* x_bar);

 private:
  struct Net {
    const MlpPlan<Scalar<T>>* plan = nullptr;
    const T* const* w = nullptr;
    T* const* w_bar = nullptr;
    std::unique_ptr<LaneArray<T>> memory, y, y_bar, y_tan, y_bar_tan, g, v, u, x_bar, x_tan;
  };
  struct Call {
    const T *x, *u;
    const Between* between;  // null: forward only
    T *x_bar, *u_bar;
  };

  // Zeros (n, columns) for as long as a call lasts.
  struct Piece {
    T* at;
    std::size_t numbers;
    T* data() const { return at; }
    void clear() const { std::fill_n(at, numbers, T(0)); }
  };
  Piece piece(int n);
  std::size_t room(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(C_) + 64;
  }
  MlpBlock<T> block(Net& net, const T* x, bool to_weights) const;
  // Run `inner` with the network's value (gradient) at hand, then the way back if there is one.
  template <class Inner>
  void with_value(int net, const T* x, const Call& call, T* x_bar, Inner inner);
  template <class Inner>
  void with_gradient(int net, const T* x, const Call& call, T* x_bar, Inner inner);

  void run(const Call& call, T* x_dot);
  void neural_ode(const Call& call, T* x_dot);
  void hamiltonian(const Call& call, T* x_dot);
  void lagrangian(const Call& call, T* x_dot);
  void deep_lagrangian(const Call& call, T* x_dot);
  void constrained(const Call& call, T* x_dot);
  // r_k of rows of points, anchors as well where `places`, else zero; the way back adds to rows
  // and, where `places`, to anchors.
  void between_points(const T* rows, bool places, T* r) const;
  void pull_points_back(const T* r_bar, bool places, T* rows_bar);
  void matrix_of_distances(const T* r);
  int distances() const { return static_cast<int>(plan_->law.distances.size()); }
  // force = B u - D r with r (n, columns), and the way back: adds to r_bar and u_bar.
  void applied(const T* r, const T* u, T* force);
  void pull_applied_back(const T* r, const T* u, const T* force_bar, T* r_bar, T* u_bar);
  // Solves with M (size, size, columns) of each column; rows of b.
  void factor(int size);
  void solve(int size, T* b);
  void matrix_of_lagrangian(const T* x);
  // Rows of x_bar that a second-order law has: kinematics, then λ from the acceleration.
  void from_rates(const T* x_dot_bar, T* x_bar);

  std::shared_ptr<const FieldPlan<Scalar<T>>> plan_;
  int C_, n_, m_, nx_;
  bool to_weights_ = false;
  std::vector<Net> nets_;
  const T* matrix_ = nullptr;
  T* matrix_bar_ = nullptr;
  const T *masses_ = nullptr, *lengths_ = nullptr, *anchors_ = nullptr;
  T *masses_bar_ = nullptr, *lengths_bar_ = nullptr, *anchors_bar_ = nullptr;
  // What a call has at hand, (number, columns).
  LaneArray<T> xu_, xu_bar_, bar_, rate_, force_, lambda_, a_, M_, exchanged_, F_, F_dot_, Z_,
      pieces_;
  std::size_t used_ = 0;
  std::vector<T> A_, e_, b_;  // of one column's solve
};

extern template struct FieldPlan<float>;
extern template struct FieldPlan<double>;
extern template class Field<float>;
extern template class Field<double>;
extern template class Field<Tangent1>;

}  // namespace cycloid::inline learn
