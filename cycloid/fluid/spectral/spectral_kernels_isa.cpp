#include "cycloid/fluid/spectral/spectral_kernels.h"

#include "cycloid/fluid/spectral/node_terms.h"
#include "cycloid/fluid/transform/fft_passes.h"
#include "cycloid/math/dual.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class T>
using Lanes = Pack<T, kNativeLanes<T>>;

// Calls visit(mode, offset of the slab's real parts in a field) for the modes of a slab, in lanes.
template <class T, class Visit>
CYCLOID_INLINE void for_each_mode(const ModesView<T>& v, int slab, Visit&& visit) {
  using S = Lanes<T>;
  const std::ptrdiff_t first = 2 * slab * v.pitch;
  SpectralMode<S> m;
  for (std::ptrdiff_t r = 0; r < v.pitch; r += kLanesOf<S>) {
    m.k[0] = S::load(v.row_k[0] + r);
    m.k[1] = v.dimensions == 2   ? S(v.slab_k[slab])
             : v.dimensions == 3 ? S::load(v.row_k[1] + r)
                                 : S(0);
    m.k[2] = v.dimensions == 3 ? S(v.slab_k[slab]) : S(0);
    m.inverse_square = S::load(v.inverse_square + slab * v.pitch + r);
    m.is_mean = S(0);
    if (slab == 0 && r == 0) set_lane(m.is_mean, 0, T(1));
    visit(m, first + r);
  }
}

template <class T>
CYCLOID_INLINE ComplexLane<Lanes<T>> load_mode(const ModesView<T>& v, const T* x,
                                               std::ptrdiff_t at) {
  return {Lanes<T>::load(x + at), Lanes<T>::load(x + at + v.pitch)};
}
template <class T>
CYCLOID_INLINE void store_mode(const ModesView<T>& v, T* x, std::ptrdiff_t at,
                               const ComplexLane<Lanes<T>>& a) {
  a.re.store(x + at), a.im.store(x + at + v.pitch);
}
template <int n, class T>
CYCLOID_INLINE void load_modes(const ModesView<T>& v, const T* x, std::ptrdiff_t at,
                               ComplexLane<Lanes<T>>* to) {
  for (int f = 0; f < n; ++f) to[f] = load_mode(v, x + f * v.stride, at);
}
template <int n, class T>
CYCLOID_INLINE void store_modes(const ModesView<T>& v, T* x, std::ptrdiff_t at,
                                const ComplexLane<Lanes<T>>* from) {
  for (int f = 0; f < n; ++f) store_mode(v, x + f * v.stride, at, from[f]);
}

template <class T>
struct Etd {
  using S = Lanes<T>;
  using C = ComplexLane<S>;

