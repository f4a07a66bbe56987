#include "cycloid/fluid/grid/grid_flow.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/fluid/grid/grid_observables.h"
#include "cycloid/fluid/grid/grid_stepper.h"

namespace cycloid::inline fluid {
namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

GridBox make_box(const GridOptions& o) {
  std::vector<std::array<SideKind, 2>> sides;
  for (const auto& axis : o.sides) sides.push_back({axis[0].kind, axis[1].kind});
  const GridBox box(o.shape, o.size, sides);
  if (box.has(SideKind::inflow) && !box.has(SideKind::outflow)) {
    throw ModelError(
        "what flows in must flow out: a box with an \"inflow\" side needs an \"outflow\" side");
  }
  return box;
}

void check_number(const char* name, const char* unit, double value, bool may_be_zero) {
  if (std::isfinite(value) && (value > 0 || (may_be_zero && value == 0))) return;
  throw ParameterError(message(name, " must be ", may_be_zero ? "zero or positive" : "positive",
                               unit, "; got ", value));
}

// The registry, and the places of its numbers.
class Registry {
 public:
  Registry(Parameters& parameters, GridModel& model, std::vector<std::string> wanted)
      : parameters_(parameters), model_(model), wanted_(std::move(wanted)) {
    model_.parameters = 0;
  }

  int add(const std::string& name, const char* unit, Constraint constraint, std::vector<int> shape,
          const std::vector<double>& value) {
    Parameter p;
    p.name = name, p.unit = unit, p.constraint = constraint, p.shape = std::move(shape);
    p.size = static_cast<int>(value.size());
    parameters_.add(std::move(p), value);
    const int place = model_.parameters;
    model_.parameters += static_cast<int>(value.size());
    return place;
  }
  // An input that the user may have asked for: its place, or -1.
  int input(const std::string& name, const char* unit, int size) {
    known_.push_back(name);
    const auto found = std::find(wanted_.begin(), wanted_.end(), name);
    if (found == wanted_.end()) return -1;
    sizes_.push_back({found - wanted_.begin(), name, unit, size});
    return 0;
  }
  // Inputs stand in the row in the order in which they were asked for.
  Space place_inputs() {
    std::sort(sizes_.begin(), sizes_.end(),
              [](const auto& x, const auto& y) { return x.order < y.order; });
    std::vector<BlockSpec> specs;
    for (const Wanted& w : sizes_) {
      offsets_[w.name] = model_.inputs;
      model_.inputs += w.size;
      specs.push_back({w.name.c_str(), w.size, w.unit});
    }
    for (const std::string& name : wanted_) {
      if (!offsets_.contains(name)) {
        throw ModelError(
            message("no input of this flow is called \"", name, "\"", did_you_mean(name, known_)));
      }
    }
    return specs.empty() ? Space() : Space(specs);
  }
  int offset(const std::string& name) const {
    const auto found = offsets_.find(name);
    return found == offsets_.end() ? -1 : found->second;
  }

 private:
  struct Wanted {
    std::ptrdiff_t order;
    std::string name;
    const char* unit;
    int size;
  };
  Parameters& parameters_;
  GridModel& model_;
  std::vector<std::string> wanted_, known_;
  std::vector<Wanted> sizes_;
  std::map<std::string, int> offsets_;
};

std::string side_key(const GridBox& box, int axis, int high) {
  const char* const kind = box.side[at(axis)][at(high)] == SideKind::inflow ? "inflow:" : "wall:";
  return message(kind, side_name(axis - box.first, high));
}

void add_sides(const GridOptions& o, const GridBox& box, GridModel& model, Registry& registry) {
  const int d = box.dimensions;
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const GridSide& side = o.sides[at(b - box.first)][at(s)];
      const bool wall = side.kind == SideKind::wall;
      if (!wall && side.kind != SideKind::inflow) continue;
      const int rows = wall ? 1 : box.side_faces(b);
      std::vector<double> velocity = side.velocity;
      if (wall && velocity.empty()) velocity.assign(at(d), 0.0);
      const std::string key = side_key(box, b, s);
      if (velocity.size() != at(rows * d)) {
        throw ModelError(
            message(key, ".velocity needs ", rows * d, " numbers; got ", velocity.size()));
      }
      if (wall && velocity[at(b - box.first)] != 0) {
        throw ModelError(message(
            "\"", side_name(b - box.first, s), "\": a wall moves along itself; its velocity has ",
            velocity[at(b - box.first)], " m/s across it: take (\"inflow\", velocity)"));
      }
      model.side[at(b)][at(s)].parameter =
          registry.add(key + ".velocity", "m/s", Constraint::none,
                       wall ? std::vector<int>{d} : std::vector<int>{rows, d}, velocity);
      registry.input(key, "m/s", rows * d);
    }
  }
}

