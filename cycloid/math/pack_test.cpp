#include "cycloid/math/pack.h"

#include <doctest/doctest.h>

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/math/pack_test_isa.h"

#if CYCLOID_HAS_PORTABLE
CYCLOID_PACK_ENTRIES(portable)
#endif
#if CYCLOID_HAS_V3
CYCLOID_PACK_ENTRIES(v3)
#endif
#if CYCLOID_HAS_V4
CYCLOID_PACK_ENTRIES(v4)
#endif

namespace cycloid {
namespace {

bool is_available(InstructionSet set) {
  for (const InstructionSet other : available_instruction_sets()) {
    if (other == set) return true;
  }
  return false;
}

TEST_CASE("pack: lanes of every operation have the bits of scalars, for every set and width") {
#if CYCLOID_HAS_PORTABLE
  if (is_available(InstructionSet::portable)) CHECK(isa::portable::pack_failures() == "");
#endif
#if CYCLOID_HAS_V3
  if (is_available(InstructionSet::v3)) CHECK(isa::v3::pack_failures() == "");
#endif
#if CYCLOID_HAS_V4
  if (is_available(InstructionSet::v4)) CHECK(isa::v4::pack_failures() == "");
#endif
}

TEST_CASE("pack: registers have the width of the instruction set") {
#if CYCLOID_HAS_PORTABLE
  CHECK(isa::portable::register_bytes() ==
        kRegisterBytes);  // this file is compiled for the baseline too
#endif
#if CYCLOID_HAS_V3
  CHECK(isa::v3::register_bytes() == 32);
#endif
#if CYCLOID_HAS_V4
  CHECK(isa::v4::register_bytes() == 64);
#endif
}

TEST_CASE("pack: traits name the element, the mask and the number of lanes") {
  using S = Pack<float, 16>;
  CHECK(std::same_as<Scalar<S>, float>);
  CHECK(std::same_as<Mask<S>, PackMask<float, 16>>);
  CHECK(kLanes<S> == 16);
  // A double does not become a float pack by accident.
  CHECK(std::is_convertible_v<float, S>);
  CHECK(std::is_convertible_v<int, S>);
  CHECK(!std::is_convertible_v<double, S>);
  CHECK(std::is_constructible_v<S, double>);
}

}  // namespace
}  // namespace cycloid
