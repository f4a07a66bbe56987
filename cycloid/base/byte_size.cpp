#include "cycloid/base/byte_size.h"

#include <array>
#include <charconv>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline base {

namespace {

struct Unit {
  std::string_view name;  // in lower case, without the b
  std::uint64_t bytes;
};

constexpr std::array<Unit, 9> kUnits = {{{"", 1},
                                         {"k", 1'000},
                                         {"m", 1'000'000},
                                         {"g", 1'000'000'000},
                                         {"t", 1'000'000'000'000},
                                         {"ki", 1ull << 10},
                                         {"mi", 1ull << 20},
                                         {"gi", 1ull << 30},
                                         {"ti", 1ull << 40}}};

[[noreturn]] void refuse(std::string_view text) {
  throw Error(message(
      "expected an amount of memory such as \"64MB\", \"1.5 GiB\" or \"4096\" (bytes), got \"",
      text, "\""));
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::uint64_t unit_bytes(std::string_view unit, std::string_view text) {
  std::string lower;
  for (const char c : unit) lower += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower.ends_with('b')) lower.pop_back();
  for (const Unit& known : kUnits)
    if (known.name == lower) return known.bytes;
  refuse(text);
}

}  // namespace

std::uint64_t parse_byte_size(std::string_view text) {
  const std::string_view amount = trimmed(text);
  const std::size_t digits = std::min(amount.find_first_not_of("0123456789."), amount.size());
  const std::uint64_t unit = unit_bytes(trimmed(amount.substr(digits)), text);
  const char *const begin = amount.data(), *const end = begin + digits;

  std::uint64_t whole = 0;
  if (const auto [stop, fault] = std::from_chars(begin, end, whole);
      fault == std::errc() && stop == end) {
    if (whole > UINT64_MAX / unit) refuse(text);
    return whole * unit;
  }
  double number = 0;
  const auto [stop, fault] = std::from_chars(begin, end, number, std::chars_format::fixed);
  if (fault != std::errc() || stop != end) refuse(text);
  const double bytes = number * static_cast<double>(unit);
  if (bytes >= 0x1p64) refuse(text);
  return static_cast<std::uint64_t>(bytes);
}

std::string print_byte_size(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 7> kNames = {"B",  "kB", "MB", "GB",
                                                             "TB", "PB", "EB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 999.5 and more is rounded to the next unit, since three digits would say 1000.
  for (; amount >= 999.5 && unit + 1 < kNames.size(); ++unit) amount /= 1000;
  char digits[16];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, amount, std::chars_format::general, 3).ptr;
  return message(std::string_view(digits, end), " ", kNames[unit]);
}

}  // namespace cycloid::inline base
