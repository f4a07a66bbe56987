#include "cycloid/soft/term/cell_laws.h"

#include "cycloid/soft/term/stencil_lanes.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr StencilKernels kFibre[] = {StencilLanes<FibreLaw<Tet4>>::all(),
                                     StencilLanes<FibreLaw<Hex8>>::all(),
                                     StencilLanes<FibreLaw<Tet10>>::all()},
                         kPlastic[] = {StencilLanes<PlasticCell<Tet4>>::all(),
                                       StencilLanes<PlasticCell<Hex8>>::all(),
                                       StencilLanes<PlasticCell<Tet10>>::all()};

}  // namespace

const StencilKernels& cell_law_kernels(StencilLaw law) {
  const int k = static_cast<int>(law) - static_cast<int>(StencilLaw::fibre);
  return k < 3 ? kFibre[k] : kPlastic[k - 3];
}

}  // namespace cycloid::isa::CYCLOID_ISA
