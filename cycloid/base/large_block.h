// Large blocks of memory, kept for the next who asks.
//
// A tape is written from end to end and given back, run after run. Fresh memory costs the kernel a
// page fault and a cleared page wherever it is first written: about a tenth of a robot's rollout.
// So a block that is given back is kept, at most kKeptBlockBytes in all, and goes to the next who
// asks for about as much; the kernel is told that it may take the pages meanwhile (MADV_FREE).
// Blocks ask for large pages. Values are not set.
#pragma once

#include <cstddef>
#include <memory>

namespace cycloid::inline base {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;       // [bytes]
inline constexpr std::size_t kKeptBlockBytes = std::size_t{1} << 29;  // of all kept blocks
inline constexpr std::size_t kSmallestLargeBlock = 2 * kLargePage;    // less is not worth it

// Gives the block back at its end.
struct GiveBack {
  std::size_t bytes = 0;  // a multiple of kLargePage
  void operator()(std::byte* block) const;
};
using LargeBlock = std::unique_ptr<std::byte, GiveBack>;

// At least `bytes`, beginning at a multiple of kLargePage. Any thread may call it.
LargeBlock take_large_block(std::size_t bytes);

// Bytes of the blocks that wait for the next who asks.
std::size_t kept_block_bytes();
// Gives them all to the system.
void drop_kept_blocks();

}  // namespace cycloid::inline base
