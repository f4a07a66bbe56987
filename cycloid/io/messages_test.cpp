#include "cycloid/io/messages.h"

#include <doctest/doctest.h>

namespace cycloid {
namespace {

TEST_CASE("clean_message: one sentence with the line number, prefixes and repetitions gone") {
  CHECK(
      clean_message("XML Error: Schema violation: unrecognized element\nElement 'bod', line 3\n") ==
      "Schema violation: unrecognized element (element 'bod', line 3)");
  CHECK(clean_message("Error: Error: no such thing\nno such thing\n") == "no such thing");
  CHECK(
      clean_message("Error: too light\nElement name 'a', id 1\n"
                    "The static bodies of the spec were fused before this error, and remain so.") ==
      "too light (element name 'a', id 1)");
  CHECK(clean_message("  \n ") == "MuJoCo gives no reason");
}

TEST_CASE("clean_message: the XML parser's codes become words") {
  CHECK(clean_message("XML parse error 14:\nError=XML_ERROR_MISMATCHED_ELEMENT ErrorID=14 (0xe) "
                      "Line number=7: XMLElement name=worldbody\n") ==
        "the XML is not well formed: mismatched element, line 7 (XMLElement name=worldbody)");
  CHECK(clean_message("Error=XML_ERROR_PARSING_TEXT") ==
        "the XML is not well formed: parsing text");
}

TEST_CASE("readable: valid UTF-8 stays, everything else is replaced") {
  CHECK(readable("Zykloïde 轮 🌀") == "Zykloïde 轮 🌀");
  CHECK(readable("a\tb\x01"
                 "c") == "a b c");
  CHECK(readable("\xff") == "\xef\xbf\xbd");
  CHECK(readable("a\xc3") == "a\xef\xbf\xbd");                                // cut short
  CHECK(readable("\xc0\xaf") == "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
  CHECK(readable("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
  CHECK(readable("\xf4\x90\x80\x80").find('\xf4') == std::string::npos);      // too large
}

TEST_CASE("unopened_file: the name between the quotes, quotes inside it included") {
  CHECK(unopened_file("Error: Error opening file 'a/b.stl'") == "a/b.stl");
  CHECK(unopened_file("XML Error: Error opening file 'it's.xml'\nElement 'x', line 1") ==
        "it's.xml");
  CHECK(unopened_file("Error: something else") == "");
}

}  // namespace
}  // namespace cycloid
