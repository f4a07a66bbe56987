#include "cycloid/system/catalogue_fill.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"

namespace cycloid::isa::CYCLOID_ISA {

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
