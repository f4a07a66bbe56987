#include "cycloid/rigid/forward.h"

#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/rigid/constrained_case_test.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/rigid/sense/seen_case_test.h"
#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::forward_test {

using test::Numbers;

struct ForwardCase {
  ForwardCase() {
    test::SensorModel s;
    s.add(SensorKind::potential_energy, -1);
    s.add(SensorKind::kinetic_energy, -1);
    s.add(SensorKind::frame_position, 2, ObjectKind::xbody);
    s.add(SensorKind::frame_quaternion, 4, ObjectKind::xbody);
    s.add(SensorKind::frame_position, 7);
    model = s.model;
    RandomStream random(5);
    const System robot = make_robot(model, {.inputs = {"ctrl", "qfrc_applied"}});
    for (int i = 0; i < 3; ++i) {
      Numbers row = robot.initial_state();
      for (double& x : row) x += 0.3 * random.uniform(-1.0, 1.0);
      states.insert(states.end(), row.begin(), row.end());
    }
    inputs.assign(3 * static_cast<std::size_t>(robot.inputs().size()), 0.2);
  }
  System robot() const { return make_robot(model, {.inputs = {"ctrl", "qfrc_applied"}}); }
  Forward run() const { return forward(robot(), {states, inputs, parameters}); }
  std::size_t nv() const { return static_cast<std::size_t>(model.nv); }

  Model model;
  Numbers states, inputs, parameters;  // no parameters: the model's
};

// Holds g to differences of `loss` along random directions. Differences D(h) and D(h/2) combine to
// (4 D(h/2) - D(h))/3, with an error of h⁴ times a fifth derivative; the numbers are of order 100.
template <class Loss>
void check_directions(ForwardCase& c, const ObservationGradient& g, Loss loss,
                      double tolerance = 1e-8) {
  const auto check = [&](const char* what, Numbers& at, const Numbers& gradient) {
    const Numbers start = at, direction = test::FixedNumbers(at.size()).vector(at.size());
    const auto difference = [&](double h) {
      double ends[2];
      for (int side = 0; side < 2; ++side) {
        for (std::size_t i = 0; i < at.size(); ++i) {
          at[i] = start[i] + (side == 0 ? h : -h) * direction[i];
        }
        ends[side] = loss(c);
      }
      at = start;
      return (ends[0] - ends[1]) / (2 * h);
    };
    const double expected = (4 * difference(5e-5) - difference(1e-4)) / 3;
    INFO(std::string(what));
    CHECK(gradient.size() == at.size());
    CHECK(test::dot(gradient, direction) == doctest::Approx(expected).epsilon(tolerance));
    CHECK(std::abs(expected) > 1e-2);
  };
  check("states", c.states, g.states);
  check("parameters", c.parameters, g.parameters);
  if (test::largest(g.inputs) > 0) check("inputs", c.inputs, g.inputs);
}

// Parameters a little off the model's, `rows` of them; axes keep their unit length.
Numbers moved_parameters(const ForwardCase& c, int rows) {
  const Parameters registry = Tree(c.model).parameters;
  Numbers out;
  RandomStream random(3);
  for (int i = 0; i < rows; ++i) {
    Numbers row = registry.default_values();
    for (double& p : row) p += 0.02 * std::abs(p) * random.uniform(0.0, 1.0);
    for (const Parameter& p : registry.all()) {
      if (!p.name.ends_with(".axis")) continue;
      for (int k = p.offset; k < p.offset + 3; ++k) {
        row[static_cast<std::size_t>(k)] = registry.default_values()[static_cast<std::size_t>(k)];
      }
    }
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

// M q̈ + c = τ, and τ contains qfrc_applied: what is added there is added to M q̈.
TEST_CASE("forward: a force on the joints changes M q̈ by itself") {
  ForwardCase c;
  const Forward before = c.run();
  const std::size_t nv = c.nv(), row = c.inputs.size() / 3;
  const Numbers push = test::FixedNumbers(2).vector(nv);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < nv; ++k) {
      c.inputs[i * row + static_cast<std::size_t>(c.model.nu) + k] += push[k];
    }
  }
  const Forward after = c.run();
  CHECK(before.bias == after.bias);
  CHECK(before.mass_matrix == after.mass_matrix);
  for (std::size_t i = 0; i < 3; ++i) {
    Numbers moved(nv, 0.0);
    for (std::size_t k = 0; k < nv; ++k) {
      for (std::size_t j = 0; j < nv; ++j) {
        moved[k] += before.mass_matrix[(i * nv + k) * nv + j] *
                    (after.qacc[i * nv + j] - before.qacc[i * nv + j]);
      }
    }
    CHECK(test::relative_error(moved, push) < 1e-11);  // accelerations of order 100, subtracted
  }
}

