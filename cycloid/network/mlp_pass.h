// MlpPass: the ways through the layers of a network, of which mlp.h makes its operators.
//
// Each quantity travels as a jet: its value h, derivatives hᵃ, hᵇ in directions a and b of the
// input, and hᵃᵇ in both. Layers are linear but for σ, with d1, d2, d3 its derivatives at z:
//   forward       h = σ(z)                                                   (1)
//                 hᵃ = d1 zᵃ                                                  (2)
//                 hᵃᵇ = d1 zᵃᵇ + d2 zᵃ zᵇ                                       (3)
// P, Q, R are cotangents of the h of a jet, p, q, r those of z; z = W h + b gives h̄ = Wᵀ z̄.
//   reverse       of y:    p = d1 P                                           (4)
//   reverse_first, of yᵃ:  p = d1 P for zᵃ,  r = d1 R + d2 zᵃ P for z             (5)
//   reverse_second, of yᵃᵇ: p = d1 P for zᵃᵇ, qᵃ = d1 Qᵃ + d2 zᵇ P, qᵇ = d1 Qᵇ + d2 zᵃ P,
//                 r = d1 R + d2 (zᵃ Qᵃ + zᵇ Qᵇ + zᵃᵇ P) + d3 zᵃ zᵇ P                (6)
// and W̄ is the sum over the jet of z̄ hᵀ (7). P is the same in (4), (5) and (6): the others go on
// with what (4) has computed. A residual connection adds h to the next h, and its cotangent back.
//
// An Ops says what a number is and how products with weights are formed: one column of any scalar
// (MlpLane, below), or many columns in registers (mlp_block.h). Arrays are (width, columns).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cycloid/math/dual.h"
#include "cycloid/network/mlp_shape.h"

namespace cycloid::inline network {

inline constexpr int kMostLayers = 16;

// A shape and its constants in T.
template <class T>
struct MlpPlan {
  explicit MlpPlan(const MlpShape& of);

  MlpShape shape;
  std::vector<T> input_shift, input_factor, output_shift, output_scale;
  std::vector<T> waves;  // F twice (2 waves, inputs): for sines, for cosines
  int widest = 0;
};

template <class T>
MlpPlan<T>::MlpPlan(const MlpShape& of) : shape(of) {
  const auto take = [](const std::vector<double>& from, bool inverse) {
    std::vector<T> to;
    for (const double x : from) to.push_back(static_cast<T>(inverse ? 1 / x : x));
    return to;
  };
  input_shift = take(of.input_shift, false), input_factor = take(of.input_scale, true);
  output_shift = take(of.output_shift, false), output_scale = take(of.output_scale, false);
  waves = take(of.wave_matrix(), false);
  const std::vector<T> again = waves;
  waves.insert(waves.end(), again.begin(), again.end());
  widest = std::max(of.features(), of.inputs());
  for (const int n : of.widths) widest = std::max(widest, n);
}

// How much of a jet there is memory for: its value only, cotangents too, one direction, two.
enum class MlpOrder { value, pullback, first, second };

template <class Ops>
class MlpPass {
 public:
  using N = typename Ops::Number;
  using S = typename Ops::Element;
  using T = typename Ops::Constant;
  using V = typename Ops::Weight;
  using A = typename Ops::Accumulator;

  // memory: numbers(plan, ops, order). weights and weights_bar: W_0, b_0, W_1, …; the latter may be
  // null.
  MlpPass(const MlpPlan<T>& plan, const Ops& ops, MlpOrder order, const V* const* weights,
          A* const* weights_bar, N* memory)
      : plan_(plan), shape_(plan.shape), ops_(ops), weights_(weights), bars_(weights_bar) {
    carve(order, memory);
  }
  static std::size_t numbers(const MlpPlan<T>& plan, const Ops& ops, MlpOrder order) {
    return MlpPass(plan, ops, order, nullptr, nullptr, nullptr).used_;
  }

