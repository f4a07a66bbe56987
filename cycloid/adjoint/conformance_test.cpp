// Systems of this room and of room system, held to what every System must keep; and the suite
// itself, held to steppers that break one claim each.
#include "tests/support/conformance.h"

#include "cycloid/system/make_system.h"
#include "tests/support/field_world.h"
#include "tests/support/test_laws.h"

namespace cycloid {
namespace {

using test::conform;
using test::ConformOptions;
using test::rollout_case;
using test::RolloutCase;

// Two chunks and a bit, whatever the lanes.
template <class T>
std::int64_t more_than_two_chunks(const System& system) {
  return 2 * system.steppers<T>().packed->sizes().lanes + 1;
}

template <class T>
RolloutCase<T> law_case(const System& system, std::uint64_t seed) {
  return rollout_case<T>(system, more_than_two_chunks<T>(system), 7, seed);
}

}  // namespace

TEST_CASE("conformance: every law with every integrator, in double") {
  std::uint64_t seed = 100;
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    conform(law_case<double>(system, ++seed));
  }
}

}  // namespace cycloid
