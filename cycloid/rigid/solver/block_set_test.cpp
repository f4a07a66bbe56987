#include "cycloid/rigid/solver/block_set.h"

#include <doctest/doctest.h>

#include <vector>

namespace cycloid::block_set_test {

struct Owned {
  explicit Owned(int n) : words(static_cast<std::size_t>(words_for(n)), 0) {}
  BlockSet set() { return {words.data(), static_cast<int>(words.size())}; }
  std::vector<std::uint64_t> words;
};

std::vector<int> members(BlockSet set) {
  std::vector<int> out;
  for_each(set, [&](int i) { out.push_back(i); });
  return out;
}

TEST_CASE("BlockSet: members come back in order, across words") {
  Owned a(200);
  for (const int i : {130, 0, 63, 64, 199}) a.set().insert(i);
  CHECK(members(a.set()) == std::vector<int>{0, 63, 64, 130, 199});
  CHECK(a.set().has(64));
  CHECK_FALSE(a.set().has(65));
  a.set().clear();
  CHECK(members(a.set()).empty());
}

TEST_CASE("BlockSet: union, intersection and the last member below a limit") {
  Owned a(130), b(130);
  for (const int i : {1, 63, 64, 128}) a.set().insert(i);
  for (const int i : {2, 64, 128}) b.set().insert(i);
  std::vector<int> common;
  for_each_common(a.set(), b.set(), [&](int i) { common.push_back(i); });
  CHECK(common == std::vector<int>{64, 128});
  CHECK(last_below(a.set(), 130) == 128);
  CHECK(last_below(a.set(), 128) == 64);
  CHECK(last_below(a.set(), 64) == 63);
  CHECK(last_below(a.set(), 1) == -1);
  CHECK(last_below(a.set(), 0) == -1);
  a.set() |= b.set();
  CHECK(members(a.set()) == std::vector<int>{1, 2, 63, 64, 128});
}

}  // namespace cycloid::block_set_test