  // Writes y (outputs), unless null.
  void forward(const N* x, N* y);
  // Along x_tan, as direction 0 or 1; writes y_tan, unless null.
  void tangent(int direction, const N* x_tan, N* y_tan);
  void second();
  // y_bar null: ones. Adds to x_bar, unless null, and to W̄ where there are weights_bar.
  void reverse(const N* y_bar, N* x_bar, bool to_weights);
  // forward and reverse of ones, without cotangents of weights; the last hidden layer's weights,
  // where Ops can, are read once for both. Adds to x_bar.
  void gradient(const N* x, N* x_bar);
  // y_bar_tan null: zeros.
  void reverse_first(const N* y_bar_tan, N* x_bar);
  // Adds to the cotangents of x and of the direction a.
  void reverse_second(N* x_bar, N* a_bar);

 private:
  struct Layer {     // of h_l
    N *h, *k0, *k1;  // k0 may be h
    N *P, *p;        // p of z_l, which is W_l h_l + b_l
    N *t[2], *e[2];  // h and z of tangents; z is that of which h_l is the activation
    N *h2, *z2;      // of both directions
  };
  struct Cursor {
    N* base;
    std::size_t& used;
    const Ops& ops;
    N* operator()(int n, bool wanted = true) {
      if (!wanted) return nullptr;
      N* const p = base ? base + used : nullptr;
      used += ops.room(n);
      return p;
    }
  };

  void carve(MlpOrder order, N* memory);
  const V* weight(int l) const { return weights_[2 * l]; }
  const V* bias(int l) const { return weights_[2 * l + 1]; }
  int layers() const { return shape_.layers(); }
  int kept_inputs() const { return shape_.inputs() - static_cast<int>(shape_.angles.size()); }
  int wave_units() const { return 2 * shape_.waves(); }

  // out = (in - shift) factor, row by row; null constants: 0 and 1.
  void affine(int n, const N* in, const T* shift, const T* factor, N* out) const {
    for (int i = 0; i < n; ++i) {
      for (int c = 0; c < ops_.columns; ++c) {
        N v = in[i * ops_.columns + c];
        if (shift) v = v - N(shift[i]);
        out[i * ops_.columns + c] = factor ? v * N(factor[i]) : v;
      }
    }
  }
  // Rows of inputs that are not angles, one behind the other; rows_back adds to all.
  void keep_rows(const N* in, N* out) const {
    int to = 0;
    std::size_t angle = 0;
    for (int i = 0; i < shape_.inputs(); ++i) {
      if (angle < shape_.angles.size() && shape_.angles[angle] == i) {
        ++angle;
        continue;
      }
      std::copy_n(in + i * ops_.columns, ops_.columns, out + to++ * ops_.columns);
    }
  }
  void rows_back(const N* kept, N* all) const {
    int from = 0;
    std::size_t angle = 0;
    for (int i = 0; i < shape_.inputs(); ++i) {
      if (angle < shape_.angles.size() && shape_.angles[angle] == i) {
        ++angle;
        continue;
      }
      for (int c = 0; c < ops_.columns; ++c) {
        all[i * ops_.columns + c] += kept[from * ops_.columns + c];
      }
      ++from;
    }
  }
  // x̄ of ξ̄ = [kept rows of h_bar] + Fᵀ wave_bar; adds.
  void input_back(const N* h_bar, const N* wave_bar, N* x_bar);
  // The activation from z in place of h_{l}, with what is kept of it.
  void activate_layer(int l);
  // h₀ of x; h_{l+1} of h_l, or the output.
  void features(const N* x);
  void layer_forward(int l);
  // p of the output from its cotangent, which null is ones.
  void begin_reverse(const N* y_bar);
  // p of z_{l-1} from what W_l gave for P of h_l, and x̄ from P of h₀.
  void layer_back(int l);
  void features_back(N* x_bar);

