#include "cycloid/rigid/forward.h"

#include "cycloid/rigid/robot.h"
#include "cycloid/rigid/sense_case_test.h"

using namespace cycloid;
using test::Numbers;

namespace {

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
  Forward run() const {
    const System robot = make_robot(model, {.inputs = {"ctrl", "qfrc_applied"}});
    return forward(Observer(robot, model), {states, inputs});
  }
  std::size_t nv() const { return static_cast<std::size_t>(model.nv); }

  Model model;
  Numbers states, inputs;
};

}  // namespace

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
  for (std::size_t i = 0; i < 3; ++i) {
    const double* y = f.sensors.data() + i * (2 + 3 + 4 + 3);
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