  // Visits each number of a slab: visit(field, where it lies in a field, in a coefficient, term by
  // term its coefficient).
  static C coefficient(const ModesView<T>& v, const EtdView<T>& e, int f, std::ptrdiff_t at,
                       const T* of) {
    const T* const p = of + e.group[f] * e.per_group + at;
    return {S::load(p), e.parts == 2 ? S::load(p + v.slabs * v.pitch) : S(0)};
  }
  static void sum(const ModesView<T>& v, const EtdView<T>& e, int slab, const EtdTerm<T>* terms,
                  int count, T* out) {
    for (int f = 0; f < e.fields; ++f) {
      for (std::ptrdiff_t r = 0; r < v.pitch; r += kLanesOf<S>) {
        const std::ptrdiff_t at = 2 * slab * v.pitch + r, c_at = slab * v.pitch + r;
        C y = {S(0), S(0)};
        for (int t = 0; t < count; ++t) {
          const C c = coefficient(v, e, f, c_at, terms[t].coefficient);
          const C x = load_mode(v, terms[t].x + f * v.stride, at);
          const S s = S(terms[t].scale);
          if (e.parts == 1) {
            y.re += (s * c.re) * x.re, y.im += (s * c.re) * x.im;
          } else {
            y.re += s * (c.re * x.re - c.im * x.im), y.im += s * (c.re * x.im + c.im * x.re);
          }
        }
        store_mode(v, out + f * v.stride, at, y);
      }
    }
  }
  static void sum_adjoint(const ModesView<T>& v, const EtdView<T>& e, int slab,
                          const EtdTerm<T>* terms, int count, const T* y_bar) {
    for (int f = 0; f < e.fields; ++f) {
      for (std::ptrdiff_t r = 0; r < v.pitch; r += kLanesOf<S>) {
        const std::ptrdiff_t at = 2 * slab * v.pitch + r, c_at = slab * v.pitch + r;
        const C y = load_mode(v, y_bar + f * v.stride, at);
        for (int t = 0; t < count; ++t) {
          const C c = coefficient(v, e, f, c_at, terms[t].coefficient);
          C x = load_mode<T>(v, terms[t].x_bar + f * v.stride, at);
          const S s = S(terms[t].scale);
          if (e.parts == 1) {
            x.re += (s * c.re) * y.re, x.im += (s * c.re) * y.im;
          } else {
            x.re += s * (c.re * y.re + c.im * y.im), x.im += s * (c.re * y.im - c.im * y.re);
          }
          store_mode(v, terms[t].x_bar + f * v.stride, at, x);
        }
      }
    }
  }
  static void slopes(const ModesView<T>& v, const EtdView<T>& e, int slab, const EtdTerm<T>* terms,
                     int count, const T* y_bar, double* to) {
    for (int f = 0; f < e.fields; ++f) {
      double* const sums = to + e.group[f] * v.slabs * v.pitch + slab * v.pitch;
      for (std::ptrdiff_t r = 0; r < v.pitch; r += kLanesOf<S>) {
        const std::ptrdiff_t at = 2 * slab * v.pitch + r, c_at = slab * v.pitch + r;
        const C y = load_mode(v, y_bar + f * v.stride, at);
        S sum(0);
        for (int t = 0; t < count; ++t) {
          const S c = S::load(terms[t].slope + e.group[f] * e.per_group + c_at);
          const C x = load_mode(v, terms[t].x + f * v.stride, at);
          sum += (S(terms[t].scale) * c) * (x.re * y.re + x.im * y.im);
        }
        widen_add(sums + r, sum);
      }
    }
  }
  static T fastest(const T* x, std::ptrdiff_t stride, std::ptrdiff_t n, const T* rates, int count) {
    S most(0), bad(0);
    T tail = 0, bad_tail = 0;
    std::ptrdiff_t i = 0;
    for (; i + kLanesOf<S> <= n; i += kLanesOf<S>) {
      S sum(0);
      for (int a = 0; a < count; ++a) sum += abs(S::load(x + a * stride + i)) * S(rates[a]);
      most = select(sum > most, sum, most);
      bad += sum * S(0);
    }
    for (; i < n; ++i) {
      T sum = 0;
      for (int a = 0; a < count; ++a) {
        const T u = x[a * stride + i];
        sum += (u < 0 ? -u : u) * rates[a];
      }
      tail = sum > tail ? sum : tail;
      bad_tail += sum * T(0);
    }
    for (int l = 0; l < kLanesOf<S>; ++l) tail = lane(most, l) > tail ? lane(most, l) : tail;
    return tail + (bad_tail + sum_lanes(bad));
  }
  static bool all_finite(const T* x, std::ptrdiff_t n) {
    S bad(0);
    T tail = 0;
    std::ptrdiff_t i = 0;
    for (; i + kLanesOf<S> <= n; i += kLanesOf<S>) bad += S::load(x + i) * S(0);
    for (; i < n; ++i) tail += x[i] * T(0);
    return tail + sum_lanes(bad) == T(0);
  }

  static constexpr EtdKernels<T> all() { return {sum, sum_adjoint, slopes, fastest, all_finite}; }
};

template <class T, class Term>
struct Terms {
  using S = Lanes<T>;
  using C = ComplexLane<S>;
  static constexpr int F = Term::kFields, G = Term::kSeen, P = Term::kProducts;

