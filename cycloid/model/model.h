// Room model: what a robot is, as plain numbers. Nothing here computes.
//
// A Model is a tree of bodies joined by joints, with sites, tendons and actuators. Its meaning, and
// the order of bodies, joints, degrees of freedom (dofs), qpos, qvel, act and ctrl, are those of a
// compiled MuJoCo model (mjModel, release 4.0). Room io makes one from MJCF or URDF; room rigid
// steps it. SI units throughout; angles in radians; quaternions (w, x, y, z). Elements are plain
// numbers; their names stand beside them (Named), and kernels read a Model without (model_view.h).
//
// Body 0 is the world. A body's parent comes before it, and so do its ancestors' dofs before its
// own. An index of -1 means "none".
#pragma once

#include <array>
#include <string>
#include <vector>

namespace cycloid::inline model {

enum class JointKind { free, ball, slide, hinge };
constexpr int qpos_numbers(JointKind k) {
  return k == JointKind::free ? 7 : k == JointKind::ball ? 4 : 1;
}
constexpr int dof_numbers(JointKind k) {
  return k == JointKind::free ? 6 : k == JointKind::ball ? 3 : 1;
}

enum class RigidIntegrator { euler, implicitfast, rk4, implicit };
enum class TendonKind { fixed, spatial };
enum class WrapKind { joint, pulley, site, sphere, cylinder };
enum class TransmissionKind {
  joint,
  joint_in_parent,
  tendon,
  site,
  slider_crank,
  body,
  orientation
};
enum class ActuatorDynamics { none, integrator, filter, filter_exact, muscle };
// What an actuator computes: a gain and a bias with one control and at most one activation, or a
// controller and a motor with several of them.
enum class ActuatorLaw { gain_and_bias, pid, dc_motor, orientation };

// f(x) = linear x + quadratic x² + cubic x³; for damping x|x| in place of x².
struct Polynomial {
  double linear = 0, quadratic = 0, cubic = 0;
  bool operator==(const Polynomial&) const = default;
};

// How a constraint gives: MuJoCo's solref and solimp.
struct Compliance {
  std::array<double, 2> solref{0.02,
                               1};  // time constant [s] and damping ratio, or -stiffness, -damping
  std::array<double, 5> solimp{0.9, 0.95, 0.001, 0.5, 2};
};

// An element of a model with its name; kernels read the element, which is plain numbers.
template <class Element>
struct Named : Element {
  std::string name = {};
};

// A limit that applies when `on`.
struct Range {
  bool on = false;
  double low = 0, high = 0;
};

struct Body {
  int parent = 0;
  int tree = -1;  // kinematic tree; -1: fixed to the world
  int first_joint = 0, joints = 0;
  int first_dof = 0, dofs = 0;
  int mocap = -1;                          // row of mocap_pos and mocap_quat
  int welded = 0;                          // the body that it is fixed to for good, or itself
  std::array<double, 2> inverse_weight{};  // at qpos0: of translation [1/kg], of rotation
  std::array<double, 3> pos{};             // in the parent's frame [m]
  std::array<double, 4> quat{1, 0, 0, 0};  // in the parent's frame
  double mass = 0;                         // [kg]
  std::array<double, 3> com{};             // in body axes [m]
  std::array<double, 6> inertia{};         // about com, body axes: xx yy zz xy xz yz [kg·m²]
  std::array<double, 4> inertia_quat{1, 0, 0, 0};  // principal axes, in body axes (fluid forces)
  double gravity_compensation = 0;                 // fraction of the weight
};

struct Joint {
  JointKind kind = JointKind::hinge;
  int body = 0, qpos = 0, dof = 0;  // first place in qpos and qvel
  std::array<double, 3> pos{};      // anchor in body axes [m]; free: not used
  std::array<double, 3> axis{0, 0, 1};
  Polynomial stiffness;            // [N/m], [N·m/rad]
  std::array<double, 7> qpos0{};   // configuration at which the body stands as its frame says
  std::array<double, 7> spring{};  // springref: configuration without spring force
  Range range;                     // limit of motion
  double margin = 0;               // from where the limit counts [m], [rad]
  Compliance limit;
  Range actuator_force;                   // clamps the actuators' total
  bool compensation_by_actuator = false;  // gravity compensation counts as actuator force
};

struct Dof {
  int joint = 0, body = 0;
  int parent = -1;            // the dof before it on the way to the root
  double armature = 0;        // [kg·m²] or [kg], actuators' armature on this joint not included
  Polynomial damping;         // [N·m·s/rad] or [N·s/m]
  double frictionloss = 0;    // [N·m] or [N]
  Compliance friction;        // of frictionloss
  double inverse_weight = 0;  // at qpos0
};

// A frame fixed to a body: a site, a geom or a camera.
struct Marker {
  int body = 0;
  std::array<double, 3> pos{};
  std::array<double, 4> quat{1, 0, 0, 0};
};

enum class Shape { plane, hfield, sphere, capsule, ellipsoid, cylinder, box, mesh, other };

// What touches. `other` (signed distance fields, …) touches nothing here.
struct Geom : Marker {
  Shape shape = Shape::sphere;
  int data = -1;                                   // its mesh or height field
  std::array<double, 3> size{};                    // as in room geometry [m]
  std::array<double, 3> friction{1, 0.005, 1e-4};  // sliding, spinning, rolling
  Compliance soft;
  double margin = 0, gap = 0;                // [m]
  double adhesion = 0;                       // by which a contact can pull [N]
  std::array<double, 6> surface_velocity{};  // in its own axes: [m/s], and about its origin [rad/s]
  int condim = 3, priority = 0;
  double solmix = 1;
  int contype = 1, conaffinity = 1;
  bool drawn = true;  // is not transparent, so that rays meet it
  // mjModel.geom_fluid: 1 where the medium sees it as an ellipsoid, else 0; coefficients of blunt,
  // slender and angular drag, Kutta and Magnus lift; virtual mass [m³] and inertia [m⁵].
  std::array<double, 12> fluid{};
};

// The vertices of a compiled mesh in its own frame, which is that of the geoms that have it, and
// its convex hull: that is what touches. Corners, triangles and polygons of the hull name vertices.
struct Mesh {
  std::string name;
  std::vector<double> vertex;          // (n, 3) [m]
  std::vector<int> corners;            // of the hull; empty: it has none, and touches nothing
  std::vector<int> triangles;          // (t, 3), counter-clockwise from outside
  std::vector<int> polygons;           // corners of one after the other
  std::vector<int> polygon_end;        // where each of them ends
  std::vector<double> polygon_normal;  // (polygons, 3), or empty: as their corners have it
  std::vector<int> neighbours;         // of corners, of one after the other
  std::vector<int> neighbour_end;
  std::vector<int> seeds;  // (27) places in `corners` where a search may start
  std::vector<int> faces;  // (f, 3) those that rays meet; empty: no ray may
};

// Heights over a rectangle: size is half-lengths along x and y, the height of data = 1, and the
// depth of what is below [m].
struct HeightData {
  std::string name;
  int rows = 0, columns = 0;
  std::array<double, 4> size{};
  std::vector<double> data;  // (rows, columns)
};

// Two geoms that touch by the numbers given here and not by their own.
struct GivenPair {
  int geom1 = 0, geom2 = 0, condim = 3;
  std::array<double, 5> friction{1, 1, 0.005, 1e-4, 1e-4};
  Compliance soft;
  std::array<double, 2> solref_friction{};  // zero: as solref
  double margin = 0, gap = 0;
  double adhesion = 0;  // [N]
};

// Two bodies whose geoms do not touch.
struct Exclusion {
  int body1 = 0, body2 = 0;
};

enum class EqualityKind { connect, weld, joint, tendon };

struct Equality {
  EqualityKind kind = EqualityKind::connect;
  bool active = true;              // at the start (eq_active0)
  bool on_sites = false;           // objects are sites and not bodies
  int object1 = -1, object2 = -1;  // bodies, sites, joints or tendons; -1: the second is missing
  std::array<double, 12> data{};   // eq_data
  Compliance soft;
};

struct Wrap {
  WrapKind kind = WrapKind::site;
  int object = -1;   // joint, site or geom
  double value = 0;  // coefficient of a joint; divisor of a pulley
  int side = -1;     // of a geom: the site that says on which side the tendon goes
};

struct Tendon {
  TendonKind kind = TendonKind::fixed;
  int first_wrap = 0, wraps = 0;
  Polynomial stiffness, damping;
  std::array<double, 2> spring_length{};  // no force between the two [m]
  double armature = 0;                    // [kg], actuators' armature not included
  double frictionloss = 0;
  Range range, actuator_force;
  double margin = 0;  // of the limit [m]
  Compliance limit, friction;
  double inverse_weight = 0;  // at qpos0
};

struct Actuator {
  TransmissionKind transmission = TransmissionKind::joint;
  int target = -1;  // joint, tendon, site, the crank's site, or the body that adheres; of an
                    // orientation a ball joint, or a site with a reference site
  int reference_site = -1;  // of a site; the slider's site
  double crank_length = 0;  // of a slider-crank's rod [m]
  std::array<double, 6> gear{1, 0, 0, 0, 0, 0};
  ActuatorDynamics dynamics = ActuatorDynamics::none;
  std::array<double, 10> dynamics_numbers{1};  // dynprm; [0] the time constant of a filter [s]
  ActuatorLaw law = ActuatorLaw::gain_and_bias;
  int act = -1;      // place in act, of the first
  int acts = 0;      // how many a controller or motor has; others have one, or none
  int control = -1;  // place in ctrl, of the first
  int controls = 1;  // how many
  int signature =
      0;  // of a controller: bits of MuJoCo's mjtCtrlInput, which controls there are; of
          // an orientation: mjtCtrlChart
  bool affine_gain = false, muscle_gain = false;  // else only gain[0] acts
  bool affine_bias = false, muscle_bias = false;  // else no bias
  std::array<double, 10> gain{};  // gainprm: constant, per length, per velocity; or a muscle's
  std::array<double, 10> bias{};  // biasprm
  std::array<double, 2> length_range{};  // of the transmission, as compiled (muscles) [m]
  double acc0 = 0;                       // acceleration by a unit force at qpos0 (muscles)
  Range control_range, force_range, activation_range;
  Range second_range, third_range, fourth_range;  // of further controls
  bool early = false;                             // the force uses the next activation
  bool enabled = true;                            // its group is not disabled
  Polynomial damping;                             // acts on the joint or tendon it drives
  double armature = 0;                            // added to the joint or tendon it drives
};

// How many activations a controller or motor has, by its numbers (rigid/force/setpoint.h).
constexpr int motor_states(const Actuator& a) {
  const auto &d = a.dynamics_numbers, &g = a.gain;
  if (a.law == ActuatorLaw::orientation) return a.dynamics == ActuatorDynamics::none ? 0 : 3;
  if (a.law == ActuatorLaw::pid) return (d[1] > 0) + (g[0] > 0);
  return (d[7] > 0) + (g[5] > 0) + (d[2] > 0) + (d[5] > 0) + (d[0] > 0);
}
constexpr int activations(const Actuator& a) {
  return a.law == ActuatorLaw::gain_and_bias ? (a.act >= 0 ? 1 : 0) : a.acts;
}
// The range of an actuator's k-th control.
constexpr const Range& control_range(const Actuator& a, int k) {
  return k == 0   ? a.control_range
         : k == 1 ? a.second_range
         : k == 2 ? a.third_range
                  : a.fourth_range;
}

// What MuJoCo calls a sensor, by MuJoCo's own numbers and ids (mjtSensor, mjtObj).
struct Sensor {
  int type = 0, object_type = 0, object = -1, reference_type = 0, reference = -1;
  int dimension = 1;
  double cutoff = 0;
  Shape zone = Shape::sphere;  // the volume of the site that touch and contact sensors look at
  std::array<double, 3> zone_size{};  // [m]
  int fields = 0, reduction = 0;      // contact sensors: bits of mjtConDataField, way to reduce;
                                      // rangefinders: bits of mjtRayDataField
  int columns = 0, rows = 0;          // rangefinders of a camera: its pixels
  bool parallel = false;              // ... whose rays are parallel
  // Magnetometers: the flux. Pictures of a camera: focal lengths and centre [pixels].
  std::array<double, 4> numbers{};
};

// A sensor of the file; `unsupported` is the reason for which it cannot be observed.
struct ListedSensor : Named<Sensor> {
  std::string unsupported = {};
};

struct Keyframe {
  std::string name;
  double time = 0;
  std::vector<double> qpos, qvel, act, ctrl, mocap_pos, mocap_quat;
};

// Which forces act; MuJoCo's disable flags, the other way round.
struct Acting {
  bool springs = true, dampers = true, gravity = true, actuation = true;
  bool control_limits = true;  // clampctrl
  bool euler_damping = true;   // implicit damping in the Euler integrator
  bool constraints = true;     // the parts of which follow
  bool equalities = true, friction_loss = true, limits = true, contacts = true;
  bool refsafe = true;          // a time constant of at least two steps
  bool exact_diagonal = false;  // weights of rows as they are, not as they were at the start
  bool parent_filter = true;    // a body does not touch its parent
  bool midphase = true;         // decides about the order of contacts only
};

struct Options {
  RigidIntegrator integrator = RigidIntegrator::euler;
  double timestep = 0.002;                     // [s]
  std::array<double, 3> gravity{0, 0, -9.81};  // [m/s²]
  std::array<double, 3> wind{};                // [m/s]
  double density = 0;                          // of the medium [kg/m³]
  double viscosity = 0;                        // [Pa·s]
  double impratio = 1;
  bool elliptic = false;    // friction cones, else pyramids
  double mean_inertia = 1;  // scales the solver's residual
  Acting acting;
};

struct Model {
  std::string name;
  Options options;
  int nq = 0, nv = 0, na = 0, nu = 0, nmocap = 0, trees = 0;
  std::vector<Named<Body>> bodies;
  std::vector<Named<Joint>> joints;
  std::vector<Dof> dofs;
  std::vector<Named<Marker>> sites, cameras;
  std::vector<Named<Geom>> geoms;
  std::vector<Mesh> meshes;  // empty where no geom that can touch has it, and so below
  std::vector<HeightData> height_fields;
  std::vector<Named<GivenPair>> pairs;
  std::vector<Exclusion> exclusions;
  std::vector<Named<Equality>> equalities;
  std::vector<Wrap> wraps;
  std::vector<Named<Tendon>> tendons;
  std::vector<Named<Actuator>> actuators;
  std::vector<ListedSensor> sensors;
  std::vector<Keyframe> keyframes;
  std::vector<double> qpos0;

  // The name of an element for a message or a parameter: "foot", or "#7" without a name.
  template <class Element>
  static std::string label(const std::vector<Element>& all, int i) {
    const std::string& own = all[static_cast<std::size_t>(i)].name;
    return own.empty() ? std::string("#").append(std::to_string(i)) : own;
  }
};

}  // namespace cycloid::inline model
