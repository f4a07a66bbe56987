// Which operators a test run has covered; main.cpp compares it with the room's register.
#pragma once

#include <string_view>

namespace cycloid::test {

// Records that the pullback of the operator `name` has been checked, and that the check passed.
// check_pullback calls it; a test that checks a pullback in another way calls it itself.
void mark_operator_tested(std::string_view name);

}  // namespace cycloid::test
