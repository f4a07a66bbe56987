#include "cycloid/soft/solid_kernels.h"

#include "cycloid/math/pack.h"
#include "cycloid/soft/element/enhanced_cell.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr int kLanes = kNativeLanes<double>;  // wider lanes are longer code, not faster
using Lanes = Pack<double, kLanes>;
using DualLanes = Dual<Lanes, 1>;

// Lanes of cells [first, end): the last one is repeated where there are fewer.
struct Group {
  int first, count;
  int cell(int lane) const { return first + (lane < count ? lane : count - 1); }
};

template <class Work>
void for_each_group(int begin, int end, Work&& work) {
  for (int c = begin; c < end; c += kLanes) work(Group{c, c + kLanes <= end ? kLanes : end - c});
}

template <class E>
struct Kernels {
  static constexpr int N = E::kOuter;  // of the mesh
  static constexpr bool kInner = E::kNodes > E::kOuter;

  static void gather(const SolidView& v, const Group& g, const double* from, Vec3<Lanes>* to) {
    for (int a = 0; a < N; ++a) {
      for (int l = 0; l < kLanes; ++l) {
        const double* const p =
            from + 3 * static_cast<std::ptrdiff_t>(
                           v.cells[static_cast<std::ptrdiff_t>(g.cell(l)) * N + a]);
        set_lane(to[a].x, l, p[0]), set_lane(to[a].y, l, p[1]), set_lane(to[a].z, l, p[2]);
      }
    }
  }
  static void scatter(const SolidView& v, const Group& g, const Vec3<Lanes>* from, double* to) {
    for (int l = 0; l < g.count; ++l) {
      for (int a = 0; a < N; ++a) {
        double* const p = to + 3 * static_cast<std::ptrdiff_t>(
                                       v.cells[static_cast<std::ptrdiff_t>(g.cell(l)) * N + a]);
        p[0] += lane(from[a].x, l), p[1] += lane(from[a].y, l), p[2] += lane(from[a].z, l);
      }
    }
  }
  static Lanes of_cells(const Group& g, const double* from) {
    Lanes x;
    for (int l = 0; l < kLanes; ++l) set_lane(x, l, from[g.cell(l)]);
    return x;
  }
  static void to_cells(const Group& g, const Lanes& x, double* to) {
    for (int l = 0; l < g.count; ++l) to[g.first + l] += lane(x, l);
  }

  static Cell<E, Lanes> load(const SolidView& v, const Group& g) {
    Cell<E, Lanes> cell = zero_cell<E, Lanes>();
    gather(v, g, v.rest, cell.rest);
    if (v.now) gather(v, g, v.now, cell.now);
    for (int k = 0; k < 2; ++k) {
      if (v.before[k]) gather(v, g, v.before[k], cell.before[k]);
    }
    cell.c = {of_cells(g, v.mu), of_cells(g, v.lam), Lanes(v.mooney)};
    cell.z = Lanes(v.z);
    if constexpr (kInner) relax_inner<E, Lanes>(v.law, cell);
    return cell;
  }
  static void add(const SolidView& v, const Group& g, const Cell<E, Lanes>& bar,
                  const SolidBars& to) {
    if (to.rest) scatter(v, g, bar.rest, to.rest);
    if (to.now) scatter(v, g, bar.now, to.now);
    for (int k = 0; k < 2; ++k) {
      if (to.before[k]) scatter(v, g, bar.before[k], to.before[k]);
    }
    if (to.mu) to_cells(g, bar.c.mu, to.mu);
    if (to.lam) to_cells(g, bar.c.lam, to.lam);
    if (to.mooney) to_cells(g, bar.c.mooney, to.mooney);
    if (to.z) to_cells(g, bar.z, to.z);
  }

