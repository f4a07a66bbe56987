// A cell: its energy, the forces on its nodes, its mass, volume and mean stress, with pullbacks.
//
// Sums over the points of integration q, with w, B_a and F of rest_point.h, ψ and P of the material
// and, where the step damps, of viscous.h:
//   E_ref = Σ_k weight_k E(F(before_k))                              (1)   strain that damping
//   energy = Σ w ψ                                                   (2)   [J]     starts from
//   f_a = Σ w P B_a = ∂energy/∂now_a                                 (3)   [N]
//   K_ab = ∂f_a/∂now_b = Σ w B_aᵀ (∂P/∂F) B_b                        (4)   [N/m]
//   m_a = Σ density w share_a                                        (5)   [kg]
//   V = Σ w det F                                                    (6)   [m³], as it is now
//   P_mean = Σ w P / Σ w                                             (7)   [Pa], elastic alone
// With f̄ of (3), G = Σ f̄_a B_aᵀ:  P̄ = w G, w̄ = P:G, B̄_a = w Pᵀ f̄_a, and the material's own.
// S is a scalar or lanes of cells.
#pragma once

#include "cycloid/soft/element/rest_point.h"
#include "cycloid/soft/material/material.h"
#include "cycloid/soft/material/viscous.h"

namespace cycloid::inline soft {

// What all cells of a body share.
struct CellLaw {
  Material material = Material::neo_hookean;
  int befores = 0;  // 0: no damping
  double before_weight[2] = {1, 0};
  bool elastic = true;  // false: damping alone
};

// Numbers of a cell, or their cotangents.
template <class E, class S>
struct Cell {
  Vec3<S> rest[E::kNodes], now[E::kNodes], before[2][E::kNodes];
  Coefficients<S> c;
  S z;  // of viscous.h
};

template <class E, class S>
CYCLOID_INLINE Cell<E, S> zero_cell() {
  Cell<E, S> cell{};
  for (int a = 0; a < E::kNodes; ++a) {
    cell.rest[a] = cell.now[a] = cell.before[0][a] = cell.before[1][a] = {S(0), S(0), S(0)};
  }
  cell.c = {S(0), S(0), S(0)};
  cell.z = S(0);
  return cell;
}

template <class E, class S>
CYCLOID_INLINE RestPoint<E, S> zero_rest_point() {
  RestPoint<E, S> at{};
  for (int a = 0; a < E::kNodes; ++a) at.slope[a] = {S(0), S(0), S(0)};
  at.volume = S(0);
  return at;
}

template <class E, class S>
CYCLOID_INLINE Mat3<S> strain_before(const CellLaw& law, const RestPoint<E, S>& at,
                                     const Cell<E, S>& cell) {
  Mat3<S> E_ref{};
  for (int k = 0; k < 9; ++k) E_ref.e[k] = S(0);
  for (int k = 0; k < law.befores; ++k) {
    E_ref += green_strain(gradient_at(at, cell.before[k])) * S(law.before_weight[k]);  // (1)
  }
  return E_ref;
}

template <class E, class S>
S cell_energy(const CellLaw& law, const Cell<E, S>& cell) {
  S energy(0);
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    const Mat3<S> F = gradient_at(at, cell.now);
    S density = law.elastic ? energy_density(law.material, cell.c, F) : S(0);
    if (law.befores > 0) {
      density += viscous_energy(cell.c, cell.z, F, strain_before(law, at, cell));
    }
    energy += at.volume * density;  // (2)
  }
  return energy;
}

// Of the elastic part alone.
template <class E, class S>
void cell_energy_pullback(const CellLaw& law, const Cell<E, S>& cell, const S& energy_bar,
                          Cell<E, S>& cell_bar) {
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    auto at_bar = zero_rest_point<E, S>();
    const Mat3<S> F = gradient_at(at, cell.now);
    Mat3<S> F_bar = F * S(0);
    energy_density_pullback(law.material, cell.c, F, energy_bar * at.volume, cell_bar.c, F_bar);
    at_bar.volume = energy_bar * energy_density(law.material, cell.c, F);
    gradient_at_pullback(at, cell.now, F_bar, cell_bar.now, at_bar);
    rest_point_pullback(at, q, at_bar, cell_bar.rest);
  }
}