  const MlpPlan<T>& plan_;
  const MlpShape& shape_;
  Ops ops_;
  const V* const* weights_;
  A* const* bars_;
  Layer layer_[kMostLayers + 1] = {};
  N *xi_ = nullptr, *xi_tan_ = nullptr, *out_ = nullptr;
  N *wave_k1_ = nullptr, *wave_k0_ = nullptr, *wave_e_[2] = {}, *wave_bar_ = nullptr;
  N *R_[2] = {}, *r_ = nullptr, *Q_[2][2] = {}, *q_[2] = {};
  std::size_t used_ = 0;
};

template <class Ops>
void MlpPass<Ops>::carve(MlpOrder order, N* memory) {
  Cursor take{memory, used_, ops_};
  const bool back = order >= MlpOrder::pullback, first = order >= MlpOrder::first,
             both = order >= MlpOrder::second;
  const int n0 = shape_.features(), waves = wave_units(), L = layers();
  xi_ = take(shape_.inputs());
  xi_tan_ = take(shape_.inputs(), back);
  out_ = take(shape_.outputs());
  wave_k0_ = take(waves), wave_k1_ = take(waves);
  wave_bar_ = take(waves, back);
  for (int d = 0; d < 2; ++d) wave_e_[d] = take(waves, d == 0 ? first : both);
  for (int l = 0; l < L; ++l) {
    Layer& y = layer_[l];
    const int n = shape_.in(l), m = shape_.out(l);
    y.h = take(n);
    const bool own = l > 0 && !(keeps_value(shape_.activation) && !shape_.skips(l - 1));
    y.k0 = own ? take(n, back) : y.h;
    y.k1 = take(n, back && l > 0 && keeps_two(shape_.activation));
    if (!y.k1) y.k1 = y.k0;
    y.P = take(n, back), y.p = take(m, back);
    for (int d = 0; d < 2; ++d) {
      const bool wanted = d == 0 ? first : both;
      y.t[d] = take(n, wanted), y.e[d] = take(n, wanted && l > 0);
    }
    y.h2 = take(n, both), y.z2 = take(n, both && l > 0);
  }
  const int widest = std::max(plan_.widest, n0);
  for (int k = 0; k < 2; ++k) {
    R_[k] = take(widest, first);
    for (int d = 0; d < 2; ++d) Q_[d][k] = take(widest, both);
    q_[k] = take(widest, both);
  }
  r_ = take(widest, first);
}

template <class Ops>
void MlpPass<Ops>::activate_layer(int l) {
  Layer& y = layer_[l];
  const bool back = y.P != nullptr || l == 0;
  const N* const before = shape_.skips(l - 1) ? layer_[l - 1].h : nullptr;
  with_activation(shape_.activation, [&]<Activation K>() {
    ops_.each(shape_.in(l), [&](int i) {
      const Activated<S> a = activate<K>(ops_.get(y.h, i));  // (1)
      if (back && y.k0 != y.h) ops_.put(y.k0, i, a.k0);
      if (back && keeps_two(K)) ops_.put(y.k1, i, a.k1);
      ops_.put(y.h, i, before ? a.value + ops_.get(before, i) : a.value);
    });
  });
}

template <class Ops>
void MlpPass<Ops>::features(const N* x) {
  const bool scaled = !plan_.input_shift.empty();
  affine(shape_.inputs(), x, scaled ? plan_.input_shift.data() : nullptr,
         scaled ? plan_.input_factor.data() : nullptr, xi_);
  const int waves = wave_units(), half = shape_.waves();
  if (waves > 0) {
    N* const at = layer_[0].h + kept_inputs() * ops_.columns;
    ops_.dense(plan_.waves.data(), static_cast<const T*>(nullptr), waves, shape_.inputs(), xi_,
               wave_k1_);
    for (int i = 0; i < waves * ops_.columns; ++i) {
      N s, c;
      sin_cos(wave_k1_[i], s, c);
      const bool sine = i < half * ops_.columns;
      wave_k0_[i] = sine ? s : c;
      wave_k1_[i] = sine ? c : -s;
      at[i] = wave_k0_[i];
    }
  }
  keep_rows(xi_, layer_[0].h);
}

template <class Ops>
void MlpPass<Ops>::layer_forward(int l) {
  const bool last = l + 1 == layers();
  N* const z = last ? out_ : layer_[l + 1].h;
  ops_.dense(weight(l), bias(l), shape_.out(l), shape_.in(l), layer_[l].h, z);
  if (!last) activate_layer(l + 1);
}

template <class Ops>
void MlpPass<Ops>::forward(const N* x, N* y) {
  features(x);
  for (int l = 0; l < layers(); ++l) layer_forward(l);
  if (!y) return;
  const bool wide = !plan_.output_shift.empty();
  for (int i = 0; i < shape_.outputs(); ++i) {
    for (int c = 0; c < ops_.columns; ++c) {
      const N z = out_[i * ops_.columns + c];
      y[i * ops_.columns + c] = wide ? z * N(plan_.output_scale[static_cast<std::size_t>(i)]) +
                                           N(plan_.output_shift[static_cast<std::size_t>(i)])
                                     : z;
    }
  }
}

template <class Ops>
void MlpPass<Ops>::tangent(int d, const N* x_tan, N* y_tan) {
  const T* const none = nullptr;
  const T* const factor = plan_.input_factor.empty() ? none : plan_.input_factor.data();
  affine(shape_.inputs(), x_tan, none, factor, xi_tan_);
  const int waves = wave_units();
  if (waves > 0) {
    N* const at = layer_[0].t[d] + kept_inputs() * ops_.columns;
    ops_.dense(plan_.waves.data(), none, waves, shape_.inputs(), xi_tan_, wave_e_[d]);
    for (int i = 0; i < waves * ops_.columns; ++i) at[i] = wave_k1_[i] * wave_e_[d][i];  // (2)
  }
  keep_rows(xi_tan_, layer_[0].t[d]);
  for (int l = 0; l < layers(); ++l) {
    const bool last = l + 1 == layers();
    if (last && !y_tan) return;
    N* const z = last ? out_ : layer_[l + 1].e[d];
    ops_.dense(weight(l), static_cast<const V*>(nullptr), shape_.out(l), shape_.in(l),
               layer_[l].t[d], z);
    if (last) break;
    const Layer& y = layer_[l + 1];
    const N* const before = shape_.skips(l) ? layer_[l].t[d] : nullptr;
    with_activation(shape_.activation, [&]<Activation K>() {
      ops_.each(shape_.out(l), [&](int i) {
        const S d1 = first_derivative<K>(ops_.get(y.k0, i), ops_.get(y.k1, i));
        const S t = d1 * ops_.get(z, i);  // (2)
        ops_.put(y.t[d], i, before ? t + ops_.get(before, i) : t);
      });
    });
  }
  affine(shape_.outputs(), out_, none,
         plan_.output_scale.empty() ? none : plan_.output_scale.data(), y_tan);
}

template <class Ops>
void MlpPass<Ops>::second() {
  std::fill_n(layer_[0].h2, shape_.features() * ops_.columns, N(0));
  N* const at = layer_[0].h2 + kept_inputs() * ops_.columns;
  for (int i = 0; i < wave_units() * ops_.columns; ++i) {
    at[i] = -wave_k0_[i] * wave_e_[0][i] * wave_e_[1][i];  // (3)
  }
  for (int l = 0; l + 1 < layers(); ++l) {
    const Layer& y = layer_[l + 1];
    ops_.dense(weight(l), static_cast<const V*>(nullptr), shape_.out(l), shape_.in(l), layer_[l].h2,
               y.z2);
    const N* const before = shape_.skips(l) ? layer_[l].h2 : nullptr;
    with_activation(shape_.activation, [&]<Activation K>() {
      ops_.each(shape_.out(l), [&](int i) {
        const S k0 = ops_.get(y.k0, i), k1 = ops_.get(y.k1, i);
        const S t =
            first_derivative<K>(k0, k1) * ops_.get(y.z2, i) +
            second_derivative<K>(k0, k1) * ops_.get(y.e[0], i) * ops_.get(y.e[1], i);  // (3)
        ops_.put(y.h2, i, before ? t + ops_.get(before, i) : t);
      });
    });
  }
}

template <class Ops>
void MlpPass<Ops>::input_back(const N* h_bar, const N* wave_bar, N* x_bar) {
  const int n = shape_.inputs();
  std::fill_n(xi_tan_, n * ops_.columns, N(0));
  if (wave_units() > 0) {
    ops_.dense_back(plan_.waves.data(), wave_units(), n, wave_bar, xi_tan_);
  }
  rows_back(h_bar, xi_tan_);
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < ops_.columns; ++c) {
      const N v = xi_tan_[i * ops_.columns + c];
      x_bar[i * ops_.columns + c] +=
          plan_.input_factor.empty() ? v : v * N(plan_.input_factor[static_cast<std::size_t>(i)]);
    }
  }
}

