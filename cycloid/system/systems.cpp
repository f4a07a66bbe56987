#include "cycloid/system/systems.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/system/event/jump.h"
#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/implicit_midpoint.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/kernel_source.h"
#include "cycloid/system/law/term_law.h"
#include "cycloid/system/laws/bare_motion.h"
#include "cycloid/system/laws/catalogue.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/event_laws.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"
#include "cycloid/system/make_system.h"

namespace cycloid::systems {
namespace {

bool is_adaptive(const std::string& integrator) {
  const std::vector<std::string>& all = adaptive_integrators();
  return std::find(all.begin(), all.end(), integrator) != all.end();
}

CatalogueEntry steppers(const CatalogueKey& key) {
  if (CatalogueEntry entry = scalar_event_law_steppers(key); entry.float64.one) return entry;
  const bool any = key.integrator != Rk4::kName;
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4:
      return any ? isa::v4::any_law_steppers(key) : isa::v4::rk4_steppers(key);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3:
      return any ? isa::v3::any_law_steppers(key) : isa::v3::rk4_steppers(key);
#endif
    default: return any ? isa::narrowest::any_law_steppers(key) : isa::narrowest::rk4_steppers(key);
  }
}

TermEntry term_steppers(const TermKey& key) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::term_law_steppers(key);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::term_law_steppers(key);
#endif
    default: return isa::narrowest::term_law_steppers(key);
  }
}

// Throws with the nearest name.
void check_integrator(const std::string& integrator) {
  for (const std::string& i : integrators()) {
    if (i == integrator) return;
  }
  throw ModelError(message("no integrator is called \"", integrator, "\"",
                           did_you_mean(integrator, integrators())));
}

// Throws when the tolerances are no use.
Tolerances checked_tolerances(const Settings& settings) {
  for (const auto& [name, value] : {std::pair{"rtol", settings.rtol}, {"atol", settings.atol}}) {
    if (value == 0) continue;
    if (!is_adaptive(settings.integrator)) {
      throw ModelError(message(name, " is for an adaptive integrator; \"", settings.integrator,
                               "\" has a fixed step: choose dopri5 or sdirk4, or a smaller dt"));
    }
    const double least = settings.precision == Precision::float32 ? 1e-7 : 1e-15;
    const bool tight = std::string_view(name) == "rtol" && value < least;
    if (!std::isfinite(value) || value < 0 || tight) {
      throw ParameterError(message(
          name, " must be positive and finite",
          tight ? message(", and at least ", least, " in ", cycloid::name(settings.precision))
                : std::string(),
          "; got ", value));
    }
  }
  return {settings.rtol, settings.atol};
}

// Throws when an integrator's dense matrices would be too large.
void check_size(const std::string& integrator, int states) {
  const bool dense = integrator == ImplicitMidpoint::kName || integrator == Sdirk4::kName;
  if (!dense || states <= kMostNewtonTangents) return;
  throw ModelError(message("integrator \"", integrator,
                           "\" solves with dense matrices, of at most ", kMostNewtonTangents,
                           " states; there are ", states, ": choose rk4, verlet or dopri5"));
}

// A start at which something happens: the default state of a law in a first look.
std::vector<double> first_state(std::string_view law, int n) {
  if (law == Pendulum::kName) return {1.0, 0.0};
  if (law == DoublePendulum::kName) return {1.5, 1.0, 0.0, 0.0};
  if (law == Projectile::kName) return {0.0, 0.0, 0.0, 10.0, 0.0, 10.0};
  if (law == Kepler::kName) return {1.0, 0.0, 0.0, 1.1};
  if (law == Lorenz::kName) return {1.0, 1.0, 1.0};
  if (law == BouncingBall::kName) return {1.0, 0.0};
  if (law == BeadOnCurve::kName) return {0.0};
  if (law == StickSlip::kName) return {0.0, 0.21, 0.0};
  if (law == RimlessWheel::kName) return {0.0, 1.0};
  std::vector<double> chain(2 * static_cast<std::size_t>(n), 0.0);
  chain[0] = 1.0;
  return chain;
}

double first_number(const SystemParts& parts, const char* name) {
  return parts.parameters
      .default_values()[static_cast<std::size_t>(parts.parameters.find(name).offset)];
}

