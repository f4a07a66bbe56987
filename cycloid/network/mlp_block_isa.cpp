#include "cycloid/network/matrix_product.h"
#include "cycloid/network/mlp_block.h"
#include "cycloid/network/tangent_columns.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr std::size_t kFirstLevel = 32768;  // of a cache [bytes]

// Columns of numbers in registers (mlp_pass.h).
template <class T>
struct Columns {
  using Number = T;
  using Element = Lanes<T>;
  using Constant = T;
  using Weight = T;
  using Accumulator = T;
  static constexpr int W = kNativeLanes<T>;

  int columns = 1;
  T* turned = nullptr;  // memory for a transposed array: (columns, widest)

  std::size_t room(int n) const {
    return (static_cast<std::size_t>(n) * static_cast<std::size_t>(columns) + W - 1) / W * W;
  }
  template <class F>
  CYCLOID_INLINE void each(int n, F f) const {
    const int numbers = n * columns;
    for (int i = 0; i < numbers; i += W) f(i);
  }
  static CYCLOID_INLINE Lanes<T> get(const T* a, int i) { return Lanes<T>::load(a + i); }
  static CYCLOID_INLINE void put(T* a, int i, const Lanes<T>& v) { v.store(a + i); }

  void dense(const T* A, const T* b, int m, int n, const T* h, T* z) const {
    if (columns == 1) return matrix_vector(m, n, A, h, b, z);
    product<T, true>(m, columns, n, A, n, h, columns, b, z, columns, false);
  }
  void dense_back(const T* A, int m, int n, const T* p, T* h_bar) const {
    if (columns == 1) return vector_matrix(m, n, A, p, h_bar);
    product<T, false>(n, columns, m, A, n, p, columns, nullptr, h_bar, columns, false);
  }
  // Whether product_and_back is worth while: one column, and weights beyond the first-level cache.
  bool sweeps(int m, int n) const {
    return kRegisterBytes >= 32 && columns == 1 && m >= kSweepRows<T> && n >= W &&
           static_cast<std::size_t>(m) * static_cast<std::size_t>(n) * sizeof(T) > kFirstLevel;
  }
  // h_bar = Aᵀ f(A h + b, above), both arguments of f a few numbers of m.
  template <class F>
  void product_and_back(const T* A, const T* b, int m, int n, const T* h, const T* above, T* h_bar,
                        F f) const {
    using Rows = Pack<T, kSweepRows<T>>;
    network::product_and_back(
        m, n, A, h, b, [&](const Rows& z, int i) { return f(z, Rows::load(above + i)); }, h_bar);
  }
  void dense_add(const T* p, const T* h, int m, int n, T* bar) const {
    if (columns == 1) return outer_add(m, n, p, h, bar);
    const int ldt = (n + W - 1) / W * W;
    transpose(n, columns, h, turned, ldt);
    product_add(m, n, columns, p, columns, turned, ldt, bar, n);
  }
  void bias_add(const T* p, int m, T* bar) const {
    for (int o = 0; o < m; ++o) {
      if (columns == 1) {
        bar[o] += p[o];
        continue;
      }
      Lanes<T> sum(0);
      for (int c = 0; c < columns; c += W) sum = sum + Lanes<T>::load(p + o * columns + c);
      bar[o] += sum_lanes(sum);
    }
  }
};

template <class T>
std::size_t turned_numbers(const MlpPlan<T>& plan, int columns) {
  constexpr int W = kNativeLanes<T>;
  return static_cast<std::size_t>((plan.widest + W - 1) / W * W) *
         static_cast<std::size_t>(columns);
}

// Ops in numbers T, and what they need of memory besides the pass.
template <class T>
struct OpsOf {
  using Type = Columns<T>;
  static std::size_t numbers(const MlpPlan<T>& plan, int columns) {
    return turned_numbers(plan, columns);
  }
  static Type make(const MlpPlan<T>&, int columns, T* memory) { return {columns, memory}; }
};
template <>
struct OpsOf<Tangent1> {
  using Type = TangentColumns;
  static std::size_t numbers(const MlpPlan<double>& plan, int columns) {
    return (TangentColumns::plain_numbers(plan.widest, columns) + 1) / 2;
  }
  static Type make(const MlpPlan<double>& plan, int columns, Tangent1* memory) {
    return {columns, plan.widest, reinterpret_cast<double*>(memory)};
  }
};

