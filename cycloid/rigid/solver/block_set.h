// Sets of small integers as words of bits, in memory that belongs to someone else.
#pragma once

#include <cstdint>

#include "cycloid/base/bits.h"

namespace cycloid::inline rigid {

// 64-bit words that hold a set of numbers below n.
constexpr int words_for(int n) { return (n + 63) / 64; }

struct BlockSet {
  std::uint64_t* word;
  int words;

  CYCLOID_HD void insert(int i) const { word[i >> 6] |= std::uint64_t{1} << (i & 63); }
  CYCLOID_HD bool has(int i) const { return word[i >> 6] >> (i & 63) & 1; }
  CYCLOID_HD void clear() const {
    for (int w = 0; w < words; ++w) word[w] = 0;
  }
  CYCLOID_HD void operator|=(BlockSet other) const {
    for (int w = 0; w < words; ++w) word[w] |= other.word[w];
  }
};

// The largest member below `limit`, or -1.
CYCLOID_HD inline int last_below(BlockSet set, int limit) {
  for (int w = (limit - 1) >> 6; w >= 0 && limit > 0; --w) {
    const int rest = limit - 64 * w;
    const std::uint64_t bits =
        set.word[w] & (rest >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1);
    if (bits) return 64 * w + topmost_bit(bits);
  }
  return -1;
}

// f(i) for each member, in rising order.
template <class F>
CYCLOID_HD inline void for_each(BlockSet set, F f) {
  for (int w = 0; w < set.words; ++w) {
    for (std::uint64_t bits = set.word[w]; bits != 0; bits &= bits - 1) {
      f(64 * w + lowest_bit(bits));
    }
  }
}

// f(i) for each member of both sets.
template <class F>
CYCLOID_HD inline void for_each_common(BlockSet a, BlockSet b, F f) {
  for (int w = 0; w < a.words; ++w) {
    for (std::uint64_t bits = a.word[w] & b.word[w]; bits != 0; bits &= bits - 1) {
      f(64 * w + lowest_bit(bits));
    }
  }
}

}  // namespace cycloid::inline rigid