// Where the first look begins may depend on parameters.
void fit_first_state(std::string_view law, SystemParts& parts) {
  double* x = parts.initial_state.data();
  if (law == StickSlip::kName) x[1] = first_number(parts, "belt");
  if (law == RimlessWheel::kName) {
    const double middle = first_number(parts, "slope"), reach = first_number(parts, "half_angle");
    x[0] = std::clamp(x[0], middle - reach, middle + reach);
  }
}

// The number of heights; fills in those of a straight slide, 1 m down, where none are given.
int take_heights(LawSettings& settings) {
  const auto [place, absent] = settings.values.try_emplace("heights");
  std::vector<double>& heights = place->second;
  for (int i = 0; i < 22 && absent; ++i) heights.push_back(1 - i * i / 441.0);
  const int n = static_cast<int>(heights.size());
  if (n < BeadOnCurve::kFewestHeights || n > BeadOnCurve::kMostHeights) {
    throw ModelError(message("parameter \"heights\" of bead_on_curve takes ",
                             BeadOnCurve::kFewestHeights, " to ", BeadOnCurve::kMostHeights,
                             " numbers; got ", n));
  }
  return n;
}

SystemParts parts_of(std::string_view law, const LawSettings& settings, int n) {
  if (law == Pendulum::kName) return law_parts(Pendulum{}, settings);
  if (law == DoublePendulum::kName) return law_parts(DoublePendulum{}, settings);
  if (law == Projectile::kName) return law_parts(Projectile{}, settings);
  if (law == SpringChain::kName) return law_parts(SpringChain{n}, settings);
  if (law == Kepler::kName) return law_parts(Kepler{}, settings);
  if (law == Lorenz::kName) return law_parts(Lorenz{}, settings);
  std::optional<SystemParts> parts;
  for_event_law(law, n, [&](const auto& known) { parts = law_parts(known, settings); });
  if (parts) return *parts;
  throw ModelError(message("no law is called \"", law, "\"", did_you_mean(law, names())));
}

// Gives a System its steppers, or says why there are none. Entry: CatalogueEntry or TermEntry.
template <class Entry>
void take_steppers(std::string_view law, const std::string& integrator, Entry& entry,
                   SystemParts& parts) {
  if (!entry.float64.one) {
    throw ModelError(message("integrator \"", integrator, "\" needs a law of second order, and \"",
                             law, "\" is of first order; choose rk4, dopri5 or implicit_midpoint"));
  }
  if (is_adaptive(integrator)) {
    parts.counters.assign(std::begin(kAdaptiveCounters), std::end(kAdaptiveCounters));
  }
  parts.float32 = std::move(entry.float32);
  parts.float64 = std::move(entry.float64);
  parts.ways.integrator = integrator;
  parts.ways.integrators = integrators();
}

// The law with another integrator, with the defaults and the initial state of `of`.
void compute_otherwise(const std::string& law, Settings settings, int n, const Variant& variant,
                       SystemParts& of) {
  if (!variant.integrator.empty()) settings.integrator = variant.integrator;
  if (!is_adaptive(settings.integrator)) settings.rtol = settings.atol = 0;
  settings.dt = of.timestep;
  std::map<std::string, std::vector<double>> values =
      of.parameters.unpack(of.parameters.default_values());
  values.erase(std::string(kTimestepName));
  SystemParts other = make(law, values, settings, n).parts();
  other.initial_state = std::move(of.initial_state);
  of = std::move(other);
}

}  // namespace

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {
      "pendulum", "double_pendulum", "projectile",    "spring_chain", "kepler",
      "lorenz",   "bouncing_ball",   "bead_on_curve", "stick_slip",   "rimless_wheel"};
  return all;
}

const std::vector<std::string>& integrators() {
  static const std::vector<std::string> all = {
      "euler", "semi_implicit", "verlet", "rk4", "implicit_midpoint", "dopri5", "sdirk4"};
  return all;
}

const std::vector<std::string>& adaptive_integrators() {
  static const std::vector<std::string> all = {Dopri5::kName, Sdirk4::kName};
  return all;
}

