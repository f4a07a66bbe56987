#include "cycloid/system/variant.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"
#include "tests/support/test_laws.h"

namespace cycloid::variant_test {

double value(const System& system, const char* name) {
  const Parameters& p = system.parameters();
  return p.default_values()[static_cast<std::size_t>(p.find(name).offset)];
}

TEST_CASE("variant: a law takes another step and another integrator, and is otherwise the same") {
  const System system =
      systems::pendulum({.length = 0.7, .damping = 0.1}, {.dt = 0.02, .vary = {"mass"}});
  const System other = system.variant({.dt = 0.005, .integrator = "implicit_midpoint"});
  CHECK(other.timestep() == 0.005);
  CHECK(value(other, "option.timestep") == 0.005);
  CHECK(value(other, "length") == 0.7);
  CHECK(value(other, "damping") == 0.1);
  CHECK(other.ways().integrator == "implicit_midpoint");
  CHECK(other.vary() == system.vary());
  CHECK(other.states().size() == 2);
  CHECK(system.timestep() == 0.02);
  CHECK(system.ways().integrator == "rk4");
}

TEST_CASE("variant: nothing asked for is nothing changed; names may be written in capitals") {
  const System system = systems::kepler();
  CHECK(system.variant({}).timestep() == system.timestep());
  CHECK(system.variant({}).steppers<double>().one == system.steppers<double>().one);
  CHECK(system.variant({.integrator = "VERLET"}).ways().integrator == "verlet");
}

TEST_CASE("variant: what was set before stays when something else is varied") {
  const System system = systems::lorenz().variant({.dt = 0.002}).variant({.integrator = "euler"});
  CHECK(system.timestep() == 0.002);
  CHECK(system.ways().integrator == "euler");
  const System adaptive = systems::pendulum({}, {.integrator = "dopri5", .rtol = 1e-6});
  CHECK(adaptive.counters().size() > 0);
  CHECK(adaptive.variant({.integrator = "rk4"}).counters().empty());
}

TEST_CASE("variant: what cannot be varied is named") {
  const System system = systems::pendulum();
  CHECK_THROWS_WITH_AS(system.variant({.contact = "hard"}),
                       "the contact of system \"pendulum\" cannot be varied", Error);
  CHECK_THROWS_WITH_AS(system.variant({.integrator = "rk5"}), doctest::Contains("\"rk4\""), Error);
  CHECK_THROWS_WITH_AS(system.variant({.dt = -1}), doctest::Contains("positive"), Error);
  CHECK_THROWS_AS(systems::lorenz().variant({.integrator = "verlet"}), Error);
  const System own = make_system(test::DrivenOscillator{});
  CHECK(own.variant({.dt = 0.5}).timestep() == 0.5);
  CHECK_THROWS_WITH_AS(own.variant({.integrator = "euler"}), doctest::Contains("integrator"),
                       Error);
}

TEST_CASE("with_defaults: names keep their order; a bad value is refused") {
  const System system = systems::pendulum();
  const Parameters& before = system.parameters();
  const Parameters after = with_defaults(before, {{"mass", {3}}});
  CHECK(after.default_values()[1] == 3);
  CHECK(after.all()[4].name == before.all()[4].name);
  CHECK_THROWS_AS(with_defaults(before, {{"mass", {-3}}}), ParameterError);
  CHECK_THROWS_AS(with_defaults(before, {{"mas", {3}}}), ParameterError);
}

}  // namespace cycloid::variant_test
