#include "cycloid/learn/field.h"

#include <algorithm>
#include <limits>

#include "cycloid/math/lu.h"

namespace cycloid::inline learn {
namespace {

// ε of (6): the least that any direction weighs.
constexpr double kLeastMass = 1e-6;

// Place of (i, j), j <= i, in a lower triangle row by row.
constexpr int below(int i, int j) { return i * (i + 1) / 2 + j; }

// sum += a · b, each a row of columns.
template <class T>
void add_product(const T* a, const T* b, int C, T* sum) {
  for (int c = 0; c < C; ++c) sum[c] += a[c] * b[c];
}
template <class T>
void add_rows(const T* from, int numbers, T* to) {
  for (int i = 0; i < numbers; ++i) to[i] += from[i];
}

// A number with a tangent is zero where both are.
template <class T>
bool is_zero(const T& x) {
  if constexpr (BuiltinScalar<T>) return x == T(0);
  else return x.value == 0 && x.tangent[0] == 0;
}

// With a lower triangle A of rows of columns, n by n: out += A b and out += Aᵀ b.
template <class T>
void add_lower(int n, int C, const T* A, const T* b, T* out) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) add_product(A + below(i, j) * C, b + j * C, C, out + i * C);
  }
}
template <class T>
void add_lower_transposed(int n, int C, const T* A, const T* b, T* out) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) add_product(A + below(i, j) * C, b + i * C, C, out + j * C);
  }
}
// The lower triangle of sign a bᵀ, added to A.
template <class T>
void add_outer(int n, int C, const T* a, const T* b, T sign, T* A) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      for (int c = 0; c < C; ++c) A[below(i, j) * C + c] += sign * a[i * C + c] * b[j * C + c];
    }
  }
}

}  // namespace

template <class T>
FieldPlan<T>::FieldPlan(const LearnedLaw& of) : law(of) {
  int place = 0;
  for (const LearnedNetwork& n : networks_of(of)) {
    if (n.name == "dissipation") dissipation = place;
    else if (n.name == "input") input = place;
    else if (place == 1) second = place;
    first_array.push_back(static_cast<int>(arrays.size()));
    for (const std::int64_t size : n.shape.array_sizes()) arrays.push_back(size);
    networks.emplace_back(n.shape);
    ++place;
  }
  if (of.inputs > 0 && of.kind != LearnedKind::neural_ode &&
      of.input_matrix == InputMatrix::constant) {
    matrix = static_cast<int>(arrays.size());
    arrays.push_back(std::int64_t{of.n} * of.inputs);
  }
  if (of.kind != LearnedKind::constrained) return;
  const auto place_of = [&](const std::vector<double>& values) {
    if (values.empty()) return -1;
    arrays.push_back(static_cast<std::int64_t>(values.size()));
    return static_cast<int>(arrays.size()) - 1;
  };
  masses = place_of(of.masses), lengths = place_of(of.lengths), anchors = place_of(of.anchors);
}

template <class T>
Field<T>::Field(std::shared_ptr<const FieldPlan<Scalar<T>>> plan, int columns)
    : plan_(std::move(plan)),
      C_(columns),
      n_(plan_->law.n),
      m_(plan_->law.inputs),
      nx_(plan_->law.states()),
      xu_(room(nx_ + m_)),
      xu_bar_(room(nx_ + m_)),
      bar_(room(nx_)),
      rate_(room(nx_)),
      force_(room(nx_)),
      lambda_(room(nx_)),
      a_(room(nx_)),
      M_(room(n_ * n_)),
      exchanged_(room(n_)),
      F_(room(n_ * n_)),
      F_dot_(room(n_ * n_)),
      Z_(room(n_ * n_)),
      pieces_(24 * room(n_) + 5 * room(distances() * plan_->law.dimension) +
              4 * room(plan_->law.triangle())),
      A_(static_cast<std::size_t>(n_ * n_)),
      e_(static_cast<std::size_t>(n_)),
      b_(static_cast<std::size_t>(n_)) {
  const bool second = plan_->law.kind == LearnedKind::lagrangian;
  for (std::size_t k = 0; k < plan_->networks.size(); ++k) {
    Net net;
    net.plan = &plan_->networks[k];
    const MlpShape& s = net.plan->shape;
    const auto make = [&](int n) { return std::make_unique<LaneArray<T>>(room(n)); };
    net.memory = std::make_unique<LaneArray<T>>(mlp_kernels<T>().numbers(
        *net.plan, C_, second && k == 0 ? MlpOrder::second : MlpOrder::first));
    net.y = make(s.outputs()), net.y_bar = make(s.outputs());
    net.y_tan = make(s.outputs()), net.y_bar_tan = make(s.outputs());
    net.g = make(s.inputs()), net.v = make(s.inputs()), net.u = make(s.inputs());
    net.x_bar = make(s.inputs()), net.x_tan = make(s.inputs());
    nets_.push_back(std::move(net));
  }
}

