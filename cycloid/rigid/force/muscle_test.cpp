#include "cycloid/rigid/force/muscle.h"

#include "cycloid/rigid/force/actuator.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::muscle_test {

using test::Numbers;

// range, force, scale, lmin, lmax, vmax, fpmax, fvmax
constexpr double kMuscle[] = {0.75, 1.05, 30, 200, 0.5, 1.6, 1.5, 1.3, 1.2, 0};

Actuator muscle() {
  Actuator a;
  a.length_range = {0.2, 0.5};
  a.acc0 = 3;
  return a;
}

// (length, rate, prm) at which L and V of the header are what they are here.
Numbers point_at(double L, double V) {
  const double optimum = 0.3 / (kMuscle[1] - kMuscle[0]);
  Numbers point = {0.2 + (L - kMuscle[0]) * optimum, V * optimum * kMuscle[6]};
  point.insert(point.end(), std::begin(kMuscle), std::end(kMuscle));
  return point;
}

// Where it pulls.
std::vector<Numbers> all_pieces() {
  std::vector<Numbers> points;
  for (const double L : {0.6, 0.9, 1.1, 1.45}) {
    for (const double V : {-0.4, 0.1, 0.5}) points.push_back(point_at(L, V));
  }
  Numbers scaled = point_at(0.9, -0.4);
  scaled[2 + MusclePlaces::force] = -1;  // by scale and acc0
  points.push_back(scaled);
  return points;
}

TEST_CASE("muscle_gain: at the optimal length and at rest a muscle pulls with its peak force") {
  const Numbers at = point_at(1, 0);
  const MuscleGain<double> full = muscle_gain(muscle(), kMuscle, at[0], at[1]);
  CHECK(full.gain == doctest::Approx(-30));
  CHECK(full.slope == doctest::Approx(-30 * 2 / 1.5));  // L₀ = 1
  const Numbers middle = point_at(0.75, 0);             // where two parabolas meet
  CHECK(muscle_gain(muscle(), kMuscle, middle[0], middle[1]).gain == doctest::Approx(-15));
  const Numbers fast = point_at(1, -1);
  CHECK(muscle_gain(muscle(), kMuscle, fast[0], fast[1]).gain == doctest::Approx(0).scale(1));
  const Numbers stretched = point_at(1.3, 0);
  CHECK(muscle_bias(muscle(), kMuscle, stretched[0]) == doctest::Approx(-30 * 1.3 * 0.5));
  CHECK(muscle_bias(muscle(), kMuscle, at[0]) == 0);
}

TEST_CASE("muscle_gain, muscle_bias: a slack muscle has no force and no gradient") {
  const Actuator a = muscle();
  for (const auto& [L, V] : {std::pair{0.4, 0.1}, {1.8, -0.2}, {0.9, -1.3}}) {
    const Numbers at = point_at(L, V);
    const MuscleGain<double> out = muscle_gain(a, kMuscle, at[0], at[1]);
    CHECK(out.gain == 0);
    CHECK(out.slope == 0);
    double l_bar = 0, rate_bar = 0, prm_bar[10] = {};
    muscle_gain_pullback(a, kMuscle, at[0], at[1], {2.0, 3.0}, l_bar, rate_bar, prm_bar);
    if (L < 1) muscle_bias_pullback(a, kMuscle, at[0], 2.0, l_bar, prm_bar);
    CHECK(l_bar == 0);
    CHECK(rate_bar == 0);
    for (const double bar : prm_bar) CHECK(bar == 0);
  }
}

TEST_CASE("muscle_units, muscle_gain: pullback equals dual numbers on every piece") {
  const Actuator a = muscle();
  const auto value = [&](const auto* in, auto* out) {
    const auto gain = muscle_gain(a, in + 2, in[0], in[1]);
    out[0] = gain.gain, out[1] = gain.slope;
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    muscle_gain_pullback(a, in + 2, in[0], in[1], MuscleGain<S>{out_bar[0], out_bar[1]}, in_bar[0],
                         in_bar[1], in_bar + 2);
  };
  test::check_pullback("muscle_gain", 2, value, pullback, all_pieces());
  const auto units = [&](const auto* in, auto* out) {
    const auto u = muscle_units(a, in + 2, in[0]);
    out[0] = u.force, out[1] = u.optimum, out[2] = u.length;
  };
  const auto units_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    muscle_units_pullback(a, in + 2, in[0], muscle_units(a, in + 2, in[0]),
                          MuscleUnits<S>{out_bar[0], out_bar[1], out_bar[2]}, in_bar[0],
                          in_bar + 2);
  };
  test::check_pullback("muscle_units", 3, units, units_pullback, all_pieces());
}

TEST_CASE("muscle_bias: pullback equals dual numbers on every piece") {
  const Actuator a = muscle();
  const auto value = [&](const auto* in, auto* out) { out[0] = muscle_bias(a, in + 2, in[0]); };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    muscle_bias_pullback(a, in + 2, in[0], out_bar[0], in_bar[0], in_bar + 2);
  };
  Numbers scaled = point_at(1.2, 0);
  scaled[2 + MusclePlaces::force] = -1;
  test::check_pullback("muscle_bias", 1, value, pullback,
                       {point_at(1.1, 0), point_at(1.45, 0), point_at(1.8, 0), scaled});
}

TEST_CASE("muscle_dynamics: pullback equals dual numbers, sharp and smooth, inside and outside") {
  const auto value = [&](const auto* in, auto* out) {
    out[0] = muscle_dynamics(in + 2, in[0], in[1]);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    muscle_dynamics_pullback(in + 2, in[0], in[1], out_bar[0], in_bar[0], in_bar[1], in_bar + 2);
  };
  std::vector<Numbers> points;
  for (const double width : {0.0, 0.8}) {
    for (const double u : {-0.3, 0.2, 0.7, 1.4}) {
      for (const double w : {-0.1, 0.5, 1.2}) points.push_back({u, w, 0.01, 0.04, width});
    }
  }
  test::check_pullback("muscle_dynamics", 1, value, pullback, points);
  constexpr double prm[] = {0.01, 0.04, 0};
  CHECK(muscle_dynamics(prm, 1.0, 0.0) == doctest::Approx(1 / (0.01 * 0.5)));
  CHECK(muscle_dynamics(prm, 0.0, 1.0) == doctest::Approx(-1 / (0.04 / 2)));
}

TEST_CASE("actuator_force: a muscle's pullback equals dual numbers, its slope included") {
  test::RobotBuilder builder;
  builder.actuator(builder.joint(builder.body(0, 0), JointKind::hinge), ActuatorDynamics::muscle);
  Actuator& a = builder.model.actuators[0];
  a.affine_gain = a.affine_bias = false;
  a.muscle_gain = a.muscle_bias = true;
  std::copy(std::begin(kMuscle), std::end(kMuscle), a.gain.begin());
  a.bias = a.gain;
  a.length_range = {0.2, 0.5};
  a.acc0 = 3;
  a.dynamics_numbers = {0.01, 0.04};
  a.control_range = {true, 0, 1};
  const Tree tree(builder.model);
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
  Numbers point = {0.7, 0.4, 0.55, -0.6, 0.005};
  for (const double p : tree.parameters.default_values()) point.push_back(p);
  test::check_pullback("actuator_force", 4, value, pullback, {point});
}

}  // namespace cycloid::muscle_test
