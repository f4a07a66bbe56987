// The other half of catalogue_isa.cpp, so that two compilers share the work.
#include "cycloid/system/explicit_steppers.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/spring_chain.h"

namespace cycloid::isa::CYCLOID_ISA {

CatalogueEntry more_law_steppers(const CatalogueKey& key) {
  CatalogueEntry entry;
  fill_explicit(SpringChain{key.n}, key, entry);
  fill_explicit(Kepler{}, key, entry);
  fill_explicit(Lorenz{}, key, entry);
  return entry;
}

}  // namespace cycloid::isa::CYCLOID_ISA