  static void project(const ModesView<T>& v, int slab, T* u) {
    if constexpr (Term::kProjects) {
      for_each_mode(v, slab, [&](const SpectralMode<S>& m, std::ptrdiff_t at) {
        C x[F];
        load_modes<F, T>(v, u, at, x);
        Term::project(m, x);
        store_modes<F, T>(v, u, at, x);
      });
    }
  }
  static void seen(const ModesView<T>& v, int slab, const T* u, T* g) {
    if constexpr (!Term::kSeesState) {
      for_each_mode(v, slab, [&](const SpectralMode<S>& m, std::ptrdiff_t at) {
        C x[F], y[G];
        load_modes<F, T>(v, u, at, x);
        Term::seen(m, x, y);
        store_modes<G, T>(v, g, at, y);
      });
    }
  }
  static void seen_adjoint(const ModesView<T>& v, int slab, const T* g, T* u) {
    for_each_mode(v, slab, [&](const SpectralMode<S>& m, std::ptrdiff_t at) {
      C x[F], y[G];
      load_modes<F, T>(v, u, at, x), load_modes<G, T>(v, g, at, y);
      if constexpr (Term::kSeesState) {
        for (int f = 0; f < F; ++f) add(x[f], y[f]);
      } else {
        Term::seen_adjoint(m, y, x);
      }
      store_modes<F, T>(v, u, at, x);
    });
  }
  static void assembled(const ModesView<T>& v, int slab, const T* c, const T* q, const T* u, T* N) {
    for_each_mode(v, slab, [&](const SpectralMode<S>& m, std::ptrdiff_t at) {
      C x[F], y[P], out[F];
      load_modes<P, T>(v, q, at, y);
      if constexpr (Term::kUsesState) load_modes<F, T>(v, u, at, x);
      Term::assembled(m, c, y, x, out);
      store_modes<F, T>(v, N, at, out);
    });
  }
  static void assembled_adjoint(const ModesView<T>& v, int slab, const T* c, const T* N, T* q,
                                T* u) {
    for_each_mode(v, slab, [&](const SpectralMode<S>& m, std::ptrdiff_t at) {
      C x[F], y[P], in[F];
      load_modes<F, T>(v, N, at, in);
      if constexpr (Term::kUsesState) load_modes<F, T>(v, u, at, x);
      for (int p = 0; p < P; ++p) y[p] = {S(0), S(0)};
      Term::assembled_adjoint(m, c, in, y, x);
      store_modes<P, T>(v, q, at, y);
      if constexpr (Term::kUsesState) store_modes<F, T>(v, u, at, x);
    });
  }
  static void constants_adjoint(const ModesView<T>& v, int slab, const T* u, const T* N,
                                double* c) {
    if constexpr (requires { &Term::template constants_adjoint<S>; }) {
      for_each_mode(v, slab, [&](const SpectralMode<S>& m, std::ptrdiff_t at) {
        C x[F], in[F];
        load_modes<F, T>(v, u, at, x), load_modes<F, T>(v, N, at, in);
        S sums[Term::kConstants];
        for (S& s : sums) s = S(0);
        Term::constants_adjoint(m, x, in, sums);
        const S w = S::load(v.weight + at - 2 * slab * v.pitch);
        for (int i = 0; i < Term::kConstants; ++i) {
          c[i] += static_cast<double>(sum_lanes(w * sums[i]));
        }
      });
    }
  }

  // Node values of `count` fields of a block; group a in z[f * n + j].im, group b in .re.
  template <class L>
  static void to_nodes(const ModesView<T>& v, const BoxView<T>& b, int block, const T* half,
                       int count, ComplexLane<L>* z, ComplexLane<L>* t) {
    for (int f = 0; f < count; ++f) {
      columns_to_nodes<L>(b, block, half + f * v.half_stride, z + f * b.axis[0].n, t);
    }
  }
  template <class L>
  static void from_nodes(const ModesView<T>& v, const BoxView<T>& b, int block, ComplexLane<L>* z,
                         int count, T* half, ComplexLane<L>* t) {
    for (int f = 0; f < count; ++f) {
      nodes_to_columns<L>(b, block, z + f * b.axis[0].n, half + f * v.half_stride, t);
    }
  }

