#include "cycloid/model/columns.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid {

TEST_CASE("put, get: the lowest byte first, of every width") {
  std::string bytes;
  put(bytes, std::uint8_t{0xab});
  put(bytes, std::uint16_t{0x1234});
  put(bytes, std::int32_t{-2});
  put(bytes, 1.0);
  put(bytes, 1.0f);
  CHECK(bytes == std::string("\xab\x34\x12\xfe\xff\xff\xff\0\0\0\0\0\0\xf0\x3f\0\0\x80\x3f", 19));
  CHECK(get<std::uint16_t>(bytes.data() + 1) == 0x1234);
  CHECK(get<std::int32_t>(bytes.data() + 3) == -2);
  CHECK(get<double>(bytes.data() + 7) == 1.0);
  CHECK(get<float>(bytes.data() + 15) == 1.0f);
}

TEST_CASE("columns: there and back, and refused with words when they are no columns") {
  Columns columns;
  Column mass;
  mass.format = {Storage::real, 1};
  mass.rows = 2;
  put(mass.data, 1.5);
  put(mass.data, 2.5);
  columns["bodies.mass"] = mass;
  columns["empty"] = {};
  const std::string bytes = columns_to_bytes(columns);
  const Columns read = columns_from_bytes(bytes, "it");
  REQUIRE(read.size() == 2);
  CHECK(read.at("bodies.mass").format == mass.format);
  CHECK(read.at("bodies.mass").rows == 2);
  CHECK(read.at("bodies.mass").rest == mass.data);

  const auto refused = [](const std::string& text, const char* words) {
    CHECK_THROWS_WITH_AS(columns_from_bytes(text, "it"), doctest::Contains(words), ModelError);
  };
  refused("", "cannot read it as a model: its list of fields is cut off");
  refused(bytes + "x", "1 bytes follow its last field");
  refused(bytes.substr(0, 20), "its list of fields is cut off");
  refused(bytes.substr(0, 45), "its field \"bodies.mass\" is cut off");
  std::string many_rows = bytes;
  many_rows[4 + 2 + 11 + 5 + 7] = '\x7f';
  refused(many_rows, "its field \"bodies.mass\" is cut off");
  std::string twice = bytes + bytes.substr(4);
  twice[0] = 4;
  refused(twice, "is there twice");
}

}  // namespace cycloid
