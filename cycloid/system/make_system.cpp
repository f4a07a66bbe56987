#include "cycloid/system/make_system.h"

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline system {
namespace {

void add(Parameters& parameters, const ParameterSpec& spec,
         const std::map<std::string, std::vector<double>>& values) {
  Parameter parameter;
  parameter.name = spec.name;
  parameter.unit = spec.unit;
  parameter.constraint = spec.constraint;
  if (spec.size > 1) parameter.shape = {spec.size};
  const auto given = values.find(spec.name);
  std::vector<double> value(static_cast<std::size_t>(spec.size), spec.value);
  if (spec.constraint == Constraint::inertia) {
    for (std::size_t i = 3; i < value.size(); ++i) value[i] = 0;
  }
  parameters.add(std::move(parameter), given != values.end() ? given->second : value);
}

}  // namespace

SystemParts law_parts(std::string name, const std::vector<BlockSpec>& state,
                      const std::vector<BlockSpec>& input,
                      const std::vector<ParameterSpec>& parameters, const LawSettings& settings) {
  SystemParts parts;
  parts.name = std::move(name);
  parts.precision = settings.precision;
  parts.timestep = settings.dt;
  parts.states = Space(state);
  parts.inputs = Space(input);
  if (parts.states.size() == 0) {
    throw ModelError(message("law \"", parts.name, "\" has no states"));
  }
  if (!std::isfinite(settings.dt) || settings.dt <= 0) {
    throw ParameterError(message("the time step dt must be positive [s]; got ", settings.dt));
  }
  for (const ParameterSpec& spec : parameters) add(parts.parameters, spec, settings.values);
  add(parts.parameters, {kTimestepName.data(), settings.dt, "s", Constraint::positive}, {});
  for (const auto& [given, value] : settings.values) {
    if (given == kTimestepName) throw ParameterError("set the time step by dt, not by a value");
    parts.parameters.find(given);  // throws with the nearest name
  }
  parts.vary = settings.vary;
  parts.initial_state = settings.initial_state;
  if (parts.initial_state.empty()) {
    parts.initial_state.assign(static_cast<std::size_t>(parts.states.size()), 0.0);
    for (const Block& b : parts.states.blocks()) {
      if (b.kind == BlockKind::quaternion) {
        parts.initial_state[static_cast<std::size_t>(b.offset)] = 1.0;
      }
    }
  }
  return parts;
}

}  // namespace cycloid::inline system
