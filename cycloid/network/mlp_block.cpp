#include "cycloid/network/mlp_block.h"

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline network {

MlpOrder order_of(MlpCall call) {
  switch (call) {
    case MlpCall::value: return MlpOrder::value;
    case MlpCall::pullback:
    case MlpCall::gradient: return MlpOrder::pullback;
    case MlpCall::hessian_product_pullback: return MlpOrder::second;
    default: return MlpOrder::first;
  }
}

template <>
const MlpKernels<float>& mlp_kernels() {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::mlp_kernels_float();
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::mlp_kernels_float();
#endif
    default: return isa::narrowest::mlp_kernels_float();
  }
}

template <>
const MlpKernels<double>& mlp_kernels() {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::mlp_kernels_double();
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::mlp_kernels_double();
#endif
    default: return isa::narrowest::mlp_kernels_double();
  }
}

template <>
const MlpKernels<Tangent1>& mlp_kernels() {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::mlp_kernels_tangent();
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::mlp_kernels_tangent();
#endif
    default: return isa::narrowest::mlp_kernels_tangent();
  }
}

}  // namespace cycloid::inline network