template <class T>
void Field<T>::use(const T* const* w, T* const* w_bar) {
  to_weights_ = w_bar != nullptr;
  for (std::size_t k = 0; k < nets_.size(); ++k) {
    nets_[k].w = w + plan_->first_array[k];
    nets_[k].w_bar = w_bar ? w_bar + plan_->first_array[k] : nullptr;
  }
  matrix_ = plan_->matrix >= 0 ? w[plan_->matrix] : nullptr;
  matrix_bar_ = plan_->matrix >= 0 && w_bar ? w_bar[plan_->matrix] : nullptr;
  const auto array = [&](int k, const T*& values, T*& bar) {
    values = k >= 0 ? w[k] : nullptr, bar = k >= 0 && w_bar ? w_bar[k] : nullptr;
  };
  array(plan_->masses, masses_, masses_bar_);
  array(plan_->lengths, lengths_, lengths_bar_);
  array(plan_->anchors, anchors_, anchors_bar_);
}

template <class T>
MlpBlock<T> Field<T>::block(Net& net, const T* x, bool to_weights) const {
  MlpBlock<T> b{net.plan, net.w, C_, net.memory->data()};
  b.x = x, b.y = net.y->data();
  if (to_weights) b.w_bar = net.w_bar;
  return b;
}

template <class T>
template <class Inner>
void Field<T>::with_value(int k, const T* x, const Call& call, T* x_bar, Inner inner) {
  if (k < 0) return inner();
  Net& net = nets_[static_cast<std::size_t>(k)];
  MlpBlock<T> b = block(net, x, call.between != nullptr);
  if (!call.between) {
    mlp_kernels<T>().run(MlpCall::value, b);
    return inner();
  }
  net.y_bar->clear(), net.x_bar->clear();
  b.v = net.y_bar->data(), b.x_bar = net.x_bar->data(), b.user = &inner;
  b.between = [](void* user, const T*, T*) { (*static_cast<Inner*>(user))(); };
  mlp_kernels<T>().run(MlpCall::pullback, b);
  if (x_bar) add_rows(b.x_bar, net.plan->shape.inputs() * C_, x_bar);
}

template <class T>
template <class Inner>
void Field<T>::with_gradient(int k, const T* x, const Call& call, T* x_bar, Inner inner) {
  if (k < 0) return inner();
  Net& net = nets_[static_cast<std::size_t>(k)];
  MlpBlock<T> b = block(net, x, call.between != nullptr);
  net.g->clear();
  b.y = nullptr, b.x_bar = net.g->data();
  if (!call.between) {
    mlp_kernels<T>().run(MlpCall::gradient, b);
    return inner();
  }
  net.v->clear(), net.x_tan->clear();
  b.v = net.v->data(), b.x_bar_tan = x_bar ? net.x_tan->data() : nullptr, b.user = &inner;
  b.between = [](void* user, const T*, T*) { (*static_cast<Inner*>(user))(); };
  mlp_kernels<T>().run(MlpCall::fit, b);
  if (x_bar) add_rows(net.x_tan->data(), net.plan->shape.inputs() * C_, x_bar);
}

template <class T>
void Field<T>::rate(const T* x, const T* u, T* x_dot) {
  run({x, u, nullptr, nullptr, nullptr}, x_dot);
}

template <class T>
void Field<T>::rate_pullback(const T* x, const T* u, const Between& between, T* x_bar, T* u_bar) {
  run({x, u, &between, x_bar, u_bar}, rate_.data());
}

template <class T>
typename Field<T>::Piece Field<T>::piece(int n) {
  const std::size_t numbers = static_cast<std::size_t>(n) * static_cast<std::size_t>(C_);
  const Piece p{pieces_.data() + used_, numbers};
  used_ += (numbers + 63) / 64 * 64;  // at most room(n)
  p.clear();
  return p;
}

template <class T>
void Field<T>::run(const Call& call, T* x_dot) {
  used_ = 0;
  switch (plan_->law.kind) {
    case LearnedKind::neural_ode: return neural_ode(call, x_dot);
    case LearnedKind::hamiltonian: return hamiltonian(call, x_dot);
    case LearnedKind::lagrangian: return lagrangian(call, x_dot);
    case LearnedKind::deep_lagrangian: return deep_lagrangian(call, x_dot);
    case LearnedKind::constrained: return constrained(call, x_dot);
  }
}

template <class T>
void Field<T>::neural_ode(const Call& call, T* x_dot) {
  std::copy_n(call.x, nx_ * C_, xu_.data());
  if (m_ > 0) std::copy_n(call.u, m_ * C_, xu_.data() + nx_ * C_);
  xu_bar_.clear();
  with_value(0, xu_.data(), call, xu_bar_.data(), [&] {
    std::copy_n(nets_[0].y->data(), nx_ * C_, x_dot);  // (1)
    if (call.between) (*call.between)(x_dot, nets_[0].y_bar->data());
  });
  if (!call.between) return;
  if (call.x_bar) add_rows(xu_bar_.data(), nx_ * C_, call.x_bar);
  if (call.u_bar) add_rows(xu_bar_.data() + nx_ * C_, m_ * C_, call.u_bar);
}