System make(std::string_view law, const std::map<std::string, std::vector<double>>& values,
            const Settings& settings, int n) {
  if (n < 1) throw ModelError(message("a spring chain needs at least one mass; got n = ", n));
  check_integrator(settings.integrator);
  const Tolerances tolerances = checked_tolerances(settings);
  LawSettings of_law{settings.dt, settings.precision, settings.vary, values, first_state(law, n)};
  if (law == BeadOnCurve::kName) n = take_heights(of_law);
  SystemParts parts = parts_of(law, of_law, n);
  fit_first_state(law, parts);
  check_size(settings.integrator, parts.states.size());
  CatalogueEntry entry = steppers({law, settings.integrator, n, settings.precision, tolerances});
  take_steppers(law, settings.integrator, entry, parts);
  if (settings.integrator == Rk4::kName && parts.events.empty()) {
    parts.kernels = std::make_shared<LawSource>(std::string(law), n);
  }
  parts.ways.use = [law = std::string(law), settings, n](const Variant& variant, SystemParts& of) {
    compute_otherwise(law, settings, n, variant, of);
  };
  return System(std::move(parts));
}

bool is_second_order(std::string_view law) {
  return law == Pendulum::kName || law == DoublePendulum::kName || law == Projectile::kName ||
         law == SpringChain::kName || law == Kepler::kName;
}

SystemParts make_with_term(std::string_view law,
                           const std::map<std::string, std::vector<double>>& values,
                           const Settings& settings, int n, const FeedbackLaw& term,
                           TermPlace place) {
  SystemParts parts = make(law, values, settings, n).parts();
  if (!parts.events.empty()) {
    throw ModelError(message("law \"", law, "\" has events: nothing can be added to its rate"));
  }
  TermEntry entry = term_steppers({law, settings.integrator, n, settings.precision, &term, place,
                                   settings.rtol, settings.atol});
  if (!entry.float64.one) {
    throw ModelError(message("integrator \"", settings.integrator,
                             "\" takes velocities as the rate of "
                             "positions: add to the acceleration or the force, or choose rk4, "
                             "dopri5 or implicit_midpoint"));
  }
  parts.kernels = nullptr;  // they know the law without the term
  parts.float32 = std::move(entry.float32);
  parts.float64 = std::move(entry.float64);
  return parts;
}

namespace {

// A text that lasts as long as the program: an EventSpec keeps no string.
const char* lasting(const std::string& name) {
  static std::mutex lock;
  static std::set<std::string> all;
  const std::lock_guard hold(lock);
  return all.insert(name).first->c_str();
}

void check_jumps(const std::vector<JumpSpec>& jumps, int n) {
  if (std::ssize(jumps) > kMostJumps) {
    throw ModelError(message("a law has at most ", kMostJumps, " jumps; got ", jumps.size()));
  }
  for (const JumpSpec& j : jumps) {
    const auto wrong = [&](const char* what, const std::vector<double>& row) {
      if (std::ssize(row) == n) return;
      throw ModelError(message("jump \"", j.name, "\": ", what, " has a number for each of the ", n,
                               " states; got ", row.size()));
    };
    wrong("guard", j.guard), wrong("sense", j.sense), wrong("direction", j.direction);
    double seen = 0;
    for (std::size_t i = 0; i < j.sense.size(); ++i) seen += j.sense[i] * j.direction[i];
    if (!(std::abs(seen) > 0)) {
      throw ModelError(message("jump \"", j.name, "\": its direction does not change what its ",
                               "sense measures (their product is ", seen, ")"));
    }
  }
}

// Parameters of jumps, which begin with their names.
std::vector<ParameterSpec> jump_parameters(const std::vector<JumpSpec>& jumps,
                                           std::map<std::string, std::vector<double>>& values) {
  std::vector<ParameterSpec> all;
  for (const JumpSpec& j : jumps) {
    const auto add = [&](const char* of, const std::vector<double>& value, Constraint constraint) {
      const std::string name = j.name + "." + of;
      all.push_back({lasting(name), 0.5, "", constraint, static_cast<int>(value.size())});
      values[name] = value;
    };
    add("guard", j.guard, Constraint::none), add("level", {j.level}, Constraint::none);
    add("restitution", {j.restitution}, Constraint::unit_interval);
    add("sense", j.sense, Constraint::none), add("direction", j.direction, Constraint::none);
  }
  return all;
}

}  // namespace

SystemParts make_of_term(const std::string& name, const std::vector<BlockSpec>& state,
                         const std::vector<BlockSpec>& input, const Settings& settings,
                         const FeedbackLaw& term, TermOrder order) {
  return make_of_term(name, state, input, settings, term, order, {});
}

