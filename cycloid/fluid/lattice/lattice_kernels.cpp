#include "cycloid/fluid/lattice/lattice_kernels.h"

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline fluid {

template <>
const LatticeKernels<float>& lattice_kernels(int dimensions) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::lattice_kernels_float(dimensions);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::lattice_kernels_float(dimensions);
#endif
    default: return isa::narrowest::lattice_kernels_float(dimensions);
  }
}

template <>
const LatticeKernels<double>& lattice_kernels(int dimensions) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::lattice_kernels_double(dimensions);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::lattice_kernels_double(dimensions);
#endif
    default: return isa::narrowest::lattice_kernels_double(dimensions);
  }
}

}  // namespace cycloid::inline fluid