template <class T>
void Field<T>::applied(const T* r, const T* u, T* force) {
  std::fill_n(force, n_ * C_, T(0));
  if (plan_->dissipation >= 0) {
    const T* const E = nets_[static_cast<std::size_t>(plan_->dissipation)].y->data();
    const Piece w = piece(n_), d = piece(n_);
    add_lower_transposed(n_, C_, E, r, w.data());
    add_lower(n_, C_, E, static_cast<const T*>(w.data()), d.data());
    for (int i = 0; i < n_ * C_; ++i) force[i] -= d.data()[i];  // D r
  }
  if (m_ == 0) return;
  const T* const B =
      plan_->input >= 0 ? nets_[static_cast<std::size_t>(plan_->input)].y->data() : nullptr;
  for (int i = 0; i < n_; ++i) {
    for (int j = 0; j < m_; ++j) {
      const int ij = i * m_ + j;
      if (B) {
        add_product(B + ij * C_, u + j * C_, C_, force + i * C_);
      } else if (matrix_ || i == j) {
        const T b = matrix_ ? matrix_[ij] : T(1);
        for (int c = 0; c < C_; ++c) force[i * C_ + c] += b * u[j * C_ + c];
      }
    }
  }
}

template <class T>
void Field<T>::pull_applied_back(const T* r, const T* u, const T* force_bar, T* r_bar, T* u_bar) {
  if (plan_->dissipation >= 0) {
    Net& net = nets_[static_cast<std::size_t>(plan_->dissipation)];
    const T* const E = net.y->data();
    const Piece w = piece(n_), l = piece(n_), d = piece(n_);
    add_lower_transposed(n_, C_, E, r, w.data());
    add_lower_transposed(n_, C_, E, force_bar, l.data());
    add_lower(n_, C_, E, static_cast<const T*>(l.data()), d.data());
    for (int i = 0; i < n_ * C_; ++i) r_bar[i] -= d.data()[i];
    add_outer(n_, C_, force_bar, static_cast<const T*>(w.data()), T(-1), net.y_bar->data());
    add_outer(n_, C_, r, static_cast<const T*>(l.data()), T(-1), net.y_bar->data());
  }
  if (m_ == 0) return;
  Net* const net = plan_->input >= 0 ? &nets_[static_cast<std::size_t>(plan_->input)] : nullptr;
  for (int i = 0; i < n_; ++i) {
    const T* const f = force_bar + i * C_;
    for (int j = 0; j < m_; ++j) {
      const int ij = i * m_ + j;
      if (net) {
        add_product(f, u + j * C_, C_, net->y_bar->data() + ij * C_);
        if (u_bar) add_product(f, net->y->data() + ij * C_, C_, u_bar + j * C_);
        continue;
      }
      if (matrix_bar_) {
        T sum(0);
        for (int c = 0; c < C_; ++c) sum += f[c] * u[j * C_ + c];
        matrix_bar_[ij] += sum;
      }
      if (!u_bar || (!matrix_ && i != j)) continue;
      const T b = matrix_ ? matrix_[ij] : T(1);
      for (int c = 0; c < C_; ++c) u_bar[j * C_ + c] += b * f[c];
    }
  }
}

template <class T>
void Field<T>::hamiltonian(const Call& call, T* x_dot) {
  const int N = n_ * C_;
  const T* const q = call.x;
  T* const q_bar = call.x_bar;
  // Where ∂H/∂q and ∂H/∂p are, and their cotangents.
  const bool split = plan_->second >= 0;
  Net &first = nets_[0], &last = nets_[split ? 1 : 0];
  const auto combine = [&] {
    const T *const Hq = first.g->data(), *const Hp = last.g->data() + (split ? 0 : N);
    applied(Hp, call.u, force_.data());
    for (int i = 0; i < N; ++i) {
      x_dot[i] = Hp[i];  // (3)
      x_dot[N + i] = force_.data()[i] - Hq[i];
    }
    if (!call.between) return;
    T* const bar = bar_.data();
    (*call.between)(x_dot, bar);
    T *const Hq_bar = first.v->data(), *const Hp_bar = last.v->data() + (split ? 0 : N);
    for (int i = 0; i < N; ++i) Hq_bar[i] = -bar[N + i], Hp_bar[i] = bar[i];
    pull_applied_back(Hp, call.u, bar + N, Hp_bar, call.u_bar);
  };
  with_value(plan_->input, q, call, q_bar, [&] {
    with_value(plan_->dissipation, q, call, q_bar, [&] {
      with_gradient(0, call.x, call, call.x_bar, [&] {
        with_gradient(plan_->second, call.x + N, call, call.x_bar ? call.x_bar + N : nullptr,
                      combine);
      });
    });
  });
}

template <class T>
void Field<T>::factor(int n) {
  std::vector<T>&A = A_, &e = e_;
  for (int c = 0; c < C_; ++c) {
    for (int i = 0; i < n * n; ++i) A[static_cast<std::size_t>(i)] = M_.data()[i * C_ + c];
    const bool ok = lu_factor(n, A.data(), e.data());
    for (int i = 0; i < n * n; ++i) {
      M_.data()[i * C_ + c] =
          ok ? A[static_cast<std::size_t>(i)] : T(std::numeric_limits<Scalar<T>>::quiet_NaN());
    }
    for (int i = 0; i < n; ++i) exchanged_.data()[i * C_ + c] = e[static_cast<std::size_t>(i)];
  }
}

template <class T>
void Field<T>::solve(int n, T* b) {
  std::vector<T>&A = A_, &e = e_, &x = b_;
  for (int c = 0; c < C_; ++c) {
    for (int i = 0; i < n * n; ++i) A[static_cast<std::size_t>(i)] = M_.data()[i * C_ + c];
    bool zero = true;
    for (int i = 0; i < n; ++i) {
      e[static_cast<std::size_t>(i)] = exchanged_.data()[i * C_ + c];
      x[static_cast<std::size_t>(i)] = b[i * C_ + c];
      zero = zero && is_zero(b[i * C_ + c]);
    }
    if (zero) continue;  // a column that is not used may have no M
    lu_solve(n, A.data(), e.data(), x.data());
    for (int i = 0; i < n; ++i) b[i * C_ + c] = x[static_cast<std::size_t>(i)];
  }
}

