#include "cycloid/io/convert.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/io/contacts.h"
#include "cycloid/io/messages.h"
#include "cycloid/io/refuse.h"
#include "cycloid/io/shapes.h"
#include "cycloid/model/check_model.h"

namespace cycloid::inline io {
namespace {

template <std::size_t N>
std::array<double, N> row(const mjtNum* values, mjtSize i) {
  std::array<double, N> copy;
  std::copy_n(values + i * static_cast<mjtSize>(N), N, copy.begin());
  return copy;
}

std::vector<double> rows(const mjtNum* values, mjtSize i, mjtSize columns) {
  return {values + i * columns, values + (i + 1) * columns};
}

Range range(bool on, const mjtNum* values, mjtSize i) {
  return {on, values[2 * i], values[2 * i + 1]};
}

// A limit of motion. MuJoCo's states stay within mjMAXVAL, so a bound beyond it is never met.
Range limit(bool on, const mjtNum* values, mjtSize i) {
  const auto reachable = [](double bound) { return std::clamp(bound, -mjMAXVAL, mjMAXVAL); };
  return {on, reachable(values[2 * i]), reachable(values[2 * i + 1])};
}

Polynomial polynomial(const mjtNum* linear, const mjtNum* higher, mjtSize i) {
  return {linear[i], higher[mjNPOLY * i], higher[mjNPOLY * i + 1]};
}

Compliance softness(const mjtNum* solref, const mjtNum* solimp, mjtSize i) {
  return {row<mjNREF>(solref, i), row<mjNIMP>(solimp, i)};
}

std::string name_at(const mjModel& m, const int* addresses, mjtSize i) {
  return readable(m.names + addresses[i]);
}

Options options_of(const mjModel& m, const LoadOptions& load) {
  const auto acts = [&](int flag) { return !(m.opt.disableflags & flag); };
  Options o;
  o.integrator = m.opt.integrator == mjINT_RK4            ? RigidIntegrator::rk4
                 : m.opt.integrator == mjINT_IMPLICITFAST ? RigidIntegrator::implicitfast
                 : m.opt.integrator == mjINT_IMPLICIT     ? RigidIntegrator::implicit
                                                          : RigidIntegrator::euler;
  o.timestep = m.opt.timestep;
  o.gravity = row<3>(m.opt.gravity, 0);
  o.wind = row<3>(m.opt.wind, 0);
  o.density = m.opt.density;
  o.viscosity = m.opt.viscosity;
  o.impratio = m.opt.impratio;
  o.elliptic = m.opt.cone == mjCONE_ELLIPTIC;
  // Any positive number will do as a scale.
  const double inertia = m.stat.meaninertia;
  o.mean_inertia = inertia > 0 && std::isfinite(inertia) ? inertia : 1;
  o.acting.springs = acts(mjDSBL_SPRING);
  o.acting.dampers = acts(mjDSBL_DAMPER);
  o.acting.gravity = acts(mjDSBL_GRAVITY);
  o.acting.actuation = acts(mjDSBL_ACTUATION);
  o.acting.control_limits = acts(mjDSBL_CLAMPCTRL);
  o.acting.euler_damping = acts(mjDSBL_EULERDAMP);
  o.acting.constraints = constraints_act(m, load);
  o.acting.equalities = acts(mjDSBL_EQUALITY);
  o.acting.friction_loss = acts(mjDSBL_FRICTIONLOSS);
  o.acting.limits = acts(mjDSBL_LIMIT);
  o.acting.contacts = acts(mjDSBL_CONTACT);
  o.acting.refsafe = acts(mjDSBL_REFSAFE);
  o.acting.exact_diagonal = (m.opt.enableflags & mjENBL_DIAGEXACT) != 0;
  o.acting.parent_filter = acts(mjDSBL_FILTERPARENT);
  o.acting.midphase = acts(mjDSBL_MIDPHASE);
  return o;
}

Named<Body> body_of(const mjModel& m, mjtSize i) {
  Named<Body> b;
  b.name = name_at(m, m.name_bodyadr, i);
  b.parent = m.body_parentid[i];
  b.tree = m.body_treeid[i];
  b.first_joint = std::max(m.body_jntadr[i], 0);
  b.joints = m.body_jntnum[i];
  b.first_dof = std::max(m.body_dofadr[i], 0);
  b.dofs = m.body_dofnum[i];
  b.mocap = m.body_mocapid[i];
  b.welded = m.body_weldid[i];
  b.inverse_weight = row<2>(m.body_invweight0, i);
  b.pos = row<3>(m.body_pos, i);
  b.quat = row<4>(m.body_quat, i);
  b.mass = m.body_mass[i];
  b.com = row<3>(m.body_ipos, i);
  b.inertia_quat = row<4>(m.body_iquat, i);
  b.inertia = inertia_in_body_axes(row<3>(m.body_inertia, i), b.inertia_quat);
  b.gravity_compensation = m.body_gravcomp[i];
  return b;
}

Named<Joint> joint_of(const mjModel& m, mjtSize i) {
  constexpr JointKind kKinds[] = {JointKind::free, JointKind::ball, JointKind::slide,
                                  JointKind::hinge};
  Named<Joint> j;
  j.name = name_at(m, m.name_jntadr, i);
  j.kind = kKinds[m.jnt_type[i]];
  j.body = m.jnt_bodyid[i];
  j.qpos = m.jnt_qposadr[i];
  j.dof = m.jnt_dofadr[i];
  j.pos = row<3>(m.jnt_pos, i);
  j.axis = row<3>(m.jnt_axis, i);
  j.stiffness = polynomial(m.jnt_stiffness, m.jnt_stiffnesspoly, i);
  std::copy_n(m.qpos0 + j.qpos, qpos_numbers(j.kind), j.qpos0.begin());
  std::copy_n(m.qpos_spring + j.qpos, qpos_numbers(j.kind), j.spring.begin());
  j.range = limit(m.jnt_limited[i], m.jnt_range, i);
  j.margin = m.jnt_margin[i];
  j.limit = softness(m.jnt_solref, m.jnt_solimp, i);
  j.actuator_force = range(m.jnt_actfrclimited[i], m.jnt_actfrcrange, i);
  j.compensation_by_actuator = m.jnt_actgravcomp[i];
  return j;
}

Dof dof_of(const mjModel& m, mjtSize i) {
  Dof d;
  d.joint = m.dof_jntid[i];
  d.body = m.dof_bodyid[i];
  d.parent = m.dof_parentid[i];
  d.armature = m.dof_armature[i];
  d.damping = polynomial(m.dof_damping, m.dof_dampingpoly, i);
  d.frictionloss = m.dof_frictionloss[i];
  d.friction = softness(m.dof_solref, m.dof_solimp, i);
  d.inverse_weight = m.dof_invweight0[i];
  return d;
}

Shape shape_of(int type) {
  switch (type) {
    case mjGEOM_PLANE: return Shape::plane;
    case mjGEOM_HFIELD: return Shape::hfield;
    case mjGEOM_MESH: return Shape::mesh;
    case mjGEOM_SPHERE: return Shape::sphere;
    case mjGEOM_CAPSULE: return Shape::capsule;
    case mjGEOM_ELLIPSOID: return Shape::ellipsoid;
    case mjGEOM_CYLINDER: return Shape::cylinder;
    case mjGEOM_BOX: return Shape::box;
    default: return Shape::other;
  }
}

// Whether rays meet the geom.
bool is_drawn(const mjModel& m, mjtSize i) {
  const int material = m.geom_matid[i];
  return (material < 0 ? m.geom_rgba[4 * i + 3] : m.mat_rgba[4 * material + 3]) != 0;
}

Named<Geom> geom_of(const mjModel& m, mjtSize i) {
  Named<Geom> g;
  g.name = name_at(m, m.name_geomadr, i);
  g.body = m.geom_bodyid[i];
  g.pos = row<3>(m.geom_pos, i);
  g.quat = row<4>(m.geom_quat, i);
  g.shape = shape_of(m.geom_type[i]);
  g.data = m.geom_dataid[i];
  g.size = row<3>(m.geom_size, i);
  g.friction = row<3>(m.geom_friction, i);
  g.soft = softness(m.geom_solref, m.geom_solimp, i);
  g.margin = m.geom_margin[i];
  g.gap = m.geom_gap[i];
  g.adhesion = m.geom_adhesion[i];
  g.surface_velocity = row<6>(m.geom_surfacevel, i);
  g.condim = m.geom_condim[i];
  g.priority = m.geom_priority[i];
  g.solmix = m.geom_solmix[i];
  g.contype = m.geom_contype[i];
  g.conaffinity = m.geom_conaffinity[i];
  g.drawn = is_drawn(m, i);
  g.fluid = row<mjNFLUID>(m.geom_fluid, i);
  return g;
}

Named<Equality> equality_of(const mjModel& m, mjtSize i) {
  Named<Equality> e;
  e.name = name_at(m, m.name_eqadr, i);
  e.active = m.eq_active0[i];
  switch (m.eq_type[i]) {
    case mjEQ_CONNECT: e.kind = EqualityKind::connect; break;
    case mjEQ_WELD: e.kind = EqualityKind::weld; break;
    case mjEQ_JOINT: e.kind = EqualityKind::joint; break;
    case mjEQ_TENDON: e.kind = EqualityKind::tendon; break;
    default: e.active = false;  // accepted only where equalities do not act
  }
  e.on_sites = m.eq_objtype[i] == mjOBJ_SITE;
  e.object1 = m.eq_obj1id[i];
  e.object2 = m.eq_obj2id[i];
  e.data = row<mjNEQDATA>(m.eq_data, i);
  e.soft = softness(m.eq_solref, m.eq_solimp, i);
  return e;
}

Wrap wrap_of(const mjModel& m, mjtSize i) {
  switch (m.wrap_type[i]) {
    case mjWRAP_JOINT: return {WrapKind::joint, m.wrap_objid[i], m.wrap_prm[i]};
    case mjWRAP_PULLEY: return {WrapKind::pulley, -1, m.wrap_prm[i]};
    case mjWRAP_SPHERE:
    case mjWRAP_CYLINDER:
      return {m.wrap_type[i] == mjWRAP_SPHERE ? WrapKind::sphere : WrapKind::cylinder,
              m.wrap_objid[i], 0, static_cast<int>(std::lround(m.wrap_prm[i]))};
    default: return {WrapKind::site, m.wrap_objid[i], 0};
  }
}

Named<Tendon> tendon_of(const mjModel& m, mjtSize i) {
  Named<Tendon> t;
  t.name = name_at(m, m.name_tendonadr, i);
  t.kind = m.tendon_type[i] == mjTENDON_FIXED ? TendonKind::fixed : TendonKind::spatial;
  t.first_wrap = m.tendon_adr[i];
  t.wraps = m.tendon_num[i];
  t.stiffness = polynomial(m.tendon_stiffness, m.tendon_stiffnesspoly, i);
  t.damping = polynomial(m.tendon_damping, m.tendon_dampingpoly, i);
  t.spring_length = row<2>(m.tendon_lengthspring, i);
  t.armature = m.tendon_armature[i];
  t.frictionloss = m.tendon_frictionloss[i];
  t.range = limit(m.tendon_limited[i], m.tendon_range, i);
  t.actuator_force = range(m.tendon_actfrclimited[i], m.tendon_actfrcrange, i);
  t.margin = m.tendon_margin[i];
  t.limit = softness(m.tendon_solref_lim, m.tendon_solimp_lim, i);
  t.friction = softness(m.tendon_solref_fri, m.tendon_solimp_fri, i);
  t.inverse_weight = m.tendon_invweight0[i];
  return t;
}

TransmissionKind transmission_of(int type) {
  switch (type) {
    case mjTRN_JOINTINPARENT: return TransmissionKind::joint_in_parent;
    case mjTRN_TENDON: return TransmissionKind::tendon;
    case mjTRN_SITE: return TransmissionKind::site;
    case mjTRN_SLIDERCRANK: return TransmissionKind::slider_crank;
    case mjTRN_BODY: return TransmissionKind::body;
    case mjTRN_SO3: return TransmissionKind::orientation;
    default: return TransmissionKind::joint;
  }
}

ActuatorLaw law_of(int gain) {
  switch (gain) {
    case mjGAIN_PID: return ActuatorLaw::pid;
    case mjGAIN_DCMOTOR: return ActuatorLaw::dc_motor;
    case mjGAIN_SO3: return ActuatorLaw::orientation;
    default: return ActuatorLaw::gain_and_bias;
  }
}

bool is_enabled(const mjModel& m, mjtSize i) {
  const int group = m.actuator_group[i];
  return group < 0 || group > 30 || !(m.opt.disableactuator & (1 << group));
}

Named<Actuator> actuator_of(const mjModel& m, mjtSize i) {
  constexpr ActuatorDynamics kDynamics[] = {
      ActuatorDynamics::none, ActuatorDynamics::integrator, ActuatorDynamics::filter,
      ActuatorDynamics::filter_exact, ActuatorDynamics::muscle};
  const int control = m.actuator_ctrladr[i];
  const auto range_of = [&](int k) {
    if (k >= m.actuator_ctrlnum[i]) return Range{};
    return range(m.actuator_ctrllimited[control + k], m.actuator_ctrlrange, control + k);
  };
  Named<Actuator> a;
  a.name = name_at(m, m.name_actuatoradr, i);
  a.transmission = transmission_of(m.actuator_trntype[i]);
  a.target = m.actuator_trnid[2 * i];
  if (a.transmission == TransmissionKind::site ||
      a.transmission == TransmissionKind::slider_crank ||
      a.transmission == TransmissionKind::orientation) {
    a.reference_site = m.actuator_trnid[2 * i + 1];
  }
  const int output = m.actuator_outadr[i];
  a.crank_length = m.actuator_cranklength[output];
  a.gear = row<6>(m.actuator_gear, output);
  a.law = law_of(m.actuator_gaintype[i]);
  if (m.actuator_dyntype[i] <= mjDYN_MUSCLE) a.dynamics = kDynamics[m.actuator_dyntype[i]];
  a.dynamics_numbers = row<mjNDYN>(m.actuator_dynprm, i);
  a.act = m.actuator_actadr[i];
  a.acts = m.actuator_actnum[i];
  a.control = control;
  a.controls = m.actuator_ctrlnum[i];
  a.signature = m.actuator_ctrlspec[i];
  a.affine_gain = m.actuator_gaintype[i] == mjGAIN_AFFINE;
  a.affine_bias = m.actuator_biastype[i] == mjBIAS_AFFINE;
  a.muscle_gain = m.actuator_gaintype[i] == mjGAIN_MUSCLE;
  a.muscle_bias = m.actuator_biastype[i] == mjBIAS_MUSCLE;
  a.gain = row<mjNGAIN>(m.actuator_gainprm, i);
  a.bias = row<mjNBIAS>(m.actuator_biasprm, i);
  a.length_range = row<2>(m.actuator_lengthrange, output);
  a.acc0 = m.actuator_acc0[output];
  a.control_range = range_of(0);
  a.second_range = range_of(1), a.third_range = range_of(2), a.fourth_range = range_of(3);
  a.force_range = range(m.actuator_forcelimited[i], m.actuator_forcerange, i);
  a.activation_range = range(m.actuator_actlimited[i], m.actuator_actrange, i);
  a.early = m.actuator_actearly[i];
  a.enabled = is_enabled(m, i);
  a.damping = polynomial(m.actuator_damping, m.actuator_dampingpoly, i);
  a.armature = m.actuator_armature[i];
  return a;
}

// The site whose volume decides which contacts a sensor sees, or -1.
int zone_of(const mjModel& m, int sensor) {
  const int type = m.sensor_type[sensor];
  if (type == mjSENS_INSIDESITE) return m.sensor_refid[sensor];
  const bool sees = type == mjSENS_TOUCH || type == mjSENS_CONTACT;
  return sees && m.sensor_objtype[sensor] == mjOBJ_SITE ? m.sensor_objid[sensor] : -1;
}

// Focal lengths and centre of a camera's picture, in pixels; those of a lens in MuJoCo's precision.
std::array<double, 4> picture_of(const mjModel& m, int camera) {
  const int width = m.cam_resolution[2 * camera], height = m.cam_resolution[2 * camera + 1];
  const float* sensor = m.cam_sensorsize + 2 * camera;
  const float* lens = m.cam_intrinsic + 4 * camera;
  if (sensor[0] != 0 && sensor[1] != 0) {
    return {lens[0] / sensor[0] * static_cast<float>(width),
            lens[1] / sensor[1] * static_cast<float>(height), width / 2.0, height / 2.0};
  }
  const double focal = 0.5 / std::tan(m.cam_fovy[camera] * mjPI / 360) * height;
  return {focal, focal, width / 2.0, height / 2.0};
}

// The rays of a rangefinder. A lens's centre is its principal point; of parallel rays fovy is the
// height of the picture [m].
void set_rays(const mjModel& m, mjtSize i, Sensor& s) {
  s.fields = m.sensor_intprm[mjNSENS * i];
  if (s.object_type != mjOBJ_CAMERA) return;
  const int camera = s.object;
  s.columns = m.cam_resolution[2 * camera];
  s.rows = m.cam_resolution[2 * camera + 1];
  s.parallel = m.cam_projection[camera] == mjPROJ_ORTHOGRAPHIC;
  s.numbers = picture_of(m, camera);
  if (s.parallel) {
    s.numbers[0] = s.numbers[1] = s.rows / m.cam_fovy[camera];
    s.numbers[2] = s.columns / 2.0, s.numbers[3] = s.rows / 2.0;
  } else if (const float* size = m.cam_sensorsize + 2 * camera; size[0] != 0 && size[1] != 0) {
    const float* lens = m.cam_intrinsic + 4 * camera;
    const double across = static_cast<double>(size[0]) / s.columns,
                 down = static_cast<double>(size[1]) / s.rows;
    s.numbers = {lens[0] / across, lens[1] / down, lens[2] / across, lens[3] / down};
  }
}

bool measures_distance(int type) {
  return type == mjSENS_GEOMDIST || type == mjSENS_GEOMNORMAL || type == mjSENS_GEOMFROMTO;
}

ListedSensor sensor_of(const mjModel& m, mjtSize i) {
  ListedSensor s;
  s.name = name_at(m, m.name_sensoradr, i);
  s.type = m.sensor_type[i];
  s.object_type = m.sensor_objtype[i];
  s.object = m.sensor_objid[i];
  s.reference_type = m.sensor_reftype[i];
  s.reference = m.sensor_refid[i];
  s.dimension = m.sensor_dim[i];
  // Directions and quaternions are never cut off.
  const int kind = m.sensor_datatype[i];
  const bool cut = kind == mjDATATYPE_REAL || kind == mjDATATYPE_POSITIVE;
  if (measures_distance(s.type)) s.numbers[0] = m.sensor_cutoff[i];
  if (cut && s.type != mjSENS_CONTACT && s.type != mjSENS_GEOMFROMTO) s.cutoff = m.sensor_cutoff[i];
  if (const int site = zone_of(m, static_cast<int>(i)); site >= 0) {
    s.zone = shape_of(m.site_type[site]);
    s.zone_size = row<3>(m.site_size, site);
  }
  if (s.type == mjSENS_CONTACT) {
    s.fields = m.sensor_intprm[mjNSENS * i];
    s.reduction = m.sensor_intprm[mjNSENS * i + 1];
  }
  if (s.type == mjSENS_MAGNETOMETER) std::copy_n(m.opt.magnetic, 3, s.numbers.begin());
  if (s.type == mjSENS_RANGEFINDER) set_rays(m, i, s);
  if (s.type == mjSENS_CAMPROJECTION) s.numbers = picture_of(m, s.reference);
  s.unsupported = unsupported_sensor(m, static_cast<int>(i));
  const bool pictures =
      s.type == mjSENS_CAMPROJECTION || (s.type == mjSENS_RANGEFINDER && s.columns > 0);
  if (s.unsupported.empty() && pictures && !has_picture(s)) {
    s.unsupported = "the picture of a camera without a focal length has no pixels to look along";
  }
  return s;
}

Keyframe keyframe_of(const mjModel& m, mjtSize i) {
  Keyframe k;
  k.name = name_at(m, m.name_keyadr, i);
  k.time = m.key_time[i];
  k.qpos = rows(m.key_qpos, i, m.nq);
  k.qvel = rows(m.key_qvel, i, m.nv);
  k.act = rows(m.key_act, i, m.na);
  k.ctrl = rows(m.key_ctrl, i, m.nu);
  k.mocap_pos = rows(m.key_mpos, i, 3 * m.nmocap);
  k.mocap_quat = rows(m.key_mquat, i, 4 * m.nmocap);
  return k;
}

std::vector<Named<Marker>> markers(const mjModel& m, mjtSize count, const int* names,
                                   const int* bodies, const mjtNum* pos, const mjtNum* quat) {
  std::vector<Named<Marker>> all;
  for (mjtSize i = 0; i < count; ++i) {
    all.push_back({{bodies[i], row<3>(pos, i), row<4>(quat, i)}, name_at(m, names, i)});
  }
  return all;
}

template <class Element>
void fill(std::vector<Element>& all, mjtSize count, const mjModel& m,
          Element (*make)(const mjModel&, mjtSize)) {
  all.reserve(static_cast<std::size_t>(count));
  for (mjtSize i = 0; i < count; ++i) all.push_back(make(m, i));
}

bool can_be_observed(int type) {
  switch (type) {
    case mjSENS_TOUCH:
    case mjSENS_ACCELEROMETER:
    case mjSENS_VELOCIMETER:
    case mjSENS_GYRO:
    case mjSENS_FORCE:
    case mjSENS_TORQUE:
    case mjSENS_MAGNETOMETER:
    case mjSENS_RANGEFINDER:
    case mjSENS_CAMPROJECTION:
    case mjSENS_GEOMDIST:
    case mjSENS_GEOMNORMAL:
    case mjSENS_GEOMFROMTO:
    case mjSENS_JOINTLIMITPOS:
    case mjSENS_JOINTLIMITVEL:
    case mjSENS_JOINTLIMITFRC:
    case mjSENS_TENDONLIMITFRC:
    case mjSENS_TENDONLIMITPOS:
    case mjSENS_TENDONLIMITVEL:
    case mjSENS_INSIDESITE:
    case mjSENS_CONTACT:
    case mjSENS_E_POTENTIAL:
    case mjSENS_E_KINETIC:
    case mjSENS_CLOCK: return true;
    default:
      return (type >= mjSENS_JOINTPOS && type <= mjSENS_BALLANGVEL) ||
             (type >= mjSENS_FRAMEPOS && type <= mjSENS_SUBTREEANGMOM);
  }
}

}  // namespace

std::array<double, 6> inertia_in_body_axes(const std::array<double, 3>& moments,
                                           const std::array<double, 4>& quat) {
  const auto [w, x, y, z] = quat;
  const double R[3][3] = {
      {w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)},
      {2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)},
      {2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}};
  const auto J = [&](int a, int b) {
    return R[a][0] * moments[0] * R[b][0] + R[a][1] * moments[1] * R[b][1] +
           R[a][2] * moments[2] * R[b][2];  // (1)
  };
  return {J(0, 0), J(1, 1), J(2, 2), J(0, 1), J(0, 2), J(1, 2)};
}

