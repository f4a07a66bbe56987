// base/arena.h: one block of memory, handed out in order and given back in reverse.
//
// For whoever takes many arrays and may not allocate while at work: the arena is sized once, and
// what takes from it allocates nothing. Every array starts at a multiple of 64 bytes, or of its
// type's alignment where that is larger (a pack of 16 doubles: 128).
//
//   Arena arena(arena_bytes<S>(3 * n));
//   {
//     const ArenaScope scope(arena);    // what is taken below is given back at the brace
//     S* const v = arena.take<S>(n);
//   }
//
// A struct of arrays has one function that takes them all, void carve(..., Arena&). It is called
// with an arena that measures, and then with one that has that many bytes:
//
//   Arena measure = Arena::measuring();    // hands out null, and counts
//   space.carve(tree, measure);
//   Arena arena(measure.used());           // or Arena::over(memory), which belongs to someone else
//   space.carve(tree, arena);
//
// An array's values are not set when it is taken, so that a space laid again over the same memory
// finds there what it left.
//
// Asking for more than there is fails a check. Under the address sanitizer everything that is not
// taken from an arena's own block is poisoned, and so is a gap behind each array: use after release
// and overruns are found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "cycloid/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace cycloid::inline base {

inline constexpr std::size_t kArenaAlignment = 64;      // of an array: a cache line [bytes]
inline constexpr std::size_t kArenaMaxAlignment = 128;  // of the block [bytes]

// Capacity that surely suffices for an array of n S, wherever in an arena it begins [bytes].
template <class S>
constexpr std::size_t arena_bytes(std::size_t n) {
  const std::size_t padding = alignof(S) > kArenaAlignment ? alignof(S) - kArenaAlignment : 0;
  return (n * sizeof(S) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment + padding;
}

class Arena {
 public:
  // A place in the arena to return to.
  struct Mark {
    std::size_t used;
  };

  explicit Arena(std::size_t capacity)
      : capacity_(round_up(capacity, kArenaAlignment)),
        own_(static_cast<std::byte*>(
                 ::operator new(std::max(capacity_, kArenaAlignment) * kSpread, kBlockAlignment)),
             Free{capacity_ * kSpread}),
        block_(own_.get()) {
    poison(0, capacity_);
  }

  // Hands out null, and counts.
  static Arena measuring() { return Arena(nullptr, kNoEnd); }
  // Over memory that belongs to someone else, a multiple of 128 bytes in its address.
  static Arena over(std::byte* memory, std::size_t capacity = kNoEnd) {
    CYCLOID_CHECK(memory != nullptr);
    CYCLOID_CHECK(reinterpret_cast<std::uintptr_t>(memory) % kArenaMaxAlignment == 0);
    return Arena(memory, capacity);
  }

  bool measures() const { return block_ == nullptr; }

  // n elements whose values are not set.
  template <class S>
  S* take(std::size_t n) {
    static_assert(std::is_trivially_copyable_v<S> && std::is_trivially_destructible_v<S>,
                  "an arena runs no constructors and no destructors");
    static_assert(alignof(S) <= kArenaMaxAlignment);
    const std::size_t begin = round_up(used_, std::max(alignof(S), kArenaAlignment));
    const std::size_t free = begin < capacity_ ? capacity_ - begin : 0;
    CYCLOID_CHECK(n <= free / sizeof(S), n, sizeof(S), used_, capacity_);
    used_ = begin + round_up(n * sizeof(S), kArenaAlignment);
    if (measures()) return nullptr;
    unpoison(begin, n * sizeof(S));
    return reinterpret_cast<S*>(block_ + (own_ ? kSpread * begin : begin));
  }
  // The same, of the array's own type.
  template <class S>
  void take(S*& array, std::size_t n) {
    array = take<S>(n);
  }

  // n elements that are S(): zero, for accumulators.
  template <class S>
  S* take_zeros(std::size_t n) {
    S* const first = take<S>(n);
    if (first) std::uninitialized_value_construct_n(first, n);
    return first;
  }

  Mark mark() const { return {used_}; }

  // Gives back everything taken since `mark`.
  void release(Mark mark) {
    CYCLOID_CHECK(mark.used <= used_, mark.used, used_);
    poison(mark.used, used_);
    used_ = mark.used;
  }

  std::size_t used() const { return used_; }
  std::size_t capacity() const { return capacity_; }

 private:
#if defined(__SANITIZE_ADDRESS__)
  // Arrays lie at twice their offset, so that each is followed by a gap of its own size.
  static constexpr std::size_t kSpread = 2;
#else
  static constexpr std::size_t kSpread = 1;
#endif
  static constexpr std::align_val_t kBlockAlignment{kArenaMaxAlignment};
  static constexpr std::size_t kNoEnd = std::numeric_limits<std::size_t>::max() / 2;

  struct Free {
    std::size_t bytes;
    void operator()(std::byte* block) const {
#if defined(__SANITIZE_ADDRESS__)
      __asan_unpoison_memory_region(block, bytes);
#endif
      ::operator delete(block, kBlockAlignment);
    }
  };

  static constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }

  Arena(std::byte* block, std::size_t capacity) : capacity_(capacity), block_(block) {}

  void poison([[maybe_unused]] std::size_t begin, [[maybe_unused]] std::size_t end) const {
#if defined(__SANITIZE_ADDRESS__)
    if (own_) __asan_poison_memory_region(block_ + kSpread * begin, kSpread * (end - begin));
#endif
  }
  void unpoison([[maybe_unused]] std::size_t begin, [[maybe_unused]] std::size_t bytes) const {
#if defined(__SANITIZE_ADDRESS__)
    if (own_) __asan_unpoison_memory_region(block_ + kSpread * begin, bytes);
#endif
  }

  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::unique_ptr<std::byte[], Free> own_;  // null: it measures, or lies over another's memory
  std::byte* block_ = nullptr;              // null: it measures
};

// The memory of a space, measured and carved.
template <class Space, class... Sizes>
Arena carve_memory(Space& space, const Sizes&... sizes) {
  Arena measure = Arena::measuring();
  space.carve(sizes..., measure);
  Arena arena(measure.used());
  space.carve(sizes..., arena);
  return arena;
}

// Gives back, at its end, what was taken during its life.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.release(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

}  // namespace cycloid::inline base