template <class T>
void Field<T>::from_rates(const T* x_dot_bar, T* x_bar) {
  const int N = n_ * C_;
  if (x_bar) add_rows(x_dot_bar, N, x_bar + N);  // q̇ = v
  std::copy_n(x_dot_bar + N, N, lambda_.data());
  solve(n_, lambda_.data());  // M is symmetric
}

template <class T>
void Field<T>::matrix_of_lagrangian(const T* x) {
  Net& net = nets_[0];
  const int N = n_ * C_;
  for (int i = 0; i < n_; ++i) {
    net.v->clear(), net.x_bar->clear();
    std::fill_n(net.v->data() + N + i * C_, C_, T(1));
    MlpBlock<T> b = block(net, x, false);
    b.v = net.v->data(), b.x_bar = net.x_bar->data();
    mlp_kernels<T>().run(MlpCall::gradient_pullback, b);
    for (int j = 0; j < n_; ++j) {  // (4)
      std::copy_n(net.x_bar->data() + N + j * C_, C_, M_.data() + (i * n_ + j) * C_);
    }
    for (int c = 0; c < C_; ++c) M_.data()[(i * n_ + i) * C_ + c] += T(1);
  }
  factor(n_);
}

template <class T>
void Field<T>::lagrangian(const Call& call, T* x_dot) {
  const int N = n_ * C_;
  const T *const x = call.x, *const v = call.x + N;
  Net& net = nets_[0];
  matrix_of_lagrangian(x);
  T* const a = a_.data();
  with_value(plan_->input, x, call, call.x_bar, [&] {
    with_value(plan_->dissipation, x, call, call.x_bar, [&] {
      applied(v, call.u, a);
      MlpBlock<T> g = block(net, x, false);
      net.g->clear();
      g.y = nullptr, g.x_bar = net.g->data();
      mlp_kernels<T>().run(MlpCall::gradient, g);
      net.v->clear(), net.x_bar->clear();
      std::copy_n(v, N, net.v->data());
      MlpBlock<T> h = block(net, x, false);
      h.v = net.v->data(), h.x_bar = net.x_bar->data();
      mlp_kernels<T>().run(MlpCall::gradient_pullback, h);
      for (int i = 0; i < N; ++i) a[i] += net.g->data()[i] - net.x_bar->data()[N + i];
      solve(n_, a);  // (5)
      std::copy_n(v, N, x_dot);
      std::copy_n(a, N, x_dot + N);
      if (!call.between) return;
      (*call.between)(x_dot, bar_.data());
      from_rates(bar_.data(), call.x_bar);
      T* const own = net.x_tan->data();  // of x, by this network
      net.x_tan->clear();
      const T* const l = lambda_.data();
      force_.clear();
      pull_applied_back(v, call.u, l, force_.data(), call.u_bar);
      add_rows(force_.data(), N, own + N);
      // (8): of ⟨(λ, 0), ∂L⟩
      net.v->clear();
      std::copy_n(l, N, net.v->data());
      MlpBlock<T> back = block(net, x, true);
      back.v = net.v->data(), back.x_bar = own;
      mlp_kernels<T>().run(MlpCall::gradient_pullback, back);
      // and of -⟨(0, λ), ∂²L (v, a)⟩
      std::copy_n(x_dot, 2 * N, net.v->data());
      net.u->clear(), net.g->clear();
      for (int i = 0; i < N; ++i) net.u->data()[N + i] = -l[i];
      back.u = net.u->data(), back.v_bar = net.g->data();
      mlp_kernels<T>().run(MlpCall::hessian_product_pullback, back);
      add_rows(net.g->data(), N, own + N);
      if (call.x_bar) add_rows(own, 2 * N, call.x_bar);
    });
  });
}

