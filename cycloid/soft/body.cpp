#include "cycloid/soft/body.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/soft/solid_observables.h"
#include "cycloid/soft/solid_stepper.h"
#include "cycloid/soft/term/contact.h"

namespace cycloid::inline soft {
namespace {

// Adds parameters, arrays last, and knows where they are.
class BodyRegistry {
 public:
  explicit BodyRegistry(SystemParts& parts) : parts_(parts) {}

  SolidBody::Place number(const std::string& name, const char* unit, Constraint constraint,
                          std::vector<double> value, std::vector<int> shape = {}) {
    const SolidBody::Place place{lanes_, false};
    places_[name] = lanes_;
    lanes_ += static_cast<int>(value.size());
    add(name, unit, constraint, std::move(value), std::move(shape), false);
    return place;
  }
  SolidBody::Place array(const std::string& name, const char* unit, Constraint constraint,
                         std::vector<double> value, std::vector<int> shape) {
    add(name, unit, constraint, std::move(value), std::move(shape), true);
    return {arrays_++, true};
  }
  int lanes() const { return lanes_; }
  int place_of(const std::string& name) const { return places_.at(name); }

 private:
  void add(const std::string& name, const char* unit, Constraint constraint,
           std::vector<double> value, std::vector<int> shape, bool array) {
    Parameter p;
    p.name = name, p.unit = unit, p.constraint = constraint;
    p.shape = std::move(shape), p.array = array;
    parts_.parameters.add(std::move(p), value);
    parts_.vary.emplace_back(name);
  }
  SystemParts& parts_;
  int lanes_ = 0, arrays_ = 0;
  std::map<std::string, int> places_;
};

// All obstacles with their names.
std::vector<std::pair<std::string, SoftObstacle>> named_obstacles(const BodyOptions& o) {
  std::vector<std::pair<std::string, SoftObstacle>> all;
  if (!o.floor.empty()) all.emplace_back("floor", o.floor[0]);
  for (std::size_t k = 0; k < o.obstacles.size(); ++k) {
    all.emplace_back(message("obstacle:#", k), o.obstacles[k]);
  }
  return all;
}

int sizes_of(ObstacleShape shape) {
  return shape == ObstacleShape::plane     ? 0
         : shape == ObstacleShape::sphere  ? 1
         : shape == ObstacleShape::capsule ? 2
                                           : 3;
}

bool is_barrier(const BodyOptions& o) {
  return index_of_word("contact law", o.contact, {"barrier", "compliant"}) == 0;
}

std::vector<NamedTerm> contact_terms(const BodyOptions& o, const std::vector<int>& touching) {
  const bool barrier = is_barrier(o);
  std::vector<NamedTerm> all;
  for (const auto& [name, obstacle] : named_obstacles(o)) {
    NamedTerm named;
    named.term.law = StencilLaw::contact;
    named.term.form = ObstacleContact::form_of(obstacle.shape, barrier);
    named.term.nodes = touching;
    named.term.name = name;
    const auto three = [&](const std::string& parameter, const std::string& input, int first) {
      for (int i = 0; i < 3; ++i) named.numbers.push_back({parameter, i, input, first + i});
    };
    three(name + ".position", name, 0);
    three(name + ".rotation", "", 0);
    three("", name, 3);
    three("", name + ".velocity", 0);
    three("", name + ".velocity", 3);
    for (int i = 0; i < 3; ++i) {
      named.numbers.push_back({i < sizes_of(obstacle.shape) ? name + ".size" : "", i});
    }
    const char* const width = barrier ? "contact.width" : "";
    for (const char* own : {"contact.stiffness", width, "friction", "contact.stiction"}) {
      named.numbers.push_back({own});
    }
    all.push_back(std::move(named));
  }
  return all;
}

// Without pairs: those are found in each step (touching_pairs.h).
std::vector<NamedTerm> self_contact_terms(const BodyOptions& o, bool round) {
  std::vector<NamedTerm> all;
  if (!o.self_contact) return all;
  for (const StencilLaw law :
       {round ? StencilLaw::point_edge : StencilLaw::point_triangle, StencilLaw::edge_edge}) {
    NamedTerm named;
    named.term.law = law;
    named.term.name = "self contact";
    for (const char* own : {"contact.stiffness", "contact.width", "friction", "contact.stiction"}) {
      named.numbers.push_back({own});
    }
    named.numbers.push_back({round ? "radius" : ""});
    all.push_back(std::move(named));
  }
  return all;
}

// Where barriers of a rod that touches itself begin, if nothing else is said: a fifth of its
// radius. Half a turn around a gap of that and of the thickness is how far apart along the rod
// segments are that can touch by bending alone.
double width_of_rod(double radius, const BodyOptions& o) {
  return o.contact_width > 0 ? o.contact_width : 0.2 * radius;
}
double reach_of_rod(double radius, const BodyOptions& o) {
  return 0.5 * 3.14159265358979323846 * (2 * radius + width_of_rod(radius, o));
}

// Throws ModelError where no point of a rod is this far from a segment along it: such a rod would
// pass through itself. Three segments cannot touch each other.
void check_reach(const std::vector<double>& points, double reach) {
  const std::size_t n = points.size() / 3;
  if (n < 5) return;
  std::vector<double> length;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const double* const p = points.data() + 3 * k;
    length.push_back(std::hypot(p[3] - p[0], p[4] - p[1], p[5] - p[2]));
  }
  const double whole = std::accumulate(length.begin(), length.end(), 0.0),
               most = whole - std::min(length.front(), length.back());
  if (most >= reach) return;
  throw ModelError(message("self_contact acts between parts of a rod that are ", reach,
                           " m apart along it, half a turn around its thickness and "
                           "contact_width; of this rod none are: the most is ",
                           most, " m; take a smaller contact_width or radius"));
}

// Half the least distance of a pair at rest, or 1e-3 of the body's length where that is less.
// Throws ModelError where the body is too near itself to be told apart.
double width_of_self_contact(const SolidPlan& plan, const BodyOptions& o, double radius) {
  const double* const rest = plan.mesh.vertices.data();
  if (const auto c = plan.surface->first_crossing(rest); c.edge >= 0) {
    throw ModelError(message("the mesh goes through itself: ", plan.surface->name_of(c),
                             " cross, and self_contact keeps apart only what is apart"));
  }
  const double wanted = o.contact_width > 0 ? o.contact_width
                        : radius > 0        ? 2 * width_of_rod(radius, o)
                                            : 2e-3 * plan.length;
  const auto nearest = plan.surface->nearest(rest, wanted + 2 * radius);
  if (!nearest.found) return o.contact_width > 0 ? wanted : 0.5 * wanted;
  const double between = nearest.distance - 2 * radius;
  if (o.contact_width > 0 || !(between > 1e-9 * plan.length)) {
    throw ModelError(message(
        nearest.name(), " are ", between, " m apart in the rest shape",
        radius > 0 ? " between their surfaces" : "", ": self_contact wants them apart",
        o.contact_width > 0 ? message(" by more than contact_width, ", o.contact_width, " m")
                            : std::string("; merge vertices that are one")));
  }
  return 0.5 * between;
}

// Triangles of a face, and the weight of each.
void add_triangles(const int* face, int each, NamedTerm& to) {
  static const std::vector<std::array<int, 3>> kThree = {{0, 1, 2}},
                                               kFour = {{0, 1, 2}, {0, 2, 3}, {0, 1, 3}, {1, 2, 3}},
                                               kSix = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}, {3, 4, 5}};
  for (const auto& triangle : each == 3 ? kThree : each == 4 ? kFour : kSix) {
    for (const int a : triangle) to.term.nodes.push_back(face[a]);
    to.term.constants.push_back(each == 4 ? 0.5 : 1.0);
  }
}

