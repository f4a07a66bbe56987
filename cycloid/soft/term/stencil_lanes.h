// Stencils in lanes: the kernels of a law (stencil_kernels.h), for every law alike. Included by the
// files that are compiled once per instruction set, and by nothing else.
#pragma once

#include "cycloid/math/pack.h"
#include "cycloid/soft/element/cell_stiffness.h"
#include "cycloid/soft/term/stencil_kernels.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr int kLanes = kNativeLanes<double>;  // wider lanes are longer code, not faster
using Lanes = Pack<double, kLanes>;
using Dual3 = Dual<Lanes, 3>;
using Along = Dual<Lanes, 1>;

// Lanes of stencils [first, end): the last one is repeated where there are fewer.
struct Group {
  int first, count;
  std::ptrdiff_t at(int lane) const { return first + (lane < count ? lane : count - 1); }
};

template <class Work>
void for_each_group(int begin, int end, Work&& work) {
  for (int k = begin; k < end; k += kLanes) work(Group{k, k + kLanes <= end ? kLanes : end - k});
}

// What a group remembers, and whether a law looks at positions before: most do, without memory.
template <class Law>
constexpr int memory_of() {
  if constexpr (requires { Law::kMemory; }) return Law::kMemory;
  else return 0;
}
template <class Law>
constexpr bool has_rates() {
  if constexpr (requires { Law::kRates; }) return Law::kRates;
  else return true;
}

// The node that has all of the law's mass; -1: the nodes share it evenly.
template <class Law>
constexpr int mass_node() {
  if constexpr (requires { Law::kMassNode; }) return Law::kMassNode;
  else return -1;
}

template <class Law>
struct StencilLanes {
  static constexpr int N = Law::kNodes, P = Law::kNumbers, C = Law::kConstants;
  static constexpr int H = memory_of<Law>();
  // Of values, T is Lanes; of a direction in them, Along.
  template <class T>
  using Of = typename Law::template Group<T>;
  using Values = Of<Lanes>;
  template <class T>
  using Duals = Of<Dual<T, 3>>;
  static constexpr int kMatrix = 3 * N;

  static int node(const StencilView& v, const Group& g, int l, int a) {
    return v.nodes[g.at(l) * N + a];
  }
  static void gather(const StencilView& v, const Group& g, const double* from, Vec3<Lanes>* to) {
    for (int a = 0; a < N; ++a) {
      to[a] = {Lanes(0), Lanes(0), Lanes(0)};
      if (!from) continue;
      for (int l = 0; l < kLanes; ++l) {
        const double* const p = from + 3 * static_cast<std::ptrdiff_t>(node(v, g, l, a));
        set_lane(to[a].x, l, p[0]), set_lane(to[a].y, l, p[1]), set_lane(to[a].z, l, p[2]);
      }
    }
  }
  static void scatter(const StencilView& v, const Group& g, int a, const Vec3<Lanes>& from,
                      double* to) {
    for (int l = 0; l < g.count; ++l) {
      double* const p = to + 3 * static_cast<std::ptrdiff_t>(node(v, g, l, a));
      p[0] += lane(from.x, l), p[1] += lane(from.y, l), p[2] += lane(from.z, l);
    }
  }
  static Lanes sum_of(const Group& g, const Lanes& x, double& to) {
    for (int l = 0; l < g.count; ++l) to += lane(x, l);
    return x;
  }