template <class T>
void Field<T>::deep_lagrangian(const Call& call, T* x_dot) {
  const int N = n_ * C_, triangle = plan_->law.triangle();
  const T *const q = call.x, *const v = call.x + N;
  Net &mass = nets_[0], &potential = nets_[1];
  T *const F = F_.data(), *const F_dot = F_dot_.data(), *const a = a_.data();
  const Piece w = piece(n_), s = piece(n_);
  const auto zeroed = [](const auto& array) {
    array.clear();
    return array.data();
  };
  with_value(plan_->input, q, call, call.x_bar, [&] {
    with_value(plan_->dissipation, q, call, call.x_bar, [&] {
      applied(v, call.u, a);
      // F, and Ḟ along v.
      MlpBlock<T> t = block(mass, q, false);
      std::copy_n(v, N, mass.v->data());
      t.v = mass.v->data(), t.y_tan = mass.y_tan->data();
      mlp_kernels<T>().run(MlpCall::tangent, t);
      std::copy_n(mass.y->data(), triangle * C_, F);
      std::copy_n(mass.y_tan->data(), triangle * C_, F_dot);
      for (int i = 0; i < n_; ++i) {
        for (int c = 0; c < C_; ++c) F[below(i, i) * C_ + c] += T(1);  // (6)
      }
      for (int i = 0; i < n_; ++i) {
        for (int j = 0; j < n_; ++j) {
          T* const M = M_.data() + (i * n_ + j) * C_;
          std::fill_n(M, C_, i == j ? static_cast<T>(kLeastMass) : T(0));
          for (int k = 0; k <= std::min(i, j); ++k) {
            add_product(F + below(i, k) * C_, F + below(j, k) * C_, C_, M);
          }
        }
      }
      factor(n_);
      // a = applied - Ṁ v + ½ ∂(vᵀ M v)/∂q - ∂V/∂q
      add_lower_transposed(n_, C_, F, v, zeroed(w));
      mass.y_bar->clear();
      add_outer(n_, C_, v, static_cast<const T*>(w.data()), T(1), mass.y_bar->data());
      add_lower_transposed(n_, C_, F_dot, v, zeroed(s));
      T* const Mv = zeroed(force_);
      add_lower(n_, C_, F_dot, static_cast<const T*>(w.data()), Mv);
      add_lower(n_, C_, F, static_cast<const T*>(s.data()), Mv);
      MlpBlock<T> b = block(mass, q, false);
      mass.x_bar->clear();
      b.y_bar = mass.y_bar->data(), b.x_bar = mass.x_bar->data();
      mlp_kernels<T>().run(MlpCall::pullback, b);
      MlpBlock<T> p = block(potential, q, false);
      potential.g->clear();
      p.y = nullptr, p.x_bar = potential.g->data();
      mlp_kernels<T>().run(MlpCall::gradient, p);
      for (int i = 0; i < N; ++i) {
        a[i] += mass.x_bar->data()[i] - Mv[i] - potential.g->data()[i];
      }
      solve(n_, a);  // (7)
      std::copy_n(v, N, x_dot);
      std::copy_n(a, N, x_dot + N);
      if (!call.between) return;
      (*call.between)(x_dot, bar_.data());
      from_rates(bar_.data(), call.x_bar);
      const T* const l = lambda_.data();
      const Piece own = piece(2 * n_);  // of x
      T *const q_bar = own.data(), *const v_bar = own.data() + N;
      pull_applied_back(v, call.u, l, v_bar, call.u_bar);
      // Z along λ.
      std::copy_n(l, N, mass.u->data());
      MlpBlock<T> z = block(mass, q, false);
      z.v = mass.u->data(), z.y_tan = Z_.data();
      mlp_kernels<T>().run(MlpCall::tangent, z);
      const T* const Z = Z_.data();
      // (9), by F, Ḟ, Z and v; w = Fᵀ v.
      const Piece y_bar = piece(triangle), dot_bar = piece(triangle), z_bar = piece(triangle),
                  Fl = piece(n_), Fdl = piece(n_), Zv = piece(n_), Fa = piece(n_);
      add_lower_transposed(n_, C_, F, l, Fl.data());
      add_lower_transposed(n_, C_, F_dot, l, Fdl.data());
      add_lower_transposed(n_, C_, Z, v, Zv.data());
      add_lower_transposed(n_, C_, F, static_cast<const T*>(a), Fa.data());
      const auto outer = [&](const T* x, const Piece& y, T sign, const Piece& to) {
        add_outer(n_, C_, x, static_cast<const T*>(y.data()), sign, to.data());
      };
      outer(v, Fdl, T(-1), y_bar), outer(l, s, T(-1), y_bar), outer(v, Zv, T(1), y_bar);
      outer(l, Fa, T(-1), y_bar), outer(a, Fl, T(-1), y_bar);
      outer(l, w, T(-1), dot_bar), outer(v, Fl, T(-1), dot_bar);
      outer(v, w, T(1), z_bar);
      T* const minus = zeroed(force_);
      add_lower(n_, C_, F, static_cast<const T*>(Fdl.data()), minus);
      add_lower(n_, C_, F_dot, static_cast<const T*>(Fl.data()), minus);
      for (int i = 0; i < N; ++i) v_bar[i] -= minus[i];
      add_lower(n_, C_, Z, static_cast<const T*>(w.data()), v_bar);
      add_lower(n_, C_, F, static_cast<const T*>(Zv.data()), v_bar);
      // Back through the networks.
      MlpBlock<T> along = block(mass, q, true);
      along.v = mass.v->data();
      along.y_bar = dot_bar.data(), along.y_bar_tan = y_bar.data();
      along.x_bar = v_bar, along.x_bar_tan = q_bar;
      mlp_kernels<T>().run(MlpCall::pullback_tangent, along);
      MlpBlock<T> aside = block(mass, q, true);
      aside.v = mass.u->data();
      mass.x_bar->clear();
      aside.y_bar = z_bar.data(), aside.x_bar = mass.x_bar->data(), aside.x_bar_tan = q_bar;
      mlp_kernels<T>().run(MlpCall::pullback_tangent, aside);
      MlpBlock<T> pull = block(potential, q, true);
      for (int i = 0; i < N; ++i) potential.v->data()[i] = -l[i];
      pull.v = potential.v->data(), pull.x_bar = q_bar;
      mlp_kernels<T>().run(MlpCall::gradient_pullback, pull);
      if (call.x_bar) add_rows(own.data(), 2 * N, call.x_bar);
    });
  });
}