  static void energy(const SolidView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      to_cells(g, cell_energy<E, Lanes>(v.law, load(v, g)), out);
    });
  }
  static void volume(const SolidView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      const auto cell = load(v, g);
      to_cells(g, cell_volume<E, Lanes>(cell.rest, cell.now), out);
    });
  }
  static void stress(const SolidView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      const Mat3<Lanes> P = mean_stress<E, Lanes>(v.law, load(v, g));
      for (int l = 0; l < g.count; ++l) {
        for (int k = 0; k < 9; ++k) out[9 * (g.first + l) + k] += lane(P.e[k], l);
      }
    });
  }
  static void least_stretch(const SolidView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      const auto cell = load(v, g);
      for (int q = 0; q < E::kPoints; ++q) {
        const Lanes J = determinant(gradient_at(rest_point<E, Lanes>(cell.rest, q), cell.now));
        for (int l = 0; l < g.count; ++l) {
          double& least = out[g.first + l];
          if (q == 0 || !(lane(J, l) >= least)) least = lane(J, l);
        }
      }
    });
  }
  static void force(const SolidView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Lanes> f[E::kNodes];
      for (auto& x : f) x = {Lanes(0), Lanes(0), Lanes(0)};
      cell_force<E, Lanes>(v.law, load(v, g), f);
      scatter(v, g, f, out);
    });
  }
  static void rate_force(const SolidView& v, int begin, int end, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Lanes> f[N];
      for (auto& x : f) x = {Lanes(0), Lanes(0), Lanes(0)};
      cell_rate_force<E, Lanes>(load(v, g), f);
      scatter(v, g, f, out);
    });
  }

  template <class Pull>
  static void pull(const SolidView& v, int begin, int end, const SolidBars& to, Pull&& pull_cell) {
    for_each_group(begin, end, [&](const Group& g) {
      Cell<E, Lanes> bar = zero_cell<E, Lanes>();
      pull_cell(g, load(v, g), bar);
      add(v, g, bar, to);
    });
  }
  static void energy_pullback(const SolidView& v, int begin, int end, const double* bar,
                              const SolidBars& to) {
    pull(v, begin, end, to, [&](const Group& g, const auto& cell, auto& cell_bar) {
      cell_energy_pullback<E, Lanes>(v.law, cell, of_cells(g, bar), cell_bar);
    });
  }
  static void volume_pullback(const SolidView& v, int begin, int end, const double* bar,
                              const SolidBars& to) {
    pull(v, begin, end, to, [&](const Group& g, const auto& cell, auto& cell_bar) {
      cell_volume_pullback<E, Lanes>(cell.rest, cell.now, of_cells(g, bar), cell_bar.rest,
                                     cell_bar.now);
    });
  }
  static void stress_pullback(const SolidView& v, int begin, int end, const double* bar,
                              const SolidBars& to) {
    pull(v, begin, end, to, [&](const Group& g, const auto& cell, auto& cell_bar) {
      Mat3<Lanes> P_bar;
      for (int l = 0; l < kLanes; ++l) {
        for (int k = 0; k < 9; ++k) set_lane(P_bar.e[k], l, bar[9 * g.cell(l) + k]);
      }
      if constexpr (kInner) {
        enhanced_stress_pullback<E, Lanes>(v.law, cell, P_bar, cell_bar);
      } else {
        mean_stress_pullback<E, Lanes>(v.law, cell, P_bar, cell_bar);
      }
    });
  }
  static void force_pullback(const SolidView& v, int begin, int end, const double* bar,
                             const SolidBars& to) {
    pull(v, begin, end, to, [&](const Group& g, const auto& cell, auto& cell_bar) {
      Vec3<Lanes> f_bar[E::kNodes];
      gather(v, g, bar, f_bar);
      if constexpr (kInner) {
        enhanced_force_pullback<E, Lanes>(v.law, cell, f_bar, cell_bar);
      } else {
        cell_force_pullback<E, Lanes>(v.law, cell, f_bar, cell_bar);
      }
    });
  }
  static void rate_force_pullback(const SolidView& v, int begin, int end, const double* bar,
                                  const SolidBars& to) {
    pull(v, begin, end, to, [&](const Group& g, const auto& cell, auto& cell_bar) {
      Vec3<Lanes> f_bar[N];
      gather(v, g, bar, f_bar);
      cell_rate_force_pullback<E, Lanes>(cell, f_bar, cell_bar);
    });
  }

  static void stiffness(const SolidView& v, int begin, int end, bool positive,
                        const BlockRows& rows, double* values) {
    static thread_local Mat<Lanes, 3 * E::kNodes, 3 * E::kNodes> K;
    for_each_group(begin, end, [&](const Group& g) {
      cell_stiffness<E, Lanes>(v.law, load(v, g), positive, K);
      if constexpr (kInner) condense<E, Lanes>(K);
      for (int l = 0; l < g.count; ++l) {
        const std::ptrdiff_t cell = g.first + l;
        const int* const node = v.cells + cell * N;
        for (int a = 0; a < N; ++a) {
          const std::int64_t first = rows.first[node[a]], degree = rows.first[node[a] + 1] - first;
          for (int b = 0; b < N; ++b) {
            double* const block = values + 9 * first + 3 * rows.slot[(cell * N + a) * N + b];
            for (int i = 0; i < 3; ++i) {
              for (int j = 0; j < 3; ++j) {
                block[3 * degree * i + j] +=
                    a <= b ? lane(K(3 * a + i, 3 * b + j), l) : lane(K(3 * b + j, 3 * a + i), l);
              }
            }
          }
        }
      }
    });
  }

  static void tangents(int count, const Vec3<Lanes>* value, const Vec3<Lanes>* tangent,
                       Vec3<DualLanes>* out) {
    for (int a = 0; a < count; ++a) {
      for (int i = 0; i < 3; ++i) {
        out[a][i] = DualLanes(value[a][i]);
        if (tangent) out[a][i].tangent[0] = tangent[a][i];
      }
    }
  }
  // A cell with its tangent, but that of inner nodes.
  static Cell<E, DualLanes> along(const SolidView& t, const Group& g, const SolidView& v,
                                  const Cell<E, Lanes>& cell) {
    Cell<E, DualLanes> dual;
    Vec3<Lanes> way[E::kNodes];
    const auto fill = [&](const Vec3<Lanes>* value, const double* tangent, Vec3<DualLanes>* to) {
      if (tangent) gather(v, g, tangent, way);
      tangents(E::kNodes, value, tangent ? way : nullptr, to);
    };
    for (auto& x : way) x = {Lanes(0), Lanes(0), Lanes(0)};
    fill(cell.rest, t.rest, dual.rest), fill(cell.now, t.now, dual.now);
    for (int k = 0; k < 2; ++k) fill(cell.before[k], t.before[k], dual.before[k]);
    dual.c = {DualLanes(cell.c.mu), DualLanes(cell.c.lam), DualLanes(cell.c.mooney)};
    if (t.mu) dual.c.mu.tangent[0] = of_cells(g, t.mu);
    if (t.lam) dual.c.lam.tangent[0] = of_cells(g, t.lam);
    dual.c.mooney.tangent[0] = Lanes(t.mooney);
    dual.z = DualLanes(cell.z);
    dual.z.tangent[0] = Lanes(t.z);
    return dual;
  }
  static void force_along(const SolidView& v, const Cell<E, DualLanes>& dual, Vec3<DualLanes>* f) {
    for (int a = 0; a < E::kNodes; ++a) f[a] = {DualLanes(0), DualLanes(0), DualLanes(0)};
    cell_force<E, DualLanes>(v.law, dual, f);
  }
  // Inner nodes answer a direction.
  static void answer(const SolidView& v, const Cell<E, Lanes>& cell, Cell<E, DualLanes>& dual) {
    if constexpr (kInner) {
      Vec3<DualLanes> f[E::kNodes];
      Vec3<Lanes> way[E::kNodes - N];
      force_along(v, dual, f);
      for (int k = N; k < E::kNodes; ++k) {
        for (int i = 0; i < 3; ++i) way[k - N][i] = f[k][i].tangent[0];
      }
      answer_inner<E, Lanes>(v.law, cell, way);
      for (int k = N; k < E::kNodes; ++k) {
        for (int i = 0; i < 3; ++i) dual.now[k][i].tangent[0] = way[k - N][i];
      }
    }
  }
  static void force_tangent(const SolidView& v, const SolidView& t, int begin, int end,
                            double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      const Cell<E, Lanes> cell = load(v, g);
      Cell<E, DualLanes> dual = along(t, g, v, cell);
      answer(v, cell, dual);
      Vec3<DualLanes> f[E::kNodes];
      force_along(v, dual, f);
      Vec3<Lanes> df[N];
      for (int a = 0; a < N; ++a) {
        df[a] = {f[a].x.tangent[0], f[a].y.tangent[0], f[a].z.tangent[0]};
      }
      scatter(v, g, df, out);
    });
  }
  static void tangents_of(const Vec3<DualLanes>* from, Vec3<Lanes>* to) {
    for (int a = 0; a < E::kNodes; ++a) {
      to[a] = {from[a].x.tangent[0], from[a].y.tangent[0], from[a].z.tangent[0]};
    }
  }
  static void force_pullback_tangent(const SolidView& v, const SolidView& t, int begin, int end,
                                     const double* bar, const SolidBars& to) {
    for_each_group(begin, end, [&](const Group& g) {
      const Cell<E, Lanes> cell = load(v, g);
      Cell<E, DualLanes> dual = along(t, g, v, cell), dual_bar = zero_cell<E, DualLanes>();
      answer(v, cell, dual);
      Vec3<Lanes> values[E::kNodes];
      Vec3<DualLanes> f_bar[E::kNodes];
      for (auto& x : values) x = {Lanes(0), Lanes(0), Lanes(0)};
      gather(v, g, bar, values);
      tangents(E::kNodes, values, nullptr, f_bar);
      if constexpr (kInner) {
        enhanced_force_pullback<E, DualLanes>(v.law, dual, f_bar, dual_bar);
      } else {
        cell_force_pullback<E, DualLanes>(v.law, dual, f_bar, dual_bar);
      }
      Cell<E, Lanes> out = zero_cell<E, Lanes>();
      tangents_of(dual_bar.rest, out.rest), tangents_of(dual_bar.now, out.now);
      for (int k = 0; k < 2; ++k) tangents_of(dual_bar.before[k], out.before[k]);
      out.c = {dual_bar.c.mu.tangent[0], dual_bar.c.lam.tangent[0], dual_bar.c.mooney.tangent[0]};
      out.z = dual_bar.z.tangent[0];
      add(v, g, out, to);
    });
  }

  static void scatter_scalar(const SolidView& v, const Group& g, const Lanes* from, double* to) {
    for (int l = 0; l < g.count; ++l) {
      for (int a = 0; a < N; ++a) {
        to[v.cells[static_cast<std::ptrdiff_t>(g.cell(l)) * N + a]] += lane(from[a], l);
      }
    }
  }
  static Lanes of_nodes(const SolidView& v, const Group& g, int a, const double* from) {
    Lanes x;
    for (int l = 0; l < kLanes; ++l) {
      set_lane(x, l, from[v.cells[static_cast<std::ptrdiff_t>(g.cell(l)) * N + a]]);
    }
    return x;
  }
  static void mass(const SolidView& v, int begin, int end, const double* density, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Lanes> rest[N];
      Lanes m[N];
      for (auto& x : m) x = Lanes(0);
      gather(v, g, v.rest, rest);
      cell_mass<E, Lanes>(rest, of_cells(g, density), m);
      scatter_scalar(v, g, m, out);
    });
  }
  static void mass_pullback(const SolidView& v, int begin, int end, const double* density,
                            const double* mass_bar, double* rest_bar, double* density_bar) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Lanes> rest[N], bar[N];
      Lanes m_bar[N], d_bar(0);
      gather(v, g, v.rest, rest);
      for (int a = 0; a < N; ++a) {
        bar[a] = {Lanes(0), Lanes(0), Lanes(0)};
        m_bar[a] = of_nodes(v, g, a, mass_bar);
      }
      cell_mass_pullback<E, Lanes>(rest, of_cells(g, density), m_bar, bar, d_bar);
      scatter(v, g, bar, rest_bar);
      to_cells(g, d_bar, density_bar);
    });
  }
  static void mass_tangent(const SolidView& v, const double* rest_tan, int begin, int end,
                           const double* density, const double* density_tan, double* out) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Lanes> rest[N], along[N];
      Vec3<DualLanes> dual[N];
      gather(v, g, v.rest, rest);
      if (rest_tan) gather(v, g, rest_tan, along);
      tangents(N, rest, rest_tan ? along : nullptr, dual);
      DualLanes d(of_cells(g, density)), m[N];
      if (density_tan) d.tangent[0] = of_cells(g, density_tan);
      for (auto& x : m) x = DualLanes(0);
      cell_mass<E, DualLanes>(dual, d, m);
      Lanes dm[N];
      for (int a = 0; a < N; ++a) dm[a] = m[a].tangent[0];
      scatter_scalar(v, g, dm, out);
    });
  }
  static void mass_pullback_tangent(const SolidView& v, const double* rest_tan, int begin, int end,
                                    const double* density, const double* density_tan,
                                    const double* mass_bar, double* rest_bar, double* density_bar) {
    for_each_group(begin, end, [&](const Group& g) {
      Vec3<Lanes> rest[N], along[N];
      Vec3<DualLanes> dual[N], bar[N];
      gather(v, g, v.rest, rest);
      if (rest_tan) gather(v, g, rest_tan, along);
      tangents(N, rest, rest_tan ? along : nullptr, dual);
      DualLanes d(of_cells(g, density)), d_bar(0), m_bar[N];
      if (density_tan) d.tangent[0] = of_cells(g, density_tan);
      for (int a = 0; a < N; ++a) {
        bar[a] = {DualLanes(0), DualLanes(0), DualLanes(0)};
        m_bar[a] = DualLanes(of_nodes(v, g, a, mass_bar));
      }
      cell_mass_pullback<E, DualLanes>(dual, d, m_bar, bar, d_bar);
      for (int a = 0; a < N; ++a) {
        along[a] = {bar[a].x.tangent[0], bar[a].y.tangent[0], bar[a].z.tangent[0]};
      }
      scatter(v, g, along, rest_bar);
      to_cells(g, d_bar.tangent[0], density_bar);
    });
  }

  static constexpr SolidKernels all() {
    SolidKernels k{};
    k.energy = energy, k.volume = volume, k.stress = stress, k.least_stretch = least_stretch;
    k.force = force, k.rate_force = rate_force;
    k.energy_pullback = energy_pullback, k.volume_pullback = volume_pullback;
    k.stress_pullback = stress_pullback, k.force_pullback = force_pullback;
    k.rate_force_pullback = rate_force_pullback;
    k.stiffness = stiffness, k.force_tangent = force_tangent;
    k.force_pullback_tangent = force_pullback_tangent;
    k.mass = mass, k.mass_pullback = mass_pullback, k.mass_tangent = mass_tangent;
    k.mass_pullback_tangent = mass_pullback_tangent;
    return k;
  }
};

