// inflate: what deflate has packed [Deutsch1996], and the check sum of zip archives.
//
// A stream is a row of blocks: stored bytes, or symbols of two canonical Huffman codes, literals
// and lengths in one, distances in the other, either fixed or given at the block's head.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cycloid::inline record {

// `size`: what is expected. Throws Error on a stream that is broken or has another size.
std::string inflate(std::string_view packed, std::size_t size);

// CRC-32 of zip and gzip.
std::uint32_t crc32(std::string_view bytes);

}  // namespace cycloid::inline record
