#include "cycloid/record/inflate.h"

#include <array>
#include <vector>

#include "cycloid/base/error.h"

namespace cycloid::inline record {
namespace {

constexpr int kMostBits = 15;

[[noreturn]] void broken() { throw Error("a packed stream is broken"); }

// Bits from the lowest of each byte on.
class Bits {
 public:
  explicit Bits(std::string_view bytes) : bytes_(bytes) {}

  int take(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }
  int bit() {
    if (place_ >> 3 >= bytes_.size()) broken();
    const int byte = static_cast<unsigned char>(bytes_[place_ >> 3]);
    return byte >> (place_++ & 7) & 1;
  }
  // The bytes from the next whole one on.
  std::string_view bytes(std::size_t count) {
    place_ = (place_ + 7) & ~std::size_t{7};
    if (place_ / 8 + count > bytes_.size()) broken();
    const std::string_view out = bytes_.substr(place_ / 8, count);
    place_ += 8 * count;
    return out;
  }

 private:
  std::string_view bytes_;
  std::size_t place_ = 0;
};

// A canonical code from the lengths of its symbols; 0: a symbol does not occur.
class Code {
 public:
  explicit Code(const std::vector<int>& lengths) {
    for (const int length : lengths) ++count_[static_cast<std::size_t>(length)];
    count_[0] = 0;
    std::array<int, kMostBits + 2> first{};
    for (std::size_t l = 1; l <= kMostBits; ++l) first[l + 1] = first[l] + count_[l];
    symbols_.resize(lengths.size());
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const std::size_t l = static_cast<std::size_t>(lengths[s]);
      if (l > 0) symbols_[static_cast<std::size_t>(first[l]++)] = static_cast<int>(s);
    }
  }
  int read(Bits& bits) const {
    int code = 0, first = 0, index = 0;
    for (std::size_t l = 1; l <= kMostBits; ++l) {
      code |= bits.bit();
      if (code - count_[l] < first) return symbols_[static_cast<std::size_t>(index + code - first)];
      index += count_[l];
      first = (first + count_[l]) << 1;
      code <<= 1;
    }
    broken();
  }

 private:
  std::array<int, kMostBits + 1> count_{};
  std::vector<int> symbols_;
};

constexpr int kLength[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr int kLengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                               2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr int kDistance[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                             33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                             1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr int kDistanceBits[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

void symbols(Bits& bits, const Code& literals, const Code& distances, std::size_t most,
             std::string& out) {
  while (true) {
    int symbol = literals.read(bits);
    if (symbol == 256) return;
    if (symbol < 256) {
      if (out.size() >= most) broken();
      out.push_back(static_cast<char>(symbol));
      continue;
    }
    symbol -= 257;
    if (symbol >= 29) broken();
    const int length = kLength[symbol] + bits.take(kLengthBits[symbol]);
    const int far = distances.read(bits);
    if (far >= 30) broken();
    const std::size_t distance =
        static_cast<std::size_t>(kDistance[far] + bits.take(kDistanceBits[far]));
    if (distance > out.size() || out.size() + static_cast<std::size_t>(length) > most) broken();
    for (int i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
  }
}

void fixed_block(Bits& bits, std::size_t most, std::string& out) {
  std::vector<int> lengths(288, 8);
  for (std::size_t s = 144; s < 256; ++s) lengths[s] = 9;
  for (std::size_t s = 256; s < 280; ++s) lengths[s] = 7;
  symbols(bits, Code(lengths), Code(std::vector<int>(30, 5)), most, out);
}

void given_block(Bits& bits, std::size_t most, std::string& out) {
  static constexpr int kOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                   11, 4,  12, 3, 13, 2, 14, 1, 15};
  const std::size_t literals = static_cast<std::size_t>(bits.take(5) + 257),
                    distances = static_cast<std::size_t>(bits.take(5) + 1);
  const int given = bits.take(4) + 4;
  std::vector<int> lengths(19, 0);
  for (int i = 0; i < given; ++i) lengths[static_cast<std::size_t>(kOrder[i])] = bits.take(3);
  const Code code(lengths);
  lengths.clear();
  while (lengths.size() < literals + distances) {
    const int symbol = code.read(bits);
    int value = symbol, repeat = 1;
    if (symbol == 16) {
      if (lengths.empty()) broken();
      value = lengths.back(), repeat = 3 + bits.take(2);
    } else if (symbol == 17) {
      value = 0, repeat = 3 + bits.take(3);
    } else if (symbol == 18) {
      value = 0, repeat = 11 + bits.take(7);
    }
    lengths.insert(lengths.end(), static_cast<std::size_t>(repeat), value);
  }
  if (lengths.size() > literals + distances) broken();
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(literals);
  symbols(bits, Code({lengths.begin(), middle}), Code({middle, lengths.end()}), most, out);
}

}  // namespace

std::string inflate(std::string_view packed, std::size_t size) {
  Bits bits(packed);
  std::string out;
  for (bool last = false; !last;) {
    last = bits.bit() == 1;
    switch (bits.take(2)) {
      case 0: {
        const std::string_view head = bits.bytes(4);
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
        const std::size_t length = static_cast<std::size_t>(byte(0) | byte(1) << 8);
        if (out.size() + length > size) broken();
        out += bits.bytes(length);
        break;
      }
      case 1: fixed_block(bits, size, out); break;
      case 2: given_block(bits, size, out); break;
      default: broken();
    }
  }
  if (out.size() != size) broken();
  return out;
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t sum = 0xFFFFFFFFu;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0u);
  }
  return ~sum;
}

}  // namespace cycloid::inline record
