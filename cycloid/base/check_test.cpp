#include "cycloid/base/check.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

template <class F>
std::string text_of(F&& failing) {
  try {
    failing();
  } catch (const cycloid::InternalError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("CYCLOID_CHECK: says the condition, the values by name, and the place") {
  const int used = 960, capacity = 1024;
  const std::string text = text_of([&] { CYCLOID_CHECK(used + 128 <= capacity, used, capacity); });
  CHECK(
      text.starts_with("check failed: used + 128 <= capacity (used = 960, capacity = 1024), "
                       "check_test.cpp:"));
  CHECK(text.find('/') == std::string::npos);
}

TEST_CASE("CYCLOID_CHECK: names survive commas in calls and quotes; a remark has no name") {
  const std::vector<int> v = {1, 2};
  const std::string text = text_of([&] {
    CYCLOID_CHECK(v.empty(), std::max(v[0], v[1]), "slots, by lane", v, std::string("a,b\")"));
  });
  CHECK(
      text.starts_with("check failed: v.empty() (std::max(v[0], v[1]) = 2, slots, by lane, "
                       "v = [1, 2], std::string(\"a,b\\\")\") = a,b\")), check_test.cpp:"));
}

TEST_CASE("CYCLOID_CHECK: needs no values, and evaluates nothing twice") {
  int calls = 0;
  CYCLOID_CHECK(++calls == 1, ++calls);
  CHECK(calls == 1);
  CHECK(text_of([] {
          CYCLOID_CHECK(1 + 1 == 3);
        }).starts_with("check failed: 1 + 1 == 3, check_test.cpp:"));
}
