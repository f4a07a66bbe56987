#include "cycloid/base/large_block.h"

#include <mutex>
#include <new>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace cycloid::inline base {
namespace {

// Under the address sanitizer nothing is kept, so that use after release is found.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

constexpr std::align_val_t kAlignment{kLargePage};

void advise([[maybe_unused]] std::byte* block, [[maybe_unused]] std::size_t bytes,
            [[maybe_unused]] int advice) {
#if __has_include(<sys/mman.h>)
  madvise(block, bytes, advice);  // a wish: where it is not known, nothing changes
#endif
}

struct Kept {
  std::byte* block;
  std::size_t bytes;
};

// The blocks that wait, the one given back first in front.
class Shelf {
 public:
  // The smallest block of `bytes` to twice as many; null if there is none.
  Kept find(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::size_t best = kept_.size();
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const bool fits = kept_[i].bytes >= bytes && kept_[i].bytes / 2 <= bytes;
      if (fits && (best == kept_.size() || kept_[i].bytes < kept_[best].bytes)) best = i;
    }
    return best == kept_.size() ? Kept{nullptr, 0} : remove(best);
  }

  void add(Kept given) {
    const std::lock_guard lock(mutex_);
    while (!kept_.empty() && bytes_ + given.bytes > kKeptBlockBytes) release(remove(0));
    if (given.bytes > kKeptBlockBytes) return release(given);
    kept_.push_back(given);
    bytes_ += given.bytes;
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    while (!kept_.empty()) release(remove(0));
  }

  std::size_t bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  static void release(Kept k) { ::operator delete(k.block, kAlignment); }

 private:
  Kept remove(std::size_t i) {
    const Kept k = kept_[i];
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    bytes_ -= k.bytes;
    return k;
  }

  std::mutex mutex_;
  std::vector<Kept> kept_;
  std::size_t bytes_ = 0;
};

// Never destroyed: a tape may be given back while the program ends.
Shelf& shelf() {
  static Shelf& all = *new Shelf;
  return all;
}

}  // namespace

void GiveBack::operator()(std::byte* block) const {
  if (!kKeeps) return Shelf::release({block, bytes});
#ifdef MADV_FREE
  advise(block, bytes, MADV_FREE);
#endif
  shelf().add({block, bytes});
}

LargeBlock take_large_block(std::size_t bytes) {
  bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  if (const Kept kept = shelf().find(bytes); kept.block) {
    return LargeBlock(kept.block, GiveBack{kept.bytes});
  }
  auto* const block = static_cast<std::byte*>(::operator new(bytes, kAlignment));
#ifdef MADV_HUGEPAGE
  advise(block, bytes, MADV_HUGEPAGE);
#endif
  return LargeBlock(block, GiveBack{bytes});
}

std::size_t kept_block_bytes() { return shelf().bytes(); }
void drop_kept_blocks() { shelf().clear(); }

}  // namespace cycloid::inline base