// Adds (3) to f.
template <class E, class S>
void cell_force(const CellLaw& law, const Cell<E, S>& cell, Vec3<S>* f) {
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    const Mat3<S> F = gradient_at(at, cell.now);
    Mat3<S> P = law.elastic ? piola_stress(law.material, cell.c, F) : F * S(0);
    if (law.befores > 0) P += viscous_stress(cell.c, cell.z, F, strain_before(law, at, cell));
    P = P * at.volume;
    for (int a = 0; a < E::kNodes; ++a) f[a] += P * at.slope[a];  // (3)
  }
}

template <class E, class S>
void cell_force_pullback(const CellLaw& law, const Cell<E, S>& cell, const Vec3<S>* f_bar,
                         Cell<E, S>& cell_bar) {
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    auto at_bar = zero_rest_point<E, S>();
    const Mat3<S> F = gradient_at(at, cell.now), G = gradient_at(at, f_bar);
    Mat3<S> P = F * S(0), F_bar = F * S(0);
    const Mat3<S> P_bar = G * at.volume;
    if (law.elastic) {
      P = piola_stress(law.material, cell.c, F);
      piola_stress_pullback(law.material, cell.c, F, P_bar, cell_bar.c, F_bar);
    }
    if (law.befores > 0) {
      const Mat3<S> E_ref = strain_before(law, at, cell);
      Mat3<S> E_ref_bar = F * S(0);
      P += viscous_stress(cell.c, cell.z, F, E_ref);
      viscous_stress_pullback(cell.c, cell.z, F, E_ref, P_bar, cell_bar.c, cell_bar.z, F_bar,
                              E_ref_bar);
      for (int k = 0; k < law.befores; ++k) {  // (1)
        const Mat3<S> before = gradient_at(at, cell.before[k]);
        gradient_at_pullback(at, cell.before[k], before * (E_ref_bar * S(law.before_weight[k])),
                             cell_bar.before[k], at_bar);
      }
    }
    at_bar.volume = contract(P, G);
    const Mat3<S> Pw = P * at.volume;
    for (int a = 0; a < E::kNodes; ++a) {
      at_bar.slope[a] += transpose_vector_product(Pw, f_bar[a]);  // (3)
    }
    gradient_at_pullback(at, cell.now, F_bar, cell_bar.now, at_bar);
    rest_point_pullback(at, q, at_bar, cell_bar.rest);
  }
}

// Adds to f the forces of damping in a body whose nodes move with cell.before[0] [m/s]; z is the
// damping [s].
template <class E, class S>
void cell_rate_force(const Cell<E, S>& cell, Vec3<S>* f) {
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    const Mat3<S> P =
        rate_stress(cell.c, cell.z, gradient_at(at, cell.now), gradient_at(at, cell.before[0])) *
        at.volume;
    for (int a = 0; a < E::kNodes; ++a) f[a] += P * at.slope[a];
  }
}

template <class E, class S>
void cell_rate_force_pullback(const Cell<E, S>& cell, const Vec3<S>* f_bar, Cell<E, S>& cell_bar) {
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    auto at_bar = zero_rest_point<E, S>();
    const Mat3<S> F = gradient_at(at, cell.now), V = gradient_at(at, cell.before[0]),
                  G = gradient_at(at, f_bar), P = rate_stress(cell.c, cell.z, F, V);
    Mat3<S> F_bar = F * S(0), V_bar = F_bar;
    rate_stress_pullback(cell.c, cell.z, F, V, G * at.volume, cell_bar.c, cell_bar.z, F_bar, V_bar);
    at_bar.volume = contract(P, G);
    for (int a = 0; a < E::kNodes; ++a) {
      at_bar.slope[a] += transpose_vector_product(P, f_bar[a]) * at.volume;
    }
    gradient_at_pullback(at, cell.now, F_bar, cell_bar.now, at_bar);
    gradient_at_pullback(at, cell.before[0], V_bar, cell_bar.before[0], at_bar);
    rest_point_pullback(at, q, at_bar, cell_bar.rest);
  }
}

