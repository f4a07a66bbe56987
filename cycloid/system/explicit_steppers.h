// A law with each explicit integrator that applies to it, as an entry of the catalogue.
#pragma once

#include "cycloid/system/catalogue.h"
#include "cycloid/system/euler.h"
#include "cycloid/system/law_steppers.h"
#include "cycloid/system/rk4.h"
#include "cycloid/system/semi_implicit.h"
#include "cycloid/system/verlet.h"

namespace cycloid::inline system {

template <class Law, class Scheme>
void fill_entry(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  if (key.law != Law::kName || key.integrator != Scheme::kName) return;
  entry.float64 = float64_steppers<Law, Scheme>(law);
  if (key.precision == Precision::float32) entry.float32 = float32_steppers<Law, Scheme>(law);
}

// Fills the entry where the key is for this law and such an integrator.
template <class Law>
void fill_explicit(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  fill_entry<Law, Euler>(law, key, entry);
  fill_entry<Law, Rk4>(law, key, entry);
  if constexpr (SecondOrder<Law>) {
    fill_entry<Law, SemiImplicitEuler>(law, key, entry);
    fill_entry<Law, VelocityVerlet>(law, key, entry);
  }
}

}  // namespace cycloid::inline system
