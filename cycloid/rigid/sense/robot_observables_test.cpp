#include "cycloid/rigid/sense/robot_observables.h"

#include "cycloid/base/error.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/rigid/sense/seen_case_test.h"
#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::robot_observables_test {

using test::Numbers;
using test::RobotEyes;

Model observed_model() {
  test::SensorModel s;
  s.add_position_frames();
  s.add_velocity_frames();
  s.add_accelerations();
  s.add_rows();
  s.add_subtrees();
  s.add(SensorKind::potential_energy, -1);
  s.add(SensorKind::kinetic_energy, -1);
  s.add(SensorKind::clock, -1);
  return s.model;
}

const std::vector<std::string> kInputs = {"ctrl", "xfrc_applied", "mocap_pos", "mocap_quat"};

// Rows of states, with quaternions that are not of unit length, and of inputs.
struct Rows {
  Rows(const System& robot, std::size_t n) {
    RandomStream random(3);
    for (std::size_t i = 0; i < n; ++i) {
      for (const double x : robot.initial_state()) {
        states.push_back(x + 0.4 * random.uniform(-1.0, 1.0));
      }
      for (int k = 0; k < robot.inputs().size(); ++k) inputs.push_back(random.uniform(0.5, 1.0));
    }
  }
  Numbers states, inputs;
};

double loss(const RobotEyes& o, const Numbers& weights, const ObservedRows& at) {
  return test::dot(weights, o.values(at));
}

// The largest difference between a gradient and central differences, over the gradient's size. With
// a step of 1e-5 those are good to about 1e-9 of numbers of order one and rounding over the step.
template <class Loss>
double difference_error(const Numbers& gradient, Numbers x, Loss value) {
  const double h = 1e-5;
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double x_i = x[i];
    x[i] = x_i + h;
    const double up = value(x);
    x[i] = x_i - h;
    const double down = value(x);
    x[i] = x_i;
    error = std::max(error, std::abs((up - down) / (2 * h) - gradient[i]));
  }
  return error / test::largest(gradient);
}
constexpr double kDifference = 1e-7;

TEST_CASE("RobotObserver: values are those of one row at a time, bit for bit, at any place") {
  const Model m = observed_model();
  const System robot = make_robot(m, {.inputs = kInputs});
  const RobotEyes o(robot);
  const Rows rows(robot, 11);
  const Numbers all = o.values({rows.states, rows.inputs, {}, 0.3});
  const std::size_t nx = static_cast<std::size_t>(robot.states().size()),
                    nu = static_cast<std::size_t>(robot.inputs().size()),
                    ny = static_cast<std::size_t>(o.size());
  for (const std::size_t i : {0u, 6u, 10u}) {
    const Numbers one = o.values({std::span(rows.states).subspan(i * nx, nx),
                                  std::span(rows.inputs).subspan(i * nu, nu),
                                  {},
                                  0.3});
    for (std::size_t k = 0; k < ny; ++k) CHECK(one[k] == all[i * ny + k]);
  }
  CHECK(all.back() == 0.3);
}

TEST_CASE(
    "RobotObserver: the gradient equals central differences of states, inputs and parameters") {
  const Model m = observed_model();
  const System robot = make_robot(m, {.inputs = kInputs});
  const RobotEyes o(robot);
  const Rows rows(robot, 2);
  const Numbers weights = test::FixedNumbers(8).vector(2 * static_cast<std::size_t>(o.size()));
  const Numbers p = robot.parameters().default_values();
  const ObservationGradient g = o.pullback({rows.states, rows.inputs, p}, weights);
  CHECK(difference_error(g.states, rows.states, [&](const Numbers& x) {
          return loss(o, weights, {x, rows.inputs, p});
        }) < kDifference);
  CHECK(difference_error(g.inputs, rows.inputs, [&](const Numbers& u) {
          return loss(o, weights, {rows.states, u, p});
        }) < kDifference);
  CHECK(difference_error(g.parameters, p, [&](const Numbers& changed) {
          return loss(o, weights, {rows.states, rows.inputs, changed});
        }) < kDifference);
}

TEST_CASE("RobotObserver: parameters of each row have gradients of their own, which add up") {
  const Model m = observed_model();
  const System robot = make_robot(m);
  const RobotEyes o(robot);
  const Rows rows(robot, 3);
  const Numbers weights = test::FixedNumbers(9).vector(3 * static_cast<std::size_t>(o.size()));
  const Numbers p = robot.parameters().default_values();
  Numbers each;
  for (int i = 0; i < 3; ++i) each.insert(each.end(), p.begin(), p.end());
  const Numbers shared = o.pullback({rows.states}, weights).parameters;
  const Numbers own = o.pullback({rows.states, {}, each}, weights).parameters;
  REQUIRE(own.size() == 3 * shared.size());
  Numbers sum(shared.size(), 0.0);
  for (std::size_t k = 0; k < own.size(); ++k) sum[k % sum.size()] += own[k];
  CHECK(sum == shared);
  CHECK(test::largest(shared) > 0);
}

TEST_CASE("RobotObservables: names are of sensors and fields, with units and reasons") {
  Model m = observed_model();
  m.sensors[2].name = "";
  m.sensors[3].name = "touch";
  m.sensors[3].unsupported = "sensors of this type are not supported";
  const System robot = make_robot(m);
  const Observables& all = *robot.observables();
  CHECK(all.usual()->size() == m.sensors.size() - 1);
  const std::string last = m.sensors.back().name;
  CHECK(RobotEyes(robot, {{last, "#2"}}).size() == 4);
  CHECK(all.find("#2")->shape == std::vector<int>{3});
  CHECK(all.find(last)->unit == "s");
  CHECK(all.find("xpos")->unit == "m");
  CHECK(all.find("qvel")->of_state.front().from == m.nq);
  CHECK(find_observable(robot, "qpos").size() == m.nq);
  const auto refuse = [&](const char* name) {
    try {
      find_observable(robot, name);
    } catch (const ModelError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refuse("touch").find("not supported") != std::string::npos);
  CHECK(refuse("sensor00").find("no sensor or field is called \"sensor00\"; did you mean") == 0);
  CHECK_FALSE(all.find("nothing").has_value());
  bool listed = false;
  for (const Observable& o : all.listed()) listed = listed || o.name == "subtree_com";
  CHECK(listed);
}

TEST_CASE("RobotObservables: rows that do not fit are refused") {
  const Model m = observed_model();
  const System robot = make_robot(m);
  const RobotEyes o(robot);
  Numbers x = robot.initial_state();
  const Numbers u(static_cast<std::size_t>(robot.inputs().size()) + 1, 0.0);
  CHECK_THROWS_AS(o.values({std::span(x).first(3)}), Error);
  CHECK_THROWS_AS(o.values({x, u}), Error);
  CHECK_THROWS_AS(o.values({x, {}, u}), ParameterError);
  x[3] = x[4] = x[5] = x[6] = 0;  // the free joint's quaternion
  CHECK_THROWS_AS(o.values({x}), Error);
  x[3] = NAN;
  CHECK_THROWS_AS(o.values({x}), Error);
}

}  // namespace cycloid::robot_observables_test
