#include "cycloid/soft/solid.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/soft/solid_observables.h"
#include "cycloid/soft/solid_stepper.h"

namespace cycloid::inline soft {
namespace {

constexpr std::string_view kIntegrators[] = {"implicit_euler", "newmark", "bdf2"};

// The place of a word in a list. Throws ModelError with the nearest one.
template <class Words>
int index_of(const char* what, const std::string& word, const Words& words) {
  std::vector<std::string> known;
  for (const std::string_view w : words) {
    if (w == word) return static_cast<int>(known.size());
    known.emplace_back(w);
  }
  throw ModelError(
      message("no ", what, " of soft bodies is called \"", word, "\"", did_you_mean(word, known)));
}

// Adds parameters, arrays last, and notes where they are.
class Registry {
 public:
  explicit Registry(SystemParts& parts) : parts_(parts) {}

  SolidBody::Place number(const char* name, const char* unit, Constraint constraint,
                          std::vector<double> value, std::vector<int> shape = {}) {
    const SolidBody::Place place{lanes_, false};
    lanes_ += static_cast<int>(value.size());
    add(name, unit, constraint, std::move(value), std::move(shape), false);
    return place;
  }
  SolidBody::Place array(const char* name, const char* unit, Constraint constraint,
                         std::vector<double> value, std::vector<int> shape) {
    add(name, unit, constraint, std::move(value), std::move(shape), true);
    return {arrays_++, true};
  }
  int lanes() const { return lanes_; }