template <class T>
void Field<T>::between_points(const T* rows, bool places, T* r) const {
  const int d = plan_->law.dimension, P = plan_->law.particles();
  for (int k = 0; k < distances(); ++k) {
    for (int e = 0; e < d; ++e) {
      T* const to = r + (k * d + e) * C_;
      std::fill_n(to, C_, T(0));
      for (int side = 0; side < 2; ++side) {
        const int point = plan_->law.distances[static_cast<std::size_t>(k)][side ? 1u : 0u];
        const T sign = side ? T(-1) : T(1);
        if (point < P) {
          const T* const from = rows + (point * d + e) * C_;
          for (int c = 0; c < C_; ++c) to[c] += sign * from[c];
        } else if (places) {
          const T at = sign * anchors_[(point - P) * d + e];
          for (int c = 0; c < C_; ++c) to[c] += at;
        }
      }
    }
  }
}

template <class T>
void Field<T>::pull_points_back(const T* r_bar, bool places, T* rows_bar) {
  const int d = plan_->law.dimension, P = plan_->law.particles();
  for (int k = 0; k < distances(); ++k) {
    for (int e = 0; e < d; ++e) {
      const T* const from = r_bar + (k * d + e) * C_;
      for (int side = 0; side < 2; ++side) {
        const int point = plan_->law.distances[static_cast<std::size_t>(k)][side ? 1u : 0u];
        const T sign = side ? T(-1) : T(1);
        if (point < P) {
          if (!rows_bar) continue;
          T* const to = rows_bar + (point * d + e) * C_;
          for (int c = 0; c < C_; ++c) to[c] += sign * from[c];
        } else if (places && anchors_bar_) {
          for (int c = 0; c < C_; ++c) anchors_bar_[(point - P) * d + e] += sign * from[c];
        }
      }
    }
  }
}

// J m⁻¹ Jᵀ: two distances meet in the points that they share.
template <class T>
void Field<T>::matrix_of_distances(const T* r) {
  const int d = plan_->law.dimension, P = plan_->law.particles(), K = distances();
  const auto& pairs = plan_->law.distances;
  for (int k = 0; k < K; ++k) {
    for (int l = 0; l < K; ++l) {
      T* const G = M_.data() + (k * K + l) * C_;
      std::fill_n(G, C_, T(0));
      for (int s = 0; s < 4; ++s) {
        const int point = pairs[static_cast<std::size_t>(k)][s & 1 ? 1u : 0u];
        if (point >= P || point != pairs[static_cast<std::size_t>(l)][s & 2 ? 1u : 0u]) continue;
        const T share = (s == 0 || s == 3 ? T(1) : T(-1)) / masses_[point];
        for (int e = 0; e < d; ++e) {
          const T *const a = r + (k * d + e) * C_, *const b = r + (l * d + e) * C_;
          for (int c = 0; c < C_; ++c) G[c] += share * a[c] * b[c];
        }
      }
    }
  }
  factor(K);
}