std::vector<NamedTerm> load_terms(const BodyOptions& o, int vertices) {
  std::vector<NamedTerm> all;
  for (std::size_t k = 0; k < o.loads.size(); ++k) {
    const SoftLoad& load = o.loads[k];
    const std::string name = message("load:#", k);
    for (const int v : load.nodes) {
      if (v >= 0 && v < vertices) continue;
      throw ModelError(
          message(name, " names vertex ", v, "; there are vertices 0 to ", vertices - 1));
    }
    NamedTerm named;
    named.term.name = name;
    if (load.kind == SoftLoad::Kind::spring) {
      named.term.law = StencilLaw::spring;
      named.term.nodes = load.nodes;
      named.term.constants = load.points;
    } else {
      named.term.law =
          load.kind == SoftLoad::Kind::traction ? StencilLaw::traction : StencilLaw::pressure;
      named.term.stores = false;
      for (std::size_t f = 0; f + at(load.each) <= load.nodes.size(); f += at(load.each)) {
        add_triangles(load.nodes.data() + f, load.each, named);
      }
    }
    for (std::size_t i = 0; i < load.value.size(); ++i) {
      named.numbers.push_back({name + ".value", static_cast<int>(i)});
    }
    if (!named.term.nodes.empty()) all.push_back(std::move(named));
  }
  return all;
}

