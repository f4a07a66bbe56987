#include "cycloid/io/mujoco_clock.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid {
namespace {

TEST_CASE("time_mujoco: a ball on a floor has a contact, and differences cost more than a step") {
  const MujocoTimes times = time_mujoco(R"(<mujoco><worldbody>
    <geom type="plane" size="1 1 1"/> <body pos="0 0 0.099"><freejoint/><geom size="0.1"/></body>
    </worldbody></mujoco>)",
                                        50);
  CHECK(times.contacts > 0.5);
  CHECK(times.step > 0);
  CHECK(times.step < 1);
  CHECK(times.differences > times.step);  // it takes more than a dozen steps
}

TEST_CASE("time_mujoco: what is no model is refused") {
  CHECK_THROWS_AS(time_mujoco("<mujoco><worldbody><geom/></mujoco>", 5), ModelError);
}

}  // namespace
}  // namespace cycloid
