#include "cycloid/rigid/tree/tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "cycloid/rigid/contact/model_pairs.h"

namespace cycloid::inline rigid {
namespace {

// On one degree of freedom, without activation.
bool is_direct(const Model& m, const Actuator& a) {
  const bool on_joint = a.transmission == TransmissionKind::joint ||
                        a.transmission == TransmissionKind::joint_in_parent;
  return on_joint && a.law == ActuatorLaw::gain_and_bias && a.dynamics == ActuatorDynamics::none &&
         !a.muscle_gain && !a.muscle_bias && a.enabled && m.options.acting.actuation &&
         dof_numbers(m.joints[static_cast<std::size_t>(a.target)].kind) == 1;
}

// Appends parameters and remembers where they are.
class Register {
 public:
  explicit Register(Parameters& parameters) : parameters_(parameters) {}

  int add(const std::string& name, const char* unit, std::span<const double> value,
          Constraint constraint = Constraint::none, bool scalar = false) {
    Parameter p;
    p.name = name;
    p.unit = unit;
    // A compiled model may hold what no real body has, an inertia without thickness for example.
    const bool holds = satisfies(constraint, value.data(), static_cast<int>(value.size()));
    p.constraint = holds ? constraint : Constraint::none;
    if (!scalar) p.shape = {static_cast<int>(value.size())};
    const int place = parameters_.size();
    parameters_.add(std::move(p), value);
    return place;
  }
  int add(const std::string& name, const char* unit, double value,
          Constraint constraint = Constraint::none) {
    return add(name, unit, std::span(&value, 1), constraint, true);
  }