template <class Ops>
void MlpPass<Ops>::begin_reverse(const N* y_bar) {
  N* const top = layer_[layers() - 1].p;
  for (int i = 0; i < shape_.outputs(); ++i) {
    const N scale =
        plan_.output_scale.empty() ? N(1) : N(plan_.output_scale[static_cast<std::size_t>(i)]);
    for (int c = 0; c < ops_.columns; ++c) {
      top[i * ops_.columns + c] = y_bar ? y_bar[i * ops_.columns + c] * scale : scale;
    }
  }
}

template <class Ops>
void MlpPass<Ops>::layer_back(int l) {
  const Layer& y = layer_[l];
  const N* const around = shape_.skips(l) ? layer_[l + 1].P : nullptr;
  N* const p = layer_[l - 1].p;
  with_activation(shape_.activation, [&]<Activation K>() {
    ops_.each(shape_.in(l), [&](int i) {
      S P = ops_.get(y.P, i);
      if (around) {
        P = P + ops_.get(around, i);
        ops_.put(y.P, i, P);
      }
      ops_.put(p, i, first_derivative<K>(ops_.get(y.k0, i), ops_.get(y.k1, i)) * P);  // (4)
    });
  });
}

template <class Ops>
void MlpPass<Ops>::features_back(N* x_bar) {
  const N* const wave_P = layer_[0].P + kept_inputs() * ops_.columns;
  for (int i = 0; i < wave_units() * ops_.columns; ++i) wave_bar_[i] = wave_k1_[i] * wave_P[i];
  input_back(layer_[0].P, wave_bar_, x_bar);
}

