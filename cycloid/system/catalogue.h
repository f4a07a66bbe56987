// Where systems.cpp finds the laws' steppers: tables per instruction set, of smooth laws
// (catalogue_isa.cpp) and of laws with events (event_laws_isa.cpp).
#pragma once

#include <string_view>

#include "cycloid/system/system.h"

namespace cycloid::inline system {

// Which law, integrator and size a stepper is wanted for.
struct CatalogueKey {
  std::string_view law, integrator;
  int n;  // masses of spring_chain
  Precision precision;
};

struct CatalogueEntry {
  Steppers<float> float32;
  Steppers<double> float64;
};

}  // namespace cycloid::inline system

// An entry without steppers: the integrator does not apply to the law, or one of them is unknown.
namespace cycloid::isa::portable {
CatalogueEntry law_steppers(const CatalogueKey& key);
CatalogueEntry event_law_steppers(const CatalogueKey& key);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
CatalogueEntry law_steppers(const CatalogueKey& key);
CatalogueEntry event_law_steppers(const CatalogueKey& key);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
CatalogueEntry law_steppers(const CatalogueKey& key);
CatalogueEntry event_law_steppers(const CatalogueKey& key);
}  // namespace cycloid::isa::v4
