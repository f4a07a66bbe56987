// Where systems.cpp finds the laws' steppers: tables per instruction set, of rk4 compiled for each
// law (catalogue_isa.cpp; event_laws_isa.cpp for laws with events), and of every other integrator
// compiled once for all laws (any_law_isa.cpp).
#pragma once

#include <string_view>

#include "cycloid/system/integrator/tolerances.h"
#include "cycloid/system/system.h"

namespace cycloid::inline system {

// Which law, integrator and size a stepper is wanted for.
struct CatalogueKey {
  std::string_view law, integrator;
  int n;  // masses of spring_chain
  Precision precision;
  Tolerances tolerances = {};  // of adaptive integrators
};

struct CatalogueEntry {
  Steppers<float> float32;
  Steppers<double> float64;
};

// Laws with events, with any integrator but rk4: one environment at a time, in batches too. A form
// in lanes for each law and integrator would be more to compile than it is worth.
CatalogueEntry scalar_event_law_steppers(const CatalogueKey& key);

}  // namespace cycloid::inline system

// An entry without steppers: the integrator does not apply to the law, or one of them is unknown.
namespace cycloid::isa::portable {
CatalogueEntry rk4_steppers(const CatalogueKey& key);
CatalogueEntry event_law_steppers(const CatalogueKey& key);
CatalogueEntry any_law_steppers(const CatalogueKey& key);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
CatalogueEntry rk4_steppers(const CatalogueKey& key);
CatalogueEntry event_law_steppers(const CatalogueKey& key);
CatalogueEntry any_law_steppers(const CatalogueKey& key);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
CatalogueEntry rk4_steppers(const CatalogueKey& key);
CatalogueEntry event_law_steppers(const CatalogueKey& key);
CatalogueEntry any_law_steppers(const CatalogueKey& key);
}  // namespace cycloid::isa::v4
