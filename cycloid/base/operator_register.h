// The register of operators: functions with a pullback, and those that have none on purpose.
//
// 1. A room keeps its register in operators.h, which includes nothing but this header:
//      namespace cycloid::inline math {
//      inline constexpr Operator kOperators[] = {
//          differentiable("cross"),
//          not_differentiable("ldlt_factor", "its solve is differentiated by the implicit rule"),
//      };
//      }
// 2. The name of a differentiable operator is that of its pullback without `_pullback`; a member
//    function's is "Struct::name".
// 3. The test executable of the room walks the register (tests/support/main.cpp): each
//    differentiable operator must have passed a pullback check in the same run.
#pragma once

#include <string_view>

namespace cycloid::inline base {

struct Operator {
  std::string_view name;
  std::string_view reason;  // why it has no pullback; empty for a differentiable operator

  constexpr bool is_differentiable() const { return reason.empty(); }
};

constexpr Operator differentiable(std::string_view name) { return {name, {}}; }

// `reason` says where the derivative is to be had instead, or why there is none.
constexpr Operator not_differentiable(std::string_view name, std::string_view reason) {
  return {name, reason};
}

}  // namespace cycloid::inline base
