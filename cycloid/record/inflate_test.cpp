#include "cycloid/record/inflate.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid {
namespace {

std::string bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(16 * digit(hex[i]) + digit(hex[i + 1])));
  }
  return out;
}

}  // namespace

// The streams come from zlib: zlib.compressobj(level, zlib.DEFLATED, -15).
TEST_CASE("inflate: stored, fixed and given codes") {
  CHECK(inflate(bytes_of("010500faff68656c6c6f"), 5) == "hello");
  CHECK(inflate(bytes_of("4bae4ccec9cf4c5148c6460300"), 29) == "cycloid cycloid cycloid cyclo");
  std::string rows;
  for (int i = 0; i < 300; ++i) rows += std::to_string(i * i % 97) + ",";
  CHECK(inflate(bytes_of("ed90db8dc5200c051b9a8fd80603fd37b60325ecf795229484f3fe080687687252cd38f46"
                         "007450ec6622549"
                         "059d1c11c5fa88641647b45c057c1fcc8f4d4f72b1377390c9564da94904bb69199b4a422"
                         "4a7d89375589ef5"
                         "9ef7e94faffa82844a9026399e90728a2aad81369a69b9afb9116e9078a1fa0634a6618d6"
                         "cf07e25f2d6b194"
                         "d5ea96b4aa85eb957782e316c1f7dbe4b7c9ff37f903"),
                rows.size()) == rows);
}

TEST_CASE("inflate: a broken stream or another size is refused") {
  CHECK_THROWS_AS(inflate(bytes_of("010500faff68656c6c"), 5), Error);
  CHECK_THROWS_AS(inflate(bytes_of("010500faff68656c6c6f"), 4), Error);
  CHECK_THROWS_AS(inflate(bytes_of("010500faff68656c6c6f"), 6), Error);
  CHECK_THROWS_AS(inflate(bytes_of("07"), 1), Error);
  CHECK_THROWS_AS(inflate("", 0), Error);
}

TEST_CASE("crc32: the check value of the standard") { CHECK(crc32("123456789") == 0xCBF43926u); }

}  // namespace cycloid
