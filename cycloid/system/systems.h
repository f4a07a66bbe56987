// The closed-form laws as Systems, in lanes of the widest instruction set that the machine has.
//
//   const System system = systems::pendulum({.length = 0.5}, {.dt = 0.01, .integrator = "rk4"});
//   const System system = systems::make("lorenz", {{"rho", {24.0}}});
//
// Integrators by name: euler, semi_implicit, verlet, rk4, implicit_midpoint, dopri5, sdirk4.
// semi_implicit and verlet need a law of second order; lorenz is not one. dopri5 and, for stiff
// laws, sdirk4 adapt their substeps to rtol and atol within a step of length dt. States, inputs and
// parameters are described in laws/.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cycloid/system/feedback.h"

namespace cycloid::systems {

struct Settings {
  double dt = 0.01;  // [s]
  std::string integrator = "rk4";
  Precision precision = Precision::float64;
  std::vector<std::string> vary = {};  // parameters that may differ between environments
  // Of an adaptive integrator: relative, and absolute in the units of the state; 0: its default,
  // 1e-9 and 1e-11 in float64, 1e-5 and 1e-7 in float32.
  double rtol = 0, atol = 0;
};

struct PendulumParameters {
  double length = 1, mass = 1, damping = 0, gravity = 9.81;  // [m] [kg] [N·m·s/rad] [m/s²]
};
struct DoublePendulumParameters {
  // [m] [kg] [N·m·s/rad]
  std::array<double, 2> lengths = {1, 1}, masses = {1, 1}, damping = {0, 0};
  double gravity = 9.81;  // [m/s²]
};
struct ProjectileParameters {
  double mass = 1, drag = 0;               // [kg] [kg/m]
  std::array<double, 3> wind = {0, 0, 0};  // [m/s]
  double gravity = 9.81;                   // [m/s²]
};
struct SpringChainParameters {
  double mass = 1, stiffness = 1, damping = 0;  // [kg] [N/m] [N·s/m]
};
struct KeplerParameters {
  double mu = 1;  // [m³/s²]
};
struct LorenzParameters {
  double sigma = 10, rho = 28, beta = 8.0 / 3.0;  // [1/s] [1] [1/s]
};

struct BouncingBallParameters {
  double restitution = 0.8, gravity = 9.81;  // [1] [m/s²]
};
struct BeadOnCurveParameters {
  std::vector<double> heights = {};  // [m]; empty: a straight slide, 1 m down, of 22
  double width = 2, gravity = 9.81;  // [m] [m/s²]
};
struct StickSlipParameters {
  double mass = 1, stiffness = 1, damping = 0;  // [kg] [N/m] [N·s/m]
  double belt = 0.21, normal_force = 1;         // [m/s] [N]
  double static_friction = 0.6, kinetic_friction = 0.4;
};
struct RimlessWheelParameters {
  double length = 1, half_angle = 0.4, slope = 0.1, gravity = 9.81;  // [m] [rad] [rad] [m/s²]
};

System pendulum(const PendulumParameters& parameters = {}, const Settings& settings = {});
System double_pendulum(const DoublePendulumParameters& parameters = {},
                       const Settings& settings = {});
System projectile(const ProjectileParameters& parameters = {}, const Settings& settings = {});
System spring_chain(int n, const SpringChainParameters& parameters = {},
                    const Settings& settings = {});
System kepler(const KeplerParameters& parameters = {}, const Settings& settings = {});
System lorenz(const LorenzParameters& parameters = {}, const Settings& settings = {});
// With events (event.h):
System bouncing_ball(const BouncingBallParameters& parameters = {}, const Settings& settings = {});
System bead_on_curve(const BeadOnCurveParameters& parameters = {}, const Settings& settings = {});
System stick_slip(const StickSlipParameters& parameters = {}, const Settings& settings = {});
System rimless_wheel(const RimlessWheelParameters& parameters = {}, const Settings& settings = {});

// The laws and integrators that `make` knows.
const std::vector<std::string>& names();
const std::vector<std::string>& integrators();
// ... of which these take rtol and atol.
const std::vector<std::string>& adaptive_integrators();

// A law by name, with parameters by name. `n` is the number of masses of spring_chain; a curve has
// as many heights as are given. Throws ModelError on an unknown law or integrator (with the nearest
// name), ParameterError on bad parameters.
System make(std::string_view law, const std::map<std::string, std::vector<double>>& values = {},
            const Settings& settings = {}, int n = 3);

// What the same law with a term (term_law.h) is made of: its steppers are those of both, to its
// parameters the caller adds the term's arrays. Throws ModelError for laws with events, and where
// an integrator has no place for the term.
SystemParts make_with_term(std::string_view law,
                           const std::map<std::string, std::vector<double>>& values,
                           const Settings& settings, int n, const FeedbackLaw& term,
                           TermPlace place);
// What a law that is nothing but a term is made of (laws/bare_motion.h): the term gives the rate of
// the state; of halves [q, p], for which semi_implicit and verlet are those of partitioned.h; or,
// of second order, the acceleration of its second half, whose integral is the first.
enum class TermOrder { first, halves, second };
// The caller adds the term's arrays to the parameters. Throws as `make` does.
SystemParts make_of_term(const std::string& name, const std::vector<BlockSpec>& state,
                         const std::vector<BlockSpec>& input, const Settings& settings,
                         const FeedbackLaw& term, TermOrder order);
// Whether the state of a law is [positions, velocities].
bool is_second_order(std::string_view law);

}  // namespace cycloid::systems
