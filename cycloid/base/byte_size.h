// base/byte_size.h: amounts of memory as people write them.
//
//   "4096"  "16kB"  "64MB"  "1.5 GiB"
//
// k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti powers of 1024. The B may be left out, and case is
// ignored. Fractions are rounded down to whole bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cycloid::inline base {

// Throws Error, with examples, for a text that is not an amount.
std::uint64_t parse_byte_size(std::string_view text);

// With up to three digits and a decimal unit: "999 B", "16 kB", "1.05 MB".
std::string print_byte_size(std::uint64_t bytes);

}  // namespace cycloid::inline base
