#include "cycloid/fluid/grid/grid_flow.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "cycloid/fluid/grid/grid_stepper.h"
#include "cycloid/fluid/grid/observe/grid_observables.h"
#include "cycloid/fluid/substeps.h"

namespace cycloid::inline fluid {
namespace {

// prefix: of its parameters' names.
void add_scalar(const CarriedScalar& scalar, const std::string& name, const std::string& prefix,
                const char* unit, GridModel& model, FlowRegistry& registry) {
  const GridBox& box = model.box;
  check_number((prefix + "diffusivity").c_str(), " [m²/s]", scalar.diffusivity, true);
  ScalarPlaces places;
  places.name = name;
  places.diffusivity = registry.add(prefix + "diffusivity", "m²/s", Constraint::non_negative, {},
                                    {scalar.diffusivity});
  places.expansion = registry.add(prefix + "expansion", *unit ? "1/K" : "", Constraint::none, {},
                                  {scalar.expansion});
  CYCLOID_CHECK(scalar.sides.size() == at(box.dimensions));
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const auto& value = scalar.sides[at(b - box.first)][at(s)];
      if (!value) continue;
      const char* const side = side_name(b - box.first, s);
      if (box.periodic(b)) {
        throw ModelError(message("\"", side, "\" is periodic: it has no ", name, " of its own"));
      }
      places.side[at(b)][at(s)] =
          registry.add(message(name, ":", side), unit, Constraint::none, {}, {*value});
    }
  }
  places.obstacle.assign(model.obstacles.size(), -1);
  for (std::size_t o = 0; o < scalar.obstacles.size(); ++o) {
    if (!scalar.obstacles[o]) continue;
    if (o >= model.obstacles.size()) {
      throw ModelError(message("there is no obstacle:#", o, " that could have a ", name));
    }
    places.obstacle[o] = registry.add(message(name, ":obstacle:#", o), unit, Constraint::none, {},
                                      {*scalar.obstacles[o]});
  }
  model.scalars.push_back(std::move(places));
}

void add_scalars(const GridOptions& o, GridModel& model, FlowRegistry& registry) {
  if (!o.temperature && !o.concentration) return;
  const int d = model.box.dimensions;
  if (o.advection != Advection::central) {
    throw ModelError(
        "temperature and concentration are carried by central differences: take "
        "advection=\"central\"");
  }
  std::vector<double> gravity = o.gravity;
  if (gravity.empty()) gravity.assign(at(d), 0.0);
  if (gravity.size() != at(d)) {
    throw ModelError(message("gravity has ", d, " numbers [m/s²]; got ", gravity.size()));
  }
  if (o.temperature) add_scalar(*o.temperature, "temperature", "", "K", model, registry);
  if (o.concentration) {
    add_scalar(*o.concentration, "concentration", "concentration.", "", model, registry);
  }
  model.gravity = registry.add("gravity", "m/s²", Constraint::none, {d}, gravity);
}

// Also gives obstacles that move or turn their places in it.
Space state_of(GridModel& model) {
  const GridBox& box = model.box;
  const int d = box.dimensions;
  std::deque<std::string> names;
  std::vector<BlockSpec> blocks = {{"velocity", box.states(), "m/s"}};
  for (const ScalarPlaces& one : model.scalars) {
    blocks.push_back({one.name.c_str(), box.cells, one.name == "temperature" ? "K" : ""});
  }
  for (std::size_t o = 0; o < model.obstacles.size(); ++o) {
    const auto add = [&](const char* what, int size, const char* unit) {
      const int place = model.states();
      model.motions += size;
      names.push_back(message("obstacle:#", o, what));
      blocks.push_back({names.back().c_str(), size, unit});
      return place;
    };
    if (model.obstacles[o].moves) model.obstacle[o].motion = add(".displacement", d, "m");
    if (model.obstacles[o].turns) model.obstacle[o].angle = add(".angle", 1, "rad");
  }
  return Space(blocks);
}

// Δt Σ |u| / h of a row of states, and of what flows in.
double courant_of(const GridModel& model, const double* p, const double* x) {
  const GridBox& box = model.box;
  double most = 0;
  for (int i = 0; i < box.n[0]; ++i) {
    for (int j = 0; j < box.n[1]; ++j) {
      for (int k = 0; k < box.n[2]; ++k) {
        double sum = 0;
        for (int a = box.first; a < 3; ++a) {
          const int place[3] = {i, j, k};
          double fastest = 0;
          for (int up = 0; up < 2; ++up) {
            int f[3] = {place[0], place[1], place[2]};
            f[a] += up;
            if (f[a] >= box.count(a, a)) f[a] = 0;
            const double u =
                x[box.offset[at(a)] + (f[0] * box.count(a, 1) + f[1]) * box.count(a, 2) + f[2]];
            fastest = std::max(fastest, std::abs(u));
          }
          sum += fastest / box.h[at(a)];
        }
        most = std::max(most, sum);
      }
    }
  }
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      if (box.side[at(b)][at(s)] != SideKind::inflow) continue;
      const double* const velocity = p + model.side[at(b)][at(s)].parameter;
      for (int face = 0; face < box.side_faces(b); ++face) {
        most = std::max(most,
                        std::abs(velocity[face * box.dimensions + b - box.first]) / box.h[at(b)]);
      }
    }
  }
  return model.dt * most;
}

// The flow with steps of dt / 2^k.
std::shared_ptr<const GridModel> divided(const std::shared_ptr<const GridModel>& model, int k) {
  auto finer = std::make_shared<GridModel>(*model);
  finer->dt = std::ldexp(model->dt, -k);
  return finer;
}