SystemParts make_of_term(const std::string& name, const std::vector<BlockSpec>& state,
                         const std::vector<BlockSpec>& input, const Settings& settings,
                         const FeedbackLaw& term, TermOrder order,
                         const std::vector<JumpSpec>& jumps) {
  const bool second_order = order == TermOrder::second;
  check_integrator(settings.integrator);
  const Tolerances tolerances = checked_tolerances(settings);
  const int n = Space(state).size();
  check_jumps(jumps, n);
  LawSettings of_law{settings.dt, settings.precision, settings.vary, {}, {}};
  const std::vector<ParameterSpec> numbers = jump_parameters(jumps, of_law.values);
  SystemParts parts = law_parts(name, state, input, numbers, of_law);
  check_size(settings.integrator, n);
  const TermKey key{second_order ? Coasting::kName : AtRest::kName,
                    settings.integrator,
                    second_order ? n / 2 : n,
                    settings.precision,
                    &term,
                    second_order ? TermPlace::acceleration : TermPlace::rate,
                    tolerances.rtol,
                    tolerances.atol,
                    parts.inputs.size(),
                    order == TermOrder::halves};
  TermEntry entry =
      jumps.empty() ? term_steppers(key) : jump_law_steppers(key, static_cast<int>(jumps.size()));
  take_steppers(name, settings.integrator, entry, parts);
  for (const JumpSpec& j : jumps) {
    parts.events.push_back({lasting(j.name), EventDirection::falling, EventEffect::reset});
  }
  return parts;
}

System pendulum(const PendulumParameters& p, const Settings& settings) {
  return make(Pendulum::kName,
              {{"length", {p.length}},
               {"mass", {p.mass}},
               {"damping", {p.damping}},
               {"gravity", {p.gravity}}},
              settings);
}

System double_pendulum(const DoublePendulumParameters& p, const Settings& settings) {
  return make(DoublePendulum::kName,
              {{"lengths", {p.lengths[0], p.lengths[1]}},
               {"masses", {p.masses[0], p.masses[1]}},
               {"damping", {p.damping[0], p.damping[1]}},
               {"gravity", {p.gravity}}},
              settings);
}

System projectile(const ProjectileParameters& p, const Settings& settings) {
  return make(Projectile::kName,
              {{"mass", {p.mass}},
               {"drag", {p.drag}},
               {"wind", {p.wind[0], p.wind[1], p.wind[2]}},
               {"gravity", {p.gravity}}},
              settings);
}

System spring_chain(int n, const SpringChainParameters& p, const Settings& settings) {
  return make(SpringChain::kName,
              {{"mass", {p.mass}}, {"stiffness", {p.stiffness}}, {"damping", {p.damping}}},
              settings, n);
}

System kepler(const KeplerParameters& p, const Settings& settings) {
  return make(Kepler::kName, {{"mu", {p.mu}}}, settings);
}

System bouncing_ball(const BouncingBallParameters& p, const Settings& settings) {
  return make(BouncingBall::kName, {{"restitution", {p.restitution}}, {"gravity", {p.gravity}}},
              settings);
}

System bead_on_curve(const BeadOnCurveParameters& p, const Settings& settings) {
  std::map<std::string, std::vector<double>> values = {{"width", {p.width}},
                                                       {"gravity", {p.gravity}}};
  if (!p.heights.empty()) values["heights"] = p.heights;
  return make(BeadOnCurve::kName, values, settings);
}

System stick_slip(const StickSlipParameters& p, const Settings& settings) {
  return make(StickSlip::kName,
              {{"mass", {p.mass}},
               {"stiffness", {p.stiffness}},
               {"damping", {p.damping}},
               {"belt", {p.belt}},
               {"normal_force", {p.normal_force}},
               {"static_friction", {p.static_friction}},
               {"kinetic_friction", {p.kinetic_friction}}},
              settings);
}

System rimless_wheel(const RimlessWheelParameters& p, const Settings& settings) {
  return make(RimlessWheel::kName,
              {{"length", {p.length}},
               {"half_angle", {p.half_angle}},
               {"slope", {p.slope}},
               {"gravity", {p.gravity}}},
              settings);
}

System lorenz(const LorenzParameters& p, const Settings& settings) {
  return make(Lorenz::kName, {{"sigma", {p.sigma}}, {"rho", {p.rho}}, {"beta", {p.beta}}},
              settings);
}

}  // namespace cycloid::systems
