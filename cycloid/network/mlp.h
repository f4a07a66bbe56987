// Room network: dense networks as operators of the core.
//
//   mlp_shape.h    sizes, features, normalisation; initial weights
//   activation.h   what a hidden unit does, with three derivatives
//   mlp.h          value, pullback, gradient, its pullback, Hessian-vector products: here, of one
//                  column in any scalar
//   mlp_pass.h     ... the ways through the layers that these are made of
//   mlp_block.h    ... of many columns at once, as matrix products in registers
//   network.h      a network with its weights; rows of a batch on threads
//   adam.h         a step of training
//
// With w the weights, N(x; w) a network (mlp_shape.h) and g(x) = ∂N/∂x where it has one output:
//   mlp                    y = N(x)                                          (1)
//   mlp_pullback           x̄ += (∂N/∂x)ᵀ ȳ,  w̄ += (∂N/∂w)ᵀ ȳ                    (2)
//   mlp_gradient           g = (2) with ȳ = 1                                 (3)
//   mlp_gradient_pullback  of ⟨ḡ, g⟩, which is the derivative of N in the direction ḡ:
//                          x̄ += H ḡ,  w̄ += ∂⟨ḡ, g⟩/∂w                           (4)
//   mlp_hessian_product    H v, H = ∂²N/∂x²: (4) in direction v               (5)
//   mlp_hessian_product_pullback   of ⟨h̄, H v⟩, the derivative of N in directions v and h̄ (6)
// (4) is double back-propagation in one way forward and back: the layers' values and cotangents of
// (3) are kept, tangents along ḡ go forward beside the values and back beside the cotangents, six
// products for each layer in all. (6) has two directions, eight products of a layer and four for
// its weights. Where x or w lies on a kink of relu the derivative is that of activation.h.
//
// x (inputs), y (outputs); weights W_0, b_0, W_1, … by pointers; memory mlp_numbers(plan, order).
#pragma once

#include "cycloid/network/mlp_pass.h"

namespace cycloid::inline network {

template <class S>
std::size_t mlp_numbers(const MlpPlan<Scalar<S>>& plan, MlpOrder order) {
  return MlpPass<MlpLane<S>>::numbers(plan, {}, order);
}

// (1)
template <class S, class V>
void mlp(const MlpPlan<Scalar<S>>& plan, const V* const* w, const S* x, S* y, S* memory) {
  MlpPass<MlpLane<S, V>> pass(plan, {}, MlpOrder::value, w, nullptr, memory);
  pass.forward(x, y);
}

// (2)
template <class S, class V, class A>
void mlp_pullback(const MlpPlan<Scalar<S>>& plan, const V* const* w, const S* x, const S* y_bar,
                  S* memory, S* x_bar, A* const* w_bar) {
  MlpPass<MlpLane<S, V, A>> pass(plan, {}, MlpOrder::pullback, w, w_bar, memory);
  pass.forward(x, nullptr);
  pass.reverse(y_bar, x_bar, w_bar != nullptr);
}

// (3); writes g (inputs).
template <class S, class V>
void mlp_gradient(const MlpPlan<Scalar<S>>& plan, const V* const* w, const S* x, S* g, S* memory) {
  MlpPass<MlpLane<S, V>> pass(plan, {}, MlpOrder::pullback, w, nullptr, memory);
  for (int i = 0; i < plan.shape.inputs(); ++i) g[i] = S(0);
  pass.forward(x, nullptr);
  pass.reverse(nullptr, g, false);
}

// (4)
template <class S, class V, class A>
void mlp_gradient_pullback(const MlpPlan<Scalar<S>>& plan, const V* const* w, const S* x,
                           const S* g_bar, S* memory, S* x_bar, A* const* w_bar) {
  MlpPass<MlpLane<S, V, A>> pass(plan, {}, MlpOrder::first, w, w_bar, memory);
  pass.forward(x, nullptr);
  pass.reverse(nullptr, nullptr, false);
  pass.tangent(0, g_bar, nullptr);
  pass.reverse_first(nullptr, x_bar);
}

// (5); writes h (inputs).
template <class S, class V>
void mlp_hessian_product(const MlpPlan<Scalar<S>>& plan, const V* const* w, const S* x, const S* v,
                         S* h, S* memory) {
  for (int i = 0; i < plan.shape.inputs(); ++i) h[i] = S(0);
  mlp_gradient_pullback(plan, w, x, v, memory, h, static_cast<S* const*>(nullptr));
}

// (6)
template <class S, class V, class A>
void mlp_hessian_product_pullback(const MlpPlan<Scalar<S>>& plan, const V* const* w, const S* x,
                                  const S* v, const S* h_bar, S* memory, S* x_bar, S* v_bar,
                                  A* const* w_bar) {
  MlpPass<MlpLane<S, V, A>> pass(plan, {}, MlpOrder::second, w, w_bar, memory);
  pass.forward(x, nullptr);
  pass.reverse(nullptr, nullptr, false);
  pass.tangent(0, v, nullptr);
  pass.tangent(1, h_bar, nullptr);
  pass.second();
  pass.reverse_second(x_bar, v_bar);
}

}  // namespace cycloid::inline network