template <class T>
std::shared_ptr<const Stepper<T>> stepper_of(const std::shared_ptr<const GridModel>& model,
                                             const GridOptions& o, std::size_t counters) {
  if (!o.substeps) return std::make_shared<GridStepper<T>>(model);
  std::vector<std::shared_ptr<const Stepper<T>>> levels;
  for (int k = 0; k < kSubstepLevels; ++k) {
    levels.push_back(std::make_shared<GridStepper<T>>(divided(model, k)));
  }
  return with_substeps(std::move(levels), o.dt, counters - 1);
}

}  // namespace

System grid_flow(const GridOptions& o) {
  check_number("the time step dt", " [s]", o.dt, false);
  check_number("viscosity", " [m²/s]", o.viscosity, true);
  check_number("density", " [kg/m³]", o.density, false);
  auto model = std::make_shared<GridModel>();
  model->box = make_box(o.shape, o.size, o.sides);
  const GridBox& box = model->box;
  model->dt = o.dt, model->obstacles = o.obstacles;
  model->probes = o.probes, model->lines = o.lines;
  for (const auto* points : {&o.probes, &o.lines}) {
    for (const double x : *points) {
      if (!std::isfinite(x)) throw ModelError("probes and lines must be finite [m]");
    }
  }
  if (!o.lines.empty() && box.dimensions == 3) {
    throw ModelError("a flux goes through lines in the plane; in space there are none");
  }

  SystemParts parts;
  parts.name = "grid";
  parts.precision = o.precision;
  parts.timestep = o.dt;
  FlowRegistry registry(parts.parameters, *model, o.inputs);
  registry.add("viscosity", "m²/s", Constraint::non_negative, {}, {o.viscosity});
  registry.add("density", "kg/m³", Constraint::positive, {}, {o.density});
  registry.input("force", "m/s²", box.dimensions);
  registry.add_sides(o.sides);
  registry.add_obstacles();
  model->advection = o.advection, model->implicit = o.implicit_viscosity;
  add_scalars(o, *model, registry);
  check_obstacles(box, o.obstacles);
  parts.inputs = registry.place_inputs();
  const bool by_multigrid = o.pressure == PressureMethod::automatic
                                ? solved_by_multigrid(box)
                                : o.pressure == PressureMethod::multigrid;
  if (!o.obstacles.empty() || !solved_by_series(box) || o.pressure != PressureMethod::automatic) {
    model->pattern = std::make_shared<const PressurePattern>(box, !by_multigrid);
    model->counts_pressure = by_multigrid;
    if (by_multigrid) parts.counters = {"pressure_iterations"};
  }
  if (o.implicit_viscosity) parts.counters.push_back("viscous_iterations");
  if (o.substeps) parts.counters.push_back("substeps");
  if (o.obstacles.empty()) {
    auto solver = std::make_shared<PressureSolver>(box, model->pattern);
    solver->set(nullptr, 1);
    model->open_box = std::move(solver);
  }
  for (const auto& p : parts.parameters.all()) parts.vary.push_back(p.name);
  parts.states = state_of(*model);
  parts.initial_state.assign(at(model->states()), 0.0);
  const std::shared_ptr<const GridModel> done = model;
  parts.refuse = [done](const double* p) { return obstacle_outside(*done, p); };
  const auto finest = o.substeps ? divided(done, kSubstepLevels - 1) : done;
  const std::string before = o.substeps ? even_in_substeps(o.dt) : std::string();
  parts.admit = [finest, before](const double* p, double, double* x) {
    double spreading = finest->implicit ? 0 : p[GridModel::kViscosity];
    for (const ScalarPlaces& one : finest->scalars) {
      spreading = std::max(spreading, p[one.diffusivity]);
    }
    const std::string why = beyond_stability(*finest, spreading, courant_of(*finest, p, x));
    return why.empty() ? why : before + why;
  };
  const std::size_t counters = parts.counters.size();
  parts.float64.one = parts.float64.packed = stepper_of<double>(done, o, counters);
  if (o.precision == Precision::float32) {
    parts.float32.one = parts.float32.packed = stepper_of<float>(done, o, counters);
  }
  parts.observables = std::make_shared<GridObservables>(done);
  return System(std::move(parts));
}

std::vector<double> grid_probe(const System& flow, std::span<const double> x,
                               std::span<const double> params, std::span<const double> points,
                               bool pressure) {
  const auto* const shown = dynamic_cast<const GridObservables*>(flow.observables());
  if (!shown) throw Error(message("\"", flow.name(), "\" is no flow on a grid"));
  auto model = std::make_shared<GridModel>(shown->model());
  flow.check_parameters(params);
  if (x.size() != at(model->states())) {
    throw Error(message("a state has ", model->states(), " numbers; got ", x.size()));
  }
  model->probes.assign(points.begin(), points.end());
  const std::vector<double> inputs(at(model->inputs), 0.0);
  const std::string name = pressure ? "probe_pressure" : "probe";
  if (points.empty()) return {};
  const auto observer = GridObservables(model).differentiable({name});
  const auto workspace = observer->make_workspace({});
  StepParameters<double> p;
  p.lanes = params.data();
  observer->begin(p, *workspace);
  std::vector<double> values(at(observer->size()));
  observer->observe({x.data(), inputs.data(), 0}, values.data(), *workspace);
  return values;
}

}  // namespace cycloid::inline fluid