// A geom that a ray from this body could meet and that is of no shape for it, or -1.
static int unseen_solid(const mjModel& m, int body) {
  for (mjtSize i = 0; i < m.ngeom; ++i) {
    if (m.geom_type[i] == mjGEOM_SDF && m.geom_bodyid[i] != body && is_drawn(m, i)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Whether a sensor of distance looks at a geom.
static bool looks_at(const mjModel& m, int sensor, mjtSize geom) {
  const auto named = [&](int type, int id) {
    return type == mjOBJ_GEOM ? id == geom : m.geom_bodyid[geom] == id;
  };
  return named(m.sensor_objtype[sensor], m.sensor_objid[sensor]) ||
         named(m.sensor_reftype[sensor], m.sensor_refid[sensor]);
}

// Why it cannot; empty where it can.
static std::string unmeasured_shape(const mjModel& m, int sensor) {
  for (mjtSize i = 0; i < m.ngeom; ++i) {
    if (!looks_at(m, sensor, i)) continue;
    if (m.geom_type[i] == mjGEOM_SDF) {
      return message("the distance to a signed distance field is not supported (",
                     element(m, "ngeom", i), ")");
    }
    if (m.geom_type[i] == mjGEOM_HFIELD) {
      return message("the distance to a height field is not supported (", element(m, "ngeom", i),
                     ")");
    }
    if (m.geom_type[i] != mjGEOM_MESH || m.geom_dataid[i] < 0) continue;
    const std::string fault = hull_fault(m, static_cast<std::size_t>(m.geom_dataid[i]));
    if (!fault.empty()) return fault;
  }
  return {};
}

std::string unsupported_sensor(const mjModel& m, int i) {
  if (!can_be_observed(m.sensor_type[i])) return "sensors of this type are not supported";
  if (m.sensor_historyadr[i] >= 0 || m.sensor_delay[i] > 0 || m.sensor_interval[2 * i] > 0) {
    return "sensors with a delay, an interval or a history are not supported";
  }
  const auto moves = [&](int type, int id) {
    return type == mjOBJ_CAMERA && id >= 0 && m.cam_mode[id] != mjCAMLIGHT_FIXED;
  };
  if (moves(m.sensor_objtype[i], m.sensor_objid[i]) ||
      moves(m.sensor_reftype[i], m.sensor_refid[i])) {
    return "sensors at a camera that tracks or targets a body are not supported";
  }
  const int type = m.sensor_type[i];
  if (type == mjSENS_RANGEFINDER) {
    const int id = m.sensor_objid[i];
    const bool on_site = m.sensor_objtype[i] == mjOBJ_SITE;
    const int solid = unseen_solid(m, on_site ? m.site_bodyid[id] : m.cam_bodyid[id]);
    if (solid >= 0) {
      return message("rays do not meet signed distance fields, which would be in the way (",
                     element(m, "ngeom", solid), ")");
    }
  }
  if (measures_distance(type)) {
    if (std::string fault = unmeasured_shape(m, i); !fault.empty()) return fault;
  }
  const int zone = zone_of(m, i);
  if (zone >= 0 && m.site_type[zone] == mjGEOM_MESH) {
    return "sensors at a site with the shape of a mesh are not supported";
  }
  if (m.sensor_type[i] == mjSENS_TORQUE && m.site_bodyid[m.sensor_objid[i]] == 0) {
    return "the torque on the world has no point that it is about: MuJoCo adds those of several";
  }
  return {};
}

// Meshes and height fields that only sensors look at.
static void add_seen_shapes(const mjModel& m, Model& model) {
  bool rays = false;
  std::vector<bool> measured(static_cast<std::size_t>(m.ngeom), false), met = measured;
  for (int s = 0; s < m.nsensor; ++s) {
    if (!unsupported_sensor(m, s).empty()) continue;
    rays = rays || m.sensor_type[s] == mjSENS_RANGEFINDER;
    if (!measures_distance(m.sensor_type[s])) continue;
    for (mjtSize g = 0; g < m.ngeom; ++g) {
      if (looks_at(m, s, g)) measured[static_cast<std::size_t>(g)] = true;
    }
  }
  for (mjtSize g = 0; g < m.ngeom; ++g) met[static_cast<std::size_t>(g)] = rays && is_drawn(m, g);
  see_meshes(m, measured, met, model.meshes);
  see_fields(m, met, model.height_fields);
}

Model convert(const mjModel& m, const LoadOptions& options) {
  Model model;
  model.name = readable(m.names);
  model.options = options_of(m, options);
  model.nq = static_cast<int>(m.nq);
  model.nv = static_cast<int>(m.nv);
  model.na = static_cast<int>(m.na);
  model.nu = static_cast<int>(m.nu);
  model.nmocap = static_cast<int>(m.nmocap);
  model.trees = static_cast<int>(m.ntree);
  fill(model.bodies, m.nbody, m, body_of);
  fill(model.joints, m.njnt, m, joint_of);
  fill(model.dofs, m.nv, m, dof_of);
  model.sites = markers(m, m.nsite, m.name_siteadr, m.site_bodyid, m.site_pos, m.site_quat);
  fill(model.geoms, m.ngeom, m, geom_of);
  if (model.options.acting.constraints && model.options.acting.contacts) {
    const std::vector<bool> touches = touching_geoms(m);
    model.meshes = touching_meshes(m, touches);
    model.height_fields = touching_fields(m, touches);
  }
  add_seen_shapes(m, model);
  model.cameras = markers(m, m.ncam, m.name_camadr, m.cam_bodyid, m.cam_pos, m.cam_quat);
  const Acting& acting = model.options.acting;
  model.pairs = contact_pairs(m, acting.constraints && acting.contacts);
  fill(model.exclusions, m.nexclude, m, exclusion);
  fill(model.equalities, m.neq, m, equality_of);
  fill(model.wraps, m.nwrap, m, wrap_of);
  fill(model.tendons, m.ntendon, m, tendon_of);
  fill(model.actuators, m.nactuator, m, actuator_of);
  fill(model.sensors, m.nsensor, m, sensor_of);
  fill(model.keyframes, m.nkey, m, keyframe_of);
  model.qpos0 = rows(m.qpos0, 0, m.nq);
  return model;
}

}  // namespace cycloid::inline io
