#include "cycloid/rigid/force/actuator.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::actuator_test {

using test::Numbers;

// One actuator on one hinge, as a function of [ctrl, act, length, rate, h, p].
struct ActuatorCase {
  ActuatorCase(ActuatorDynamics dynamics, bool early) : tree(model(dynamics, early)) {
    point = {0.7, 0.4, 0.9, -0.6, 0.05};
    for (const double p : tree.parameters.default_values()) point.push_back(p);
  }
  static Model model(ActuatorDynamics dynamics, bool early) {
    test::RobotBuilder builder;
    builder.actuator(builder.joint(builder.body(0, 0), JointKind::hinge), dynamics, early);
    return builder.model;
  }
  void check(const std::vector<Numbers>& points) const {
    const auto value = [&](const auto* in, auto* out) {
      using S = std::remove_cvref_t<decltype(*in)>;
      const ActuatorForce<S> f =
          actuator_force(tree, in + 5, 0, in[4], {in[0], in[1], in[2], in[3], S(0)});
      out[0] = f.force;
      out[1] = actuator_force_slope(tree, in + 5, 0, f);
      out[2] = f.act_dot;
      out[3] = f.act_next;
    };
    const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in_bar)>;
      const ActuatorPoint<S> at{in[0], in[1], in[2], in[3], S(0)};
      ActuatorPoint<S> bar{S(0), S(0), S(0), S(0), S(0)};
      const ActuatorForce<S> f = actuator_force(tree, in + 5, 0, in[4], at);
      actuator_force_pullback(tree, in + 5, 0, in[4], at, f,
                              {out_bar[0], out_bar[1], out_bar[2], out_bar[3]}, bar, in_bar[4],
                              in_bar + 5);
      in_bar[0] += bar.ctrl, in_bar[1] += bar.act, in_bar[2] += bar.length, in_bar[3] += bar.rate;
    };
    test::check_pullback("actuator_force", 4, value, pullback, points);
  }
  Tree tree;
  Numbers point;
};

TEST_CASE("actuator_force: pullback equals dual numbers for every dynamics, early or not") {
  for (const bool early : {false, true}) {
    for (const auto dynamics :
         {ActuatorDynamics::none, ActuatorDynamics::integrator, ActuatorDynamics::filter,
          ActuatorDynamics::filter_exact, ActuatorDynamics::muscle}) {
      const ActuatorCase c(dynamics, early);
      c.check({c.point});
    }
  }
}

TEST_CASE("actuator_force: ... inside and outside of its ranges") {
  Model m = ActuatorCase::model(ActuatorDynamics::filter, true);
  m.actuators[0].control_range = {true, -1, 1};
  m.actuators[0].activation_range = {true, -0.5, 0.5};
  m.actuators[0].force_range = {true, -1.5, 1.5};
  ActuatorCase c(ActuatorDynamics::filter, true);
  c.tree = Tree(m);
  Numbers high = c.point, low = c.point, strong = c.point;
  high[0] = 3;
  low[1] = -2;
  strong[2] = 20;
  c.check({c.point, high, low, strong});
  const ActuatorForce<double> out = actuator_force(c.tree, high.data() + 5, 0, high[4],
                                                   ActuatorPoint<double>{3, 0.4, 0.9, -0.6, 0});
  CHECK(out.act_dot == doctest::Approx((1 - 0.4) / 0.1));
}

TEST_CASE("actuator_force: the filter of a servo on a ball takes the nearest turn of its control") {
  for (const auto dynamics : {ActuatorDynamics::filter, ActuatorDynamics::filter_exact}) {
    test::RobotBuilder builder;
    builder.actuator(builder.joint(builder.body(0, 0), JointKind::ball), dynamics, true);
    Actuator& servo = builder.model.actuators[0];
    servo.affine_gain = false, servo.affine_bias = true;
    servo.gain = {3}, servo.bias = {0.1, -3, -0.2};
    const Tree tree(builder.model);
    const auto point_of = [](const auto* in) {
      using S = std::remove_cvref_t<decltype(*in)>;
      return ActuatorPoint<S>{in[0], in[1], in[2], in[3], in[5]};
    };
    const auto value = [&](const auto* in, auto* out) {
      const auto f = actuator_force(tree, in + 6, 0, in[4], point_of(in));
      out[0] = f.force, out[1] = f.act_dot, out[2] = f.act_next;
    };
    const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in_bar)>;
      const ActuatorPoint<S> at = point_of(in);
      ActuatorPoint<S> bar{S(0), S(0), S(0), S(0), S(0)};
      const ActuatorForce<S> f = actuator_force(tree, in + 6, 0, in[4], at);
      actuator_force_pullback(tree, in + 6, 0, in[4], at, f,
                              {out_bar[0], S(0), out_bar[1], out_bar[2]}, bar, in_bar[4],
                              in_bar + 6);
      in_bar[0] += bar.ctrl, in_bar[1] += bar.act, in_bar[2] += bar.length;
      in_bar[3] += bar.rate, in_bar[5] += bar.period;
    };
    Numbers near = {0.7, 0.4, 0.9, -0.6, 0.05, 6.3};
    for (const double p : tree.parameters.default_values()) near.push_back(p);
    Numbers far = near;
    far[0] = 15, far[1] = -5;
    test::check_pullback("actuator_force", 3, value, pullback, {near, far});
    const auto f = actuator_force(tree, far.data() + 6, 0, far[4], point_of(far.data()));
    const double time =
        tree.parameters.default_values()[static_cast<std::size_t>(tree.actuators[0].dynamics)];
    CHECK(f.act_dot == doctest::Approx((20 - 3 * 6.3) / time));  // 20 is nearest to three turns
  }
}

TEST_CASE("activation_step: pullback equals dual numbers, exact filter included") {
  for (const auto dynamics : {ActuatorDynamics::integrator, ActuatorDynamics::filter_exact}) {
    const ActuatorCase c(dynamics, false);
    const auto value = [&](const auto* in, auto* out) {
      out[0] = activation_step(c.tree, in + 3, 0, in[2], in[0], in[1]);
    };
    const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      activation_step_pullback(c.tree, in + 3, 0, in[2], in[0], in[1], out_bar[0], in_bar[0],
                               in_bar[1], in_bar[2], in_bar + 3);
    };
    Numbers point = {0.4, -0.7, 0.05};
    point.insert(point.end(), c.point.begin() + 5, c.point.end());
    test::check_pullback("activation_step", 1, value, pullback, {point});
  }
}

}  // namespace cycloid::actuator_test
