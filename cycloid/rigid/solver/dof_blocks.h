// Degrees of freedom in blocks of three, as the constraint solver sees them.
//
// A block holds dofs that follow each other on one chain; it ends where it is full, where a branch
// begins, and where the next dof starts a branch of its own. Blocks that are not full are padded:
// a padded dof has mass one and takes part in nothing. Free and ball joints fill whole blocks, and
// limbs do not share blocks, so that sparsity between limbs survives as sparsity between blocks.
//
//   place[k]      where dof k stands in a padded vector (size = 3 blocks)
//   couples(I)    blocks J ≤ I that hold dofs of I's chains to the root: the mass matrix's pattern
//   spread        for each entry of its blocks, row by row: where it stands among rows of a dof and
//                 its ancestors (Tree::row), or kZero, or kOne
//
// The parent of a dof is the dof before it on the way to the root, or -1. Parents come first.
#pragma once

#include <span>
#include <vector>

#include "cycloid/base/bits.h"
#include "cycloid/rigid/solver/block_set.h"

namespace cycloid::inline rigid {

inline constexpr int kBlock = 3;
inline constexpr int kBlockEntries = kBlock * kBlock;

struct DofBlocks {
  explicit DofBlocks(std::span<const int> parents);

  CYCLOID_HD int dofs() const { return static_cast<int>(place.size()); }
  int size() const { return kBlock * blocks; }

  // Adds to `set` the blocks of the dofs that move the two bodies whose last dofs are k and l
  // against each other (-1: the world): those on one of the two chains to the root, not on both.
  void add_chain_difference(int k, int l, BlockSet set) const {
    while (k != l) {
      int& later = k > l ? k : l;
      set.insert(place[static_cast<std::size_t>(later)] / kBlock);
      later = parent[static_cast<std::size_t>(later)];
    }
  }

  static constexpr int kZero = -1, kOne = -2;

  int blocks = 0, words = 0, coupled = 0;  // coupled: pairs of blocks in the mass matrix
  std::vector<int> parent, place;
  std::vector<int> padding;            // places that hold no dof
  std::vector<std::uint64_t> couples;  // (blocks, words)
  std::vector<int> spread;             // (coupled, kBlockEntries)

 private:
  void find_spread();
};

inline DofBlocks::DofBlocks(std::span<const int> parents)
    : parent(parents.begin(), parents.end()), place(parents.size()) {
  std::vector<int> children(parents.size() + 1, 0);
  for (const int p : parent) ++children[static_cast<std::size_t>(p + 1)];
  int next = 0;
  for (std::size_t k = 0; k < place.size(); ++k) {
    const bool continues = k > 0 && parent[k] == static_cast<int>(k) - 1 && children[k] == 1;
    while (next % kBlock != 0 && !continues) padding.push_back(next++);
    place[k] = next++;
  }
  while (next % kBlock != 0) padding.push_back(next++);
  blocks = next / kBlock;
  words = words_for(blocks);
  couples.assign(static_cast<std::size_t>(blocks * words), 0);
  for (std::size_t k = 0; k < place.size(); ++k) {
    const BlockSet row{couples.data() + place[k] / kBlock * words, words};
    row.insert(place[k] / kBlock);
    add_chain_difference(static_cast<int>(k), -1, row);
  }
  for (const std::uint64_t word : couples) coupled += bit_count(word);
  find_spread();
}

inline void DofBlocks::find_spread() {
  spread.assign(static_cast<std::size_t>(coupled * kBlockEntries), kZero);
  std::vector<int> first(static_cast<std::size_t>(blocks * blocks));
  int count = 0;
  for (int I = 0; I < blocks; ++I) {
    for_each(BlockSet{couples.data() + I * words, words}, [&](int J) {
      first[static_cast<std::size_t>(I * blocks + J)] = kBlockEntries * count++;
    });
  }
  const auto entry = [&](int i, int j) -> int& {
    const int block = first[static_cast<std::size_t>(i / kBlock * blocks + j / kBlock)];
    return spread[static_cast<std::size_t>(block + i % kBlock * kBlock + j % kBlock)];
  };
  int row = 0;
  for (int k = 0; k < dofs(); ++k) {
    const int i = place[static_cast<std::size_t>(k)];
    for (int j = k; j >= 0; j = parent[static_cast<std::size_t>(j)], ++row) {
      const int other = place[static_cast<std::size_t>(j)];
      entry(i, other) = row;
      if (i / kBlock == other / kBlock) entry(other, i) = row;
    }
  }
  for (const int i : padding) entry(i, i) = kOne;
}

}  // namespace cycloid::inline rigid