template <class T>
void Field<T>::constrained(const Call& call, T* x_dot) {
  const int N = n_ * C_, d = plan_->law.dimension, K = distances();
  const T *const q = call.x, *const v = call.x + N;
  const T alpha = static_cast<T>(static_cast<Scalar<T>>(plan_->law.stabilisation));
  Net& potential = nets_[0];
  T* const a = a_.data();
  const Piece r = piece(K * d), w = piece(K * d), t = piece(K * d), lambda = piece(K);
  between_points(q, true, r.data());
  between_points(v, false, w.data());
  // rows /= m;  s_k = r_k · t_k;  rows of t = s_k r_k.
  const auto by_masses = [&](T* rows) {
    for (int i = 0; i < N; ++i) rows[i] /= masses_[i / (d * C_)];
  };
  const auto along = [&](const T* x, T* s) {
    for (int k = 0; k < K; ++k) {
      for (int e = 0; e < d; ++e) {
        add_product(static_cast<const T*>(r.data()) + (k * d + e) * C_, x + (k * d + e) * C_, C_,
                    s + k * C_);
      }
    }
  };
  // rows += sign m⁻¹ Jᵀ s
  const auto add_forces = [&](const T* s, T sign, T* rows) {
    const Piece forces = piece(n_);
    for (int i = 0; i < K * d * C_; ++i) t.data()[i] = s[i / (d * C_) * C_ + i % C_] * r.data()[i];
    for (int k = 0; k < K; ++k) {
      for (int side = 0; side < 2; ++side) {
        const int point = plan_->law.distances[static_cast<std::size_t>(k)][side ? 1u : 0u];
        if (point >= plan_->law.particles()) continue;
        for (int i = 0; i < d * C_; ++i) {
          forces.data()[point * d * C_ + i] += (side ? -sign : sign) * t.data()[k * d * C_ + i];
        }
      }
    }
    by_masses(forces.data());
    add_rows(static_cast<const T*>(forces.data()), N, rows);
  };
  matrix_of_distances(r.data());
  with_value(plan_->input, q, call, call.x_bar, [&] {
    with_value(plan_->dissipation, q, call, call.x_bar, [&] {
      with_gradient(0, q, call, call.x_bar, [&] {
        applied(v, call.u, a);
        for (int i = 0; i < N; ++i) a[i] -= potential.g->data()[i];
        by_masses(a);
        // (11): λ from what the second derivative of Φ lacks
        between_points(a, false, t.data());
        lambda.clear();
        for (int k = 0; k < K; ++k) {
          for (int c = 0; c < C_; ++c) {
            T size(0), speed(0), both(0), free(0);
            for (int e = 0; e < d; ++e) {
              const int i = (k * d + e) * C_ + c;
              const T R = r.data()[i], W = w.data()[i];
              size += R * R, speed += W * W, both += R * W, free += R * t.data()[i];
            }
            const T phi = T(0.5) * (size - lengths_[k] * lengths_[k]);  // (10)
            lambda.data()[k * C_ + c] = -(free + speed + alpha * (T(2) * both + alpha * phi));
          }
        }
        solve(K, lambda.data());
        add_forces(lambda.data(), T(1), a);
        std::copy_n(v, N, x_dot);
        std::copy_n(a, N, x_dot + N);
        if (!call.between) return;

        T* const bar = bar_.data();
        (*call.between)(x_dot, bar);
        if (call.x_bar) add_rows(static_cast<const T*>(bar), N, call.x_bar + N);  // q̇ = v
        const Piece mu = piece(n_), nu = piece(K), v_bar = piece(n_);
        std::copy_n(bar + N, N, mu.data());
        by_masses(mu.data());
        between_points(mu.data(), false, t.data());
        along(t.data(), nu.data());
        solve(K, nu.data());
        add_forces(nu.data(), T(-1), mu.data());
        // A column without cotangents may have no λ.
        for (int c = 0; c < C_; ++c) {
          bool none = true;
          for (int i = 0; i < n_; ++i) none = none && is_zero(bar[N + i * C_ + c]);
          for (int i = 0; i < n_ && none; ++i) mu.data()[i * C_ + c] = a[i * C_ + c] = T(0);
          for (int k = 0; k < K && none; ++k) {
            nu.data()[k * C_ + c] = lambda.data()[k * C_ + c] = T(0);
          }
        }
        // (12)
        for (int i = 0; i < N; ++i) potential.v->data()[i] = -mu.data()[i];
        pull_applied_back(v, call.u, mu.data(), v_bar.data(), call.u_bar);
        if (masses_bar_) {
          for (int i = 0; i < N; ++i) masses_bar_[i / (d * C_)] -= mu.data()[i] * a[i];
        }
        const Piece a_r = piece(K * d), mu_r = piece(K * d);
        between_points(a, false, a_r.data());
        between_points(mu.data(), false, mu_r.data());
        for (int i = 0; i < K * d * C_; ++i) {
          const int at = i / (d * C_) * C_ + i % C_;
          const T R = r.data()[i], W = w.data()[i], n = nu.data()[at], l = lambda.data()[at];
          t.data()[i] =
              l * mu_r.data()[i] - n * (a_r.data()[i] + alpha * (T(2) * W + alpha * R));  // r̄
          w.data()[i] = -n * T(2) * (W + alpha * R);                                      // w̄
        }
        for (int i = 0; i < K * C_ && lengths_bar_; ++i) {
          lengths_bar_[i / C_] += nu.data()[i] * alpha * alpha * lengths_[i / C_];
        }
        pull_points_back(t.data(), true, call.x_bar);
        pull_points_back(w.data(), false, v_bar.data());
        if (call.x_bar) add_rows(static_cast<const T*>(v_bar.data()), N, call.x_bar + N);
      });
    });
  });
}

template <class T>
void Field<T>::violation(const T* x, T* off) {
  used_ = 0;
  const int d = plan_->law.dimension;
  const Piece r = piece(distances() * d);
  between_points(x, true, r.data());
  for (int i = 0; i < distances() * C_; ++i) {
    const int k = i / C_, c = i % C_;
    T sum(0);
    for (int e = 0; e < d; ++e)
      sum += r.data()[(k * d + e) * C_ + c] * r.data()[(k * d + e) * C_ + c];
    using std::sqrt;
    off[i] = sqrt(sum) - lengths_[k];
  }
}

template <class T>
void Field<T>::violation_pullback(const T* x, const T* off_bar, T* x_bar) {
  used_ = 0;
  const int d = plan_->law.dimension;
  const Piece r = piece(distances() * d);
  between_points(x, true, r.data());
  for (int i = 0; i < distances() * C_; ++i) {
    const int k = i / C_, c = i % C_;
    T sum(0);
    for (int e = 0; e < d; ++e)
      sum += r.data()[(k * d + e) * C_ + c] * r.data()[(k * d + e) * C_ + c];
    using std::sqrt;
    // Points that lie on each other have no direction.
    const T by = is_zero(off_bar[i]) || is_zero(sum) ? T(0) : off_bar[i] / sqrt(sum);
    for (int e = 0; e < d; ++e) r.data()[(k * d + e) * C_ + c] *= by;
    if (lengths_bar_) lengths_bar_[k] -= off_bar[i];
  }
  pull_points_back(r.data(), true, x_bar);
}