// Adds (5) to m.
template <class E, class S>
void cell_mass(const Vec3<S>* rest, const S& density, S* m) {
  for (int q = 0; q < E::kPoints; ++q) {
    const S mass = density * rest_point<E, S>(rest, q).volume;
    for (int a = 0; a < E::kNodes; ++a) {
      m[a] += mass * S(kShape<E>.share[static_cast<std::size_t>(q)][static_cast<std::size_t>(a)]);
    }
  }
}

template <class E, class S>
void cell_mass_pullback(const Vec3<S>* rest, const S& density, const S* m_bar, Vec3<S>* rest_bar,
                        S& density_bar) {
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(rest, q);
    auto at_bar = zero_rest_point<E, S>();
    S mass_bar(0);
    for (int a = 0; a < E::kNodes; ++a) {
      mass_bar +=
          m_bar[a] * S(kShape<E>.share[static_cast<std::size_t>(q)][static_cast<std::size_t>(a)]);
    }
    density_bar += mass_bar * at.volume;  // (5)
    at_bar.volume = mass_bar * density;
    rest_point_pullback(at, q, at_bar, rest_bar);
  }
}

template <class E, class S>
S cell_volume(const Vec3<S>* rest, const Vec3<S>* now) {
  S volume(0);
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(rest, q);
    volume += at.volume * determinant(gradient_at(at, now));  // (6)
  }
  return volume;
}

template <class E, class S>
void cell_volume_pullback(const Vec3<S>* rest, const Vec3<S>* now, const S& volume_bar,
                          Vec3<S>* rest_bar, Vec3<S>* now_bar) {
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(rest, q);
    auto at_bar = zero_rest_point<E, S>();
    const Mat3<S> F = gradient_at(at, now);
    at_bar.volume = volume_bar * determinant(F);
    gradient_at_pullback(at, now, cofactor(F) * (volume_bar * at.volume), now_bar, at_bar);  // (6)
    rest_point_pullback(at, q, at_bar, rest_bar);
  }
}

template <class E, class S>
Mat3<S> mean_stress(const CellLaw& law, const Cell<E, S>& cell) {
  Mat3<S> sum{};
  S volume(0);
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    const Mat3<S> P = piola_stress(law.material, cell.c, gradient_at(at, cell.now)) * at.volume;
    sum = q == 0 ? P : sum + P;
    volume += at.volume;
  }
  return sum * (S(1) / volume);  // (7)
}

template <class E, class S>
void mean_stress_pullback(const CellLaw& law, const Cell<E, S>& cell, const Mat3<S>& P_bar,
                          Cell<E, S>& cell_bar) {
  const Mat3<S> mean = mean_stress<E, S>(law, cell);
  S volume(0);
  for (int q = 0; q < E::kPoints; ++q) volume += rest_point<E, S>(cell.rest, q).volume;
  const Mat3<S> share = P_bar * (S(1) / volume);
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    auto at_bar = zero_rest_point<E, S>();
    const Mat3<S> F = gradient_at(at, cell.now);
    Mat3<S> F_bar = F * S(0);
    piola_stress_pullback(law.material, cell.c, F, share * at.volume, cell_bar.c, F_bar);
    at_bar.volume = contract(piola_stress(law.material, cell.c, F) - mean, share);  // (7)
    gradient_at_pullback(at, cell.now, F_bar, cell_bar.now, at_bar);
    rest_point_pullback(at, q, at_bar, cell_bar.rest);
  }
}

}  // namespace cycloid::inline soft
