#include "cycloid/system/catalogue.h"

#include "cycloid/system/euler.h"
#include "cycloid/system/law_steppers.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"
#include "cycloid/system/rk4.h"
#include "cycloid/system/semi_implicit.h"
#include "cycloid/system/verlet.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

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

}  // namespace

CatalogueEntry law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  fill_law(Pendulum{}, key, entry);
  fill_law(DoublePendulum{}, key, entry);
  fill_law(Projectile{}, key, entry);
  fill_law(SpringChain{key.n}, key, entry);
  fill_law(Kepler{}, key, entry);
  fill_law(Lorenz{}, key, entry);
  if (!entry.float64.one) entry = event_law_steppers(key);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
