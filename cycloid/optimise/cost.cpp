#include "cycloid/optimise/cost.h"

#include <algorithm>

#include "cycloid/base/error.h"

namespace cycloid::inline optimise {

std::vector<std::int64_t> When::of(std::int64_t T) const {
  std::vector<std::int64_t> out;
  if (kind == Kind::end) return {T};
  if (kind == Kind::all) {
    for (std::int64_t t = 0; t <= T; ++t) out.push_back(t);
    return out;
  }
  if (steps.empty()) throw Error("when: no steps are listed");
  for (const std::int64_t t : steps) {
    const std::int64_t own = t < 0 ? T + 1 + t : t;
    if (own < 0 || own > T) {
      throw Error(message("when: there is no step ", t, " in a plan of ", T, " steps; its states ",
                          "are 0 to ", T));
    }
    out.push_back(own);
  }
  std::vector<std::int64_t> sorted = out;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw Error(message("when: step ", *twice, " is listed twice"));
  return out;
}

std::string describe(const Term& term) {
  struct Words {
    std::string operator()(const Reach& r) const { return message("Reach(\"", r.name, "\")"); }
    std::string operator()(const Effort&) const { return "Effort"; }
    std::string operator()(const Smooth&) const { return "Smooth"; }
    std::string operator()(const Function& f) const { return message("Function(", f.name, ")"); }
    std::string operator()(const Keep& k) const { return message("Keep(\"", k.name, "\")"); }
  };
  return std::visit(Words{}, term);
}

}  // namespace cycloid::inline optimise
