#include "cycloid/fluid/spectral/spectral.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/fluid/spectral/spectral_observables.h"
#include "cycloid/fluid/spectral/spectral_stepper.h"
#include "cycloid/fluid/substeps.h"

namespace cycloid::inline fluid {
namespace {

using Equation = SpectralEquation;

void check_box(const SpectralOptions& o, Equation equation) {
  const std::size_t d = o.shape.size();
  if (d < 1 || d > 3) throw ModelError(message("shape has one to three numbers; got ", d));
  if (o.size.size() != d) {
    throw ModelError(message("size has one length per axis, ", d, "; got ", o.size.size()));
  }
  for (const int n : o.shape) {
    if (n < 4) throw ModelError(message("shape: every axis needs at least 4 nodes; got ", n));
  }
  for (const double l : o.size) {
    if (!std::isfinite(l) || l <= 0)
      throw ModelError(message("size must be positive [m]; got ", l));
  }
  const std::string& name = o.equation;
  if ((equation == Equation::kuramoto_sivashinsky || equation == Equation::korteweg_de_vries) &&
      d != 1) {
    throw ModelError(message(name, " is an equation on a line: shape=(n,); got ", d, " axes"));
  }
  if (equation == Equation::navier_stokes && d == 1) {
    throw ModelError("navier_stokes needs two or three axes; on a line there is \"burgers\"");
  }
  if (equation == Equation::shallow_water && d != 2) {
    throw ModelError(message("shallow_water needs two axes; got ", d));
  }
  if (!std::isfinite(o.dt) || o.dt <= 0) {
    throw ParameterError(message("the time step dt must be positive [s]; got ", o.dt));
  }
  if (o.order != 2 && o.order != 4) {
    throw ModelError(message("order is 2 or 4 (ETDRK2, ETDRK4); got ", o.order));
  }
  if (o.probes.size() % d != 0) {
    throw ModelError(
        message("probes have ", d, " coordinates each; got ", o.probes.size(), " numbers"));
  }
  for (const double x : o.probes) {
    if (!std::isfinite(x)) throw ModelError("probes must be finite [m]");
  }
}

void add_parameter(SpectralModel& m, std::string name, std::string unit, Constraint constraint,
                   std::vector<double> value, bool row = false) {
  Parameter p;
  p.name = std::move(name), p.unit = std::move(unit), p.constraint = constraint;
  if (row) p.shape = {static_cast<int>(value.size())};
  m.parameters.push_back(std::move(p));
  m.defaults.push_back(std::move(value));
}

// Blocks of the state and parameters, with their defaults.
void fill(SpectralModel& m) {
  const int n = static_cast<int>(m.nodes()), d = m.dimensions();
  const auto non_negative = Constraint::non_negative;
  switch (m.equation) {
    case Equation::navier_stokes:
    case Equation::burgers:
      m.blocks = {{"velocity", d * n, "m/s"}};
      add_parameter(m, "viscosity", "m²/s", non_negative, {0.01});
      break;
    case Equation::kuramoto_sivashinsky:
    case Equation::korteweg_de_vries: m.blocks = {{"u", n, ""}}; break;
    case Equation::heat:
      m.blocks = {{"u", n, "K"}};
      add_parameter(m, "diffusivity", "m²/s", non_negative, {0.01});
      break;
    case Equation::advection_diffusion:
      m.blocks = {{"u", n, ""}};
      add_parameter(m, "velocity", "m/s", Constraint::none,
                    std::vector<double>(static_cast<std::size_t>(d), 1.0), true);
      add_parameter(m, "diffusivity", "m²/s", non_negative, {0.01});
      break;
    case Equation::wave:
      m.blocks = {{"u", n, "m"}, {"rate", n, "m/s"}};
      add_parameter(m, "speed", "m/s", Constraint::positive, {1.0});
      break;
    case Equation::gray_scott:
      m.blocks = {{"a", n, ""}, {"b", n, ""}};
      add_parameter(m, "diffusivity_a", "m²/s", non_negative, {2e-5});
      add_parameter(m, "diffusivity_b", "m²/s", non_negative, {1e-5});
      add_parameter(m, "feed", "1/s", non_negative, {0.04});
      add_parameter(m, "kill", "1/s", non_negative, {0.06});
      break;
    case Equation::shallow_water:
      m.blocks = {{"velocity", 2 * n, "m/s"}, {"height", n, "m"}};
      add_parameter(m, "gravity", "m/s²", Constraint::positive, {9.81});
      add_parameter(m, "depth", "m", Constraint::positive, {1.0});
      add_parameter(m, "coriolis", "1/s", Constraint::none, {0.0});
      add_parameter(m, "viscosity", "m²/s", non_negative, {0.0});
      break;
  }
}

void take_values(SpectralModel& m, const SpectralOptions& o) {
  for (const auto& [name, value] : o.values) {
    std::vector<std::string> known;
    bool found = false;
    for (std::size_t i = 0; i < m.parameters.size(); ++i) {
      known.push_back(m.parameters[i].name);
      if (known.back() != name) continue;
      found = true;
      if (value.size() != m.defaults[i].size()) {
        throw ParameterError(
            message(name, " has ", m.defaults[i].size(), " numbers; got ", value.size()));
      }
      m.defaults[i] = value;
    }
    if (!found) {
      throw ParameterError(
          message(o.equation, " has no parameter \"", name, "\"", did_you_mean(name, known)));
    }
  }
}

// Where the inputs lie in their row.
std::vector<BlockSpec> take_inputs(SpectralModel& m, const SpectralOptions& o) {
  std::vector<BlockSpec> blocks;
  for (const std::string& name : o.inputs) {
    if (std::count(o.inputs.begin(), o.inputs.end(), name) > 1) {
      throw ModelError(message("the input \"", name, "\" is named twice"));
    }
    const bool field = name == "force_field";
    if ((name != "force" && !field) || m.equation != Equation::navier_stokes) {
      throw ModelError(message("\"", name, "\" is no input of ", o.equation,
                               "; \"force\" and \"force_field\" are those of navier_stokes"));
    }
    const std::int64_t size = field ? m.dimensions() * m.nodes() : m.dimensions();
    blocks.push_back({field ? "force_field" : "force", static_cast<int>(size), "m/s²"});
    (field ? m.force_field_input : m.force_input) = m.input_size;
    m.input_size += static_cast<int>(size);
  }
  return blocks;
}

}  // namespace

System spectral(const SpectralOptions& o) {
  const auto& names = spectral_equation_names();
  const auto found = std::find(names.begin(), names.end(), o.equation);
  if (found == names.end()) {
    throw ModelError(
        message("no equation is called \"", o.equation, "\"", did_you_mean(o.equation, names)));
  }
  const auto model = std::make_shared<SpectralModel>();
  model->equation = static_cast<Equation>(found - names.begin());
  check_box(o, model->equation);
  model->shape = o.shape, model->size = o.size, model->dt = o.dt, model->order = o.order;
  model->probes = o.probes;
  if (model->nodes() > (std::int64_t{1} << 27)) {
    throw ModelError(
        message("at most ", std::int64_t{1} << 27, " nodes; the shape has ", model->nodes()));
  }
  const std::vector<BlockSpec> inputs = take_inputs(*model, o);
  fill(*model);
  take_values(*model, o);

  SystemParts parts;
  parts.name = o.equation, parts.precision = o.precision, parts.timestep = o.dt;
  parts.states = Space(model->blocks);
  if (!inputs.empty()) parts.inputs = Space(inputs);
  for (std::size_t i = 0; i < model->parameters.size(); ++i) {
    parts.vary.push_back(model->parameters[i].name);
    parts.parameters.add(model->parameters[i], model->defaults[i]);
  }
  parts.initial_state.assign(static_cast<std::size_t>(parts.states.size()), 0.0);
  if (model->equation == Equation::gray_scott) {
    std::fill_n(parts.initial_state.begin(), model->nodes(), 1.0);  // a = 1: nothing happens
  }
  const std::shared_ptr<const SpectralModel> kept = model;
  std::vector<std::shared_ptr<const SpectralModel>> levels = {kept};
  for (int k = 1; o.substeps && k < kSubstepLevels; ++k) {
    auto finer = std::make_shared<SpectralModel>(*kept);
    finer->dt = std::ldexp(o.dt, -k);
    levels.push_back(std::move(finer));
  }
  if (o.substeps) parts.counters = {"substeps"};
  if (model->velocities() > 0) {
    const std::string before = o.substeps ? even_in_substeps(o.dt) : std::string();
    parts.admit = [finest = levels.back(), before](const double* p, double, double* x) {
      const std::string why = finest->refuse_start(p, x);
      return why.empty() ? why : before + why;
    };
  }
  if (model->velocities() > 0 || !model->probes.empty()) {
    parts.observables = spectral_observables(kept);
  }
  const auto give = [&]<class T>(Steppers<T>& to) {
    std::vector<std::shared_ptr<const Stepper<T>>> steppers;
    for (const auto& level : levels) {
      steppers.push_back(level->linear() ? linear_spectral_stepper<T>(level)
                                         : spectral_stepper<T>(level));
    }
    to.one = o.substeps ? with_substeps(std::move(steppers), o.dt, 0) : steppers.front();
    to.packed = to.one;
  };
  give(parts.float64);
  if (o.precision == Precision::float32) give(parts.float32);
  return System(std::move(parts));
}

}  // namespace cycloid::inline fluid
