#include "cycloid/adjoint/engine/save.h"

#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {

std::vector<std::int64_t> Save::steps(std::int64_t T) const {
  std::vector<std::int64_t> steps;
  switch (kind_) {
    case Kind::last: return {T};
    case Kind::all:
      for (std::int64_t k = 0; k <= T; ++k) steps.push_back(k);
      return steps;
    case Kind::every:
      if (k_ < 1) throw Error(message("save every k-th state: k must be at least 1; got ", k_));
      for (std::int64_t k = 0; k <= T; k += k_) steps.push_back(k);
      return steps;
    case Kind::at: break;
  }
  if (list_.empty()) throw Error("save: the list of steps is empty; give at least one step");
  for (const std::int64_t given : list_) {
    const std::int64_t k = given < 0 ? given + T + 1 : given;
    if (k < 0 || k > T) {
      throw Error(message("save: step ", given, " does not exist in a run of ", T,
                          " steps; the states are numbered 0 to ", T));
    }
    if (!steps.empty() && k <= steps.back()) {
      throw Error(message("save: steps must increase; ", given, " follows ", steps.back()));
    }
    steps.push_back(k);
  }
  return steps;
}

}  // namespace cycloid::inline adjoint