template <class Ops>
void MlpPass<Ops>::reverse(const N* y_bar, N* x_bar, bool to_weights) {
  begin_reverse(y_bar);
  for (int l = layers() - 1; l >= 0; --l) {
    const Layer& y = layer_[l];
    if (to_weights) {
      ops_.dense_add(y.p, y.h, shape_.out(l), shape_.in(l), bars_[2 * l]);  // (7)
      ops_.bias_add(y.p, shape_.out(l), bars_[2 * l + 1]);
    }
    if (l == 0 && !x_bar && wave_units() == 0) return;
    ops_.dense_back(weight(l), shape_.out(l), shape_.in(l), y.p, y.P);
    if (l > 0) layer_back(l);
  }
  if (x_bar) features_back(x_bar);
}

template <class Ops>
void MlpPass<Ops>::gradient(const N* x, N* x_bar) {
  int l = layers() - 2;  // the last hidden layer
  const bool both_ways = l >= 0 && ops_.sweeps(shape_.out(l), shape_.in(l));
  if (!both_ways) {
    forward(x, nullptr);
    return reverse(nullptr, x_bar, false);
  }
  features(x);
  for (int k = 0; k < l; ++k) layer_forward(k);
  begin_reverse(nullptr);
  const Layer &top = layer_[l + 1], &y = layer_[l];
  ops_.dense_back(weight(l + 1), shape_.out(l + 1), shape_.in(l + 1), top.p, top.P);
  with_activation(shape_.activation, [&]<Activation K>() {
    ops_.product_and_back(weight(l), bias(l), shape_.out(l), shape_.in(l), y.h, top.P, y.P,
                          [](const auto& z, const auto& P) {
                            const auto a = activate<K>(z);
                            return first_derivative<K>(a.k0, a.k1) * P;  // (4)
                          });
  });
  while (l > 0) {
    layer_back(l);
    --l;
    ops_.dense_back(weight(l), shape_.out(l), shape_.in(l), layer_[l].p, layer_[l].P);
  }
  features_back(x_bar);
}

