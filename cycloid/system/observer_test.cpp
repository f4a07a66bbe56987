#include "cycloid/system/observer.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::observer_test {

TEST_CASE(
    "observables_of: blocks of the state come first, then what the System lists, with units") {
  std::string text;
  for (const Observable& o : observables_of(systems::kepler()))
    text += o.name + " [" + o.unit + "] ";
  CHECK(text == "position [m] velocity [m/s] energy [m²/s²] ");
  text.clear();
  for (const Observable& o : observables_of(systems::lorenz())) text += o.name;
  CHECK(text == "xyz");
}

TEST_CASE("find_observable: a block of the state is numbers of the state, others are computed") {
  const System system = systems::double_pendulum();
  const Observable speeds = find_observable(system, "angular_velocities");
  CHECK(speeds.size() == 2);
  REQUIRE(speeds.of_state.size() == 1);
  CHECK(speeds.of_state[0].from == 2);
  CHECK(speeds.of_state[0].count == 2);
  CHECK(find_observable(system, "energy").of_state.empty());
  CHECK(find_observable(systems::lorenz(), "z").of_state.at(0).from == 2);
}

TEST_CASE("find_observable: a name that there is not has a nearest one") {
  const System system = systems::pendulum();
  CHECK_THROWS_WITH_AS(find_observable(system, "enrgy"),
                       "no observable is called \"enrgy\"; did you mean \"energy\"?", ModelError);
  CHECK_THROWS_WITH_AS(find_observable(system, "angel"),
                       "no observable is called \"angel\"; did you mean \"angle\"?", ModelError);
}

}  // namespace cycloid::observer_test
