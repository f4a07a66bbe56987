#include "cycloid/system/systems.h"

#include <doctest/doctest.h>

#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid::systems_test {

using systems::Settings;
using test::Numbers;
using test::Rows;
using test::StepOutcome;

// Environments of a law: its first state, moved by a different amount in each, with inputs and
// cotangents. Parameters are moved too, so that nothing is zero.
struct Batch {
  Rows<double> x, u, p, bars;
};

Batch batch_of(const System& system, std::size_t environments) {
  Batch b;
  test::FixedNumbers random(21);
  for (std::size_t e = 0; e < environments; ++e) {
    b.x.push_back(system.initial_state());
    for (double& v : b.x.back()) v += 0.3 * random.next();
    b.u.push_back(random.vector(static_cast<std::size_t>(system.inputs().size())));
    b.p.push_back(system.parameters().default_values());
    for (std::size_t i = 0; i + 1 < b.p.back().size(); ++i) {
      b.p.back()[i] += 0.1 + 0.2 * static_cast<double>(e % 3);
    }
    b.bars.push_back(random.vector(static_cast<std::size_t>(system.states().tangent_size())));
  }
  return b;
}

template <class T>
Numbers everything(const StepOutcome<T>& out, std::size_t lane) {
  Numbers all(out.x_next[lane].begin(), out.x_next[lane].end());
  all.insert(all.end(), out.x_bar[lane].begin(), out.x_bar[lane].end());
  all.insert(all.end(), out.u_bar[lane].begin(), out.u_bar[lane].end());
  all.insert(all.end(), out.p_bar[lane].begin(), out.p_bar[lane].end());
  return all;
}

// Steps and pullbacks of every instruction set that the machine has, in lanes and alone, against
// the narrowest set's scalar in double.
template <class T>
void check_sets(const std::string& law, const std::string& integrator, Precision precision,
                double tolerance) {
  std::vector<Numbers> reference;
  {
    const ScopedInstructionSet scope(available_instruction_sets().front());
    const System system = systems::make(law, {}, {.integrator = integrator});
    const Batch b = batch_of(system, 16);
    for (std::size_t e = 0; e < 16; ++e) {
      reference.push_back(everything(test::run_step(*system.steppers<double>().one, {b.x[e]},
                                                    {b.u[e]}, {b.p[e]}, {b.bars[e]}, 3),
                                     0));
      CHECK(test::largest(reference.back()) > 0.1);
    }
  }
  for (const InstructionSet set : available_instruction_sets()) {
    INFO(law, ", ", integrator, ", ", std::string(name(set)));
    const ScopedInstructionSet scope(set);
    const System system =
        systems::make(law, {}, {.integrator = integrator, .precision = precision});
    const Batch b = batch_of(system, 16);
    const Steppers<T>& steppers = system.steppers<T>();
    const StepOutcome<T> lanes = test::run_step(*steppers.packed, b.x, b.u, b.p, b.bars, 3);
    double worst = 0;
    for (std::size_t l = 0; l < lanes.x_next.size(); ++l) {
      worst = std::max(worst, test::relative_error(everything(lanes, l), reference[l % 16]));
    }
    CHECK(worst < tolerance);
    const StepOutcome<T> alone = test::run_step(*steppers.one, b.x, b.u, b.p, b.bars, 3);
    CHECK(test::relative_error(everything(alone, 0), reference[0]) < tolerance);
  }
}

