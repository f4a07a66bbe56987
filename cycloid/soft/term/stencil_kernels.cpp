#include "cycloid/soft/term/stencil_kernels.h"

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline soft {

const StencilKernels& stencil_kernels(StencilLaw law) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::stencil_kernels(law);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::stencil_kernels(law);
#endif
    default: return isa::narrowest::stencil_kernels(law);
  }
}

}  // namespace cycloid::inline soft