template <class T>
void Field<T>::energy(const T* x, T* E) {
  used_ = 0;
  const int N = n_ * C_;
  const T* const v = x + N;
  const auto value = [&](int k, const T* at) {
    Net& net = nets_[static_cast<std::size_t>(k)];
    mlp_kernels<T>().run(MlpCall::value, block(net, at, false));
    return static_cast<const T*>(net.y->data());
  };
  std::fill_n(E, C_, T(0));
  if (plan_->law.kind == LearnedKind::hamiltonian) {
    add_rows(value(0, x), C_, E);
    if (plan_->second >= 0) add_rows(value(1, v), C_, E);
    return;
  }
  if (plan_->law.kind == LearnedKind::lagrangian) {
    Net& net = nets_[0];
    MlpBlock<T> b = block(net, x, false);
    net.g->clear();
    b.x_bar = net.g->data();
    mlp_kernels<T>().run(MlpCall::gradient, b);
    for (int c = 0; c < C_; ++c) E[c] -= net.y->data()[c];
    for (int i = 0; i < n_; ++i) {
      const T *const vi = v + i * C_, *const g = net.g->data() + N + i * C_;
      for (int c = 0; c < C_; ++c) E[c] += vi[c] * (g[c] + T(0.5) * vi[c]);
    }
    return;
  }
  if (plan_->law.kind == LearnedKind::constrained) {
    add_rows(value(0, x), C_, E);
    for (int i = 0; i < N; ++i) {
      E[i % C_] += T(0.5) * masses_[i / (plan_->law.dimension * C_)] * v[i] * v[i];
    }
    return;
  }
  if (plan_->law.kind != LearnedKind::deep_lagrangian) return;
  add_rows(value(1, x), C_, E);
  std::copy_n(value(0, x), plan_->law.triangle() * C_, F_.data());
  const Piece w = piece(n_);
  std::copy_n(v, N, w.data());
  add_lower_transposed(n_, C_, static_cast<const T*>(F_.data()), v, w.data());
  for (int i = 0; i < N; ++i) {
    E[i % C_] += T(0.5) * (w.data()[i] * w.data()[i] + static_cast<T>(kLeastMass) * v[i] * v[i]);
  }
}

template <class T>
void Field<T>::energy_pullback(const T* x, const T* E_bar, T* x_bar) {
  used_ = 0;
  const int N = n_ * C_;
  const T* const v = x + N;
  const auto back = [&](int k, const T* at, const T* y_bar, T* at_bar) {
    Net& net = nets_[static_cast<std::size_t>(k)];
    MlpBlock<T> b = block(net, at, true);
    b.y_bar = y_bar, b.x_bar = at_bar;
    mlp_kernels<T>().run(MlpCall::pullback, b);
  };
  if (plan_->law.kind == LearnedKind::hamiltonian) {
    back(0, x, E_bar, x_bar);
    if (plan_->second >= 0) back(1, v, E_bar, x_bar + N);
    return;
  }
  if (plan_->law.kind == LearnedKind::lagrangian) {
    Net& net = nets_[0];
    net.v->clear(), net.g->clear();
    for (int i = 0; i < N; ++i) net.v->data()[N + i] = E_bar[i % C_] * v[i];
    MlpBlock<T> g = block(net, x, false);
    g.x_bar = net.g->data();
    mlp_kernels<T>().run(MlpCall::gradient, g);
    MlpBlock<T> b = block(net, x, true);
    b.v = net.v->data(), b.x_bar = x_bar;
    mlp_kernels<T>().run(MlpCall::gradient_pullback, b);
    for (int i = 0; i < N; ++i) {
      x_bar[N + i] += E_bar[i % C_] * (net.g->data()[N + i] + v[i]);
    }
    for (int c = 0; c < C_; ++c) net.y_bar->data()[c] = -E_bar[c];
    return back(0, x, net.y_bar->data(), x_bar);
  }
  if (plan_->law.kind == LearnedKind::constrained) {
    back(0, x, E_bar, x_bar);
    for (int i = 0; i < N; ++i) {
      const int point = i / (plan_->law.dimension * C_);
      x_bar[N + i] += E_bar[i % C_] * masses_[point] * v[i];
      if (masses_bar_) masses_bar_[point] += T(0.5) * E_bar[i % C_] * v[i] * v[i];
    }
    return;
  }
  if (plan_->law.kind != LearnedKind::deep_lagrangian) return;
  back(1, x, E_bar, x_bar);
  Net& net = nets_[0];
  mlp_kernels<T>().run(MlpCall::value, block(net, x, false));
  std::copy_n(net.y->data(), plan_->law.triangle() * C_, F_.data());
  for (int i = 0; i < n_; ++i) {
    for (int c = 0; c < C_; ++c) F_.data()[below(i, i) * C_ + c] += T(1);
  }
  const Piece w = piece(n_), scaled = piece(n_);
  add_lower_transposed(n_, C_, static_cast<const T*>(F_.data()), v, w.data());
  for (int i = 0; i < N; ++i) scaled.data()[i] = w.data()[i] * E_bar[i % C_];
  net.y_bar->clear();
  add_outer(n_, C_, v, static_cast<const T*>(scaled.data()), T(1), net.y_bar->data());
  add_lower(n_, C_, static_cast<const T*>(F_.data()), static_cast<const T*>(scaled.data()),
            x_bar + N);
  for (int i = 0; i < N; ++i) {
    x_bar[N + i] += static_cast<T>(kLeastMass) * E_bar[i % C_] * v[i];
  }
  back(0, x, net.y_bar->data(), x_bar);
}

template struct FieldPlan<float>;
template struct FieldPlan<double>;
template class Field<float>;
template class Field<double>;
template class Field<Tangent1>;

}  // namespace cycloid::inline learn