bool second_order(const std::string& law) {
  return law != "lorenz" && law != "bead_on_curve" && law != "stick_slip";
}
bool has_events(const std::string& law) { return !systems::make(law).events().empty(); }
bool needs_second_order(const std::string& i) { return i == "semi_implicit" || i == "verlet"; }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("systems: each law has the contract's states, inputs, parameters and defaults") {
  const System pendulum = systems::pendulum();
  CHECK(pendulum.describe() == "System pendulum: 2 states, 1 input, dt 10 ms");
  CHECK(pendulum.parameters().default_values() == Numbers{1, 1, 0, 9.81, 0.01});
  const System twice = systems::double_pendulum();
  CHECK(twice.describe() == "System double_pendulum: 4 states, 2 inputs, dt 10 ms");
  CHECK(twice.parameters().default_values() == Numbers{1, 1, 1, 1, 0, 0, 9.81, 0.01});
  const System projectile = systems::projectile();
  CHECK(projectile.describe() == "System projectile: 6 states, 0 inputs, dt 10 ms");
  CHECK(projectile.parameters().default_values() == Numbers{1, 0, 0, 0, 0, 9.81, 0.01});
  CHECK(projectile.parameters().find("wind").shape == std::vector<int>{3});
  const System chain = systems::spring_chain(5);
  CHECK(chain.describe() == "System spring_chain: 10 states, 5 inputs, dt 10 ms");
  CHECK(chain.parameters().default_values() == Numbers{1, 1, 0, 0.01});
  CHECK(systems::kepler().describe() == "System kepler: 4 states, 0 inputs, dt 10 ms");
  CHECK(systems::kepler().parameters().default_values() == Numbers{1, 0.01});
  CHECK(systems::lorenz().describe() == "System lorenz: 3 states, 0 inputs, dt 10 ms");
  CHECK(systems::lorenz().parameters().default_values() == Numbers{10, 28, 8.0 / 3, 0.01});
  CHECK(systems::bouncing_ball().parameters().default_values() == Numbers{0.8, 9.81, 0.01});
  const System bead = systems::bead_on_curve();
  CHECK(bead.parameters().find("heights").shape == std::vector<int>{22});
  CHECK(bead.parameters().default_values()[0] == 1);
  CHECK(bead.parameters().default_values()[21] == 0);
  CHECK(systems::bead_on_curve({.heights = {2, 1, 0}}).parameters().size() == 6);
  CHECK_THROWS_WITH_AS(systems::bead_on_curve({.heights = {2, 1}}), doctest::Contains("3 to 64"),
                       ModelError);
  CHECK(systems::stick_slip({.belt = 0.5}).initial_state() == Numbers{0, 0.5, 0});
  CHECK(systems::rimless_wheel({.slope = 0.2}).parameters().default_values() ==
        Numbers{1, 0.4, 0.2, 9.81, 0.01});
  for (const std::string& law : systems::names()) {
    const System system = systems::make(law);
    CHECK(system.name() == law);
    // A start at which something happens; a bead slides from the beginning of its curve.
    CHECK((test::largest(system.initial_state()) > 0 || law == "bead_on_curve"));
  }
}

TEST_CASE("systems: parameters given by field reach the parameter of that name") {
  CHECK(systems::pendulum({.length = 2, .mass = 3, .damping = 4, .gravity = 5}, {.dt = 0.1})
            .parameters()
            .default_values() == Numbers{2, 3, 4, 5, 0.1});
  CHECK(systems::double_pendulum(
            {.lengths = {1, 2}, .masses = {3, 4}, .damping = {5, 6}, .gravity = 7})
            .parameters()
            .default_values() == Numbers{1, 2, 3, 4, 5, 6, 7, 0.01});
  CHECK(systems::projectile({.mass = 1, .drag = 2, .wind = {3, 4, 5}, .gravity = 6})
            .parameters()
            .default_values() == Numbers{1, 2, 3, 4, 5, 6, 0.01});
  CHECK(systems::spring_chain(2, {.mass = 1, .stiffness = 2, .damping = 3})
            .parameters()
            .default_values() == Numbers{1, 2, 3, 0.01});
  CHECK(systems::kepler({.mu = 2}).parameters().default_values() == Numbers{2, 0.01});
  CHECK(systems::lorenz({.sigma = 1, .rho = 2, .beta = 3}).parameters().default_values() ==
        Numbers{1, 2, 3, 0.01});
  CHECK(systems::make("lorenz", {{"rho", {24}}}).parameters().default_values()[1] == 24);
}