// One number, or one per cell.
bool per_cell(const BodyParameter& p, int cells) {
  if (!p.of_cells || p.value.size() == 1) return false;
  if (p.value.size() == at(cells)) return true;
  throw ParameterError(message(p.name, " takes one number, or one for each of the ", cells,
                               " cells; got ", p.value.size()));
}

void add_contact_parameters(const SolidBody& body, const BodyOptions& o, double weight,
                            double radius, BodyRegistry& all) {
  const auto obstacles = named_obstacles(o);
  if (obstacles.empty() && !o.self_contact) return;
  const double width = o.self_contact        ? width_of_self_contact(*body.plan, o, radius)
                       : o.contact_width > 0 ? o.contact_width
                                             : 1e-3 * body.plan->length;
  const double stiffness =
      o.contact_stiffness > 0 ? o.contact_stiffness : 10 * weight / body.plan->points() / width;
  all.number("friction", "", Constraint::non_negative, {o.friction});
  all.number("contact.stiffness", "N/m", Constraint::positive, {stiffness});
  if (is_barrier(o) || o.self_contact) {
    all.number("contact.width", "m", Constraint::positive, {width});
  }
  all.number("contact.stiction", "m/s", Constraint::positive, {o.stiction});
  for (const auto& [name, obstacle] : obstacles) {
    const auto three = [&](const char* what, const char* unit, const std::array<double, 3>& v) {
      all.number(name + what, unit, Constraint::none, {v.begin(), v.end()}, {3});
    };
    three(".position", "m", obstacle.position);
    three(".rotation", "rad", obstacle.rotation);
    const int sizes = sizes_of(obstacle.shape);
    if (sizes == 0) continue;
    all.number(name + ".size", "m", Constraint::positive,
               {obstacle.size.begin(), obstacle.size.begin() + sizes},
               sizes == 1 ? std::vector<int>{} : std::vector<int>{sizes});
  }
}

// What the body weighs [N], for the stiffness of contacts where none is given.
double weight_of(const SolidBody& body, const BodyParts& parts, const BodyOptions& o) {
  double mass = 0, g = 0;
  for (const double m : o.mass) mass += m;
  for (const double a : o.gravity) g = std::hypot(g, a);
  const auto value = [&](const char* name, std::size_t k) {
    for (const BodyParameter& p : parts.parameters) {
      if (p.name == name) return p.value[p.value.size() > 1 ? k : 0];
    }
    return 0.0;
  };
  std::vector<double> volume(at(body.plan->cells()), 0.0);
  SolidView v;
  const std::vector<double> none(volume.size(), 0.0);
  v.cells = body.plan->mesh.cells.data();
  v.rest = v.now = body.plan->mesh.vertices.data();
  v.mu = v.lam = none.data();
  body.kernels->volume(v, 0, body.plan->cells(), volume.data());
  for (std::size_t c = 0; c < volume.size(); ++c) mass += volume[c] * value("density", c);
  for (const NamedTerm& named : parts.laws) {
    const StencilKernels& k = stencil_kernels(named.term.law);
    if (!k.has_mass) continue;
    TermNumbers numbers;
    for (const auto& n : named.numbers) {
      numbers.push_back(value(n.parameter.c_str(), at(n.component)));
    }
    StencilView s;
    s.nodes = named.term.nodes.data(), s.constants = named.term.constants.data();
    s.rest = s.now = body.plan->mesh.vertices.data(), s.numbers = numbers.data();
    std::vector<double> each(at(body.plan->vertices()), 0.0);
    k.mass(s, 0, static_cast<int>(named.term.nodes.size()) / k.nodes, each.data());
    for (int i = 0; i < body.plan->points(); ++i) mass += each[at(i)];
  }
  return mass * (g > 0 ? g : 9.81);
}

