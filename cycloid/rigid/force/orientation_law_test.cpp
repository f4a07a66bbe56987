#include "cycloid/rigid/force/orientation_law.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::orientation_law_test {

using test::Numbers;

// The row is [ u (4) | w (3) | turn of q (3) | ω (3) | h | p ].
constexpr int kW = 4, kTurn = 7, kRate = 10, kH = 13, kP = 14;

Model servo(int chart, ActuatorDynamics dynamics, bool early) {
  test::RobotBuilder builder;
  builder.actuator(builder.joint(builder.body(0, 0), JointKind::ball), ActuatorDynamics::none);
  Actuator& a = builder.model.actuators[0];
  a.law = ActuatorLaw::orientation;
  a.transmission = TransmissionKind::orientation;
  a.affine_gain = a.affine_bias = false;
  a.gain = {3}, a.bias = {0.1, -3, -0.4};
  a.dynamics = dynamics, a.early = early;
  a.signature = chart;
  a.controls = chart == kQuaternionChart ? 4 : 3;
  a.acts = motor_states(a), a.act = a.acts > 0 ? 0 : -1;
  builder.model.nu = a.controls, builder.model.na = a.acts;
  return builder.model;
}

template <class S>
OrientationPoint<S> point_of(const S* in) {
  OrientationPoint<S> at;
  for (int k = 0; k < 4; ++k) at.u[k] = in[k];
  at.w = load_vec3(in + kW);
  at.q = retract(normalise(Quat<S>{S(0.9), S(0.2), S(-0.1), S(0.3)}), load_vec3(in + kTurn));
  at.rate = load_vec3(in + kRate);
  return at;
}

void check(const Model& m, const std::vector<Numbers>& rows) {
  const Tree tree(m);
  std::vector<Numbers> points = rows;
  for (Numbers& row : points) {
    for (const double p : tree.parameters.default_values()) row.push_back(p);
  }
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    OrientationValues<S> kept;
    const OrientationForce<S> f = orientation_force(tree, in + kP, 0, in[kH], point_of(in), kept);
    store(out, f.force), store(out + 3, f.w_dot), store(out + 6, f.w_next);
    out[9] = f.slope;
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    OrientationValues<S> kept;
    const OrientationPoint<S> at = point_of(in);
    const OrientationForce<S> f = orientation_force(tree, in + kP, 0, in[kH], at, kept);
    OrientationForce<S> bar;
    bar.force = load_vec3(out_bar), bar.w_dot = load_vec3(out_bar + 3);
    bar.w_next = load_vec3(out_bar + 6), bar.slope = out_bar[9];
    OrientationPoint<S> at_bar;
    Vec3<S> q_bar{};
    orientation_force_pullback(tree, in + kP, 0, in[kH], at, f, kept, bar, at_bar, q_bar,
                               in_bar[kH], in_bar + kP);
    for (int k = 0; k < 4; ++k) in_bar[k] += at_bar.u[k];
    add_to(in_bar + kW, at_bar.w);
    add_to(in_bar + kTurn, q_bar);
    add_to(in_bar + kRate, at_bar.rate);
  };
  test::check_pullback("orientation_force", 10, value, pullback, points);
}

const Numbers kRow = {0.5, -0.3, 0.4, 0.2, 0.3, 0.1, -0.2, 0, 0, 0, 0.6, -0.2, 0.5, 0.01};

TEST_CASE("orientation_force: pullback equals dual numbers in both charts, held and integrated") {
  check(servo(1, ActuatorDynamics::none, false), {kRow});
  check(servo(kQuaternionChart, ActuatorDynamics::none, false), {kRow});
  for (const bool early : {false, true}) {
    check(servo(1, ActuatorDynamics::integrator, early), {kRow});
  }
}

TEST_CASE("orientation_force: ... at the limits of controls, of the torque and switched off") {
  for (const int chart : {1, kQuaternionChart}) {
    Model m = servo(chart, ActuatorDynamics::none, false);
    m.actuators[0].control_range = {true, -0.4, 0.4};
    m.actuators[0].force_range = {true, 0, 1.5};
    Numbers weak = kRow;
    weak[0] = 0.1;
    check(m, {kRow, weak});
  }
  Model m = servo(1, ActuatorDynamics::integrator, false);
  m.actuators[0].enabled = false;
  m.actuators[0].activation_range = {true, -0.25, 0.25};
  check(m, {kRow});
}

TEST_CASE("orientation_force: at the target the torque is that of the damping alone") {
  const Model m = servo(kQuaternionChart, ActuatorDynamics::none, false);
  const Tree tree(m);
  const Numbers p = tree.parameters.default_values();
  OrientationPoint<double> at;
  at.q = normalise(Quat<double>{0.9, 0.2, -0.1, 0.3});
  at.u[0] = -2 * at.q.w, at.u[1] = -2 * at.q.x, at.u[2] = -2 * at.q.y, at.u[3] = -2 * at.q.z;
  at.rate = {1, 2, -1};
  OrientationValues<double> kept;
  const auto f = orientation_force(tree, p.data(), 0, 0.01, at, kept);
  for (int k = 0; k < 3; ++k) CHECK(f.force[k] == doctest::Approx(0.1 - 0.4 * at.rate[k]));
  // A quarter of a turn away: k_p π/2 along the axis.
  OrientationPoint<double> turned;
  turned.q = identity_quaternion<double>();
  turned.u[0] = turned.u[3] = 1;
  const auto g = orientation_force(tree, p.data(), 0, 0.01, turned, kept);
  CHECK(g.force.z == doctest::Approx(0.1 + 3 * kPi / 2));
}

}  // namespace cycloid::orientation_law_test