  static Values load(const StencilView& v, const Group& g) {
    Values s;
    s.step = v.step;
    gather(v, g, v.rest, s.rest), gather(v, g, v.now, s.now);
    for (int k = 0; k < 2; ++k)
      gather(v, g, k < v.step.befores ? v.before[k] : nullptr, s.before[k]);
    for (int i = 0; i < P; ++i) s.number[i] = Lanes(v.numbers[i]);
    for (int i = 0; i < C; ++i) {
      for (int l = 0; l < kLanes; ++l) set_lane(s.constant[i], l, v.constants[g.at(l) * C + i]);
    }
    for (int i = 0; i < H; ++i) s.memory[i] = of_groups(g, v.memory, H, i);
    return s;
  }
  // Number i of those that each group has; null: zeros.
  static Lanes of_groups(const Group& g, const double* from, int each, int i) {
    Lanes x(0);
    for (int l = 0; from && l < kLanes; ++l) set_lane(x, l, from[g.at(l) * each + i]);
    return x;
  }
  static void to_groups(const Group& g, const Lanes& x, double* to, int each, int i) {
    for (int l = 0; l < g.count; ++l) to[g.at(l) * each + i] += lane(x, l);
  }
  template <class T>
  static Vec3<Dual<T, 3>> still(const Vec3<T>& x) {
    return {x.x, x.y, x.z};
  }
  template <class T>
  static Vec3<Dual<T, 3>> moved(const Vec3<T>& x) {
    using D = Dual<T, 3>;
    return {D::variable(x.x, 0), D::variable(x.y, 1), D::variable(x.z, 2)};
  }
  template <class T>
  static Duals<T> duals(const Of<T>& s) {
    Duals<T> d;
    d.step = s.step;
    for (int a = 0; a < N; ++a) {
      d.rest[a] = still(s.rest[a]), d.now[a] = still(s.now[a]);
      for (int k = 0; k < 2; ++k) d.before[k][a] = still(s.before[k][a]);
    }
    for (int i = 0; i < P; ++i) d.number[i] = Dual<T, 3>(s.number[i]);
    for (int i = 0; i < C; ++i) d.constant[i] = Dual<T, 3>(s.constant[i]);
    for (int i = 0; i < H; ++i) d.memory[i] = Dual<T, 3>(s.memory[i]);
    return d;
  }

  // Duals of the positions now alone, where the law knows how.
  static auto moving(const Values& s) {
    if constexpr (Law::kMixed) {
      typename Law::template Group<Dual3, Lanes> d;
      d.step = s.step;
      for (int a = 0; a < N; ++a) {
        d.now[a] = still(s.now[a]), d.rest[a] = s.rest[a];
        for (int k = 0; k < 2; ++k) d.before[k][a] = s.before[k][a];
      }
      for (int i = 0; i < P; ++i) d.number[i] = s.number[i];
      for (int i = 0; i < C; ++i) d.constant[i] = s.constant[i];
      for (int i = 0; i < H; ++i) d.memory[i] = s.memory[i];
      return d;
    } else {
      return duals<Lanes>(s);
    }
  }

  // What is added to cotangents: a derivative, or its own derivative along the direction.
  static const Lanes& part(const Lanes& x) { return x; }
  static const Lanes& part(const Along& x) { return x.tangent[0]; }

  // Adds the gradient of scalar(duals), at values or along a direction, to the cotangents.
  template <class T, class F>
  static void add_gradient(const StencilView& v, const Group& g, const Of<T>& s,
                           const StencilBars& bars, bool of_now, F&& scalar) {
    using D = Dual<T, 3>;
    Duals<T> d = duals<T>(s);
    const auto back = [&](Vec3<D>& x, const Vec3<T>& at, int a, double* to) {
      x = moved(at);
      const D y = scalar(d);
      scatter(v, g, a, {part(y.tangent[0]), part(y.tangent[1]), part(y.tangent[2])}, to);
      x = still(at);
    };
    for (int a = 0; a < N; ++a) {
      if (bars.rest) back(d.rest[a], s.rest[a], a, bars.rest);
      if (bars.now && of_now) back(d.now[a], s.now[a], a, bars.now);
      for (int k = 0; has_rates<Law>() && k < v.step.befores; ++k) {
        if (bars.before[k]) back(d.before[k][a], s.before[k][a], a, bars.before[k]);
      }
    }
    // Three of `count` numbers at a time.
    const auto each = [&](D* x, const T* at, int count, auto&& take) {
      for (int i = 0; i < count; i += 3) {
        for (int j = 0; j < 3 && i + j < count; ++j) x[i + j] = D::variable(at[i + j], j);
        const D y = scalar(d);
        for (int j = 0; j < 3 && i + j < count; ++j) {
          take(i + j, part(y.tangent[j]));
          x[i + j] = D(at[i + j]);
        }
      }
    };
    if (bars.numbers) {
      each(d.number, s.number, P, [&](int i, const Lanes& y) { sum_of(g, y, bars.numbers[i]); });
    }
    if (bars.memory) {
      each(d.memory, s.memory, H,
           [&](int i, const Lanes& y) { to_groups(g, y, bars.memory, H, i); });
    }
  }
  // A group with its tangent.
  static Of<Along> along(const StencilView& v, const StencilView& t, const Group& g) {
    const Values s = load(v, g);
    Of<Along> d;
    d.step = s.step;
    Vec3<Lanes> way[N] = {};
    const auto take = [&](const Vec3<Lanes>* at, const double* from, Vec3<Along>* to) {
      gather(v, g, from, way);
      for (int a = 0; a < N; ++a) {
        for (int i = 0; i < 3; ++i) {
          to[a][i].value = at[a][i], to[a][i].tangent[0] = way[a][i];
        }
      }
    };
    take(s.rest, t.rest, d.rest), take(s.now, t.now, d.now);
    for (int k = 0; k < 2; ++k) {
      take(s.before[k], k < v.step.befores ? t.before[k] : nullptr, d.before[k]);
    }
    for (int i = 0; i < P; ++i) {
      d.number[i] = Along(s.number[i]);
      if (t.numbers) d.number[i].tangent[0] = Lanes(t.numbers[i]);
    }
    for (int i = 0; i < C; ++i) d.constant[i] = Along(s.constant[i]);
    for (int i = 0; i < H; ++i) {
      d.memory[i].value = s.memory[i], d.memory[i].tangent[0] = of_groups(g, t.memory, H, i);
    }
    return d;
  }

