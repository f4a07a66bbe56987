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
#include <new>

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

// Numbers aligned for any register, uninitialised; many of them are a large block. Pages that are
// never written take no memory.
inline constexpr std::size_t kBufferAlignment = 128;
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t n) : bytes_(n * sizeof(T)) {
    if (bytes_ >= kSmallestLargeBlock) {
      large_ = take_large_block(bytes_);
    } else if (bytes_ > 0) {
      small_.reset(static_cast<std::byte*>(::operator new(bytes_, kAlignment)));
    }
  }
  T* data() const { return reinterpret_cast<T*>(large_ ? large_.get() : small_.get()); }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{kBufferAlignment};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> small_;
  LargeBlock large_;
  std::size_t bytes_ = 0;
};

// Bytes of the blocks that wait for the next who asks.
std::size_t kept_block_bytes();
// Gives them all to the system.
void drop_kept_blocks();

}  // namespace cycloid::inline base