// Without springs, dampers and actuators, in the axes of gravity: M q̈ + c = 0.
TEST_CASE("forward: nothing but inertia and gravity: M q̈ + c = 0") {
  ForwardCase c;
  c.model.options.acting.springs = c.model.options.acting.dampers = false;
  c.model.options.acting.actuation = false;
  c.model.options.density = c.model.options.viscosity = 0;
  for (Body& b : c.model.bodies) b.gravity_compensation = 0;
  std::fill(c.inputs.begin(), c.inputs.end(), 0.0);
  const Forward f = c.run();
  const std::size_t nv = c.nv();
  Numbers force(3 * nv, 0.0);
  for (std::size_t k = 0; k < 3 * nv; ++k) {
    for (std::size_t j = 0; j < nv; ++j) {
      force[k] -= f.mass_matrix[k * nv + j] * f.qacc[k / nv * nv + j];
    }
  }
  CHECK(test::relative_error(force, f.bias) < 1e-12);  // a solve of condition below 1e4
  CHECK(test::largest(f.bias) > 1);
}

TEST_CASE("forward: poses and energies are those that sensors show") {
  const ForwardCase c;
  const Forward f = c.run();
  const std::size_t bodies = c.model.bodies.size(), sites = c.model.sites.size();
  const Numbers seen = test::RobotEyes(c.robot()).values({c.states, c.inputs, c.parameters});
  for (std::size_t i = 0; i < 3; ++i) {
    const double* y = seen.data() + i * (2 + 3 + 4 + 3);
    CHECK(f.energy[2 * i] == doctest::Approx(y[0]).epsilon(1e-13));
    CHECK(f.energy[2 * i + 1] == doctest::Approx(y[1]).epsilon(1e-13));
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(f.body_pos[3 * (i * bodies + 2) + k] == doctest::Approx(y[2 + k]).epsilon(1e-13));
      CHECK(f.site_pos[3 * (i * sites + 7) + k] == doctest::Approx(y[9 + k]).epsilon(1e-13));
    }
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(f.body_quat[4 * (i * bodies + 4) + k] == doctest::Approx(y[5 + k]).epsilon(1e-13));
    }
  }
}

TEST_CASE(
    "forward: the gradients of q̈, M and c equal differences, rows with parameters or without") {
  for (const int rows : {1, 3}) {
    ForwardCase c;
    c.parameters = moved_parameters(c, rows);
    const Forward f = c.run();
    const Numbers a = test::FixedNumbers(6).vector(f.qacc.size()),
                  M = test::FixedNumbers(7).vector(f.mass_matrix.size()),
                  b = test::FixedNumbers(8).vector(f.bias.size());
    check_directions(c, f.pullback({.qacc = a}),
                     [&](const ForwardCase& at) { return test::dot(a, at.run().qacc); });
    check_directions(c, f.pullback({.mass_matrix = M}),
                     [&](const ForwardCase& at) { return test::dot(M, at.run().mass_matrix); });
    check_directions(c, f.pullback({.bias = b}),
                     [&](const ForwardCase& at) { return test::dot(b, at.run().bias); });
    const ObservationGradient all = f.pullback({a, M, b});
    Numbers sum(all.states.size(), 0.0);
    for (const ForwardBars& bars : {ForwardBars{.qacc = a}, {.mass_matrix = M}, {.bias = b}}) {
      const ObservationGradient g = f.pullback(bars);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += g.states[i];
    }
    CHECK(test::relative_error(all.states, sum) < 1e-13);
  }
}

