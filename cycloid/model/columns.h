// model/columns.h: named columns of numbers and texts, as a model file holds them (model_file.h).
//
// All numbers are little-endian. Columns are, one after the other, u32 how many, and of each
//   u16 length of its name, name         "model.bodies.mass"
//   u8 storage, u32 width                what a row holds; numbers in a row
//   u64 rows, u64 bytes, the bytes
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

namespace cycloid::inline model {

// How the rows of a column are stored.
enum class Storage : std::uint8_t {
  integer = 1,   // i32; truth values, counts, indices
  real = 2,      // f64, `width` of them
  text = 3,      // u32 length, UTF-8; also enumerations
  integers = 4,  // u32 length, i32 each
  reals = 5,     // u32 length, f64 each
  floats = 6,    // u32 length, f32 each
};

struct Format {
  Storage storage = Storage::integer;
  std::uint32_t width = 1;
  bool operator==(const Format&) const = default;
};

// When written, `data` grows; when read, `rest` shrinks.
struct Column {
  Format format;
  std::uint64_t rows = 0;
  std::string data;
  std::string_view rest;  // of the bytes of the file, which must stay
  std::uint64_t rows_read = 0;
  bool known = false;  // to this version
};
using Columns = std::map<std::string, Column, std::less<>>;

std::string columns_to_bytes(const Columns& columns);

// Throws ModelError, naming the file by its label, when the bytes are no columns.
Columns columns_from_bytes(std::string_view bytes, const std::string& label);

// Throws the ModelError: "cannot read "robot.cym" as a model: …"
[[noreturn]] void fail_to_read(const std::string& label, const std::string& what);

// Unsigned integers and floating-point numbers as bytes, the lowest first.
template <class Number>
using Bits = std::conditional_t<
    sizeof(Number) == 8, std::uint64_t,
    std::conditional_t<sizeof(Number) == 4, std::uint32_t,
                       std::conditional_t<sizeof(Number) == 2, std::uint16_t, std::uint8_t>>>;

template <class Number>
void put(std::string& to, Number value) {
  const auto bits = std::bit_cast<Bits<Number>>(value);
  for (std::size_t i = 0; i < sizeof bits; ++i) {
    to.push_back(static_cast<char>(static_cast<unsigned char>(bits >> (8 * i))));
  }
}

template <class Number>
Number get(const char* from) {
  Bits<Number> bits = 0;
  for (std::size_t i = 0; i < sizeof bits; ++i) {
    const auto byte = static_cast<Bits<Number>>(static_cast<unsigned char>(from[i]));
    bits = static_cast<Bits<Number>>(bits | static_cast<Bits<Number>>(byte << (8 * i)));
  }
  return std::bit_cast<Number>(bits);
}

}  // namespace cycloid::inline model
