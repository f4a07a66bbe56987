#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/law/law_steppers.h"
#include "cycloid/system/laws/catalogue.h"
#include "cycloid/system/laws/event_laws.h"

namespace cycloid::isa::CYCLOID_ISA {

CatalogueEntry event_law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  for_event_law(key.law, key.n, [&]<class Law>(const Law& law) {
    entry.float64 = float64_steppers<Law, Rk4>(law);
    if (key.precision == Precision::float32) entry.float32 = float32_steppers<Law, Rk4>(law);
  });
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
