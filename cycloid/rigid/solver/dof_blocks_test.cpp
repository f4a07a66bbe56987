#include "cycloid/rigid/solver/dof_blocks.h"

#include <doctest/doctest.h>

namespace cycloid::dof_blocks_test {

std::vector<int> blocks_of(const DofBlocks& dofs, int k, int l) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(dofs.words), 0);
  const BlockSet set{words.data(), dofs.words};
  dofs.add_chain_difference(k, l, set);
  std::vector<int> out;
  for_each(set, [&](int i) { out.push_back(i); });
  return out;
}

TEST_CASE("DofBlocks: limbs begin blocks of their own, and padding completes them") {
  // A free body (0-5), two limbs of two dofs at dof 5, a third dof behind the first limb's end.
  const std::vector<int> parents = {-1, 0, 1, 2, 3, 4, 5, 6, 5, 8, 7};
  const DofBlocks dofs(parents);
  CHECK(dofs.blocks == 5);
  CHECK(dofs.place == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12});
  CHECK(dofs.padding == std::vector<int>{8, 11, 13, 14});
}

TEST_CASE("DofBlocks: a block couples to the blocks on its way to the root, not to other limbs") {
  const std::vector<int> parents = {-1, 0, 1, 1, 3, -1};
  const DofBlocks dofs(parents);  // (0, 1) (2) (3, 4) (5)
  REQUIRE(dofs.blocks == 4);
  const auto row = [&](int I) { return dofs.couples[static_cast<std::size_t>(I)]; };
  CHECK(row(0) == 0b0001);
  CHECK(row(1) == 0b0011);
  CHECK(row(2) == 0b0101);
  CHECK(row(3) == 0b1000);
  CHECK(dofs.coupled == 6);
}

TEST_CASE("DofBlocks: what two bodies share does not move them against each other") {
  const std::vector<int> parents = {-1, 0, 1, 1, 3, -1};
  const DofBlocks dofs(parents);
  CHECK(blocks_of(dofs, 4, -1) == std::vector<int>{0, 2});
  CHECK(blocks_of(dofs, 4, 2) == std::vector<int>{1, 2});
  CHECK(blocks_of(dofs, 4, 5) == std::vector<int>{0, 2, 3});
  CHECK(blocks_of(dofs, 4, 4).empty());
}

TEST_CASE("DofBlocks: no dofs are no blocks") {
  const DofBlocks dofs(std::vector<int>{});
  CHECK(dofs.blocks == 0);
  CHECK(dofs.size() == 0);
}

}  // namespace cycloid::dof_blocks_test
