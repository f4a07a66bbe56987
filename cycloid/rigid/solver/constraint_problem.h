// The constrained acceleration as a convex problem, in lanes.
//
//   a = argmin_x ½ (x-a₀)ᵀ M (x-a₀) + s(J x - a_ref)                                          (1)
// s is a sum over groups of rows, each with its law (row_law.h, pyramid_law.h, elliptic_law.h):
//   diagonal rows   ±x_k: limits of hinges and slides, friction loss of dofs. No J is stored
//   groups          one row, or the 1, 3, 4 or 6 rows of a contact in its own space: normal, two
//                   tangents, spin, two rollings. The edges of a pyramid are made of these rows
// All lanes share dof, law and number of rows; a lane that has no such row has D = 0, and zeros in
// J. A lane whose contact has fewer rows than its group has zero friction in the others, and, in a
// pyramid, D = 0. So neither neighbours nor the number of groups change a lane's result: what they
// add to its sums is zero.
//
// Vectors are padded (dof_blocks.h). A group is stored in the blocks that some lane of it moves; in
// these J must be set for every lane. `touch` names the blocks of one lane: pairs of blocks that no
// lane moves together are left out of the Hessian.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cycloid/base/arena.h"
#include "cycloid/math/scalar.h"
#include "cycloid/rigid/solver/block_pattern.h"

namespace cycloid::inline rigid {

enum class RowLaw : std::uint8_t { equality, friction_loss, one_sided, given, pyramid, elliptic };

inline constexpr int kMostRows = 6;  // of a group

struct RowGroup {
  RowLaw law;
  int rows, first;  // rows first … first + rows - 1
};

struct DiagonalRow {
  RowLaw law;
  int place;  // of the dof
};

// What there may be of each; memory is for this many.
struct ConstraintCapacity {
  int diagonals = 0, groups = 0, rows = 0;
};

// Row i of lane ℓ. Diagonal rows come first, then those of the groups.
template <class S>
struct ConstraintProblem {
  const DofBlocks* dofs = nullptr;
  S *M = nullptr, *a0 = nullptr;  // blocks of the mass matrix's pattern; (size)
  int diagonals = 0, groups = 0, rows = 0;
  DiagonalRow* diagonal = nullptr;
  RowGroup* group = nullptr;
  S* sign = nullptr;  // (diagonals) ±1
  S* J = nullptr;     // (rows, size)
  S *a_ref, *D;       // (diagonals + rows)
  // η of friction loss rows; of a contact first μ² of (7), then the friction coefficients g
  S* friction;  // (diagonals + rows)
  BlockPattern mass, hessian;
  std::uint64_t* pair_words = nullptr;     // (groups, blocks, words) blocks J ≤ I moved with I
  std::uint64_t* support_words = nullptr;  // (groups, words) blocks that some lane moves
  std::uint64_t* term_words = nullptr;     // (blocks of hessian, group_words) groups in a block
  int group_words = 0;

  CYCLOID_HD BlockSet pairs(int g, int I) const {
    return {pair_words + (g * mass.blocks + I) * mass.words, mass.words};
  }
  CYCLOID_HD BlockSet support(int g) const { return {support_words + g * mass.words, mass.words}; }
  CYCLOID_HD BlockSet terms(int place) const {
    return {term_words + place * group_words, group_words};
  }
  CYCLOID_HD int size() const { return kBlock * mass.blocks; }
  CYCLOID_HD int all_rows() const { return diagonals + rows; }
  CYCLOID_HD int group_row(int g) const { return diagonals + group[g].first; }
  CYCLOID_HD S* jacobian(int g) const {
    return J + static_cast<std::ptrdiff_t>(group[g].first) * size();
  }

  void carve(const DofBlocks& layout, ConstraintCapacity most, Arena& arena);

  // Forgets all rows; M and a₀ stay.
  CYCLOID_HD void clear() { diagonals = groups = rows = 0; }

  // Diagonal rows are added before groups. Each returns the place of its first number in a_ref, D
  // and friction.
  CYCLOID_HD int add_diagonal(RowLaw law, int place) {
    diagonal[diagonals] = {law, place};
    return diagonals++;
  }
  CYCLOID_HD int add_group(RowLaw law, int n) {
    group[groups] = {law, n, rows};
    support(groups).clear();
    rows += n;
    return group_row(groups++);
  }

  // Group g moves block I, with no other yet. What `pairs` holds of other blocks means nothing.
  CYCLOID_HD void add_support(int g, int I) const {
    if (support(g).has(I)) return;
    support(g).insert(I);
    pairs(g, I).clear();
  }