void add_parameters(SolidBody& body, const BodyParts& own, const BodyOptions& o,
                    BodyRegistry& all) {
  const int cells = body.plan->cells(), n = body.plan->points();
  for (const BodyParameter& p : own.parameters) {
    if (per_cell(p, cells)) continue;
    const std::size_t size = p.value.size();
    const auto place =
        all.number(p.name, p.unit.c_str(), p.constraint, p.value,
                   size > 1 ? std::vector<int>{static_cast<int>(size)} : std::vector<int>{});
    if (p.place) body.*p.place = place;
  }
  body.damping = all.number("damping", "s", Constraint::non_negative, {o.damping});
  body.drag = all.number("drag", "1/s", Constraint::non_negative, {o.drag});
  body.gravity =
      all.number("gravity", "m/s²", Constraint::none, {o.gravity.begin(), o.gravity.end()}, {3});
  add_contact_parameters(body, o, weight_of(body, own, o), own.round, all);
  for (std::size_t k = 0; k < o.loads.size(); ++k) {
    const SoftLoad& load = o.loads[k];
    const bool spring = load.kind == SoftLoad::Kind::spring;
    all.number(message("load:#", k, ".value"), spring ? "N/m" : "Pa",
               spring ? Constraint::non_negative : Constraint::none, load.value,
               load.value.size() > 1 ? std::vector<int>{3} : std::vector<int>{});
  }
  for (const BodyParameter& p : own.parameters) {
    if (!per_cell(p, cells)) continue;
    body.*p.place = all.array(p.name, p.unit.c_str(), p.constraint, p.value, {cells});
  }
  if (!o.mass.empty() && o.mass.size() != at(n)) {
    throw ParameterError(
        message("mass takes one number for each of the ", n, " vertices; got ", o.mass.size()));
  }
  body.mass = all.array("mass", "kg", Constraint::non_negative,
                        o.mass.empty() ? std::vector<double>(at(n), 0.0) : o.mass, {n});
  body.vertices = all.array("vertices", "m", Constraint::none, body.plan->mesh.vertices, {n, 3});
  body.lane_numbers = all.lanes();
}

// Segments of a rod whose ends are held.
int clamps_of(const SolidPlan& plan) {
  int count = 0;
  for (int j = 0; j < plan.turns; ++j) count += plan.held[at(3 * (plan.points() + j))];
  return count;
}

