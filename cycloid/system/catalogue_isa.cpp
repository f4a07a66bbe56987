#include "cycloid/system/catalogue.h"

#include "cycloid/system/explicit_steppers.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"

namespace cycloid::isa::CYCLOID_ISA {

CatalogueEntry law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  fill_explicit(Pendulum{}, key, entry);
  fill_explicit(DoublePendulum{}, key, entry);
  fill_explicit(Projectile{}, key, entry);
  if (!entry.float64.one) entry = more_law_steppers(key);
  if (!entry.float64.one) entry = event_law_steppers(key);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
