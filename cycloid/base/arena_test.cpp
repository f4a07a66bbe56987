#include "cycloid/base/arena.h"

#include <doctest/doctest.h>

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
bool aligned(std::span<S> array, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(array.data()) % alignment == 0;
}

}  // namespace

TEST_CASE("Arena: arrays are aligned to 64 bytes, or to their type") {
  Arena arena(arena_bytes<char>(1) + arena_bytes<Lanes>(2) + arena_bytes<double>(3) +
              arena_bytes<float>(1));
  CHECK(aligned(arena.take<char>(1), 64));
  const auto lanes = arena.take<Lanes>(2);
  CHECK(aligned(lanes, 128));
  CHECK(lanes.size() == 2);
  CHECK(aligned(arena.take<double>(3), 64));
  CHECK(aligned(arena.take<float>(1), 64));
  CHECK(arena.used() == arena.capacity());
}

TEST_CASE("Arena: arrays do not overlap, and zeros are zero where memory was used before") {
  Arena arena(arena_bytes<double>(8) + arena_bytes<int>(5));
  const Arena::Mark empty = arena.mark();
  const auto a = arena.take<double>(8);
  const auto b = arena.take<int>(5);
  for (double& x : a) x = 1.5;
  for (int& x : b) x = -1;
  for (const double x : a) CHECK(x == 1.5);
  arena.release(empty);
  CHECK(arena.used() == 0);
  const auto again = arena.take_zeros<double>(8);
  CHECK(again.data() == a.data());
  for (const double x : again) CHECK(x == 0.0);
}

TEST_CASE("ArenaScope: gives back what was taken in it, inner before outer") {
  Arena arena(arena_bytes<double>(24));
  arena.take<double>(8);
  const std::size_t before = arena.used();
  {
    const ArenaScope outer(arena);
    const auto first = arena.take<double>(8);
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
  CHECK(arena.take<double>(0).empty());
  Arena fresh(128);
  CHECK_THROWS_AS(fresh.take<double>(17), cycloid::InternalError);
  CHECK_THROWS_AS(fresh.take<double>(SIZE_MAX / 4), cycloid::InternalError);
  CHECK(fresh.used() == 0);
  CHECK(fresh.take<double>(16).size() == 16);
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
  const auto a = arena.take<int>(1);
  a[0] = 7;
  Arena moved = std::move(arena);
  CHECK(a[0] == 7);
  CHECK(moved.used() == 64);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE("Arena: the address sanitizer knows what is taken, released and beyond the end") {
  Arena arena(1024);
  const Arena::Mark empty = arena.mark();
  const auto a = arena.take<double>(8);
  const auto b = arena.take<double>(8);
  CHECK_FALSE(__asan_address_is_poisoned(a.data()));
  CHECK_FALSE(__asan_address_is_poisoned(a.data() + 7));
  CHECK(__asan_address_is_poisoned(a.data() + 8));
  CHECK_FALSE(__asan_address_is_poisoned(b.data()));
  arena.release(empty);
  CHECK(__asan_address_is_poisoned(a.data()));
  CHECK(__asan_address_is_poisoned(b.data() + 7));
}
#endif