// Where each input begins.
std::map<std::string, int> add_inputs(SolidBody& body, const BodyOptions& o,
                                      const std::vector<std::string>& own, SystemParts& parts) {
  std::vector<std::string> known = {"force", "pinned"};
  if (body.plan->turns > 0) known.push_back("twist");
  known.insert(known.end(), own.begin(), own.end());
  for (const auto& [name, obstacle] : named_obstacles(o)) {
    known.push_back(name);
    known.push_back(name + ".velocity");
  }
  std::vector<BlockSpec> blocks;
  std::map<std::string, int> places;
  for (const std::string& name : o.inputs) {
    index_of_word("input", name, known);
    if (places.count(name)) throw ModelError(message("input \"", name, "\" is named twice"));
    const int size = name == "force"    ? 3 * body.plan->points()
                     : name == "pinned" ? body.plan->held_points()
                     : name == "twist"  ? clamps_of(*body.plan)
                     : std::find(own.begin(), own.end(), name) != own.end() ? 1
                                                                            : 6;
    if (size == 0 && name == "twist") {
      throw ModelError(
          "input \"twist\" turns segments that are held; pin two neighbouring points to hold one");
    }
    if (size == 0) throw ModelError("input \"pinned\" moves held vertices; none is pinned");
    places[name] = body.inputs;
    blocks.push_back({name.c_str(), size,
                      name == "force"    ? "N"
                      : name == "pinned" ? "m"
                      : name == "twist"  ? "rad"
                                         : ""});
    if (name == "force") body.force_input = body.inputs;
    if (name == "pinned") body.held_input = body.inputs;
    if (name == "twist") body.turned_input = body.inputs;
    body.inputs += size;
  }
  parts.inputs = Space(blocks);
  return places;
}

void find_numbers(const std::vector<NamedTerm>& named, const BodyRegistry& registry,
                  const std::map<std::string, int>& inputs, Terms& terms) {
  for (std::size_t k = 0; k < named.size(); ++k) {
    for (const NamedTerm::Number& n : named[k].numbers) {
      StencilTerm::Source s;
      if (!n.parameter.empty()) s.parameter = registry.place_of(n.parameter) + n.component;
      if (const auto found = inputs.find(n.input); found != inputs.end()) {
        s.input = found->second + n.input_component;
      }
      terms[k].sources.push_back(s);
    }
  }
}

const std::vector<std::string> kIntegrators = {"implicit_euler", "newmark", "bdf2"};

// What steps and observes the body, and how it is stepped otherwise. Plastic matter has one way.
void take_steppers(std::shared_ptr<const SolidBody> body, SystemParts& parts) {
  const auto stepper = std::make_shared<const SolidStepper>(body);
  parts.float64.one = parts.float64.packed = stepper;
  parts.float64.dual = std::make_shared<SolidPairStepper>(stepper);
  parts.observables = std::make_shared<SolidObservables>(body);
  parts.ways.integrator = kIntegrators[static_cast<std::size_t>(body->integrator)];
  if (!body->elastic) return;
  parts.ways.integrators = kIntegrators;
  parts.ways.use = [body](const Variant& variant, SystemParts& of) {
    auto other = std::make_shared<SolidBody>(*body);
    other->integrator =
        static_cast<SolidIntegrator>(index_of_word("integrator", variant.integrator, kIntegrators));
    take_steppers(std::move(other), of);
  };
}

void check_contact(const BodyOptions& o) {
  const bool touches = !o.floor.empty() || !o.obstacles.empty() || o.self_contact;
  if (!touches && o.friction != 0) {
    throw ModelError(
        "friction needs something to rub against: give a floor, obstacles or self_contact");
  }
  const std::pair<const char*, double> numbers[] = {{"friction", o.friction},
                                                    {"stiction", o.stiction},
                                                    {"contact_width", o.contact_width},
                                                    {"contact_stiffness", o.contact_stiffness}};
  for (const auto& [name, value] : numbers) {
    if (!std::isfinite(value) || value < 0) {
      throw ParameterError(message(name, " must not be negative; got ", value));
    }
  }
}

}  // namespace

int index_of_word(const char* what, const std::string& word,
                  const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<int>(found - words.begin());
  throw ModelError(
      message("no ", what, " of soft bodies is called \"", word, "\"", did_you_mean(word, words)));
}

