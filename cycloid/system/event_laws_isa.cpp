#include "cycloid/system/catalogue.h"
#include "cycloid/system/catalogue_fill.h"
#include "cycloid/system/laws/bouncing_ball.h"

namespace cycloid::isa::CYCLOID_ISA {

CatalogueEntry event_law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  fill_law(BouncingBall{}, key, entry);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
