#include "cycloid/base/array_items.h"

#include <doctest/doctest.h>

namespace cycloid::array_items_test {
namespace {

TEST_CASE("copy_items, fill_items: n items and no more, none where n is zero") {
  const int from[4] = {1, 2, 3, 4};
  int to[4] = {9, 9, 9, 9};
  copy_items(from, 3, to);
  CHECK((to[0] == 1 && to[2] == 3 && to[3] == 9));
  bool marks[3] = {true, true, true};
  fill_items(marks, std::size_t{2}, false);
  CHECK((!marks[0] && !marks[1] && marks[2]));
  copy_items(from, 0, to);
  fill_items(to, 0, 7);
  CHECK(to[0] == 1);
}

}  // namespace
}  // namespace cycloid::array_items_test
