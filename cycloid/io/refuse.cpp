#include "cycloid/io/refuse.h"

#include "cycloid/base/error.h"
#include "cycloid/io/contacts.h"
#include "cycloid/io/fields.h"

namespace cycloid::inline io {
namespace {

// Numbers that make no sense and that MuJoCo does not look at.
void judge_numbers(const mjModel& m) {
  if (!(m.opt.timestep > 0)) {
    throw ModelError(
        message("options: timestep is ", m.opt.timestep, "; expected a positive number"));
  }
  for (mjtSize i = 0; i < m.nbody; ++i) {
    if (m.body_mass[i] < 0) {
      throw ModelError(message(element(m, "nbody", i), ": mass is ", m.body_mass[i],
                               "; expected zero or a positive number"));
    }
  }
}

void judge_options(const mjModel& m) {
  const int integrator = m.opt.integrator;
  if (integrator < mjINT_EULER || integrator > mjINT_IMPLICITFAST) {
    refuse("options", "the integrator discrete",
           "set integrator to Euler, implicit, implicitfast or RK4");
  }
  if (m.opt.enableflags & mjENBL_SLEEP) {
    for (mjtSize i = 0; i < m.ntree; ++i) {
      const int policy = m.tree_sleep_policy[i];
      if (policy == mjSLEEP_AUTO_NEVER || policy == mjSLEEP_NEVER) continue;
      refuse(element(m, "nbody", m.tree_bodyadr[i]), "sleeping",
             "disable the flag sleep, or set sleep=\"never\"");
    }
  }
  if (m.nflex > 0) {
    refuse(
        element(m, "nflex", 0), "a flex in a robot",
        "cycloid.soft.flexes makes soft bodies of a model's flexes; load the robot without them");
  }
}

// MuJoCo itself stops at a tendon with inertia that goes around a geom.
void judge_tendons(const mjModel& m) {
  std::vector<bool> heavy(static_cast<std::size_t>(m.ntendon));
  for (mjtSize i = 0; i < m.ntendon; ++i) {
    heavy[static_cast<std::size_t>(i)] = m.tendon_armature[i] != 0;
  }
  for (mjtSize i = 0; i < m.nactuator; ++i) {
    if (m.actuator_trntype[i] != mjTRN_TENDON || m.actuator_armature[i] == 0) continue;
    heavy[static_cast<std::size_t>(m.actuator_trnid[2 * i])] = true;
  }
  for (mjtSize i = 0; i < m.ntendon; ++i) {
    for (int w = m.tendon_adr[i]; w < m.tendon_adr[i] + m.tendon_num[i]; ++w) {
      const int type = m.wrap_type[w];
      if (type != mjWRAP_SPHERE && type != mjWRAP_CYLINDER) continue;
      if (!heavy[static_cast<std::size_t>(i)]) continue;
      refuse(element(m, "ntendon", i),
             message("armature with wrapping around ",
                     type == mjWRAP_SPHERE ? "a sphere" : "a cylinder", " (",
                     element(m, "ngeom", m.wrap_objid[w]), ")"),
             "remove the armature of the tendon and of its actuators, or route it through sites");
    }
  }
}

// What an actuator's four types add up to; empty when it is supported.
std::string unsupported_actuator(const mjModel& m, mjtSize i) {
  const int dynamics = m.actuator_dyntype[i], gain = m.actuator_gaintype[i],
            bias = m.actuator_biastype[i], transmission = m.actuator_trntype[i];
  const bool motor = gain == mjGAIN_DCMOTOR, pid = gain == mjGAIN_PID;
  if (motor != (bias == mjBIAS_DCMOTOR) || (dynamics == mjDYN_DCMOTOR && !motor) ||
      (motor && dynamics != mjDYN_DCMOTOR && dynamics != mjDYN_NONE)) {
    return "a DC motor's gain, bias or dynamics together with those of another actuator";
  }
  if ((dynamics == mjDYN_PID && !pid) ||
      (pid && (bias != mjBIAS_AFFINE || (dynamics != mjDYN_PID && dynamics != mjDYN_NONE)))) {
    return "a PID controller's gain or dynamics together with those of another actuator";
  }
  if ((motor || pid) && transmission == mjTRN_BODY) return "adhesion by a motor";
  if (motor || pid) {
    const mjtNum *d = m.actuator_dynprm + mjNDYN * i, *g = m.actuator_gainprm + mjNGAIN * i;
    const int states = pid ? (d[1] > 0) + (g[0] > 0)
                           : (d[7] > 0) + (g[5] > 0) + (d[2] > 0) + (d[5] > 0) + (d[0] > 0);
    return states == m.actuator_actnum[i] ? "" : "a motor without the activations of its numbers";
  }
  const bool turns = gain == mjGAIN_SO3;
  if (turns != (transmission == mjTRN_SO3) || turns != (bias == mjBIAS_SO3) ||
      (turns && dynamics != mjDYN_NONE && dynamics != mjDYN_INTEGRATOR)) {
    return "an orientation's gain, bias, dynamics or transmission together with those of another "
           "actuator";
  }
  if (turns) return {};
  if (transmission == mjTRN_BODY && (gain != mjGAIN_FIXED || bias != mjBIAS_NONE)) {
    return "an adhesion actuator whose gain is not fixed or that has a bias";
  }
  if (dynamics == mjDYN_USER || gain == mjGAIN_USER || bias == mjBIAS_USER) {
    return "an actuator with user dynamics, gain or bias";
  }
  const bool known = dynamics >= mjDYN_NONE && dynamics <= mjDYN_MUSCLE && gain >= mjGAIN_FIXED &&
                     gain <= mjGAIN_MUSCLE && bias >= mjBIAS_NONE && bias <= mjBIAS_MUSCLE &&
                     transmission >= mjTRN_JOINT && transmission <= mjTRN_BODY;
  if (!known) return "an actuator of this type";
  if (m.actuator_ctrlnum[i] != 1 || m.actuator_outnum[i] != 1 || m.actuator_actnum[i] > 1) {
    return "an actuator with several controls, activations or forces";
  }
  return {};
}

void judge_actuators(const mjModel& m) {
  for (mjtSize i = 0; i < m.nactuator; ++i) {
    if (m.actuator_plugin[i] >= 0) continue;  // refused as such, by its field
    const std::string what = unsupported_actuator(m, i);
    if (!what.empty()) {
      refuse(element(m, "nactuator", i), what,
             "use a motor, position, velocity, damper, cylinder, muscle, adhesion or general "
             "actuator on a joint, a tendon, a site or a body");
    }
  }
}

void judge_equalities(const mjModel& m) {
  for (mjtSize i = 0; i < m.neq; ++i) {
    const int type = m.eq_type[i];
    if (type >= mjEQ_CONNECT && type <= mjEQ_TENDON) continue;
    refuse(element(m, "neq", i), "an equality of this type",
           "use connect, weld, joint or tendon, or load with constraints=False");
  }
}

void judge_constraints(const mjModel& m) {
  if (!(m.opt.impratio > 0)) {
    throw ModelError(
        message("options: impratio is ", m.opt.impratio, "; expected a positive number"));
  }
  if (!(m.opt.disableflags & mjDSBL_EQUALITY)) judge_equalities(m);
  if (!(m.opt.disableflags & mjDSBL_CONTACT)) refuse_unsupported_contacts(m);
}

}  // namespace

bool constraints_act(const mjModel& m, const LoadOptions& options) {
  return options.constraints && !(m.opt.disableflags & mjDSBL_CONSTRAINT);
}

void refuse_unsupported(const mjModel& m, bool constraints, Noslip noslip) {
  judge_options(m);
  judge_tendons(m);
  judge_actuators(m);
  refuse_by_field(m, constraints, noslip == Noslip::ignore ? "opt.noslip_iterations" : "");
  judge_numbers(m);
  if (constraints) judge_constraints(m);
}

}  // namespace cycloid::inline io