TEST_CASE("systems::make: unknown laws and integrators are refused with the nearest name") {
  CHECK_THROWS_WITH_AS(systems::make("pendulm"),
                       "no law is called \"pendulm\"; did you mean \"pendulum\"?", ModelError);
  CHECK_THROWS_WITH_AS(systems::make("pendulum", {}, {.integrator = "rk5"}),
                       doctest::Contains("no integrator is called \"rk5\"; did you mean \"rk4\"?"),
                       ModelError);
  for (const char* integrator : {"verlet", "semi_implicit"}) {
    CHECK_THROWS_WITH_AS(
        systems::make("lorenz", {}, {.integrator = integrator}),
        doctest::Contains("needs a law of second order, and \"lorenz\" is of first "
                          "order; choose rk4, dopri5 or implicit_midpoint"),
        ModelError);
  }
}

TEST_CASE("systems::make: bad numbers are refused with the parameter's name") {
  CHECK_THROWS_WITH_AS(systems::pendulum({.mass = -1}),
                       "parameter \"mass\" must be positive [kg]; got [-1]", ParameterError);
  CHECK_THROWS_AS(systems::pendulum({.length = 0}), ParameterError);
  CHECK_THROWS_AS(systems::pendulum({.damping = -0.1}), ParameterError);
  CHECK_THROWS_AS(systems::double_pendulum({.masses = {1, -1}}), ParameterError);
  CHECK_THROWS_WITH_AS(systems::pendulum({.gravity = kNaN}),
                       "parameter \"gravity\" must be finite; got nan", ParameterError);
  CHECK_THROWS_WITH_AS(systems::spring_chain(0),
                       "a spring chain needs at least one mass; got n = 0", ModelError);
  CHECK_THROWS_AS(systems::spring_chain(-3), ModelError);
  CHECK_THROWS_AS(systems::pendulum({}, {.dt = 0}), ParameterError);
  CHECK_THROWS_AS(systems::pendulum({}, {.dt = -0.01}), ParameterError);
  CHECK_THROWS_AS(systems::pendulum({}, {.dt = kNaN}), ParameterError);
  CHECK_THROWS_WITH_AS(systems::pendulum({}, {.vary = {"lenth"}}),
                       "no parameter is called \"lenth\"; did you mean \"length\"?",
                       ParameterError);
  CHECK_THROWS_WITH_AS(systems::make("kepler", {{"mv", {1}}}),
                       doctest::Contains("no parameter is called \"mv\""), ParameterError);
  CHECK(systems::pendulum({}, {.vary = {"length"}}).varies(0));
}

TEST_CASE("systems: every law and integrator steps the same in every instruction set, in double") {
  // Contract: 1e-12 per step between instruction sets and lane types.
  for (const std::string& law : systems::names()) {
    for (const std::string& integrator : systems::integrators()) {
      if (needs_second_order(integrator) && !second_order(law)) continue;
      check_sets<double>(law, integrator, Precision::float64, 1e-12);
    }
  }
}

TEST_CASE("systems: every law and integrator steps the same in every instruction set, in float") {
  for (const std::string& law : systems::names()) {
    for (const std::string& integrator : systems::integrators()) {
      if (needs_second_order(integrator) && !second_order(law)) continue;
      if (has_events(law)) continue;  // a root's rounding: cycloid/adjoint/events_test.cpp
      check_sets<float>(law, integrator, Precision::float32, 1e-5);
    }
  }
}

TEST_CASE("systems: lanes are two registers of the chosen instruction set, or one number") {
  int before = 0;
  for (const InstructionSet set : available_instruction_sets()) {
    const ScopedInstructionSet scope(set);
    const System system = systems::pendulum({}, {.precision = Precision::float32});
    const int lanes = system.steppers<float>().packed->sizes().lanes;
    CHECK(lanes > before);  // wider from set to set
    CHECK(system.in_double().steppers<double>().packed->sizes().lanes == std::max(lanes / 2, 1));
    before = lanes;
  }
}

}  // namespace cycloid::systems_test