  // Some lane of group g moves these blocks together.
  CYCLOID_HD void touch(int g, BlockSet moved) const {
    if (mass.words == 1) return touch(g, *moved.word);
    for_each(moved, [&](int I) {
      add_support(g, I);
      const BlockSet row = pairs(g, I);
      for (int w = 0; w < (I >> 6); ++w) row.word[w] |= moved.word[w];
      const std::uint64_t upto = ~std::uint64_t{0} >> (63 - (I & 63));
      row.word[I >> 6] |= moved.word[I >> 6] & upto;
    });
  }

  // The same where a word holds all blocks.
  CYCLOID_HD void touch(int g, std::uint64_t moved) const {
    std::uint64_t* const pair = pair_words + g * mass.blocks;
    const std::uint64_t known = support_words[g];
    support_words[g] = known | moved;
    for (std::uint64_t bits = moved; bits != 0; bits &= bits - 1) {
      const std::uint64_t own = bits & (~bits + 1), upto = moved & (own | (own - 1));
      std::uint64_t& row = pair[lowest_bit(bits)];
      row = (known & own) != 0 ? row | upto : upto;
    }
  }

  // The mass matrix's pattern, in memory that was carved: once in its life.
  CYCLOID_HD void start_patterns() {
    mass.start(*dofs, mass.row_words, mass.at);
    mass.close();
    hessian.start(*dofs, hessian.row_words, hessian.at);
  }

  // Finds the Hessian's pattern, once all groups are known.
  CYCLOID_HD void close();
};

template <class S>
void ConstraintProblem<S>::carve(const DofBlocks& layout, ConstraintCapacity most, Arena& arena) {
  dofs = &layout;
  const auto n = [](auto x) { return static_cast<std::size_t>(x); };
  const std::size_t all = n(most.diagonals + most.rows), most_blocks = hessian.most_blocks(layout);
  std::uint64_t *mass_words, *hessian_words;
  int *mass_at, *hessian_at;
  arena.take(mass_words, mass.words_needed(layout));
  arena.take(mass_at, mass.places_needed(layout));
  arena.take(hessian_words, mass.words_needed(layout));
  arena.take(hessian_at, mass.places_needed(layout));
  arena.take(diagonal, n(most.diagonals));
  arena.take(group, n(most.groups));
  arena.take(pair_words, n(most.groups) * n(layout.blocks) * n(layout.words));
  arena.take(support_words, n(most.groups) * n(layout.words));
  arena.take(term_words, most_blocks * n(words_for(most.groups)));
  mass.row_words = mass_words, mass.at = mass_at;
  hessian.row_words = hessian_words, hessian.at = hessian_at;
  if (!arena.measures()) start_patterns();
  arena.take(M, n(layout.coupled) * kBlockEntries);
  arena.take(a0, n(layout.size()));
  arena.take(sign, n(most.diagonals));
  arena.take(a_ref, all);
  arena.take(D, all);
  arena.take(friction, all);
  arena.take(J, n(most.rows) * n(layout.size()));
}

template <class S>
CYCLOID_HD void ConstraintProblem<S>::close() {
  hessian.start(mass);
  for (int g = 0; g < groups; ++g) {
    for_each(support(g), [&](int I) { hessian.row(I) |= pairs(g, I); });
  }
  hessian.close();
  group_words = words_for(groups);
  for (int i = 0; i < hessian.count * group_words; ++i) term_words[i] = 0;
  for (int g = 0; g < groups; ++g) {
    for_each(support(g), [&](int I) {
      for_each(pairs(g, I), [&](int K) { terms(hessian.place(I, K)).insert(g); });
    });
  }
}

// M from rows of a dof and its ancestors (Tree::row), into blocks. Whole blocks on the diagonal.
template <class S>
CYCLOID_HD void spread_mass_matrix(const ConstraintProblem<S>& problem, const S* rows) {
  const std::vector<int>& spread = problem.dofs->spread;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const int from = spread[i];
    problem.M[i] = from >= 0 ? rows[from] : S(from == DofBlocks::kOne ? 1 : 0);
  }
}

// A vector of the dofs, padded with zeros, and back.
template <class S>
CYCLOID_HD void pad(const DofBlocks& dofs, const S* v, S* padded) {
  for (int k = 0; k < dofs.dofs(); ++k) padded[dofs.place[static_cast<std::size_t>(k)]] = v[k];
  for (const int i : dofs.padding) padded[i] = S(0);
}
template <class S>
CYCLOID_HD void unpad(const DofBlocks& dofs, const S* padded, S* v) {
  for (int k = 0; k < dofs.dofs(); ++k) v[k] = padded[dofs.place[static_cast<std::size_t>(k)]];
}

}  // namespace cycloid::inline rigid
