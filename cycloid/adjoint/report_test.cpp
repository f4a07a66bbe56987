#include "cycloid/adjoint/report.h"

#include <doctest/doctest.h>

namespace cycloid {

TEST_CASE("describe(Failure): environment, step, stage, body and reason in one line") {
  CHECK(describe(Failure{3, 17, "rk4 stage 2", "velocity", "its rate is not finite"}) ==
        "environment 3, step 17, rk4 stage 2, velocity: its rate is not finite");
  CHECK(describe(Failure{0, 1, "euler", "", "a tangent is not finite"}) ==
        "environment 0, step 1, euler: a tangent is not finite");
}

}  // namespace cycloid