 private:
  void add(const char* name, const char* unit, Constraint constraint, std::vector<double> value,
           std::vector<int> shape, bool array) {
    Parameter p;
    p.name = name, p.unit = unit, p.constraint = constraint;
    p.shape = std::move(shape), p.array = array;
    parts_.parameters.add(std::move(p), value);
    parts_.vary.emplace_back(name);
  }
  SystemParts& parts_;
  int lanes_ = 0, arrays_ = 0;
};

// One number, or one per cell.
bool per_cell(const char* name, const std::vector<double>& value, int cells) {
  if (value.size() == 1) return false;
  if (value.size() == static_cast<std::size_t>(cells)) return true;
  throw ParameterError(message(name, " takes one number, or one for each of the ", cells,
                               " cells; got ", value.size()));
}

void add_parameters(SolidBody& body, const SolidOptions& o, SystemParts& parts) {
  const int cells = body.plan->cells(), n = body.plan->vertices();
  Registry all(parts);
  struct OfCells {
    const char *name, *unit;
    const std::vector<double>& value;
    Constraint constraint;
    SolidBody::Place& place;
  };
  const OfCells of_cells[] = {{"young", "Pa", o.young, Constraint::positive, body.young},
                              {"poisson", "", o.poisson, Constraint::none, body.poisson},
                              {"density", "kg/m³", o.density, Constraint::positive, body.density}};
  for (const OfCells& p : of_cells) {
    if (!per_cell(p.name, p.value, cells))
      p.place = all.number(p.name, p.unit, p.constraint, p.value);
  }
  body.damping = all.number("damping", "s", Constraint::non_negative, {o.damping});
  body.drag = all.number("drag", "1/s", Constraint::non_negative, {o.drag});
  if (body.material == Material::mooney_rivlin) {
    body.mooney = all.number("mooney", "", Constraint::unit_interval, {o.mooney});
  }
  body.gravity =
      all.number("gravity", "m/s²", Constraint::none, {o.gravity.begin(), o.gravity.end()}, {3});
  for (const OfCells& p : of_cells) {
    if (per_cell(p.name, p.value, cells)) {
      p.place = all.array(p.name, p.unit, p.constraint, p.value, {cells});
    }
  }
  if (!o.mass.empty() && o.mass.size() != static_cast<std::size_t>(n)) {
    throw ParameterError(
        message("mass takes one number for each of the ", n, " vertices; got ", o.mass.size()));
  }
  body.mass = all.array(
      "mass", "kg", Constraint::non_negative,
      o.mass.empty() ? std::vector<double>(static_cast<std::size_t>(n), 0.0) : o.mass, {n});
  body.vertices = all.array("vertices", "m", Constraint::none, body.plan->mesh.vertices, {n, 3});
  body.lane_numbers = all.lanes();
}

// Why these parameters make no body.
std::string refuse(const SolidBody& body, const Parameters& registry, const double* p) {
  const Parameter& poisson = registry.find("poisson");
  for (int c = 0; c < poisson.size; ++c) {
    const double nu = p[poisson.offset + c];
    if (nu > -1 && nu < 0.5) continue;
    return message("poisson", poisson.size > 1 ? message(" of cell ", c) : std::string(),
                   " must be above -1 and below 0.5; got ", nu,
                   nu == 0.5 ? ": matter that keeps its volume exactly; take 0.49" : "");
  }
  const double* const vertices = p + registry.find("vertices").offset;
  if (const int c = first_flat_cell(body.plan->mesh, vertices); c >= 0) {
    return message("with these vertices ", cell_name(body.plan->mesh, c),
                   " is turned inside out or has no volume");
  }
  return {};
}

void add_inputs(SolidBody& body, const std::vector<std::string>& names, SystemParts& parts) {
  std::vector<BlockSpec> blocks;
  for (const std::string& name : names) {
    constexpr std::string_view kKnown[] = {"force", "pinned"};
    int& place = index_of("input", name, kKnown) == 0 ? body.force_input : body.held_input;
    if (place >= 0) throw ModelError(message("input \"", name, "\" is named twice"));
    const bool force = name == "force";
    const int size =
        force ? body.plan->numbers() : static_cast<int>(body.plan->held_numbers.size());
    if (size == 0) throw ModelError("input \"pinned\" moves held vertices; none is pinned");
    place = body.inputs;
    body.inputs += size;
    blocks.push_back({force ? "force" : "pinned", size, force ? "N" : "m"});
  }
  parts.inputs = Space(blocks);
}

}  // namespace

System solid(const SolidMesh& mesh, const SolidOptions& o) {
  const auto body = std::make_shared<SolidBody>();
  body->material = static_cast<Material>(index_of("material", o.material, kMaterialNames));
  body->integrator =
      static_cast<SolidIntegrator>(index_of("integrator", o.integrator, kIntegrators));
  if (!std::isfinite(o.dt) || o.dt <= 0) {
    throw ParameterError(message("the time step dt must be positive [s]; got ", o.dt));
  }
  body->dt = o.dt;
  const std::size_t numbers = mesh.vertices.size();
  if (!o.held.empty() && o.held.size() != numbers) {
    throw ModelError(
        message("held has one mark for each of ", numbers, " numbers; got ", o.held.size()));
  }
  body->plan = std::make_shared<const SolidPlan>(
      mesh, o.held.empty() ? std::vector<char>(numbers, 0) : o.held);
  body->kernels = &solid_kernels(mesh.element);

  SystemParts parts;
  parts.name = "solid";
  parts.timestep = o.dt;
  const int n = static_cast<int>(numbers);
  parts.states = Space({{"positions", n, "m"}, {"velocities", n, "m/s"}});
  add_inputs(*body, o.inputs, parts);
  add_parameters(*body, o, parts);
  parts.initial_state = mesh.vertices;
  parts.initial_state.resize(2 * numbers, 0.0);
  parts.counters = {"iterations"};
  const std::shared_ptr<const SolidBody> made = body;
  const auto registry = std::make_shared<const Parameters>(parts.parameters);
  parts.refuse = [made, registry](const double* p) { return refuse(*made, *registry, p); };
  parts.float64.one = std::make_shared<SolidStepper>(made);
  parts.float64.packed = parts.float64.one;
  parts.observables = std::make_shared<SolidObservables>(made);
  return System(std::move(parts));
}

std::shared_ptr<const SolidBody> solid_body_of(const System& system) {
  const auto* const own = dynamic_cast<const SolidObservables*>(system.observables());
  if (!own) throw ModelError(message("\"", system.name(), "\" is no soft body"));
  return own->body();
}

}  // namespace cycloid::inline soft
