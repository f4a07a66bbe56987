#include "cycloid/base/arena.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

using cycloid::Arena;
using cycloid::arena_bytes;
using cycloid::ArenaScope;

namespace {

struct alignas(128) Lanes {  // as wide as a pack of 16 doubles
  double lane[16];
};

template <class S>
bool aligned(const S* array, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(array) % alignment == 0;
}

}  // namespace

TEST_CASE("Arena: arrays are aligned to 64 bytes, or to their type") {
  Arena arena(arena_bytes<char>(1) + arena_bytes<Lanes>(2) + arena_bytes<double>(3) +
              arena_bytes<float>(1));
  CHECK(aligned(arena.take<char>(1), 64));
  CHECK(aligned(arena.take<Lanes>(2), 128));
  CHECK(aligned(arena.take<double>(3), 64));
  CHECK(aligned(arena.take<float>(1), 64));
  CHECK(arena.used() == arena.capacity());
}

TEST_CASE("Arena: arrays do not overlap, and zeros are zero where memory was used before") {
  Arena arena(arena_bytes<double>(8) + arena_bytes<int>(5));
  const Arena::Mark empty = arena.mark();
  double* const a = arena.take<double>(8);
  int* const b = arena.take<int>(5);
  std::fill_n(a, 8, 1.5);
  std::fill_n(b, 5, -1);
  for (int i = 0; i < 8; ++i) CHECK(a[i] == 1.5);
  arena.release(empty);
  CHECK(arena.used() == 0);
  const double* const again = arena.take_zeros<double>(8);
  CHECK(again == a);
  for (int i = 0; i < 8; ++i) CHECK(again[i] == 0.0);
}

TEST_CASE("ArenaScope: gives back what was taken in it, inner before outer") {
  Arena arena(arena_bytes<double>(24));
  arena.take<double>(8);
  const std::size_t before = arena.used();
  {
    const ArenaScope outer(arena);
    double* const first = arena.take<double>(8);
    {
      const ArenaScope inner(arena);
      arena.take<double>(8);
      CHECK(arena.used() == arena.capacity());
    }
    first[7] = 1;
    CHECK(arena.used() == before + 64);
  }
  CHECK(arena.used() == before);
}

TEST_CASE("Arena: asking for more than there is fails a check, and takes nothing") {
  Arena arena(128);
  arena.take<double>(9);
  CHECK(arena.used() == 128);
  CHECK_THROWS_AS(arena.take<char>(1), cycloid::InternalError);
  CHECK_NOTHROW(arena.take<double>(0));
  Arena fresh(128);
  CHECK_THROWS_AS(fresh.take<double>(17), cycloid::InternalError);
  CHECK_THROWS_AS(fresh.take<double>(SIZE_MAX / 4), cycloid::InternalError);
  CHECK(fresh.used() == 0);
  CHECK_NOTHROW(fresh.take<double>(16));
  CHECK(fresh.used() == 128);
  CHECK_THROWS_AS(Arena(0).take<char>(1), cycloid::InternalError);
}

TEST_CASE("Arena: a mark from later than now fails a check") {
  Arena arena(128);
  const Arena::Mark empty = arena.mark();
  arena.take<char>(1);
  const Arena::Mark later = arena.mark();
  arena.release(empty);
  CHECK_THROWS_AS(arena.release(later), cycloid::InternalError);
}

TEST_CASE("Arena: moves with its arrays") {
  Arena arena(64);
  int* const a = arena.take<int>(1);
  a[0] = 7;
  Arena moved = std::move(arena);
  CHECK(a[0] == 7);
  CHECK(moved.used() == 64);
}

namespace {

struct Space {
  Lanes* wide;
  int* count;
  double* sum;

  void carve(std::size_t n, Arena& arena) {
    arena.take(count, n);
    arena.take(wide, n);
    arena.take(sum, 1);
  }
};

}  // namespace

TEST_CASE("Arena: one that measures hands out null and counts what one with memory takes") {
  Arena measure = Arena::measuring();
  Space space;
  space.carve(3, measure);
  CHECK(measure.measures());
  CHECK(space.wide == nullptr);
  CHECK(measure.used() == 64 + 64 + 3 * sizeof(Lanes) + 64);  // a gap before what is wider
  Arena arena(measure.used());
  space.carve(3, arena);
  CHECK_FALSE(arena.measures());
  CHECK(arena.used() == measure.used());
  CHECK(aligned(space.wide, 128));
  CHECK_THROWS_AS(measure.take<double>(SIZE_MAX / 8), cycloid::InternalError);
}

TEST_CASE("Arena: over another's memory, a space laid again finds what it left there") {
  alignas(128) std::byte memory[1024];
  Arena first = Arena::over(memory);
  Space space, again;
  space.carve(2, first);
  space.count[1] = 5;
  space.wide[1].lane[15] = 2.5;
  *space.sum = -1;
  Arena second = Arena::over(memory, sizeof(memory));
  again.carve(2, second);
  CHECK(reinterpret_cast<std::byte*>(again.count) == memory);
  CHECK(again.count[1] == 5);
  CHECK(again.wide[1].lane[15] == 2.5);
  CHECK(*again.sum == -1);
  CHECK_THROWS_AS(second.take<Lanes>(8), cycloid::InternalError);
  CHECK_THROWS_AS(Arena::over(memory + 64), cycloid::InternalError);
  CHECK_THROWS_AS(Arena::over(nullptr), cycloid::InternalError);
}

TEST_CASE("carve_memory: the arena has what the space takes, and no more") {
  Space space;
  const Arena arena = cycloid::carve_memory(space, std::size_t{4});
  CHECK(arena.used() == arena.capacity());
  space.wide[3].lane[15] = 1;
  CHECK(aligned(space.wide, 128));
}

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE("Arena: the address sanitizer knows what is taken, released and beyond the end") {
  Arena arena(1024);
  const Arena::Mark empty = arena.mark();
  double* const a = arena.take<double>(8);
  double* const b = arena.take<double>(8);
  CHECK_FALSE(__asan_address_is_poisoned(a));
  CHECK_FALSE(__asan_address_is_poisoned(a + 7));
  CHECK(__asan_address_is_poisoned(a + 8));
  CHECK_FALSE(__asan_address_is_poisoned(b));
  arena.release(empty);
  CHECK(__asan_address_is_poisoned(a));
  CHECK(__asan_address_is_poisoned(b + 7));
}
#endif