  template <class L>
  static void load_nodes(const ModesView<T>& v, const BoxView<T>& b, const ColumnBlock<L>& at,
                         int j, const T* nodes, L (*x)[G]) {
    for (int f = 0; f < G; ++f) {
      const T* const from =
          nodes + f * v.nodes + static_cast<std::ptrdiff_t>(j) * b.columns + at.first;
      x[0][f] = load_lanes<L>(from, at.count_a), x[1][f] = load_lanes<L>(from + at.W, at.count_b);
    }
  }
  template <class L>
  static void columns_in(const ModesView<T>& v, const BoxView<T>& b, int block, const T* half_g,
                         T* half_q, T* nodes, void* room) {
    const int n = b.axis[0].n;
    ComplexLane<L>* const g = static_cast<ComplexLane<L>*>(room);
    ComplexLane<L>* const q = g + G * n;
    ComplexLane<L>* const t = q + P * n;
    const ColumnBlock<L> at(b.columns, block);
    if (half_g) to_nodes<L>(v, b, block, half_g, G, g, t);
    for (int j = 0; j < n; ++j) {
      L x[2][G] = {}, y[2][P];
      if (!half_g) load_nodes<L>(v, b, at, j, nodes, x);
      for (int f = 0; half_g && f < G; ++f) {
        x[0][f] = g[f * n + j].im, x[1][f] = g[f * n + j].re;
        if (nodes) {
          T* const to = nodes + f * v.nodes + static_cast<std::ptrdiff_t>(j) * b.columns + at.first;
          store_lanes(to, x[0][f], at.count_a), store_lanes(to + at.W, x[1][f], at.count_b);
        }
      }
      for (int half = 0; half < 2; ++half) {
        Term::template products<L>(nullptr, x[half], y[half]);
      }
      for (int p = 0; p < P; ++p) q[p * n + b.axis[0].place[j]] = {y[0][p], y[1][p]};
    }
    from_nodes<L>(v, b, block, q, P, half_q, t);
  }
  template <class L>
  static void columns_adjoint_in(const ModesView<T>& v, const BoxView<T>& b, int block,
                                 const T* half_q, const T* nodes, T* half_g, T* nodes_bar,
                                 void* room) {
    const int n = b.axis[0].n;
    ComplexLane<L>* const q = static_cast<ComplexLane<L>*>(room);
    ComplexLane<L>* const g = q + P * n;
    ComplexLane<L>* const t = g + G * n;
    const ColumnBlock<L> at(b.columns, block);
    to_nodes<L>(v, b, block, half_q, P, q, t);
    for (int j = 0; j < n; ++j) {
      L x[2][G] = {}, x_bar[2][G], y_bar[2][P];
      load_nodes<L>(v, b, at, j, nodes, x);
      for (int p = 0; p < P; ++p) y_bar[0][p] = q[p * n + j].im, y_bar[1][p] = q[p * n + j].re;
      for (int half = 0; half < 2; ++half) {
        for (int f = 0; f < G; ++f) x_bar[half][f] = L(0);
        Term::template products_pullback<L>(nullptr, x[half], y_bar[half], x_bar[half]);
      }
      for (int f = 0; half_g && f < G; ++f) {
        g[f * n + b.axis[0].place[j]] = {x_bar[0][f], x_bar[1][f]};
      }
      for (int f = 0; !half_g && f < G; ++f) {
        T* const to =
            nodes_bar + f * v.nodes + static_cast<std::ptrdiff_t>(j) * b.columns + at.first;
        store_lanes(to, L(load_lanes<L>(to, at.count_a) + x_bar[0][f]), at.count_a);
        store_lanes(to + at.W, L(load_lanes<L>(to + at.W, at.count_b) + x_bar[1][f]), at.count_b);
      }
    }
    if (half_g) from_nodes<L>(v, b, block, g, G, half_g, t);
  }
  template <class L>
  static void columns_tangent_in(const ModesView<T>& v, const BoxView<T>& b, int block,
                                 const T* half_g, const T* nodes_tan, const T* nodes, T* half_q,
                                 void* room) {
    const int n = b.axis[0].n;
    ComplexLane<L>* const g = static_cast<ComplexLane<L>*>(room);
    ComplexLane<L>* const q = g + G * n;
    ComplexLane<L>* const t = q + P * n;
    const ColumnBlock<L> at(b.columns, block);
    if (half_g) to_nodes<L>(v, b, block, half_g, G, g, t);
    for (int j = 0; j < n; ++j) {
      L x[2][G] = {};
      load_nodes<L>(v, b, at, j, nodes, x);
      L x_tan[2][G] = {};
      if (!half_g) load_nodes<L>(v, b, at, j, nodes_tan, x_tan);
      for (int f = 0; half_g && f < G; ++f) {
        x_tan[0][f] = g[f * n + j].im, x_tan[1][f] = g[f * n + j].re;
      }
      Dual<L, 1> y[2][P];
      for (int half = 0; half < 2; ++half) {
        Dual<L, 1> along[G];
        for (int f = 0; f < G; ++f) {
          along[f] = Dual<L, 1>(x[half][f]);
          along[f].tangent[0] = x_tan[half][f];
        }
        Term::template products<Dual<L, 1>>(nullptr, along, y[half]);
      }
      for (int p = 0; p < P; ++p) {
        q[p * n + b.axis[0].place[j]] = {y[0][p].tangent[0], y[1][p].tangent[0]};
      }
    }
    from_nodes<L>(v, b, block, q, P, half_q, t);
  }

