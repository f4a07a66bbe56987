#include "cycloid/optimise/status.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace cycloid::status_test {

TEST_CASE("optimiser status: every status has its own name and advice, three are converged") {
  using enum OptimiserStatus;
  std::set<std::string> names, texts;
  int converged = 0, count = 0;
  for (const auto status : {converged_gradient, converged_step, converged_value, line_search_failed,
                            max_iterations, non_finite, rank_deficient, stopped}) {
    names.insert(name(status));
    texts.insert(advice(status));
    converged += is_converged(status);
    ++count;
  }
  CHECK(names.size() == static_cast<std::size_t>(count));
  CHECK(texts.size() == static_cast<std::size_t>(count));
  CHECK(names.count("unknown") == 0);
  CHECK(texts.count("") == 0);
  CHECK(converged == 3);
}

}  // namespace cycloid::status_test
