#include "cycloid/base/utf8.h"

#include <doctest/doctest.h>

namespace cycloid {

TEST_CASE("is_utf8: whole characters of one to four bytes, and nothing") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("foot\n\x7f"));
  CHECK(is_utf8("Fu\xc3\x9f, \xe2\x82\xac, \xf0\x9f\xa4\x96"));
  CHECK(utf8_character_length("\xe2\x82\xac"
                              "rest") == 3);
  CHECK(utf8_character_length("") == 0);
}

TEST_CASE("is_utf8: not parts of characters, overlong forms, surrogates, or beyond the last") {
  for (const char* bad : {"\x80", "\xc3", "a\xc3", "\xe2\x82", "\xff", "\xc0\x80", "\xc1\xbf",
                          "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xc3(", "ok\xe2("}) {
    CHECK_FALSE(is_utf8(bad));
  }
}

}  // namespace cycloid
