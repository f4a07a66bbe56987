// rk4, the default, compiled for each law of its own.
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/law/law_steppers.h"
#include "cycloid/system/laws/catalogue.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class Law>
void fill(const Law& law, const CatalogueKey& key, CatalogueEntry& entry) {
  if (key.law != Law::kName) return;
  entry.float64 = float64_steppers<Law, Rk4>(law);
  if (key.precision == Precision::float32) entry.float32 = float32_steppers<Law, Rk4>(law);
}

}  // namespace

CatalogueEntry rk4_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  fill(Pendulum{}, key, entry);
  fill(DoublePendulum{}, key, entry);
  fill(Projectile{}, key, entry);
  fill(SpringChain{key.n}, key, entry);
  fill(Kepler{}, key, entry);
  fill(Lorenz{}, key, entry);
  if (!entry.float64.one) entry = event_law_steppers(key);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
