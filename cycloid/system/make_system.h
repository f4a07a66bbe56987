// make_system: a law of motion as a System.
//
//   const System system = make_system(VanDerPol{}, {.dt = 0.01});              integrator rk4
//   const System system = make_system<VelocityVerlet>(MyOscillator{});
//   const System system = make_system<Dopri5>(VanDerPol{}, {.dt = 1, .tolerances = {1e-6, 1e-6}});
//
// The law is compiled here, in the caller's translation unit, for the caller's instruction set. The
// laws of systems.h are compiled for every set and chosen when the program runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cycloid/system/admission.h"
#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/euler.h"
#include "cycloid/system/integrator/implicit_midpoint.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/integrator/semi_implicit.h"
#include "cycloid/system/integrator/verlet.h"
#include "cycloid/system/law/law_observer.h"
#include "cycloid/system/law/law_steppers.h"
#include "cycloid/system/system.h"

namespace cycloid::inline system {

struct LawSettings {
  double dt = 0.01;  // time step [s]
  Precision precision = Precision::float64;
  std::vector<std::string> vary = {};  // parameters that may differ between environments
  std::map<std::string, std::vector<double>> values = {};  // parameters, by name
  std::vector<double> initial_state = {};                  // zeros (identity quaternions) if empty
  Tolerances tolerances = {};                              // of an adaptive integrator
};

// Everything but the steppers. Throws ParameterError on bad values, ModelError on bad blocks.
SystemParts law_parts(std::string name, const std::vector<BlockSpec>& state,
                      const std::vector<BlockSpec>& input,
                      const std::vector<ParameterSpec>& parameters, const LawSettings& settings);

template <class Law>
SystemParts law_parts(const Law& law, const LawSettings& settings) {
  SystemParts parts =
      law_parts(Law::kName, state_specs(law), input_specs(law), parameter_specs(law), settings);
  parts.events = event_specs(law);
  if constexpr (law_values<Law> > 0) parts.observables = std::make_shared<LawObservables<Law>>(law);
  if constexpr (RefusesParameters<Law>) {
    parts.refuse = [law](const double* p) { return law.refuse(p); };
  }
  if constexpr (AdmitsStarts<Law>) {
    parts.admit = [law](const double* p, double rounding, double* x) {
      return law.admit(p, rounding, x);
    };
  }
  return parts;
}

template <class Scheme = Rk4, class Law>
System make_system(const Law& law, const LawSettings& settings = {}) {
  constexpr bool kNeedsSecondOrder =
      std::is_same_v<Scheme, SemiImplicitEuler> || std::is_same_v<Scheme, VelocityVerlet>;
  static_assert(!kNeedsSecondOrder || SecondOrder<Law>,
                "this integrator needs a law with kSecondOrder (system/law.h)");
  using Chosen = std::conditional_t<ContinuousLaw<Law>, Scheme, Discrete>;
  SystemParts parts = law_parts(law, settings);
  if constexpr (divides_steps<Chosen>()) {
    parts.counters.assign(std::begin(kAdaptiveCounters), std::end(kAdaptiveCounters));
  }
  parts.float64 = float64_steppers<Law, Chosen>(law, settings.tolerances);
  if (settings.precision == Precision::float32) {
    parts.float32 = float32_steppers<Law, Chosen>(law, settings.tolerances);
  }
  return System(std::move(parts));
}

}  // namespace cycloid::inline system