constexpr SolidKernels kTet = Kernels<Tet4>::all(), kHex = Kernels<Hex8>::all(),
                       kTet10 = Kernels<Tet10>::all();

// Hexahedra with inner nodes: elasticity with them, damping and all that is no force without.
struct EnhancedKernels {
  using Plain = Kernels<Hex8>;
  using Enhanced = Kernels<HexEnhanced>;

  static SolidView part(const SolidView& v, bool elastic) {
    SolidView own = v;
    own.law.elastic = elastic;
    if (elastic) own.law.befores = 0;
    return own;
  }
  // work(plain or enhanced, what acts there)
  template <class Work>
  static void both(const SolidView& v, Work&& work) {
    work(Enhanced{}, part(v, true));
    if (v.law.befores > 0) work(Plain{}, part(v, false));
  }
  static void energy(const SolidView& v, int begin, int end, double* out) {
    both(v, [&](auto k, const SolidView& own) { k.energy(own, begin, end, out); });
  }
  static void force(const SolidView& v, int begin, int end, double* out) {
    both(v, [&](auto k, const SolidView& own) { k.force(own, begin, end, out); });
  }
  static void force_pullback(const SolidView& v, int begin, int end, const double* bar,
                             const SolidBars& to) {
    both(v, [&](auto k, const SolidView& own) { k.force_pullback(own, begin, end, bar, to); });
  }
  static void stiffness(const SolidView& v, int begin, int end, bool positive,
                        const BlockRows& rows, double* values) {
    both(v, [&](auto k, const SolidView& own) {
      k.stiffness(own, begin, end, positive, rows, values);
    });
  }
  static void force_tangent(const SolidView& v, const SolidView& t, int begin, int end,
                            double* out) {
    both(v, [&](auto k, const SolidView& own) { k.force_tangent(own, t, begin, end, out); });
  }
  static void force_pullback_tangent(const SolidView& v, const SolidView& t, int begin, int end,
                                     const double* bar, const SolidBars& to) {
    both(v, [&](auto k, const SolidView& own) {
      k.force_pullback_tangent(own, t, begin, end, bar, to);
    });
  }
  static void stress(const SolidView& v, int begin, int end, double* out) {
    Enhanced::stress(part(v, true), begin, end, out);
  }
  static void least_stretch(const SolidView& v, int begin, int end, double* out) {
    Plain::least_stretch(v, begin, end, out);
  }
  static void energy_pullback(const SolidView& v, int begin, int end, const double* bar,
                              const SolidBars& to) {
    Enhanced::energy_pullback(part(v, true), begin, end, bar, to);
  }
  static void stress_pullback(const SolidView& v, int begin, int end, const double* bar,
                              const SolidBars& to) {
    Enhanced::stress_pullback(part(v, true), begin, end, bar, to);
  }
  static constexpr SolidKernels all() {
    SolidKernels k = Plain::all();
    k.energy = energy, k.stress = stress, k.least_stretch = least_stretch;
    k.force = force, k.stiffness = stiffness, k.force_tangent = force_tangent;
    k.energy_pullback = energy_pullback, k.stress_pullback = stress_pullback;
    k.force_pullback = force_pullback, k.force_pullback_tangent = force_pullback_tangent;
    return k;
  }
};
constexpr SolidKernels kEnhanced = EnhancedKernels::all();

}  // namespace

const SolidKernels& solid_kernels(ElementKind element, Formulation formulation) {
  if (formulation == Formulation::locking_free) return kEnhanced;
  return element == ElementKind::tet ? kTet : element == ElementKind::hex ? kHex : kTet10;
}

}  // namespace cycloid::isa::CYCLOID_ISA
