#include "cycloid/adjoint/events.h"

#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {

std::string describe(const Event& e) {
  return message("environment ", e.environment, ", step ", e.step, ": ", e.name, " at ", e.time,
                 " s");
}

}  // namespace cycloid::inline adjoint