void add_obstacles(const GridBox& box, GridModel& model, Registry& registry) {
  const int d = box.dimensions;
  for (std::size_t i = 0; i < model.obstacles.size(); ++i) {
    const FluidObstacle& o = model.obstacles[i];
    const std::string key = message("obstacle:#", i);
    GridModel::ObstaclePlace place;
    const auto part = [&](int from, int count) {
      return std::vector<double>(o.numbers.begin() + from, o.numbers.begin() + from + count);
    };
    if (o.kind == ObstacleKind::array) {
      std::vector<int> shape;
      int count = 1;
      for (int a = box.first; a < 3; ++a) shape.push_back(box.n[at(a)] + 1), count *= shape.back();
      if (o.numbers.size() != at(count)) {
        throw ModelError(message(key,
                                 ": the array of signed distances has one number for each "
                                 "corner of cells, ",
                                 count, " in all; got ", o.numbers.size()));
      }
      place.numbers = registry.add(key + ".sdf", "m", Constraint::none, shape, o.numbers);
    } else {
      const int sizes = o.kind == ObstacleKind::circle ? 1 : d;
      if (o.numbers.size() != at(d + sizes)) {
        throw ModelError(message(key, " needs ", d, " numbers of its center; got ",
                                 o.numbers.size() - at(sizes)));
      }
      place.numbers = registry.add(key + ".center", "m", Constraint::none, {d}, part(0, d));
      if (sizes == 1) registry.add(key + ".radius", "m", Constraint::positive, {}, part(d, 1));
      else registry.add(key + ".size", "m", Constraint::positive, {d}, part(d, d));
      place.spin.parameter = registry.add(key + ".angular_velocity", "rad/s", Constraint::none,
                                          d == 2 ? std::vector<int>{} : std::vector<int>{3},
                                          std::vector<double>(at(model.spins()), 0.0));
      registry.input(key + ".angular_velocity", "rad/s", model.spins());
    }
    place.velocity.parameter = registry.add(key + ".velocity", "m/s", Constraint::none, {d},
                                            std::vector<double>(at(d), 0.0));
    registry.input(key + ".velocity", "m/s", d);
    model.obstacle.push_back(place);
  }
}

// Throws on obstacles that no face of the grid feels.
void check_obstacles(const GridBox& box, const std::vector<FluidObstacle>& obstacles) {
  for (std::size_t o = 0; o < obstacles.size(); ++o) {
    const FluidObstacle& one = obstacles[o];
    bool inside = false;
    for (int i = 0; i < box.n[0] && !inside; ++i) {
      for (int j = 0; j < box.n[1] && !inside; ++j) {
        for (int k = 0; k < box.n[2] && !inside; ++k) {
          const double x[3] = {(i + 0.5) * box.h[0], (j + 0.5) * box.h[1], (k + 0.5) * box.h[2]};
          inside = signed_distance(box, one.kind, one.numbers.data(), x) < 0;
        }
      }
    }
    if (!inside) {
      throw ModelError(message("obstacle:#", o,
                               " covers no cell of the grid: it lies outside the "
                               "box, or is smaller than a cell"));
    }
  }
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

}  // namespace

System grid_flow(const GridOptions& o) {
  check_number("the time step dt", " [s]", o.dt, false);
  check_number("viscosity", " [m²/s]", o.viscosity, true);
  check_number("density", " [kg/m³]", o.density, false);
  auto model = std::make_shared<GridModel>();
  model->box = make_box(o);
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
  Registry registry(parts.parameters, *model, o.inputs);
  registry.add("viscosity", "m²/s", Constraint::non_negative, {}, {o.viscosity});
  registry.add("density", "kg/m³", Constraint::positive, {}, {o.density});
  registry.input("force", "m/s²", box.dimensions);
  add_sides(o, box, *model, registry);
  add_obstacles(box, *model, registry);
  check_obstacles(box, o.obstacles);
  parts.inputs = registry.place_inputs();
  model->force_input = registry.offset("force");
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      model->side[at(b)][at(s)].input = registry.offset(side_key(box, b, s));
    }
  }
  for (std::size_t i = 0; i < model->obstacle.size(); ++i) {
    model->obstacle[i].velocity.input = registry.offset(message("obstacle:#", i, ".velocity"));
    model->obstacle[i].spin.input = registry.offset(message("obstacle:#", i, ".angular_velocity"));
  }

  if (!o.obstacles.empty() || !solved_by_series(box)) {
    model->pattern = std::make_shared<const PressurePattern>(box);
  }
  if (o.obstacles.empty()) {
    auto solver = std::make_shared<PressureSolver>(box, model->pattern);
    solver->set(nullptr, 1);
    model->open_box = std::move(solver);
  }
  for (const auto& p : parts.parameters.all()) parts.vary.push_back(p.name);
  parts.states = Space(std::vector<BlockSpec>{{"velocity", box.states(), "m/s"}});
  parts.initial_state.assign(at(box.states()), 0.0);
  const std::shared_ptr<const GridModel> done = model;
  parts.admit = [done](const double* p, double, double* x) {
    return beyond_stability(*done, p[GridModel::kViscosity], courant_of(*done, p, x));
  };
  parts.float64.one = parts.float64.packed = std::make_shared<GridStepper<double>>(done);
  if (o.precision == Precision::float32) {
    parts.float32.one = parts.float32.packed = std::make_shared<GridStepper<float>>(done);
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
  if (x.size() != at(model->box.states())) {
    throw Error(message("a state has ", model->box.states(), " numbers; got ", x.size()));
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
