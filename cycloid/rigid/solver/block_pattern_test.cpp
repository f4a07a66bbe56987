#include "cycloid/rigid/solver/block_pattern.h"

#include <doctest/doctest.h>

namespace cycloid::block_pattern_test {

struct Owned {
  explicit Owned(const DofBlocks& dofs)
      : words(BlockPattern::words_needed(dofs)), places(BlockPattern::places_needed(dofs)) {
    pattern.start(dofs, words.data(), places.data());
  }
  std::vector<std::uint64_t> words;
  std::vector<int> places;
  BlockPattern pattern;
};

// Three limbs of one block each on a base of one block.
const std::vector<int> kLimbs = {-1, 0, 1, 2, 3, 4, 2, 6, 7, 2, 9, 10};

TEST_CASE("BlockPattern: a tree has no fill-in") {
  const DofBlocks dofs(kLimbs);
  Owned own(dofs);
  own.pattern.close();
  CHECK(own.pattern.count == 7);  // four on the diagonal, three to the base
  for (int I = 1; I < 4; ++I) CHECK(own.pattern.row(I).word[0] == (1u | 1u << I));
  CHECK(own.pattern.column(0).word[0] == 0b1110);
}

TEST_CASE("BlockPattern: a coupling of two limbs fills in what elimination needs") {
  const DofBlocks dofs(kLimbs);
  Owned own(dofs);
  own.pattern.row(3).insert(1);
  own.pattern.row(3).insert(2);
  own.pattern.close();
  CHECK(own.pattern.row(2).has(1));  // limbs 1 and 2 meet where limb 3 is eliminated
  CHECK(own.pattern.count == 10);
  CHECK(own.pattern.count == static_cast<int>(BlockPattern::most_blocks(dofs)));
}

TEST_CASE("BlockPattern: places number the blocks of the pattern once each") {
  const DofBlocks dofs(kLimbs);
  Owned own(dofs);
  own.pattern.close();
  std::vector<int> seen(static_cast<std::size_t>(own.pattern.count), 0);
  for (int I = 0; I < 4; ++I) {
    for_each(own.pattern.row(I),
             [&](int J) { ++seen[static_cast<std::size_t>(own.pattern.place(I, J))]; });
  }
  for (const int n : seen) CHECK(n == 1);
}

TEST_CASE("BlockPattern: more than 64 blocks") {
  std::vector<int> parents(300, -1);  // free-standing hinges: a block each
  const DofBlocks dofs(parents);
  REQUIRE(dofs.blocks == 300);
  Owned own(dofs);
  own.pattern.row(299).insert(3);
  own.pattern.row(299).insert(130);
  own.pattern.close();
  CHECK(own.pattern.row(130).has(3));
  CHECK(own.pattern.count == 303);
}

}  // namespace cycloid::block_pattern_test
