#include "cycloid/io/foreign_call.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace cycloid {
namespace {

struct Counted {
  explicit Counted(int& n) : count(n) { ++count; }
  ~Counted() { --count; }
  int& count;
};

TEST_CASE("ForeignCall: a call that returns completes") {
  int called = 0;
  CHECK(ForeignCall::completes([&] { ++called; }));
  CHECK(called == 1);
}

TEST_CASE("ForeignCall: an exception of any type ends the call; destructors have run") {
  int alive = 0, reached = 0;
  const auto throwing = [&](int kind) {
    return ForeignCall::completes([&] {
      const Counted outer(alive);
      const std::string long_enough_for_the_heap(100, 'x');
      const Counted inner(alive);
      ++reached;
      if (kind == 0) throw std::runtime_error(long_enough_for_the_heap);
      if (kind == 1) throw 7;
    });
  };
  CHECK_FALSE(throwing(0));
  CHECK_FALSE(throwing(1));
  CHECK(throwing(2));
  CHECK(reached == 3);
  CHECK(alive == 0);
}

TEST_CASE("ForeignCall: calls nest, and leave ends the innermost") {
  bool inner = true, after = false;
  CHECK(ForeignCall::completes([&] {
    inner = ForeignCall::completes([] { ForeignCall::leave(); });
    after = true;
  }));
  CHECK_FALSE(inner);
  CHECK(after);
  CHECK_FALSE(ForeignCall::completes([&] {
    ForeignCall::completes([] {});
    ForeignCall::leave();
  }));
  CHECK_NOTHROW(ForeignCall::leave());
}

}  // namespace
}  // namespace cycloid
