#include "cycloid/fluid/grid/grid_kernels.h"

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline fluid {

template <>
const GridKernels<float>& grid_kernels() {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::grid_kernels_float();
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::grid_kernels_float();
#endif
    default: return isa::narrowest::grid_kernels_float();
  }
}

template <>
const GridKernels<double>& grid_kernels() {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::grid_kernels_double();
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::grid_kernels_double();
#endif
    default: return isa::narrowest::grid_kernels_double();
  }
}

}  // namespace cycloid::inline fluid
