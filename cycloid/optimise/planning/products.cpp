#include "cycloid/optimise/planning/products.h"

#include "cycloid/base/compiled_sets.h"

namespace cycloid::inline optimise {

Products products() {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::products();
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::products();
#endif
    default: return isa::narrowest::products();
  }
}

}  // namespace cycloid::inline optimise