template <class Ops>
void MlpPass<Ops>::reverse_first(const N* y_bar_tan, N* x_bar) {
  const int L = layers();
  bool zero = !y_bar_tan;
  if (!zero) {
    affine(shape_.outputs(), y_bar_tan, static_cast<const T*>(nullptr),
           plan_.output_scale.empty() ? nullptr : plan_.output_scale.data(), r_);
  }
  N *R = R_[0], *R_next = R_[1];  // of h_l and of h_{l+1}
  for (int l = L - 1; l >= 0; --l) {
    const Layer& y = layer_[l];
    if (bars_) {
      ops_.dense_add(y.p, y.t[0], shape_.out(l), shape_.in(l), bars_[2 * l]);  // (7)
      if (!zero) ops_.dense_add(r_, y.h, shape_.out(l), shape_.in(l), bars_[2 * l]);
      if (!zero) ops_.bias_add(r_, shape_.out(l), bars_[2 * l + 1]);
    }
    if (l == 0 && !x_bar) return;
    if (zero) {
      std::fill_n(R, ops_.room(shape_.in(l)), N(0));
    } else {
      ops_.dense_back(weight(l), shape_.out(l), shape_.in(l), r_, R);
    }
    if (l == 0) break;
    const N* const around = shape_.skips(l) ? R_next : nullptr;
    with_activation(shape_.activation, [&]<Activation K>() {
      ops_.each(shape_.in(l), [&](int i) {
        const S k0 = ops_.get(y.k0, i), k1 = ops_.get(y.k1, i);
        S own = ops_.get(R, i);
        if (around) {
          own = own + ops_.get(around, i);
          ops_.put(R, i, own);
        }
        ops_.put(r_, i,
                 first_derivative<K>(k0, k1) * own +
                     second_derivative<K>(k0, k1) * ops_.get(y.e[0], i) * ops_.get(y.P, i));  // (5)
      });
    });
    zero = false;
    std::swap(R, R_next);
  }
  const int at = kept_inputs() * ops_.columns;
  const N* const P = layer_[0].P + at;
  for (int i = 0; i < wave_units() * ops_.columns; ++i) {
    wave_bar_[i] = wave_k1_[i] * R[at + i] - wave_k0_[i] * wave_e_[0][i] * P[i];  // (5)
  }
  input_back(R, wave_bar_, x_bar);
}

