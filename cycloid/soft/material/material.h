// Materials by name, and the pullbacks that they share.
//
// Each (linear.h, corotated.h, stvk.h, neo_hookean.h, neo_hookean_log.h, mooney_rivlin.h) is a page
// with the energy ψ(F) per volume of the rest shape [J/m³], the first Piola stress P = ∂ψ/∂F [Pa]
// and its derivative dP = ∂P/∂F : dF. The last is symmetric, and ψ is linear in mu, in lam and in
// mooney, so that for all of them
//   F̄  += ψ̄ P,            m̄u += ψ̄ ∂ψ/∂mu, ...                            (1)   of ψ
//   F̄  += ∂P/∂F : P̄,      m̄u += P̄ : ∂P/∂mu, ...                          (2)   of P
// with ∂/∂mu at (1, 0, m), ∂/∂lam at (0, 1, m) and ∂/∂m the difference between m = 1 and m = 0.
#pragma once

#include <string_view>

#include "cycloid/soft/material/corotated.h"
#include "cycloid/soft/material/linear.h"
#include "cycloid/soft/material/mooney_rivlin.h"
#include "cycloid/soft/material/neo_hookean.h"
#include "cycloid/soft/material/neo_hookean_log.h"
#include "cycloid/soft/material/stvk.h"

namespace cycloid::inline soft {

enum class Material { linear, corotated, stvk, neo_hookean, neo_hookean_log, mooney_rivlin };

inline constexpr std::string_view kMaterialNames[] = {Linear::kName,        Corotated::kName,
                                                      Stvk::kName,          NeoHookean::kName,
                                                      NeoHookeanLog::kName, MooneyRivlin::kName};

// function(Page{}) of the material's page.
template <class Function>
CYCLOID_INLINE decltype(auto) with_material(Material material, Function&& function) {
  switch (material) {
    case Material::linear: return function(Linear{});
    case Material::corotated: return function(Corotated{});
    case Material::stvk: return function(Stvk{});
    case Material::neo_hookean: return function(NeoHookean{});
    case Material::neo_hookean_log: return function(NeoHookeanLog{});
    default: return function(MooneyRivlin{});
  }
}

// Kept out of line: the elements are compiled once, not once for each material.
template <class S>
[[gnu::noinline]] S energy_density(Material m, const Coefficients<S>& c, const Mat3<S>& F) {
  return with_material(m, [&](auto page) { return page.energy(c, F); });
}
template <class S>
[[gnu::noinline]] Mat3<S> piola_stress(Material m, const Coefficients<S>& c, const Mat3<S>& F) {
  return with_material(m, [&](auto page) { return page.stress(c, F); });
}
template <class S>
[[gnu::noinline]] Mat3<S> piola_stress_tangent(Material m, const Coefficients<S>& c,
                                               const Mat3<S>& F, const Mat3<S>& dF) {
  return with_material(m, [&](auto page) { return page.stress_tangent(c, F, dF); });
}

// All of ∂P/∂F: H(i, j) of the numbers of P and F, row by row.
template <class S>
[[gnu::noinline]] void piola_hessian(Material m, const Coefficients<S>& c, const Mat3<S>& F,
                                     Mat<S, 9, 9>& H) {
  with_material(m, [&](auto page) {
    const auto fill = [&](const auto& at) {
      for (int k = 0; k < 9; ++k) {
        Mat3<S> dF{};
        dF.e[k] = S(1);
        const Mat3<S> dP = page.stress_tangent(c, at, dF);
        for (int i = 0; i < 9; ++i) H(i, k) = dP.e[i];
      }
    };
    if constexpr (std::is_same_v<decltype(page), Corotated>) fill(page.turned(F));
    else fill(F);
  });
}

template <class S>
void energy_density_pullback(Material m, const Coefficients<S>& c, const Mat3<S>& F,
                             const S& energy_bar, Coefficients<S>& c_bar, Mat3<S>& F_bar) {
  const auto of = [&](const S& mu, const S& lam, const S& share) {
    return energy_density<S>(m, {mu, lam, share}, F);
  };
  c_bar.mu += energy_bar * of(S(1), S(0), c.mooney);
  c_bar.lam += energy_bar * of(S(0), S(1), c.mooney);
  if (m == Material::mooney_rivlin) {
    c_bar.mooney += energy_bar * (of(c.mu, c.lam, S(1)) - of(c.mu, c.lam, S(0)));
  }
  F_bar += piola_stress(m, c, F) * energy_bar;  // (1)
}

template <class S>
void piola_stress_pullback(Material m, const Coefficients<S>& c, const Mat3<S>& F,
                           const Mat3<S>& P_bar, Coefficients<S>& c_bar, Mat3<S>& F_bar) {
  const auto of = [&](const S& mu, const S& lam, const S& share) {
    return contract(P_bar, piola_stress<S>(m, {mu, lam, share}, F));
  };
  c_bar.mu += of(S(1), S(0), c.mooney);
  c_bar.lam += of(S(0), S(1), c.mooney);
  if (m == Material::mooney_rivlin) {
    c_bar.mooney += of(c.mu, c.lam, S(1)) - of(c.mu, c.lam, S(0));
  }
  F_bar += piola_stress_tangent(m, c, F, P_bar);  // (2)
}

}  // namespace cycloid::inline soft