template <class T>
std::size_t numbers(const MlpPlan<Scalar<T>>& plan, int columns, MlpOrder order) {
  return OpsOf<T>::numbers(plan, columns) +
         MlpPass<typename OpsOf<T>::Type>::numbers(plan, OpsOf<T>::make(plan, columns, nullptr),
                                                   order);
}

template <class T>
void run(MlpCall call, const MlpBlock<T>& b) {
  const auto ops = OpsOf<T>::make(*b.plan, b.columns, b.memory);
  MlpPass<typename OpsOf<T>::Type> pass(*b.plan, ops, order_of(call), b.w, b.w_bar,
                                        b.memory + OpsOf<T>::numbers(*b.plan, b.columns));
  if constexpr (!std::is_same_v<T, Tangent1>) {
    if (call == MlpCall::gradient && !b.y) return pass.gradient(b.x, b.x_bar);
  }
  pass.forward(b.x, b.y);
  switch (call) {
    case MlpCall::value: return;
    case MlpCall::tangent: return pass.tangent(0, b.v, b.y_tan);
    case MlpCall::pullback:
      if (b.between) b.between(b.user, b.y, b.v);
      return pass.reverse(b.between ? b.v : b.y_bar, b.x_bar, b.w_bar != nullptr);
    case MlpCall::pullback_tangent:
      pass.reverse(b.y_bar, b.x_bar, false);
      pass.tangent(0, b.v, nullptr);
      return pass.reverse_first(b.y_bar_tan, b.x_bar_tan);
    case MlpCall::gradient: return pass.reverse(nullptr, b.x_bar, false);
    case MlpCall::gradient_pullback:
      pass.reverse(nullptr, nullptr, false);
      pass.tangent(0, b.v, nullptr);
      return pass.reverse_first(nullptr, b.x_bar);
    case MlpCall::fit:
      pass.reverse(nullptr, b.x_bar, false);
      b.between(b.user, b.x_bar, b.v);
      pass.tangent(0, b.v, nullptr);
      return pass.reverse_first(nullptr, b.x_bar_tan);
    case MlpCall::hessian_product_pullback:
      pass.reverse(nullptr, nullptr, false);
      pass.tangent(0, b.v, nullptr);
      pass.tangent(1, b.u, nullptr);
      pass.second();
      return pass.reverse_second(b.x_bar, b.v_bar);
  }
}

// constants: β₁, β₂, rate over (1 - β₁^t), 1 over sqrt(1 - β₂^t), ε, 1 - rate × decay.
template <class T>
void adam(std::size_t n, const T* bar, T* w, T* m, T* v, const double* c) {
  const auto step = [&]<class P>(std::size_t i, P) {
    const P b1(static_cast<T>(c[0])), b2(static_cast<T>(c[1]));
    const P g = load<P>(bar + i);
    const P m1 = b1 * load<P>(m + i) + (P(1) - b1) * g;
    const P v1 = b2 * load<P>(v + i) + (P(1) - b2) * g * g;
    const P move = P(static_cast<T>(c[2])) * m1 /
                   (sqrt(v1) * P(static_cast<T>(c[3])) + P(static_cast<T>(c[4])));
    store(m + i, m1);
    store(v + i, v1);
    store(w + i, P(load<P>(w + i) * P(static_cast<T>(c[5])) - move));
  };
  constexpr std::size_t W = kNativeLanes<T>;
  std::size_t i = 0;
  for (; i + W <= n; i += W) step(i, Lanes<T>());
  for (; i < n; ++i) step(i, T());
}

template <class T>
constexpr MlpKernels<T> kKernels = {kNativeLanes<T>, &numbers<T>, &run<T>, &adam<T>};
template <>
constexpr MlpKernels<Tangent1> kKernels<Tangent1> = {1, &numbers<Tangent1>, &run<Tangent1>,
                                                     nullptr};

}  // namespace

const MlpKernels<float>& mlp_kernels_float() { return kKernels<float>; }
const MlpKernels<double>& mlp_kernels_double() { return kKernels<double>; }
const MlpKernels<Tangent1>& mlp_kernels_tangent() { return kKernels<Tangent1>; }

}  // namespace cycloid::isa::CYCLOID_ISA
