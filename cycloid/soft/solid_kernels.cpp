#include "cycloid/soft/solid_kernels.h"

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline soft {

const SolidKernels& solid_kernels(ElementKind element, Formulation formulation) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::solid_kernels(element, formulation);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::solid_kernels(element, formulation);
#endif
    default: return isa::narrowest::solid_kernels(element, formulation);
  }
}

}  // namespace cycloid::inline soft
