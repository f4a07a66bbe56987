#include "cycloid/base/byte_size.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

using cycloid::parse_byte_size;
using cycloid::print_byte_size;

TEST_CASE("parse_byte_size: decimal and binary units, fractions, spaces, any case") {
  CHECK(parse_byte_size("4096") == 4096);
  CHECK(parse_byte_size("0") == 0);
  CHECK(parse_byte_size("17B") == 17);
  CHECK(parse_byte_size("16kB") == 16'000);
  CHECK(parse_byte_size("16KiB") == 16'384);
  CHECK(parse_byte_size("64MB") == 64'000'000);
  CHECK(parse_byte_size("64 mb") == 64'000'000);
  CHECK(parse_byte_size("64M") == 64'000'000);
  CHECK(parse_byte_size(" 1.5 GiB ") == 1'610'612'736);
  CHECK(parse_byte_size("2Ti") == 2'199'023'255'552);
  CHECK(parse_byte_size("0.5kB") == 500);
  CHECK(parse_byte_size("18446744073709551615") == UINT64_MAX);
}

TEST_CASE("parse_byte_size: refuses what is not an amount, and says what is") {
  for (const char* text : {"", " ", "MB", "-1MB", "64 apples", "1e9", "1.5.2GB", "64MB8", "nan",
                           "inf", ".", "64 M B", "18446744073709551616", "17000000TiB", "64MiBB"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_byte_size(text), cycloid::Error);
  }
  CHECK_THROWS_WITH(parse_byte_size("64 apples"),
                    "expected an amount of memory such as \"64MB\", \"1.5 GiB\" or \"4096\" "
                    "(bytes), got \"64 apples\"");
}

TEST_CASE("print_byte_size: three digits and a unit") {
  CHECK(print_byte_size(0) == "0 B");
  CHECK(print_byte_size(999) == "999 B");
  CHECK(print_byte_size(16'000) == "16 kB");
  CHECK(print_byte_size(64'000'000) == "64 MB");
  CHECK(print_byte_size(1'054'000) == "1.05 MB");
  CHECK(print_byte_size(999'600) == "1 MB");
  CHECK(print_byte_size(123'456'789'000) == "123 GB");
  CHECK(print_byte_size(UINT64_MAX) == "18.4 EB");
}