System make_body(BodyParts own, const BodyOptions& o) {
  const auto body = std::make_shared<SolidBody>();
  body->material = own.material, body->elastic = own.elastic;
  body->integrator =
      static_cast<SolidIntegrator>(index_of_word("integrator", o.integrator, kIntegrators));
  if (!own.elastic && body->integrator != SolidIntegrator::implicit_euler) {
    throw ModelError(
        message("plastic matter flows in steps of \"implicit_euler\"; got \"", o.integrator, "\""));
  }
  if (!std::isfinite(o.dt) || o.dt <= 0) {
    throw ParameterError(message("the time step dt must be positive [s]; got ", o.dt));
  }
  check_contact(o);
  body->dt = o.dt;
  const std::size_t numbers = own.mesh.vertices.size();
  if (!o.held.empty() && o.held.size() != numbers) {
    throw ModelError(
        message("held has one mark for each of ", numbers, " numbers; got ", o.held.size()));
  }
  for (auto more : {contact_terms(o, own.touching), self_contact_terms(o, own.round > 0),
                    load_terms(o, own.mesh.vertex_count())}) {
    for (NamedTerm& named : more) own.laws.push_back(std::move(named));
  }
  Terms terms;
  for (const NamedTerm& named : own.laws) terms.push_back(named.term);
  std::vector<char> held = o.held.empty() ? std::vector<char>(numbers, 0) : o.held;
  for (std::size_t j = 0; j < at(own.turns); ++j) {  // an angle, and two numbers without meaning
    const auto ends = held.begin() + static_cast<std::ptrdiff_t>(3 * j);
    const bool clamped = std::all_of(ends, ends + 6, [](char c) { return c != 0; });
    held.insert(held.end(), {static_cast<char>(clamped), 1, 1});
  }
  const auto solver = static_cast<LinearSolver>(
      index_of_word("linear solver", o.linear_solver, {"auto", "direct", "iterative"}));
  const auto plan =
      std::make_shared<SolidPlan>(own.mesh, std::move(held), std::move(terms), own.turns, solver);
  if (o.self_contact) {
    if (own.round > 0) check_reach(own.mesh.vertices, reach_of_rod(own.round, o));
    plan->surface =
        own.round > 0
            ? std::make_shared<const ContactSurface>(own.mesh.vertices, reach_of_rod(own.round, o))
            : std::make_shared<const ContactSurface>(own.mesh.vertices, own.skin);
  }
  body->plan = plan;
  body->kernels = &solid_kernels(own.mesh.element, own.formulation);
  const auto is_spring = [](const NamedTerm& n) { return n.term.law == StencilLaw::edge_spring; };
  body->has_rates = !o.floor.empty() || !o.obstacles.empty() || o.self_contact ||
                    std::any_of(own.laws.begin(), own.laws.end(), is_spring);

  SystemParts parts;
  parts.name = own.name;
  parts.timestep = o.dt;
  const int n = static_cast<int>(numbers);
  std::vector<BlockSpec> blocks = {{"positions", n, "m"}, {"velocities", n, "m/s"}};
  if (own.turns > 0) {
    blocks.push_back({"twist", own.turns, "rad"});
    blocks.push_back({"twist_rate", own.turns, "rad/s"});
  }
  if (plan->memory() > 0) blocks.push_back({"plastic", plan->memory(), ""});
  parts.states = Space(blocks);
  const auto inputs = add_inputs(*body, o, own.inputs, parts);
  BodyRegistry registry(parts);
  add_parameters(*body, own, o, registry);
  find_numbers(own.laws, registry, inputs, plan->terms);
  parts.initial_state = own.mesh.vertices;
  parts.initial_state.resize(at(plan->moving() + plan->memory()), 0.0);
  parts.counters = {"iterations"};
  if (!plan->dissection) parts.counters.push_back("linear_iterations");
  const std::shared_ptr<const SolidBody> made = body;
  if (own.refuse) {
    const auto copy = std::make_shared<const Parameters>(parts.parameters);
    parts.refuse = [refuse = own.refuse, copy](const double* p) { return refuse(*copy, p); };
  }
  take_steppers(made, parts);
  return System(std::move(parts));
}

std::shared_ptr<const SolidBody> soft_body_of(const System& system) {
  const auto* const own = dynamic_cast<const SolidObservables*>(system.observables());
  if (!own) throw ModelError(message("\"", system.name(), "\" is no soft body"));
  return own->body();
}

}  // namespace cycloid::inline soft
