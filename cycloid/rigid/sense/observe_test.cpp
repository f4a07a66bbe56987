#include "cycloid/rigid/sense/observe.h"

#include "cycloid/base/error.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/rigid/sense/sense_case_test.h"

using namespace cycloid;
using test::Numbers;

namespace {

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

double loss(const Observer& o, const Numbers& weights, const ObservedRows& at) {
  return test::dot(weights, observe(o, at).values());
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

}  // namespace

TEST_CASE("observe: values are those of one row at a time, bit for bit, at any place") {
  const Model m = observed_model();
  const System robot = make_robot(m, {.inputs = kInputs});
  const Observer o(robot, m);
  const Rows rows(robot, 11);
  const Observation all = observe(o, {rows.states, rows.inputs, {}, 0.3});
  CHECK(all.rows() == 11);
  const std::size_t nx = static_cast<std::size_t>(robot.states().size()),
                    nu = static_cast<std::size_t>(robot.inputs().size()),
                    ny = static_cast<std::size_t>(o.size());
  for (const std::size_t i : {0u, 6u, 10u}) {
    const Numbers one = observe(o, {std::span(rows.states).subspan(i * nx, nx),
                                    std::span(rows.inputs).subspan(i * nu, nu),
                                    {},
                                    0.3})
                            .values();
    for (std::size_t k = 0; k < ny; ++k) CHECK(one[k] == all.values()[i * ny + k]);
  }
  CHECK(all.values().back() == 0.3);
}

TEST_CASE("observe: the gradient equals central differences of states, inputs and parameters") {
  const Model m = observed_model();
  const System robot = make_robot(m, {.inputs = kInputs});
  const Observer o(robot, m);
  const Rows rows(robot, 2);
  const Numbers weights = test::FixedNumbers(8).vector(2 * static_cast<std::size_t>(o.size()));
  const Numbers p = robot.parameters().default_values();
  const ObservationGradient g = observe(o, {rows.states, rows.inputs, p}).pullback(weights);
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

TEST_CASE("observe: parameters of each row have gradients of their own, which add up") {
  const Model m = observed_model();
  const System robot = make_robot(m);
  const Observer o(robot, m);
  const Rows rows(robot, 3);
  const Numbers weights = test::FixedNumbers(9).vector(3 * static_cast<std::size_t>(o.size()));
  const Numbers p = robot.parameters().default_values();
  Numbers each;
  for (int i = 0; i < 3; ++i) each.insert(each.end(), p.begin(), p.end());
  const Numbers shared = observe(o, {rows.states}).pullback(weights).parameters;
  const Numbers own = observe(o, {rows.states, {}, each}).pullback(weights).parameters;
  REQUIRE(own.size() == 3 * shared.size());
  Numbers sum(shared.size(), 0.0);
  for (std::size_t k = 0; k < own.size(); ++k) sum[k % sum.size()] += own[k];
  CHECK(sum == shared);
  CHECK(test::largest(shared) > 0);
}

TEST_CASE("Observer: names choose sensors and say what their numbers are") {
  Model m = observed_model();
  m.sensors[2].name = "";
  m.sensors[3].name = "touch";
  m.sensors[3].unsupported = "sensors of this type are not supported";
  const System robot = make_robot(m);
  const Observer all(robot, m);
  CHECK(all.sensors().size() == m.sensors.size() - 1);
  const std::string last = m.sensors.back().name;
  const Observer some(robot, m, {{last, "#2"}});
  CHECK(some.size() == 4);
  CHECK(some.names() == std::vector<std::string>{last, "#2[0]", "#2[1]", "#2[2]"});
  CHECK(some.sensors()[1].place == 1);
  const auto refuse = [&](const char* name) {
    try {
      Observer(robot, m, {{name}});
    } catch (const ModelError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refuse("touch").find("not supported") != std::string::npos);
  CHECK(refuse("sensor00").find("did you mean") != std::string::npos);
  CHECK_THROWS_AS(Observer(make_robot(test::two_trees()), m), ModelError);
  const Observer none(robot, m, std::vector<std::string>{});
  const ObservationGradient g =
      observe(none, {robot.initial_state()}).pullback(std::span<const double>());
  CHECK(test::largest(g.states) == 0);
}

TEST_CASE("observe: rows that do not fit are refused") {
  const Model m = observed_model();
  const System robot = make_robot(m);
  const Observer o(robot, m);
  Numbers x = robot.initial_state();
  const Numbers u(static_cast<std::size_t>(robot.inputs().size()) + 1, 0.0);
  CHECK_THROWS_AS(observe(o, {std::span(x).first(3)}), Error);
  CHECK_THROWS_AS(observe(o, {x, u}), Error);
  CHECK_THROWS_AS(observe(o, {x, {}, u}), ParameterError);
  CHECK_THROWS_AS(observe(o, {x}).pullback(u), Error);
  x[3] = x[4] = x[5] = x[6] = 0;  // the free joint's quaternion
  CHECK_THROWS_AS(observe(o, {x}), Error);
  x[3] = NAN;
  CHECK_THROWS_AS(observe(o, {x}), Error);
}
