#include "cycloid/math/front_kernels.h"

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline math {

const FrontKernels& front_kernels() {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::kFrontKernels;
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::kFrontKernels;
#endif
    default: return isa::narrowest::kFrontKernels;
  }
}

}  // namespace cycloid::inline math
