#include "cycloid/model/check_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include "cycloid/base/error.h"
#include "cycloid/model/model_fields.h"

namespace cycloid::inline model {
namespace {

// An element in a message: "joint #3".
struct Where {
  std::string_view kind;
  std::size_t index = 0;

  [[noreturn]] void fail(std::string_view field, const std::string& what) const {
    throw ModelError(message(kind, " #", index, ": ", field, " ", what));
  }
  // least ≤ value < end
  void between(std::string_view field, int value, int least, std::size_t end) const {
    if (value < least || (value >= 0 && static_cast<std::size_t>(value) >= end)) {
      fail(field, message("is ", value, "; expected from ", least, " to ",
                          static_cast<long long>(end) - 1));
    }
  }
  template <class Element>
  void index_of(std::string_view field, int value, const std::vector<Element>& all) const {
    between(field, value, 0, all.size());
  }
  template <class Element>
  void index_or_none(std::string_view field, int value, const std::vector<Element>& all) const {
    between(field, value, -1, all.size());
  }
  // `count` elements from `first` on.
  void stretch(std::string_view field, int first, int count, std::size_t size) const {
    if (first < 0 || count < 0 ||
        static_cast<std::size_t>(first) + static_cast<std::size_t>(count) > size) {
      fail(field, message("has ", count, " elements from ", first, " on, of ", size));
    }
  }
  void equal(std::string_view field, long long value, long long expected) const {
    if (value != expected) fail(field, message("is ", value, "; expected ", expected));
  }
};

template <class Element, class Check>
void each(std::string_view kind, const std::vector<Element>& all, const Check& check) {
  for (std::size_t i = 0; i < all.size(); ++i) check(Where{kind, i}, all[i]);
}

void check_count(std::string_view name, int value, std::size_t expected) {
  if (value < 0 || static_cast<std::size_t>(value) != expected) {
    throw ModelError(message(name, " is ", value, "; expected ", expected));
  }
}

// Several activations or controls of an actuator are few.
void check_few(std::string_view name, int value, std::size_t actuators) {
  constexpr std::size_t kMost = 16;
  if (value < 0 || static_cast<std::size_t>(value) > kMost * actuators) {
    throw ModelError(message(name, " is ", value, ", too many for ", actuators, " actuators"));
  }
}

void check_counts(const Model& m) {
  if (m.bodies.empty()) throw ModelError("it has no bodies, not even the world");
  std::size_t nq = 0, nv = 0;
  for (const Joint& j : m.joints) {
    nq += static_cast<std::size_t>(qpos_numbers(j.kind));
    nv += static_cast<std::size_t>(dof_numbers(j.kind));
  }
  check_count("nq", m.nq, nq);
  check_count("nv", m.nv, nv);
  check_count("the number of dofs", static_cast<int>(m.dofs.size()), nv);
  check_count("the number of qpos0", static_cast<int>(m.qpos0.size()), nq);
  check_few("na", m.na, m.actuators.size());
  check_few("nu", m.nu, m.actuators.size());
  const auto mocap =
      std::count_if(m.bodies.begin(), m.bodies.end(), [](const Body& b) { return b.mocap >= 0; });
  check_count("nmocap", m.nmocap, static_cast<std::size_t>(mocap));
  if (m.trees < 0 || static_cast<std::size_t>(m.trees) > m.bodies.size()) {
    throw ModelError(message("trees is ", m.trees, ", with ", m.bodies.size(), " bodies"));
  }
}

std::size_t parent_of(const Body& b) { return static_cast<std::size_t>(b.parent); }

void check_bodies(const Model& m) {
  int joint = 0, dof = 0;
  each("body", m.bodies, [&](Where at, const Body& b) {
    at.between("parent", b.parent, 0, std::max<std::size_t>(at.index, 1));
    at.between("welded", b.welded, 0, at.index + 1);
    at.between("tree", b.tree, -1, static_cast<std::size_t>(m.trees));
    at.between("mocap", b.mocap, -1, static_cast<std::size_t>(m.nmocap));
    at.stretch("joints", b.first_joint, b.joints, m.joints.size());
    at.stretch("dofs", b.first_dof, b.dofs, m.dofs.size());
    // Joints and dofs follow one another as their bodies do.
    if (b.joints > 0) at.equal("first_joint", b.first_joint, joint);
    int own = 0;
    for (int i = 0; i < b.joints; ++i) {
      const Joint& j = m.joints[static_cast<std::size_t>(joint + i)];
      at.equal("the body of a joint", j.body, static_cast<long long>(at.index));
      own += dof_numbers(j.kind);
      if (j.kind == JointKind::free && (b.joints > 1 || b.parent != 0)) {
        at.fail("joints", "has a free joint that is not alone, or a parent that is not the world");
      }
    }
    at.equal("dofs", b.dofs, own);
    if (b.dofs > 0) at.equal("first_dof", b.first_dof, dof);
    if (at.index == 0 && b.joints > 0) at.fail("joints", "belong to the world");
    const bool moves = b.dofs > 0 || (at.index > 0 && m.bodies[parent_of(b)].tree >= 0);
    if (moves != (b.tree >= 0)) {
      at.fail("tree", message("is ", b.tree, moves ? ", and the body moves" : ", and it stands"));
    }
    joint += b.joints;
    dof += b.dofs;
  });
  if (static_cast<std::size_t>(joint) != m.joints.size()) {
    throw ModelError(message("the bodies have ", joint, " joints of ", m.joints.size()));
  }
}

void check_joints(const Model& m) {
  int qpos = 0, dof = 0;
  each("joint", m.joints, [&](Where at, const Joint& j) {
    at.index_of("body", j.body, m.bodies);
    at.equal("qpos", j.qpos, qpos);
    at.equal("dof", j.dof, dof);
    for (int i = 0; i < dof_numbers(j.kind); ++i) {
      const Where own{"dof", static_cast<std::size_t>(dof + i)};
      const Dof& d = m.dofs[own.index];
      own.equal("joint", d.joint, static_cast<long long>(at.index));
      own.equal("body", d.body, j.body);
      own.between("parent", d.parent, -1, own.index);
    }
    qpos += qpos_numbers(j.kind);
    dof += dof_numbers(j.kind);
  });
}

void check_condim(Where at, int condim) {
  if (condim != 1 && condim != 3 && condim != 4 && condim != 6) {
    at.fail("condim", message("is ", condim, "; expected 1, 3, 4 or 6"));
  }
}

void check_shapes(const Model& m) {
  const auto placed = [&](Where at, const Marker& x) { at.index_of("body", x.body, m.bodies); };
  each("site", m.sites, placed);
  each("camera", m.cameras, placed);
  each("geom", m.geoms, [&](Where at, const Geom& g) {
    placed(at, g);
    if (g.shape == Shape::mesh) at.index_of("data", g.data, m.meshes);
    if (g.shape == Shape::hfield) at.index_of("data", g.data, m.height_fields);
    check_condim(at, g.condim);
  });
  each("contact pair", m.pairs, [&](Where at, const GivenPair& p) {
    at.index_of("geom1", p.geom1, m.geoms);
    at.index_of("geom2", p.geom2, m.geoms);
    check_condim(at, p.condim);
  });
  each("exclusion", m.exclusions, [&](Where at, const Exclusion& e) {
    at.index_of("body1", e.body1, m.bodies);
    at.index_of("body2", e.body2, m.bodies);
  });
}

void check_scalar(Where at, std::string_view field, int joint, const Model& m) {
  at.index_of(field, joint, m.joints);
  if (dof_numbers(m.joints[static_cast<std::size_t>(joint)].kind) != 1) {
    at.fail(field, message("is joint #", joint, ", which neither slides nor is a hinge"));
  }
}

void check_equalities(const Model& m) {
  each("equality", m.equalities, [&](Where at, const Equality& e) {
    switch (e.kind) {
      case EqualityKind::connect:
      case EqualityKind::weld:
        for (const int object : {e.object1, e.object2}) {
          if (e.on_sites) at.index_of("object", object, m.sites);
          else at.index_of("object", object, m.bodies);
        }
        break;
      case EqualityKind::joint:
        check_scalar(at, "object1", e.object1, m);
        if (e.object2 != -1) check_scalar(at, "object2", e.object2, m);
        break;
      case EqualityKind::tendon:
        at.index_of("object1", e.object1, m.tendons);
        at.index_or_none("object2", e.object2, m.tendons);
        break;
    }
  });
}

// `ends`: where each of some lists ends, one behind the other.
void check_lists(Where at, std::string_view field, const std::vector<int>& ends,
                 std::size_t members) {
  int before = 0;
  for (const int end : ends) {
    if (end < before) at.fail(field, message("falls from ", before, " to ", end));
    before = end;
  }
  at.equal(field, before, static_cast<long long>(members));
}

void check_meshes(const Model& m) {
  each("mesh", m.meshes, [&](Where at, const Mesh& mesh) {
    at.equal("vertex", static_cast<long long>(mesh.vertex.size() % 3), 0);
    at.equal("triangles", static_cast<long long>(mesh.triangles.size() % 3), 0);
    std::vector<char> corner(mesh.vertex.size() / 3, 0);
    for (const int v : mesh.corners) {
      at.between("corners", v, 0, corner.size());
      corner[static_cast<std::size_t>(v)] = 1;
    }
    const auto are_corners = [&](std::string_view field, const std::vector<int>& all) {
      for (const int v : all) {
        at.between(field, v, 0, corner.size());
        if (!corner[static_cast<std::size_t>(v)]) at.fail(field, message(v, " is no corner"));
      }
    };
    are_corners("triangles", mesh.triangles);
    are_corners("polygons", mesh.polygons);
    are_corners("neighbours", mesh.neighbours);
    check_lists(at, "polygon_end", mesh.polygon_end, mesh.polygons.size());
    if (!mesh.polygon_normal.empty()) {
      at.equal("polygon_normal", static_cast<long long>(mesh.polygon_normal.size()),
               3 * static_cast<long long>(mesh.polygon_end.size()));
    }
    check_lists(at, "neighbour_end", mesh.neighbour_end, mesh.neighbours.size());
    at.equal("neighbour_end", static_cast<long long>(mesh.neighbour_end.size()),
             static_cast<long long>(mesh.corners.size()));
    at.equal("faces", static_cast<long long>(mesh.faces.size() % 3), 0);
    for (const int v : mesh.faces) at.between("faces", v, 0, corner.size());
    for (const int c : mesh.seeds) at.index_of("seeds", c, mesh.corners);
  });
  each("height field", m.height_fields, [&](Where at, const HeightData& h) {
    const bool empty = h.data.empty() && h.rows == 0 && h.columns == 0;
    if (!empty && (h.rows < 2 || h.columns < 2)) at.fail("rows", "or columns are less than 2");
    at.equal("data", static_cast<long long>(h.data.size()),
             static_cast<long long>(h.rows) * h.columns);
  });
}

void check_tendons(const Model& m) {
  each("tendon", m.tendons, [&](Where at, const Tendon& t) {
    at.stretch("wraps", t.first_wrap, t.wraps, m.wraps.size());
    for (int i = 0; i < t.wraps; ++i) {
      const Where own{"wrap", static_cast<std::size_t>(t.first_wrap + i)};
      const Wrap& w = m.wraps[own.index];
      if ((w.kind == WrapKind::joint) != (t.kind == TendonKind::fixed)) {
        own.fail("kind", "does not suit its tendon's");
      }
      if (w.kind == WrapKind::joint) check_scalar(own, "object", w.object, m);
      if (w.kind == WrapKind::site) own.index_of("object", w.object, m.sites);
      if (w.kind != WrapKind::sphere && w.kind != WrapKind::cylinder) continue;
      own.index_of("object", w.object, m.geoms);
      own.index_or_none("side", w.side, m.sites);
      const auto site = [&](int k) {
        return k >= 0 && k < t.wraps &&
               m.wraps[static_cast<std::size_t>(t.first_wrap + k)].kind == WrapKind::site;
      };
      if (!site(i - 1) || !site(i + 1)) own.fail("kind", "is that of a geom not between two sites");
    }
  });
}

void check_actuators(const Model& m) {
  each("actuator", m.actuators, [&](Where at, const Actuator& a) {
    switch (a.transmission) {
      case TransmissionKind::joint:
      case TransmissionKind::joint_in_parent: at.index_of("target", a.target, m.joints); break;
      case TransmissionKind::tendon: at.index_of("target", a.target, m.tendons); break;
      case TransmissionKind::site:
      case TransmissionKind::slider_crank: at.index_of("target", a.target, m.sites); break;
      case TransmissionKind::body: at.index_of("target", a.target, m.bodies); break;
      case TransmissionKind::orientation:
        if (a.reference_site >= 0) {
          at.index_of("target", a.target, m.sites);
        } else {
          at.index_of("target", a.target, m.joints);
          if (m.joints[static_cast<std::size_t>(a.target)].kind != JointKind::ball) {
            at.fail("target", "is no ball joint");
          }
        }
        break;
    }
    at.index_or_none("reference_site", a.reference_site, m.sites);
    if (a.transmission == TransmissionKind::slider_crank) {
      at.index_of("reference_site", a.reference_site, m.sites);
    }
    if (a.controls > 0) at.between("control", a.control, 0, static_cast<std::size_t>(m.nu));
    if (a.law == ActuatorLaw::gain_and_bias) {
      if (a.transmission == TransmissionKind::orientation) at.fail("law", "is not that of one");
      at.equal("controls", a.controls, 1);
      const bool stateful = a.dynamics != ActuatorDynamics::none;
      at.between("act", a.act, stateful ? 0 : -1, static_cast<std::size_t>(m.na));
      return;
    }
    const bool turns = a.law == ActuatorLaw::orientation;
    at.equal("law", turns, a.transmission == TransmissionKind::orientation);
    at.equal(
        "controls", a.controls,
        turns ? a.signature == 2 ? 4 : 3 : std::popcount(static_cast<unsigned>(a.signature) & 15u));
    if (turns && a.dynamics != ActuatorDynamics::none) {
      at.equal("dynamics", static_cast<int>(a.dynamics),
               static_cast<int>(ActuatorDynamics::integrator));
    }
    if (a.controls > 0) {
      at.stretch("controls", a.control, a.controls, static_cast<std::size_t>(m.nu));
    }
    at.equal("acts", a.acts, motor_states(a));
    if (a.acts > 0) at.stretch("acts", a.act, a.acts, static_cast<std::size_t>(m.na));
  });
}

// MuJoCo's mjtObj, of what a sensor may be about.
enum Object {
  kNone = 0,
  kBody = 1,
  kXBody = 2,
  kJoint = 3,
  kGeom = 5,
  kSite = 6,
  kCamera = 7,
  kTendon = 18,
  kActuator = 19
};

std::size_t objects(const Model& m, int type) {
  switch (type) {
    case kBody:
    case kXBody: return m.bodies.size();
    case kJoint: return m.joints.size();
    case kGeom: return m.geoms.size();
    case kSite: return m.sites.size();
    case kCamera: return m.cameras.size();
    case kTendon: return m.tendons.size();
    case kActuator: return m.actuators.size();
    default: return 0;
  }
}

// What sensors of a kind (MuJoCo's mjtSensor, first to last) are about, and how many numbers they
// show. `object` kNone: any that has a frame.
struct SensorRule {
  int first, last, object, dimension;
};
constexpr SensorRule kSensors[] = {{0, 0, kSite, 1},     {1, 5, kSite, 3},    {9, 10, kJoint, 1},
                                   {11, 12, kTendon, 1}, {16, 16, kJoint, 1}, {17, 17, kTendon, 1},
                                   {18, 18, kJoint, 4},  {19, 19, kJoint, 3}, {26, 26, kNone, 3},
                                   {27, 27, kNone, 4},   {28, 34, kNone, 3},  {35, 37, kBody, 3},
                                   {6, 6, kSite, 3},     {8, 8, kSite, 2},    {20, 22, kJoint, 1},
                                   {23, 25, kTendon, 1}, {38, 38, kNone, 1}};
constexpr int kRangefinder = 7, kProjection = 8, kInsideSite = 38, kJointLimits[] = {20, 21};
constexpr int kActuatorSensors[] = {13, 14, 15};
constexpr int kContactSensor = 42, kContactFields = 9, kGlobalSensors[] = {43, 44, 45};

bool has_frame(int type) {
  return type == kBody || type == kXBody || type == kGeom || type == kSite || type == kCamera;
}

void check_object(Where at, std::string_view field, const Model& m, int type, int id) {
  if (id >= 0 || type != kNone) at.between(field, id, 0, objects(m, type));
}

// Of a site one ray, of a camera one for each pixel; numbers by the bits of `fields`.
void check_rangefinder(Where at, const Sensor& s) {
  constexpr int kFields = 6, kNumbers[kFields] = {1, 3, 3, 3, 3, 1};
  if (s.fields <= 0 || s.fields >= 1 << kFields) at.fail("fields", message("is ", s.fields));
  if (s.object_type != kSite && s.object_type != kCamera) at.fail("object_type", "has no rays");
  long long expected = 0;
  for (int k = 0; k < kFields; ++k) expected += (s.fields >> k & 1) * kNumbers[k];
  if (s.object_type == kCamera) {
    constexpr int kMost = 1 << 15;
    at.between("columns", s.columns, 1, kMost);
    at.between("rows", s.rows, 1, kMost);
    expected *= static_cast<long long>(s.columns) * s.rows;
    if (!has_picture(s)) at.fail("numbers", "have no focal lengths, or are not finite");
  } else {
    at.equal("columns", s.columns, 0);
  }
  at.equal("dimension", s.dimension, expected);
}

void check_sensors(const Model& m) {
  each("sensor", m.sensors, [&](Where at, const ListedSensor& s) {
    constexpr int kMost = 1 << 20;
    if (s.dimension < 1 || s.dimension > kMost) at.fail("dimension", message("is ", s.dimension));
    if (!s.unsupported.empty()) return;
    if (std::find(std::begin(kGlobalSensors), std::end(kGlobalSensors), s.type) !=
        std::end(kGlobalSensors)) {
      at.equal("dimension", s.dimension, 1);
      return;
    }
    check_object(at, "object", m, s.object_type, s.object);
    check_object(at, "reference", m, s.reference_type, s.reference);
    if (s.type == kContactSensor) {
      if (s.fields <= 0 || s.fields >= 1 << kContactFields) {
        at.fail("fields", message("is ", s.fields));
      }
      at.between("reduction", s.reduction, 0, 4);
      return;
    }
    if (s.type == kRangefinder) return check_rangefinder(at, s);
    if (std::find(std::begin(kActuatorSensors), std::end(kActuatorSensors), s.type) !=
        std::end(kActuatorSensors)) {
      at.equal("object_type", s.object_type, kActuator);
      const Actuator& a = m.actuators[static_cast<std::size_t>(s.object)];
      at.equal("dimension", s.dimension, a.law == ActuatorLaw::orientation ? 3 : 1);
      return;
    }
    for (const SensorRule& rule : kSensors) {
      if (s.type < rule.first || s.type > rule.last) continue;
      at.equal("dimension", s.dimension, rule.dimension);
      if (rule.object != kNone) {
        at.equal("object_type", s.object_type, rule.object);
      } else if (!has_frame(s.object_type) || (s.reference >= 0 && !has_frame(s.reference_type))) {
        at.fail("object_type", "has no frame");
      }
      if (s.type == kProjection) at.equal("reference_type", s.reference_type, kCamera);
      if (s.type == kInsideSite) at.equal("reference_type", s.reference_type, kSite);
      if (s.type == kProjection && !has_picture(s)) {
        at.fail("numbers", "have no focal lengths, or are not finite");
      }
      if (s.type == kProjection || s.type == kInsideSite) {
        at.between("reference", s.reference, 0, objects(m, s.reference_type));
      }
      if (s.type == kJointLimits[0] || s.type == kJointLimits[1]) {
        const JointKind kind = m.joints[static_cast<std::size_t>(s.object)].kind;
        if (kind != JointKind::ball) check_scalar(at, "object", s.object, m);
      }
    }
  });
}

void check_keyframes(const Model& m) {
  each("keyframe", m.keyframes, [&](Where at, const Keyframe& k) {
    const auto size = [&](std::string_view field, const std::vector<double>& numbers,
                          int expected) {
      at.equal(field, static_cast<long long>(numbers.size()), expected);
    };
    size("the number of qpos", k.qpos, m.nq);
    size("the number of qvel", k.qvel, m.nv);
    size("the number of act", k.act, m.na);
    size("the number of ctrl", k.ctrl, m.nu);
    size("the number of mocap_pos", k.mocap_pos, 3 * m.nmocap);
    size("the number of mocap_quat", k.mocap_quat, 4 * m.nmocap);
  });
}

// Finds a number that is not finite.
class Finite {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if constexpr (std::same_as<T, double>) {
      check(name, value);
    } else if constexpr (is_array_of_numbers<T> || is_list_of_numbers<T>) {
      for (const auto v : value) check(name, static_cast<double>(v));
    } else if constexpr (is_table<T>) {
      if (name == "sensors" || name == "cameras" || name == "keyframes") return;
      for (std::size_t i = 0; i < value.size(); ++i) {
        element_ = message(name, " #", i, ": ");
        fields(*this, value[i]);
      }
      element_.clear();
    } else if constexpr (std::same_as<T, Range>) {
      if (std::isnan(value.low) || std::isnan(value.high)) check(name, NAN);
    } else if constexpr (!Leaf<T>) {
      fields(*this, value);
    }
  }

 private:
  void check(std::string_view name, double value) const {
    if (!std::isfinite(value)) {
      throw ModelError(message(element_, name, " is ", value, "; expected a finite number"));
    }
  }
  std::string element_;
};

}  // namespace

bool has_picture(const Sensor& s) {
  const auto& n = s.numbers;
  const bool finite = std::all_of(n.begin(), n.end(), [](double x) { return std::isfinite(x); });
  return finite && n[0] != 0 && n[1] != 0;
}

void check_model(const Model& m) {
  check_counts(m);
  check_bodies(m);
  check_joints(m);
  check_shapes(m);
  check_meshes(m);
  check_tendons(m);
  check_equalities(m);
  check_actuators(m);
  check_sensors(m);
  check_keyframes(m);
  Finite finite;
  fields(finite, m);
  if (!(m.options.timestep > 0)) {
    throw ModelError(message("timestep is ", m.options.timestep, "; expected a positive number"));
  }
}

}  // namespace cycloid::inline model
