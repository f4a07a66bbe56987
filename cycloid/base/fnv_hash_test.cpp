#include "cycloid/base/fnv_hash.h"

#include <doctest/doctest.h>

namespace cycloid {

TEST_CASE("fnv_hash: the known answers of its authors, in one piece and in two") {
  static_assert(fnv_hash("") == 0xcbf29ce484222325);
  static_assert(fnv_hash("a") == 0xaf63dc4c8601ec8c);
  static_assert(fnv_hash("foobar") == 0x85944171f73967e8);
  CHECK(fnv_hash("bar", fnv_hash("foo")) == fnv_hash("foobar"));
}

}  // namespace cycloid