 private:
  Parameters& parameters_;
};

// A body that moves by other bodies' joints or its own, and is placed by its parent.
bool placed_by_parent(const Model& m, const Body& b) {
  const bool free =
      b.joints > 0 && m.joints[static_cast<std::size_t>(b.first_joint)].kind == JointKind::free;
  return !free && b.mocap < 0;
}

void add_bodies(const Model& m, Register& to, std::vector<BodyPlaces>& places) {
  for (std::size_t i = 0; i < m.bodies.size(); ++i) {
    const Body& b = m.bodies[i];
    const std::string name = "body:" + Model::label(m.bodies, static_cast<int>(i)) + ".";
    BodyPlaces at;
    if (b.tree >= 0) {
      at.mass = to.add(name + "mass", "kg", b.mass, Constraint::non_negative);
      at.com = to.add(name + "com", "m", b.com);
      at.inertia = to.add(name + "inertia", "kg·m²", b.inertia, Constraint::inertia);
    }
    if (i > 0 && placed_by_parent(m, b)) {
      at.pos = to.add(name + "pos", "m", b.pos);
      at.quat = to.add(name + "quat", "1", b.quat);
    }
    places.push_back(at);
  }
}

void add_joints(const Model& m, Register& to, std::vector<JointPlaces>& places) {
  for (std::size_t i = 0; i < m.joints.size(); ++i) {
    const Joint& j = m.joints[i];
    const std::string name = "joint:" + Model::label(m.joints, static_cast<int>(i)) + ".";
    const bool angular = j.kind == JointKind::hinge || j.kind == JointKind::ball;
    JointPlaces at;
    if (angular) at.pos = to.add(name + "pos", "m", j.pos);
    if (j.kind == JointKind::hinge || j.kind == JointKind::slide) {
      at.axis = to.add(name + "axis", "1", j.axis);
    }
    at.stiffness = to.add(name + "stiffness", angular ? "N·m/rad" : "N/m", j.stiffness.linear,
                          Constraint::non_negative);
    const std::size_t nq = static_cast<std::size_t>(qpos_numbers(j.kind));
    at.spring = to.add(name + "springref", angular ? "rad" : "m", std::span(j.spring).first(nq),
                       Constraint::none, nq == 1);
    std::vector<double> damping, armature;
    for (int k = 0; k < dof_numbers(j.kind); ++k) {
      const Dof& d = m.dofs[static_cast<std::size_t>(j.dof + k)];
      damping.push_back(d.damping.linear);
      armature.push_back(d.armature);
    }
    at.damping = to.add(name + "damping", angular ? "N·m·s/rad" : "N·s/m", damping,
                        Constraint::non_negative);
    at.armature =
        to.add(name + "armature", angular ? "kg·m²" : "kg", armature, Constraint::non_negative);
    places.push_back(at);
  }
}

void add_tendons(const Model& m, Register& to, std::vector<TendonPlaces>& places) {
  for (std::size_t i = 0; i < m.tendons.size(); ++i) {
    const Tendon& t = m.tendons[i];
    const std::string name = "tendon:" + Model::label(m.tendons, static_cast<int>(i)) + ".";
    TendonPlaces at;
    at.stiffness = to.add(name + "stiffness", "N/m", t.stiffness.linear, Constraint::non_negative);
    at.damping = to.add(name + "damping", "N·s/m", t.damping.linear, Constraint::non_negative);
    at.spring_length = to.add(name + "springlength", "m", t.spring_length);
    if (t.kind == TendonKind::fixed) {
      std::vector<double> coefficients;
      for (int w = 0; w < t.wraps; ++w) {
        coefficients.push_back(m.wraps[static_cast<std::size_t>(t.first_wrap + w)].value);
      }
      at.coefficients = to.add(name + "coef", "1", coefficients);
    }
    places.push_back(at);
  }
}

void add_actuators(const Model& m, Register& to, std::vector<ActuatorPlaces>& places) {
  for (std::size_t i = 0; i < m.actuators.size(); ++i) {
    const Actuator& a = m.actuators[i];
    const std::string name = "actuator:" + Model::label(m.actuators, static_cast<int>(i)) + ".";
    ActuatorPlaces at;
    at.gain = to.add(name + "gainprm", "1", a.gain);
    at.bias = to.add(name + "biasprm", "1", a.bias);
    at.dynamics = to.add(name + "dynprm", "1", a.dynamics_numbers);
    at.gear = to.add(name + "gear", "1", a.gear);
    places.push_back(at);
  }
}

void add_sites(const Model& m, Register& to, std::vector<MarkerPlaces>& places) {
  for (std::size_t i = 0; i < m.sites.size(); ++i) {
    const std::string name = "site:" + Model::label(m.sites, static_cast<int>(i)) + ".";
    MarkerPlaces at;
    at.pos = to.add(name + "pos", "m", m.sites[i].pos);
    at.quat = to.add(name + "quat", "1", m.sites[i].quat);
    places.push_back(at);
  }
}

// Where two constants of a constraint's softness stand.
template <class Places>
void add_softness(const std::string& name, const Compliance& soft, Register& to, Places& at) {
  at.solref = to.add(name + "solref", "1", soft.solref);
  at.solimp = to.add(name + "solimp", "1", soft.solimp);
}

// Numbers that only limits and friction loss look at, where there are such.
void add_limits(const Model& m, Register& to, std::vector<JointPlaces>& joints,
                std::vector<TendonPlaces>& tendons) {
  const Acting& acting = m.options.acting;
  const auto numbers = [](const Range& r) { return std::array{r.low, r.high}; };
  for (std::size_t i = 0; i < m.joints.size(); ++i) {
    const Joint& j = m.joints[i];
    const std::string name = "joint:" + Model::label(m.joints, static_cast<int>(i)) + ".";
    const bool angular = j.kind != JointKind::slide;
    if (acting.limits && j.range.on) {
      joints[i].range = to.add(name + "range", angular ? "rad" : "m", numbers(j.range));
    }
    std::vector<double> loss;
    bool some = false;
    for (int k = 0; k < dof_numbers(j.kind); ++k) {
      loss.push_back(m.dofs[static_cast<std::size_t>(j.dof + k)].frictionloss);
      some = some || loss.back() > 0;
    }
    if (acting.friction_loss && some) {
      joints[i].frictionloss =
          to.add(name + "frictionloss", angular ? "N·m" : "N", loss, Constraint::non_negative);
    }
  }
  for (std::size_t i = 0; i < m.tendons.size(); ++i) {
    const Tendon& t = m.tendons[i];
    const std::string name = "tendon:" + Model::label(m.tendons, static_cast<int>(i)) + ".";
    if (acting.limits && t.range.on)
      tendons[i].range = to.add(name + "range", "m", numbers(t.range));
    if (acting.friction_loss && t.frictionloss > 0) {
      tendons[i].frictionloss =
          to.add(name + "frictionloss", "N", t.frictionloss, Constraint::non_negative);
    }
  }
}

// Where a geom is and how large.
void add_shape(const Model& m, std::size_t i, Register& to, GeomPlaces& at) {
  if (at.pos >= 0) return;
  const Geom& g = m.geoms[i];
  const std::string name = "geom:" + Model::label(m.geoms, static_cast<int>(i)) + ".";
  at.pos = to.add(name + "pos", "m", g.pos);
  at.quat = to.add(name + "quat", "1", g.quat);
  const bool sized = g.shape != Shape::mesh && g.shape != Shape::hfield;
  if (sized) at.size = to.add(name + "size", "m", g.size);
}

// Those that tendons go around.
void add_wrapped_geoms(const Model& m, Register& to, std::vector<GeomPlaces>& places) {
  for (const Wrap& w : m.wraps) {
    if (w.kind != WrapKind::sphere && w.kind != WrapKind::cylinder) continue;
    const std::size_t i = static_cast<std::size_t>(w.object);
    add_shape(m, i, to, places[i]);
  }
}

// Those that the medium sees as ellipsoids.
void add_fluid_geoms(const Model& m, Register& to, std::vector<GeomPlaces>& places,
                     std::vector<int>& geoms, std::vector<char>& bodies) {
  for (std::size_t i = 0; i < m.geoms.size(); ++i) {
    const Geom& g = m.geoms[i];
    if (!(g.fluid[0] > 0) || m.bodies[static_cast<std::size_t>(g.body)].tree < 0) continue;
    add_shape(m, i, to, places[i]);
    places[i].fluid =
        to.add("geom:" + Model::label(m.geoms, static_cast<int>(i)) + ".fluid", "1", g.fluid);
    geoms.push_back(static_cast<int>(i));
    bodies[static_cast<std::size_t>(g.body)] = 1;
  }
}

constexpr double kReferenceDepth = 1e-3;  // d₀ of contact/hunt_crossley.h [m]

void add_compliance(const HuntCrossley& law, Register& to, CompliantPlaces& at) {
  at.acts = true;
  at.exponent = law.exponent;
  at.depth_factor = std::pow(kReferenceDepth, 1 - law.exponent);
  if (law.stiffness) {
    at.stiffness =
        to.add("contact.stiffness", "N/m^exponent", *law.stiffness, Constraint::positive);
  }
  at.dissipation = to.add("contact.dissipation", "s/m", law.dissipation, Constraint::non_negative);
  at.stiction = to.add("contact.stiction", "m/s", law.stiction, Constraint::positive);
}

void add_geoms(const Model& m, Register& to, std::vector<GeomPlaces>& places) {
  std::vector<char> touches(m.geoms.size(), 0);
  for (const CandidatePair& p : model_pairs(m)) {
    touches[static_cast<std::size_t>(p.geom1)] = touches[static_cast<std::size_t>(p.geom2)] = 1;
  }
  for (std::size_t i = 0; i < m.geoms.size(); ++i) {
    const Geom& g = m.geoms[i];
    const std::string name = "geom:" + Model::label(m.geoms, static_cast<int>(i)) + ".";
    GeomPlaces& at = places[i];
    if (touches[i]) {
      add_shape(m, i, to, at);
      at.friction = to.add(name + "friction", "1", g.friction);
      add_softness(name, g.soft, to, at);
      at.margin = to.add(name + "margin", "m", g.margin);
      at.gap = to.add(name + "gap", "m", g.gap);
      if (g.adhesion != 0) at.adhesion = to.add(name + "adhesion", "N", g.adhesion);
      const auto& velocity = g.surface_velocity;
      if (std::any_of(velocity.begin(), velocity.end(), [](double v) { return v != 0; })) {
        at.surface = to.add(name + "surfacevel", "m/s, rad/s", velocity);
      }
    }
  }
}

void add_equalities(const Model& m, Register& to, std::vector<EqualityPlaces>& places) {
  for (std::size_t i = 0; i < m.equalities.size(); ++i) {
    const Equality& e = m.equalities[i];
    const std::string name = "equality:" + Model::label(m.equalities, static_cast<int>(i)) + ".";
    EqualityPlaces at;
    if (e.active) {
      at.data = to.add(name + "data", "1", e.data);
      add_softness(name, e.soft, to, at);
    }
    places.push_back(at);
  }
}

// Points of meshes and heights of fields that touch: arrays, which come last.
void add_shapes(const Model& m, const std::vector<GeomPlaces>& geoms, Parameters& parameters,
                std::vector<int>& mesh_arrays, std::vector<int>& field_arrays) {
  int arrays = 0;
  const auto add = [&](const std::string& name, const char* unit, std::vector<int> shape,
                       const std::vector<double>& value, int& array) {
    if (array >= 0) return;
    Parameter p;
    p.name = name;
    p.unit = unit;
    p.shape = std::move(shape);
    p.array = true;
    parameters.add(std::move(p), value);
    array = arrays++;
  };
  mesh_arrays.assign(m.meshes.size(), -1);
  field_arrays.assign(m.height_fields.size(), -1);
  for (std::size_t i = 0; i < geoms.size(); ++i) {
    const Geom& g = m.geoms[i];
    if (geoms[i].friction < 0) continue;
    const std::size_t data = static_cast<std::size_t>(g.data);
    if (g.shape == Shape::mesh) {
      const Mesh& mesh = m.meshes[data];
      add("mesh:" + Model::label(m.meshes, g.data) + ".vertex", "m",
          {static_cast<int>(mesh.vertex.size() / 3), 3}, mesh.vertex, mesh_arrays[data]);
    } else if (g.shape == Shape::hfield) {
      const HeightData& field = m.height_fields[data];
      add("hfield:" + Model::label(m.height_fields, g.data) + ".data", "1",
          {field.rows, field.columns}, field.data, field_arrays[data]);
    }
  }
}

std::vector<Link> unroll(const Model& m, std::vector<int>& last_link) {
  std::vector<Link> links(1);
  last_link.assign(m.bodies.size(), 0);
  for (std::size_t i = 1; i < m.bodies.size(); ++i) {
    const Body& b = m.bodies[i];
    int parent = last_link[static_cast<std::size_t>(b.parent)];
    const auto append = [&](LinkKind kind, int joint, int dof, int qpos) {
      Link link;
      link.kind = kind;
      link.first = link.last = false;
      link.parent = parent;
      link.body = static_cast<int>(i);
      link.joint = joint;
      link.dof = dof;
      link.qpos = qpos;
      parent = static_cast<int>(links.size());
      links.push_back(link);
    };
    const std::size_t first = links.size();
    for (int k = 0; k < b.joints; ++k) {
      const int id = b.first_joint + k;
      const Joint& j = m.joints[static_cast<std::size_t>(id)];
      switch (j.kind) {
        case JointKind::free:
          append(LinkKind::translation, id, j.dof, j.qpos);
          append(LinkKind::ball, id, j.dof + 3, j.qpos + 3);
          break;
        case JointKind::ball: append(LinkKind::ball, id, j.dof, j.qpos); break;
        case JointKind::slide: append(LinkKind::slide, id, j.dof, j.qpos); break;
        case JointKind::hinge: append(LinkKind::hinge, id, j.dof, j.qpos); break;
      }
    }
    if (b.joints == 0) append(LinkKind::fixed, -1, b.first_dof, 0);
    links[first].first = true;
    links.back().last = true;
    last_link[i] = static_cast<int>(links.size()) - 1;
  }
  return links;
}

// What the tables are made of.
struct Lists : TreeLists<Vector> {
  ModelLists<Vector> model;
};

}  // namespace

Tree::Tree(const Model& m, bool constrained, const ContactChoice& contact) : source(m) {
  Lists t;
  t.model = without_names(m);
  t.links = unroll(m, t.last_link);
  t.row.assign(1, 0);
  for (int k = 0; k < m.nv; ++k) {
    int length = 0;
    for (int i = k; i >= 0; i = m.dofs[static_cast<std::size_t>(i)].parent) ++length;
    t.row.push_back(t.row.back() + length);
    const Dof& dof = m.dofs[static_cast<std::size_t>(k)];
    t.parent_dof.push_back(dof.parent);
    t.dof_body.push_back(dof.body);
  }
  for (int k = m.nv - 1; k >= 0; k -= t.chains.back().dofs) {
    int dofs = 1;
    while (dofs < kLongestChain && k >= dofs &&
           t.parent_dof[static_cast<std::size_t>(k - dofs + 1)] == k - dofs) {
      ++dofs;
    }
    t.chains.push_back({k, dofs});
  }
  for (const Body& b : m.bodies) {
    t.root.push_back(b.tree >= 0 && m.bodies[static_cast<std::size_t>(b.parent)].tree < 0);
  }
  t.has_children.assign(m.bodies.size(), 0);
  t.last_child.assign(m.bodies.size(), 0);
  for (std::size_t b = m.bodies.size(); b-- > 1;) {
    char& met = t.has_children[static_cast<std::size_t>(m.bodies[b].parent)];
    t.last_child[b] = !met;
    met = 1;
  }
  for (const Joint& j : m.joints) t.zero.push_back(j.qpos0[0]);
  Register to(parameters);
  add_bodies(m, to, t.bodies);
  add_joints(m, to, t.joints);
  for (const Dof& d : m.dofs) {
    const std::size_t j = static_cast<std::size_t>(d.joint);
    const int within = static_cast<int>(t.damping.size()) - m.joints[j].dof;
    t.damping.push_back(t.joints[j].damping + within);
    t.armature.push_back(t.joints[j].armature + within);
  }
  add_sites(m, to, t.sites);
  add_tendons(m, to, t.tendons);
  add_actuators(m, to, t.actuators);
  t.geoms.resize(m.geoms.size());
  add_wrapped_geoms(m, to, t.geoms);
  options.gravity = to.add("option.gravity", "m/s²", m.options.gravity);
  options.timestep =
      to.add(std::string(kTimestepName), "s", m.options.timestep, Constraint::positive);
  const Acting& acting = m.options.acting;
  if (constrained && acting.constraints) {
    add_limits(m, to, t.joints, t.tendons);
    if (acting.contacts) add_geoms(m, to, t.geoms);
    if (acting.equalities) add_equalities(m, to, t.equalities);
    for (const GeomPlaces& g : t.geoms) {
      sticks = sticks || g.adhesion >= 0;
      surfaces_move = surfaces_move || g.surface >= 0;
    }
    for (const GivenPair& pair : m.pairs) sticks = sticks || pair.adhesion != 0;
    sticks = sticks && acting.contacts;
    has_adhesion = sticks;
    const auto touches = [](const GeomPlaces& g) { return g.friction >= 0; };
    if (std::any_of(t.geoms.begin(), t.geoms.end(), touches)) {
      options.impratio = to.add("option.impratio", "1", m.options.impratio, Constraint::positive);
      if (const auto* law = std::get_if<HuntCrossley>(&contact))
        add_compliance(*law, to, compliant);
    }
  }
  t.equalities.resize(m.equalities.size());
  t.fluid_by_geoms.assign(m.bodies.size(), 0);
  const bool passive = m.options.acting.springs || m.options.acting.dampers;
  feels_medium = passive && (m.options.density != 0 || m.options.viscosity != 0);
  if (feels_medium) {
    options.density =
        to.add("option.density", "kg/m³", m.options.density, Constraint::non_negative);
    options.viscosity =
        to.add("option.viscosity", "Pa·s", m.options.viscosity, Constraint::non_negative);
    options.wind = to.add("option.wind", "m/s", m.options.wind);
    add_fluid_geoms(m, to, t.geoms, t.fluid_geoms, t.fluid_by_geoms);
  }
  add_shapes(m, t.geoms, parameters, mesh_arrays, field_arrays);
  if (!passive) {  // MuJoCo then leaves out all passive forces
    for (Body& b : t.model.bodies) b.gravity_compensation = 0;
  }
  for (const Body& b : t.model.bodies) has_wrenches = has_wrenches || b.gravity_compensation != 0;
  for (const Tendon& tendon : m.tendons) {
    has_wrenches = has_wrenches || tendon.kind == TendonKind::spatial;
    has_tendon_armature = has_tendon_armature || tendon.armature != 0;
  }
  for (std::size_t i = 0; i < m.actuators.size(); ++i) {
    const Actuator& a = m.actuators[i];
    has_wrenches = has_wrenches || a.transmission == TransmissionKind::site ||
                   a.transmission == TransmissionKind::slider_crank ||
                   (a.transmission == TransmissionKind::orientation && a.reference_site >= 0);
    presses = presses || a.transmission == TransmissionKind::body;
    has_adhesion = has_adhesion || presses;
    has_bristles = has_bristles || (a.law == ActuatorLaw::dc_motor && a.dynamics_numbers[5] > 0);
    has_tendon_armature =
        has_tendon_armature || (a.transmission == TransmissionKind::tendon && a.armature != 0);
    const bool on_joint = a.transmission == TransmissionKind::joint ||
                          a.transmission == TransmissionKind::joint_in_parent;
    if (on_joint && (a.armature != 0 || !(a.damping == Polynomial{}))) {
      const Joint& j = m.joints[static_cast<std::size_t>(a.target)];
      for (int k = 0; k < dof_numbers(j.kind); ++k) {
        t.dof_actuators.push_back({j.dof + k, static_cast<int>(i)});
      }
    }
  }
  for (std::size_t b = 1; b < m.bodies.size(); ++b) {
    if (m.bodies[b].dofs != 6 || m.bodies[b].joints != 1 || !t.root[b]) continue;
    bool alone = true;
    for (std::size_t k = 1; k < m.bodies.size(); ++k) {
      alone = alone && (k == b || m.bodies[k].tree != m.bodies[b].tree || m.bodies[k].dofs == 0);
    }
    if (alone) t.free_bodies.push_back(static_cast<int>(b));
  }
  // Without actuators MuJoCo leaves out all that it counts among their forces.
  const bool actuation = m.options.acting.actuation && !m.actuators.empty();
  bool compensates = false;  // some body; else there is nothing to count
  for (const Body& b : t.model.bodies) compensates = compensates || b.gravity_compensation != 0;
  for (Joint& j : t.model.joints) {
    j.compensation_by_actuator = j.compensation_by_actuator && compensates;
    const bool off = j.compensation_by_actuator && !actuation;
    limits_actuators = limits_actuators || j.actuator_force.on || off;
    limits_compensation =
        limits_compensation || off || (j.actuator_force.on && j.compensation_by_actuator);
  }
  for (std::size_t i = 0; i < m.actuators.size(); ++i) {
    const Actuator& a = m.actuators[i];
    t.acts_directly.push_back(!limits_actuators && is_direct(m, a));
    if (!t.acts_directly.back()) continue;
    const Joint& j = m.joints[static_cast<std::size_t>(a.target)];
    t.direct_actuators.push_back(
        {static_cast<int>(i), j.dof, j.qpos, a.affine_gain, a.affine_bias});
  }
  for (const BodyPlaces& b : t.bodies) {
    if (b.quat >= 0) t.quaternions.push_back(b.quat);
  }
  for (const MarkerPlaces& s : t.sites) t.quaternions.push_back(s.quat);
  for (const GeomPlaces& g : t.geoms) {
    if (g.quat >= 0) t.quaternions.push_back(g.quat);
  }
  for (std::size_t j = 0; j < t.joints.size(); ++j) {  // references of springs
    const JointKind kind = m.joints[j].kind;
    if (has_quaternion(kind)) t.quaternions.push_back(t.joints[j].spring + linear_numbers(kind));
  }
  model.options = m.options;
  model.options.acting.actuation = actuation;
  model.nq = m.nq, model.nv = m.nv, model.na = m.na, model.nu = m.nu;
  model.nmocap = m.nmocap, model.trees = m.trees;
  block_ = TableBlock(t, static_cast<TreeView&>(*this));
}

}  // namespace cycloid::inline rigid
