// What the catalogue's translation units share: a law's steppers, by the name of its integrator.
#pragma once

#include "cycloid/system/catalogue.h"
#include "cycloid/system/make_system.h"

namespace cycloid::inline system {

template <class Law, class Scheme>
void fill(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  if (key.law != Law::kName || key.integrator != Scheme::kName) return;
  entry.float64 = float64_steppers<Law, Scheme>(law);
  if (key.precision == Precision::float32) entry.float32 = float32_steppers<Law, Scheme>(law);
}

template <class Law>
void fill_law(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  fill<Law, Euler>(law, key, entry);
  fill<Law, Rk4>(law, key, entry);
  if constexpr (SecondOrder<Law>) {
    fill<Law, SemiImplicitEuler>(law, key, entry);
    fill<Law, VelocityVerlet>(law, key, entry);
  }
}

}  // namespace cycloid::inline system