  static void energy(const StencilView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      const Lanes w = Law::energy(load(v, g));
      for (int l = 0; l < g.count; ++l) out[g.first + l] += lane(w, l);
    });
  }
  static void force(const StencilView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Lanes> f[N];
      Law::force(load(v, g), f);
      for (int a = 0; a < N; ++a) scatter(v, g, a, f[a], out);
    });
  }
  using Matrix = Mat<Lanes, kMatrix, kMatrix>;
  // The even part of the derivative of the force, and the odd one where there is one.
  static void exact_stiffness(const Values& s, Matrix& K, Matrix& odd) {
    auto d = moving(s);
    for (int b = 0; b < N; ++b) {
      Vec3<Dual3> f[N];
      d.now[b] = moved(s.now[b]);
      Law::force(d, f);
      d.now[b] = still(s.now[b]);
      for (int i = 0; i < kMatrix; ++i) {
        for (int j = 0; j < 3; ++j) K(i, 3 * b + j) = f[i / 3][i % 3].tangent[j];
      }
    }
    for (int i = 0; i < kMatrix; ++i) {
      for (int j = 0; j <= i; ++j) {
        const Lanes even = Lanes(0.5) * (K(i, j) + K(j, i));
        if (!Law::kSymmetric) {
          odd(i, j) = K(i, j) - even;
          odd(j, i) = -odd(i, j);
        }
        K(i, j) = K(j, i) = even;
      }
    }
  }
  static void stiffness(const StencilView& v, int begin, int end, bool positive,
                        const BlockRows& rows, double* values, double* skew) {
    for_each_group(begin, end, [&](const Group& g) {
      const Values s = load(v, g);
      Matrix K, odd;
      if constexpr (requires { Law::positive_stiffness(s, K); }) {  // one of the law's own
        if (positive) Law::positive_stiffness(s, K);
        else exact_stiffness(s, K, odd);
      } else {
        exact_stiffness(s, K, odd);
        if (positive) keep_positive(K);
      }
      for (int l = 0; l < g.count; ++l) {
        add_blocks(v, g, l, rows, K, values);
        if (!Law::kSymmetric && skew) add_blocks(v, g, l, rows, odd, skew);
      }
    });
  }
  static void add_blocks(const StencilView& v, const Group& g, int l, const BlockRows& rows,
                         const Matrix& K, double* values) {
    for (int a = 0; a < N; ++a) {
      const int row = node(v, g, l, a);
      const std::int64_t degree = rows.first[row + 1] - rows.first[row];
      for (int b = 0; b < N; ++b) {
        const int slot = rows.slot[(g.at(l) * N + a) * N + b];
        for (int i = 0; i < 3; ++i) {
          double* const to = values + 9 * rows.first[row] + 3 * (i * degree + slot);
          for (int j = 0; j < 3; ++j) to[j] += lane(K(3 * a + i, 3 * b + j), l);
        }
      }
    }
  }
  // Σ bar · force.
  template <class T>
  static void pull_force(const StencilView& v, const Group& g, const Of<T>& s, const double* f_bar,
                         const StencilBars& bars) {
    Vec3<Lanes> bar[N];
    gather(v, g, f_bar, bar);
    add_gradient<T>(v, g, s, bars, true, [&](const Duals<T>& d) {
      Vec3<Dual<T, 3>> f[N];
      Law::force(d, f);
      Dual<T, 3> sum(T(0));
      for (int a = 0; a < N; ++a) {
        sum += f[a].x * bar[a].x + f[a].y * bar[a].y + f[a].z * bar[a].z;
      }
      return sum;
    });
  }
  static void force_pullback(const StencilView& v, int begin, int end, const double* f_bar,
                             const StencilBars& bars) {
    for_each_group(begin, end,
                   [&](const Group& g) { pull_force<Lanes>(v, g, load(v, g), f_bar, bars); });
  }
  static void force_pullback_tangent(const StencilView& v, const StencilView& t, int begin, int end,
                                     const double* f_bar, const StencilBars& bars) {
    for_each_group(begin, end,
                   [&](const Group& g) { pull_force<Along>(v, g, along(v, t, g), f_bar, bars); });
  }
  static void energy_pullback(const StencilView& v, int begin, int end, double bar,
                              const StencilBars& bars) {
    for_each_group(begin, end, [&](const Group& g) {
      const Values s = load(v, g);
      if (bars.now) {
        Vec3<Lanes> f[N];
        Law::force(s, f);
        for (int a = 0; a < N; ++a) scatter(v, g, a, f[a] * Lanes(bar), bars.now);
      }
      add_gradient<Lanes>(v, g, s, bars, false,
                          [&](const Duals<Lanes>& d) { return Law::energy(d) * Lanes(bar); });
    });
  }
  static void force_tangent(const StencilView& v, const StencilView& t, int begin, int end,
                            double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Along> f[N];
      Law::force(along(v, t, g), f);
      for (int a = 0; a < N; ++a) {
        scatter(v, g, a, {f[a].x.tangent[0], f[a].y.tangent[0], f[a].z.tangent[0]}, out);
      }
    });
  }

  static void share(const StencilView& v, const Group& g, const Lanes& m, double* out) {
    constexpr int own = mass_node<Law>();
    for (int l = 0; l < g.count; ++l) {
      if constexpr (own >= 0) {
        out[node(v, g, l, own)] += lane(m, l);
      } else {
        for (int a = 0; a < N; ++a) out[node(v, g, l, a)] += lane(m, l) / N;
      }
    }
  }
  static void mass(const StencilView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) { share(v, g, Law::mass(load(v, g)), out); });
  }
  // Σ bar · mass.
  template <class T>
  static void pull_mass(const StencilView& v, const Group& g, const Of<T>& s,
                        const double* mass_bar, const StencilBars& bars) {
    constexpr int own = mass_node<Law>();
    Lanes bar(0);
    for (int l = 0; l < kLanes; ++l) {
      if constexpr (own >= 0) {
        set_lane(bar, l, mass_bar[node(v, g, l, own)]);
        continue;
      }
      double sum = 0;
      for (int a = 0; a < N; ++a) sum += mass_bar[node(v, g, l, a)];
      set_lane(bar, l, sum / N);
    }
    add_gradient<T>(v, g, s, bars, false, [&](const Duals<T>& d) { return Law::mass(d) * bar; });
  }
  static void mass_pullback(const StencilView& v, int begin, int end, const double* mass_bar,
                            const StencilBars& bars) {
    for_each_group(begin, end,
                   [&](const Group& g) { pull_mass<Lanes>(v, g, load(v, g), mass_bar, bars); });
  }
  static void mass_pullback_tangent(const StencilView& v, const StencilView& t, int begin, int end,
                                    const double* mass_bar, const StencilBars& bars) {
    for_each_group(begin, end,
                   [&](const Group& g) { pull_mass<Along>(v, g, along(v, t, g), mass_bar, bars); });
  }
  static void mass_tangent(const StencilView& v, const StencilView& t, int begin, int end,
                           double* out) {
    for_each_group(begin, end,
                   [&](const Group& g) { share(v, g, Law::mass(along(v, t, g)).tangent[0], out); });
  }

  // Σ bar · values of a group, as duals.
  template <int K, class D>
  static D weighed(const Group& g, const D* values, const double* bar) {
    D sum(0);
    for (int i = 0; i < K; ++i) sum += values[i] * of_groups(g, bar, K, i);
    return sum;
  }
  template <class T>
  static void pull_flow(const StencilView& v, const Group& g, const Of<T>& s,
                        const double* next_bar, const StencilBars& bars) {
    add_gradient<T>(v, g, s, bars, true, [&](const Duals<T>& d) {
      Dual<T, 3> own[H];
      Law::flow(d, own);
      return weighed<H>(g, own, next_bar);
    });
  }
  static void flow(const StencilView& v, int begin, int end, double* next) {
    for_each_group(begin, end, [&](const Group& g) {
      Lanes own[H];
      Law::flow(load(v, g), own);
      for (int i = 0; i < H; ++i) to_groups(g, own[i], next, H, i);
    });
  }
  static void flow_pullback(const StencilView& v, int begin, int end, const double* next_bar,
                            const StencilBars& bars) {
    for_each_group(begin, end,
                   [&](const Group& g) { pull_flow<Lanes>(v, g, load(v, g), next_bar, bars); });
  }
  static void flow_pullback_tangent(const StencilView& v, const StencilView& t, int begin, int end,
                                    const double* next_bar, const StencilBars& bars) {
    for_each_group(begin, end,
                   [&](const Group& g) { pull_flow<Along>(v, g, along(v, t, g), next_bar, bars); });
  }
  static void flow_tangent(const StencilView& v, const StencilView& t, int begin, int end,
                           double* next_tan) {
    for_each_group(begin, end, [&](const Group& g) {
      Along own[H];
      Law::flow(along(v, t, g), own);
      for (int i = 0; i < H; ++i) to_groups(g, own[i].tangent[0], next_tan, H, i);
    });
  }
  static void stress(const StencilView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      const Mat3<Lanes> P_mean = Law::stress(load(v, g));
      for (int i = 0; i < 9; ++i) to_groups(g, P_mean.e[i], out, 9, i);
    });
  }
  static void stress_pullback(const StencilView& v, int begin, int end, const double* bar,
                              const StencilBars& bars) {
    for_each_group(begin, end, [&](const Group& g) {
      add_gradient<Lanes>(v, g, load(v, g), bars, true, [&](const Duals<Lanes>& d) {
        return weighed<9>(g, Law::stress(d).e, bar);
      });
    });
  }

  static constexpr StencilKernels all() {
    StencilKernels k{};
    k.nodes = N, k.numbers = P, k.constants = C, k.memory = H;
    k.symmetric = Law::kSymmetric, k.has_mass = Law::kHasMass;
    k.energy = energy, k.force = force, k.stiffness = stiffness;
    k.force_pullback = force_pullback, k.energy_pullback = energy_pullback;
    k.force_tangent = force_tangent, k.force_pullback_tangent = force_pullback_tangent;
    if constexpr (Law::kHasMass) {
      k.mass = mass, k.mass_pullback = mass_pullback, k.mass_tangent = mass_tangent;
      k.mass_pullback_tangent = mass_pullback_tangent;
    }
    if constexpr (H > 0) {
      k.flow = flow, k.flow_pullback = flow_pullback, k.flow_tangent = flow_tangent;
      k.flow_pullback_tangent = flow_pullback_tangent;
      k.stress = stress, k.stress_pullback = stress_pullback;
    }
    return k;
  }
};

}  // namespace
}  // namespace cycloid::isa::CYCLOID_ISA
