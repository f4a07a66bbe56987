// BlockPattern: which 3×3 blocks of a symmetric matrix, and of its factor, may differ from zero.
//
// The matrix is H = Vᵀ V with V lower triangular, found from the last row to the first. Eliminating
// block row K fills in every pair of blocks that row K holds:
//   J ≤ I < K,  I and J in row K   ⇒   J in row I                                       (1)
// It is enough to pass row K on to the last block P < K that it holds: row P passes on the rest.
// A tree numbered from the root fills in nothing [Featherstone2008, ch. 6]; neither does a contact
// with the world, whose dofs lie on one chain. A contact between two limbs couples the two.
#pragma once

#include <algorithm>

#include "cycloid/base/array_items.h"
#include "cycloid/rigid/solver/dof_blocks.h"

namespace cycloid::inline rigid {

struct BlockPattern {
  int blocks = 0, words = 0, count = 0;   // count: of blocks in the pattern
  int pivots = 0;                         // blocks of the whole of which this is a part
  std::uint64_t* row_words = nullptr;     // (blocks, words) J ≤ I
  std::uint64_t* column_words = nullptr;  // (blocks, words) K > I whose row holds I
  int* at = nullptr;                      // (blocks, blocks) place of block (I, J), in blocks

  CYCLOID_HD BlockSet row(int I) const { return {row_words + I * words, words}; }
  CYCLOID_HD BlockSet column(int I) const { return {column_words + I * words, words}; }
  CYCLOID_HD int place(int I, int J) const { return at[I * blocks + J]; }

  static std::size_t words_needed(const DofBlocks& dofs) {
    return 2 * static_cast<std::size_t>(dofs.blocks * dofs.words);
  }
  static std::size_t places_needed(const DofBlocks& dofs) {
    return static_cast<std::size_t>(dofs.blocks) * static_cast<std::size_t>(dofs.blocks);
  }
  // Blocks of the densest pattern.
  static std::size_t most_blocks(const DofBlocks& dofs) {
    return static_cast<std::size_t>(dofs.blocks) * static_cast<std::size_t>(dofs.blocks + 1) / 2;
  }

  // Starts from the mass matrix's pattern, in the memory given.
  CYCLOID_HD void start(const DofBlocks& dofs, std::uint64_t* word_memory, int* place_memory) {
    row_words = word_memory;
    at = place_memory;
    begin(dofs.blocks, dofs.blocks);
    copy_items(dofs.couples.data(), blocks * words, row_words);
  }
  // Starts from another pattern's rows.
  CYCLOID_HD void start(const BlockPattern& from) {
    begin(from.blocks, from.pivots);
    for (int i = 0; i < blocks * words; ++i) row_words[i] = from.row_words[i];
  }
  // Starts with n empty rows, in the memory that there is.
  CYCLOID_HD void begin(int n, int of) {
    blocks = n;
    pivots = of;
    words = words_for(n);
    column_words = row_words + blocks * words;
    for (int i = 0; i < 2 * blocks * words; ++i) row_words[i] = 0;
  }

  // Fills in, then numbers the blocks and finds the columns.
  CYCLOID_HD void close() {
    for (int K = blocks - 1; K > 0; --K) {
      const int P = last_below(row(K), K);
      if (P < 0) continue;
      for (int w = 0; w <= P >> 6; ++w) row(P).word[w] |= row(K).word[w];  // (1)
      trim(P);
    }
    count = 0;
    for (int I = 0; I < blocks; ++I) {
      for_each(row(I), [&](int J) {
        at[I * blocks + J] = count++;
        if (J < I) column(J).insert(I);
      });
    }
  }

 private:
  // Takes members above P out of row P.
  CYCLOID_HD void trim(int P) const {
    std::uint64_t& word = row(P).word[P >> 6];
    const int kept = (P & 63) + 1;
    if (kept < 64) word &= (std::uint64_t{1} << kept) - 1;
  }
};

}  // namespace cycloid::inline rigid
