// Copies that go past the caches, for what is not read again before much else: a plain store would
// first fetch the line that it fills. Whole lines are streamed, their rests stored as usual.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cycloid/base/array_items.h"
#include "cycloid/math/pack_mask.h"

namespace cycloid::inline math {

inline constexpr std::size_t kLineBytes = 64;

// 64 bytes from anywhere to the start of a line.
CYCLOID_INLINE void stream_line(const void* from, void* to) {
#if defined(__AVX512F__)
  _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__AVX__)
  for (int k = 0; k < 2; ++k) {
    _mm256_stream_si256(static_cast<__m256i*>(to) + k,
                        _mm256_loadu_si256(static_cast<const __m256i*>(from) + k));
  }
#elif defined(__SSE2__)
  for (int k = 0; k < 4; ++k) {
    _mm_stream_si128(static_cast<__m128i*>(to) + k,
                     _mm_loadu_si128(static_cast<const __m128i*>(from) + k));
  }
#else
  __builtin_memcpy(to, from, kLineBytes);
#endif
}

// Other threads see what was streamed after a fence of the thread that did it.
CYCLOID_INLINE void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <class T>
CYCLOID_INLINE void stream_copy(const T* from, std::ptrdiff_t count, T* to) {
  constexpr std::ptrdiff_t kLine = kLineBytes / sizeof(T);
  const auto off = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T));
  std::ptrdiff_t k = std::min(count, (kLine - off % kLine) % kLine);
  copy_items(from, k, to);
  for (; k + kLine <= count; k += kLine) stream_line(from + k, to + k);
  copy_items(from + k, count - k, to + k);
}

}  // namespace cycloid::inline math
