#include "cycloid/soft/term/contact.h"
#include "cycloid/soft/term/cubic_bending.h"
#include "cycloid/soft/term/edge_spring.h"
#include "cycloid/soft/term/loads.h"
#include "cycloid/soft/term/membrane.h"
#include "cycloid/soft/term/rod_laws.h"
#include "cycloid/soft/term/self_contact.h"
#include "cycloid/soft/term/shell_bending.h"
#include "cycloid/soft/term/stencil_lanes.h"
#include "cycloid/soft/term/woven.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr StencilKernels kMembrane = StencilLanes<Membrane>::all(),
                         kShellBending = StencilLanes<ShellBending>::all(),
                         kRodStretch = StencilLanes<RodStretch>::all(),
                         kRodBending = StencilLanes<RodBending>::all(),
                         kRodSpin = StencilLanes<RodSpin>::all(),
                         kContact = StencilLanes<ObstacleContact>::all(),
                         kTraction = StencilLanes<TractionLoad>::all(),
                         kPressure = StencilLanes<PressureLoad>::all(),
                         kSpring = StencilLanes<SpringLoad>::all(),
                         kWovenMembrane = StencilLanes<WovenMembrane>::all(),
                         kWovenBending = StencilLanes<WovenBending>::all(),
                         kCubicBending = StencilLanes<CubicBending>::all(),
                         kEdgeSpring = StencilLanes<EdgeSpring>::all(),
                         kPointTriangle = StencilLanes<PointTriangleContact>::all(),
                         kEdgeEdge = StencilLanes<EdgeEdgeContact>::all(),
                         kPointEdge = StencilLanes<PointEdgeContact>::all();

}  // namespace

const StencilKernels& stencil_kernels(StencilLaw law) {
  switch (law) {
    case StencilLaw::membrane: return kMembrane;
    case StencilLaw::shell_bending: return kShellBending;
    case StencilLaw::rod_stretch: return kRodStretch;
    case StencilLaw::rod_bending: return kRodBending;
    case StencilLaw::rod_spin: return kRodSpin;
    case StencilLaw::contact: return kContact;
    case StencilLaw::traction: return kTraction;
    case StencilLaw::pressure: return kPressure;
    case StencilLaw::spring: return kSpring;
    case StencilLaw::woven_membrane: return kWovenMembrane;
    case StencilLaw::woven_bending: return kWovenBending;
    case StencilLaw::cubic_bending: return kCubicBending;
    case StencilLaw::edge_spring: return kEdgeSpring;
    case StencilLaw::point_triangle: return kPointTriangle;
    case StencilLaw::edge_edge: return kEdgeEdge;
    case StencilLaw::point_edge: return kPointEdge;
    default: return cell_law_kernels(law);
  }
}

}  // namespace cycloid::isa::CYCLOID_ISA
