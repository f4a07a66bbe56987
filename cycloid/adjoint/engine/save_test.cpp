#include "cycloid/adjoint/engine/save.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::save_test {

using Steps = std::vector<std::int64_t>;
using test::contains;
using test::text_of_error;

TEST_CASE("Save: all, last and every k-th name the steps of a run") {
  CHECK(Save::all().steps(3) == Steps{0, 1, 2, 3});
  CHECK(Save::last().steps(3) == Steps{3});
  CHECK(Save::every(2).steps(5) == Steps{0, 2, 4});
  CHECK(Save::every(5).steps(5) == Steps{0, 5});
  CHECK(Save::every(1).steps(2) == Steps{0, 1, 2});
  CHECK(Save::every(100).steps(5) == Steps{0});
}

TEST_CASE("Save: a list counts from the end where it is negative, as far as state 0") {
  CHECK(Save::at({0, 2, -1}).steps(5) == Steps{0, 2, 5});
  CHECK(Save::at({-6, -2}).steps(5) == Steps{0, 4});
}

TEST_CASE("Save: what does not exist is refused and named") {
  std::string text = text_of_error([] { (void)Save::at({2, 7}).steps(5); });
  CHECK(contains(text, "step 7 does not exist in a run of 5 steps"));
  CHECK(contains(text, "numbered 0 to 5"));
  text = text_of_error([] { (void)Save::at({-7}).steps(5); });
  CHECK(contains(text, "step -7 does not exist"));
  text = text_of_error([] { (void)Save::at({3, 3}).steps(5); });
  CHECK(contains(text, "must increase; 3 follows 3"));
  text = text_of_error([] { (void)Save::at({4, -2}).steps(5); });
  CHECK(contains(text, "must increase"));
  text = text_of_error([] { (void)Save::at({}).steps(5); });
  CHECK(contains(text, "empty"));
  text = text_of_error([] { (void)Save::every(0).steps(5); });
  CHECK(contains(text, "at least 1; got 0"));
  text = text_of_error([] { (void)Save::every(-3).steps(5); });
  CHECK(contains(text, "got -3"));
}

}  // namespace cycloid::save_test
