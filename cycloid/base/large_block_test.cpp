#include "cycloid/base/large_block.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace cycloid {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

}  // namespace

TEST_CASE("a large block begins at a large page and can be written from end to end") {
  const LargeBlock block = take_large_block(3 * kLargePage + 1);
  CHECK(reinterpret_cast<std::uintptr_t>(block.get()) % kLargePage == 0);
  block.get()[0] = std::byte{1};
  block.get()[3 * kLargePage] = std::byte{2};
  CHECK(block.get_deleter().bytes == 4 * kLargePage);
}

TEST_CASE("a block that was given back goes to the next who asks for about as much") {
  drop_kept_blocks();
  std::byte* const first = take_large_block(4 * kLargePage).release();
  GiveBack{4 * kLargePage}(first);
  CHECK(kept_block_bytes() == (kKeeps ? 4 * kLargePage : 0));
  {
    const LargeBlock small = take_large_block(kLargePage);
    CHECK(small.get_deleter().bytes == kLargePage);  // a quarter: not that one
    const LargeBlock again = take_large_block(3 * kLargePage);
    CHECK((again.get() == first) == kKeeps);
    CHECK(kept_block_bytes() == 0);
  }
  drop_kept_blocks();
  CHECK(kept_block_bytes() == 0);
}

TEST_CASE("what is kept is bounded: the oldest blocks go first, and too large a one at once") {
  drop_kept_blocks();
  const std::size_t third = kKeptBlockBytes / 3 / kLargePage * kLargePage;
  for (int i = 0; i < 5; ++i) {
    std::vector<LargeBlock> held;
    for (int k = 0; k < 4; ++k) held.push_back(take_large_block(third));
  }
  CHECK(kept_block_bytes() <= kKeptBlockBytes);
  CHECK(kept_block_bytes() == (kKeeps ? 3 * third : 0));
  take_large_block(kKeptBlockBytes + kLargePage).reset();
  CHECK(kept_block_bytes() <= kKeptBlockBytes);
  drop_kept_blocks();
}

TEST_CASE("threads take and give back at the same time") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 50; ++i) {
        const LargeBlock block = take_large_block(kLargePage * static_cast<std::size_t>(2 + t));
        block.get()[0] = static_cast<std::byte>(t);
        CHECK(block.get()[0] == static_cast<std::byte>(t));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  drop_kept_blocks();
}

}  // namespace cycloid