  // On a line there is one column, and no lanes to fill.
  template <class Work>
  static void in_lanes(const BoxView<T>& b, Work&& work) {
    if constexpr (Term::kFewestAxes == 1) {
      if (b.dimensions == 1) return work.template operator()<T>();
    }
    if constexpr (Term::kMostAxes > 1) work.template operator()<S>();
  }
  static void columns(const ModesView<T>& v, const BoxView<T>& b, int block, const T* half_g,
                      T* half_q, T* nodes, void* room) {
    in_lanes(b, [&]<class L>() { columns_in<L>(v, b, block, half_g, half_q, nodes, room); });
  }
  static void columns_adjoint(const ModesView<T>& v, const BoxView<T>& b, int block,
                              const T* half_q, const T* nodes, T* half_g, T* nodes_bar,
                              void* room) {
    in_lanes(b, [&]<class L>() {
      columns_adjoint_in<L>(v, b, block, half_q, nodes, half_g, nodes_bar, room);
    });
  }
  static void columns_tangent(const ModesView<T>& v, const BoxView<T>& b, int block,
                              const T* half_g, const T* nodes_tan, const T* nodes, T* half_q,
                              void* room) {
    in_lanes(b, [&]<class L>() {
      columns_tangent_in<L>(v, b, block, half_g, nodes_tan, nodes, half_q, room);
    });
  }

  static constexpr TermKernels<T> all() {
    TermKernels<T> k{};
    k.fields = F, k.seen_fields = G, k.products = P, k.constants = Term::kConstants;
    k.sees_state = Term::kSeesState, k.projects = Term::kProjects;
    k.uses_state = Term::kUsesState;
    k.project = project, k.seen = seen, k.seen_adjoint = seen_adjoint;
    k.assembled = assembled, k.assembled_adjoint = assembled_adjoint;
    k.constants_adjoint = constants_adjoint;
    k.columns = columns, k.columns_adjoint = columns_adjoint, k.columns_tangent = columns_tangent;
    return k;
  }
};

template <class T>
const TermKernels<T>& kernels_of(SpectralTerm term) {
  static constexpr TermKernels<T> kAll[] = {
      Terms<T, Transport<1>>::all(),      Terms<T, Transport<2>>::all(),
      Terms<T, Transport<3>>::all(),      Terms<T, Incompressible<2>>::all(),
      Terms<T, Incompressible<3>>::all(), Terms<T, Reaction>::all(),
      Terms<T, ShallowWater>::all()};
  return kAll[static_cast<int>(term)];
}

constexpr EtdKernels<float> kFloat = Etd<float>::all();
constexpr EtdKernels<double> kDouble = Etd<double>::all();

}  // namespace

const EtdKernels<float>& etd_kernels_float() { return kFloat; }
const EtdKernels<double>& etd_kernels_double() { return kDouble; }
const TermKernels<float>& term_kernels_float(SpectralTerm term) { return kernels_of<float>(term); }
const TermKernels<double>& term_kernels_double(SpectralTerm term) {
  return kernels_of<double>(term);
}

}  // namespace cycloid::isa::CYCLOID_ISA
