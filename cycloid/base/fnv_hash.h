// base/fnv_hash.h: the 64-bit hash FNV-1a, for names and checksums; not against malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace cycloid::inline base {

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325;

// Of the bytes, or of what was hashed before, `so_far`, followed by them.
constexpr std::uint64_t fnv_hash(std::string_view bytes, std::uint64_t so_far = kFnvStart) {
  for (const char c : bytes) so_far = (so_far ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return so_far;
}

}  // namespace cycloid::inline base