TEST_CASE(
    "inverse_dynamics: of a row's own acceleration, M q̈ + c; its gradient equals differences") {
  ForwardCase c;
  c.parameters = moved_parameters(c, 1);
  const Forward f = c.run();
  const auto run = [&](const ForwardCase& at, const Numbers& qacc) {
    return inverse_dynamics(at.robot(), {at.states, at.inputs, at.parameters}, qacc);
  };
  const std::size_t nv = c.nv();
  const InverseDynamics found = run(c, f.qacc);
  Numbers expected = f.bias;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    for (std::size_t j = 0; j < nv; ++j) {
      expected[k] += f.mass_matrix[k * nv + j] * f.qacc[k / nv * nv + j];
    }
  }
  CHECK(test::relative_error(found.tau, expected) < 1e-12);
  const Numbers bar = test::FixedNumbers(4).vector(found.tau.size());
  const InverseDynamicsGradient g = found.pullback(bar);
  check_directions(c, g.at,
                   [&](const ForwardCase& at) { return test::dot(bar, run(at, f.qacc).tau); });
  Numbers M_bar(bar.size(), 0.0);
  for (std::size_t k = 0; k < bar.size(); ++k) {
    for (std::size_t j = 0; j < nv; ++j)
      M_bar[k] += f.mass_matrix[k * nv + j] * bar[k / nv * nv + j];
  }
  CHECK(test::relative_error(g.qacc, M_bar) < 1e-13);
}

// Three rows: as the case stands, far above the floor, and a little lower.
TEST_CASE("forward: rows have their own contacts, filled up; the gradient equals differences") {
  ForwardCase c;
  c.model = test::held_robot(RigidIntegrator::euler);
  const Numbers start = test::SenseCase(c.model, 0.3).x0;
  c.states.clear();
  for (const double up : {0.0, 100.0, -0.05}) {
    c.states.insert(c.states.end(), start.begin(), start.end());
    c.states[c.states.size() - start.size() + 2] += up;
  }
  c.inputs.assign(3 * static_cast<std::size_t>(c.model.nu + c.model.nv), 0.2);
  const Forward f = c.run();
  const ForwardContacts& contacts = f.contacts;
  REQUIRE(contacts.most == 3);  // the ball, and both ends of the capsule
  CHECK(contacts.count == std::vector<std::int64_t>{3, 0, 3});
  const std::vector<std::int64_t> touching = {0, 1, 0, 2, 0, 2};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(contacts.geoms[i] == touching[i]);
    CHECK(contacts.geoms[6 + i] == -1);
    CHECK(contacts.geoms[12 + i] == touching[i]);
  }
  CHECK(contacts.force.size() == 54);
  CHECK(contacts.force[0] > 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(contacts.dist[6 + i] < contacts.dist[i]);  // lower
  CHECK(test::largest(std::span(contacts.pos).subspan(9, 9)) == 0);
  const Vec3<double> n = load_vec3(contacts.frame.data()), t = load_vec3(contacts.frame.data() + 3);
  CHECK(dot(n, n) == doctest::Approx(1));
  CHECK(std::abs(dot(n, t)) < 1e-15);
  c.parameters = moved_parameters(c, 1);
  const Numbers bar = test::FixedNumbers(6).vector(f.qacc.size());
  // The solver stops at 1e-10 of the forces: over steps of 1e-4, differences know 1e-6.
  check_directions(
      c, c.run().pullback({.qacc = bar}),
      [&](const ForwardCase& at) { return test::dot(bar, at.run().qacc); }, 1e-6);
}

TEST_CASE("forward, inverse_dynamics: cotangents and accelerations of a wrong size are refused") {
  const ForwardCase c;
  const Forward f = c.run();
  const Numbers short_one(3, 1.0);
  Numbers bad = f.qacc;
  bad[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(f.pullback({.qacc = short_one}), Error);
  CHECK_THROWS_AS(f.pullback({.bias = bad}), Error);
  CHECK_THROWS_AS(inverse_dynamics(c.robot(), {c.states}, short_one), Error);
  CHECK_THROWS_AS(inverse_dynamics(c.robot(), {c.states}, {}), Error);
  CHECK_THROWS_AS(inverse_dynamics(c.robot(), {c.states}, f.qacc).pullback({}), Error);
}

}  // namespace cycloid::forward_test