template <class Ops>
void MlpPass<Ops>::reverse_second(N* x_bar, N* a_bar) {
  N *R = R_[0], *R_next = R_[1], *Q[2] = {Q_[0][0], Q_[1][0]}, *Q_next[2] = {Q_[0][1], Q_[1][1]};
  bool zero = true;
  for (int l = layers() - 1; l >= 0; --l) {
    const Layer& y = layer_[l];
    const int m = shape_.out(l), n = shape_.in(l);
    if (bars_) {
      ops_.dense_add(y.p, y.h2, m, n, bars_[2 * l]);  // (7)
      if (!zero) {
        for (int d = 0; d < 2; ++d) ops_.dense_add(q_[d], y.t[d], m, n, bars_[2 * l]);
        ops_.dense_add(r_, y.h, m, n, bars_[2 * l]);
        ops_.bias_add(r_, m, bars_[2 * l + 1]);
      }
    }
    for (N* const cotangent : {R, Q[0], Q[1]}) {
      if (zero) std::fill_n(cotangent, ops_.room(n), N(0));
    }
    if (!zero) {
      ops_.dense_back(weight(l), m, n, r_, R);
      for (int d = 0; d < 2; ++d) ops_.dense_back(weight(l), m, n, q_[d], Q[d]);
    }
    if (l == 0) break;
    const bool skips = shape_.skips(l);
    with_activation(shape_.activation, [&]<Activation K>() {
      ops_.each(n, [&](int i) {
        const S k0 = ops_.get(y.k0, i), k1 = ops_.get(y.k1, i);
        const S d1 = first_derivative<K>(k0, k1), d2 = second_derivative<K>(k0, k1),
                d3 = third_derivative<K>(k0, k1);
        S r = ops_.get(R, i), qa = ops_.get(Q[0], i), qb = ops_.get(Q[1], i);
        if (skips) {
          r = r + ops_.get(R_next, i);
          qa = qa + ops_.get(Q_next[0], i), qb = qb + ops_.get(Q_next[1], i);
          ops_.put(R, i, r), ops_.put(Q[0], i, qa), ops_.put(Q[1], i, qb);
        }
        const S P = ops_.get(y.P, i), a = ops_.get(y.e[0], i), b = ops_.get(y.e[1], i),
                ab = ops_.get(y.z2, i);
        ops_.put(q_[0], i, d1 * qa + d2 * b * P);  // (6)
        ops_.put(q_[1], i, d1 * qb + d2 * a * P);
        ops_.put(r_, i, d1 * r + d2 * (a * qa + b * qb + ab * P) + d3 * a * b * P);
      });
    });
    zero = false;
    std::swap(R, R_next);
    for (int d = 0; d < 2; ++d) std::swap(Q[d], Q_next[d]);
  }
  const int at = kept_inputs() * ops_.columns, units = wave_units() * ops_.columns;
  const N *const P = layer_[0].P + at, *const a = wave_e_[0], *const b = wave_e_[1];
  for (int i = 0; i < units; ++i) {  // (6) of sines: d1 = k1, d2 = -k0, d3 = -k1
    wave_bar_[i] = wave_k1_[i] * (R[at + i] - a[i] * b[i] * P[i]) -
                   wave_k0_[i] * (a[i] * Q[0][at + i] + b[i] * Q[1][at + i]);
  }
  input_back(R, wave_bar_, x_bar);
  for (int i = 0; i < units; ++i) {
    wave_bar_[i] = wave_k1_[i] * Q[0][at + i] - wave_k0_[i] * b[i] * P[i];
  }
  input_back(Q[0], wave_bar_, a_bar);
}

// One column of any scalar S. Weights V are numbers that lanes share, or S: each lane its own.
// Their cotangents A are S, or numbers to which all lanes are added.
template <class S_, class V = Scalar<S_>, class A_ = S_>
struct MlpLane {
  using Number = S_;
  using Element = S_;
  using Constant = Scalar<S_>;
  using Weight = V;
  using Accumulator = A_;
  static constexpr int columns = 1;

  static std::size_t room(int n) { return static_cast<std::size_t>(n); }
  template <class F>
  CYCLOID_INLINE void each(int n, F f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
  static CYCLOID_INLINE S_ get(const S_* a, int i) { return a[i]; }
  static CYCLOID_INLINE void put(S_* a, int i, const S_& v) { a[i] = v; }

  template <class U>
  void dense(const U* W, const U* b, int m, int n, const S_* h, S_* z) const {
    for (int o = 0; o < m; ++o) {
      S_ sum = b ? S_(b[o]) : S_(0);
      for (int i = 0; i < n; ++i) sum += S_(W[o * n + i]) * h[i];
      z[o] = sum;
    }
  }
  template <class U>
  void dense_back(const U* W, int m, int n, const S_* p, S_* h_bar) const {
    for (int i = 0; i < n; ++i) h_bar[i] = S_(0);
    for (int o = 0; o < m; ++o) {
      for (int i = 0; i < n; ++i) h_bar[i] += S_(W[o * n + i]) * p[o];
    }
  }
  static void add(A_& to, const S_& x) {
    if constexpr (std::is_same_v<A_, S_>) to += x;
    else to += static_cast<A_>(sum_lanes(x));
  }
  void dense_add(const S_* p, const S_* h, int m, int n, A_* W_bar) const {
    for (int o = 0; o < m; ++o) {
      for (int i = 0; i < n; ++i) add(W_bar[o * n + i], p[o] * h[i]);
    }
  }
  void bias_add(const S_* p, int m, A_* b_bar) const {
    for (int o = 0; o < m; ++o) add(b_bar[o], p[o]);
  }
};

}  // namespace cycloid::inline network
