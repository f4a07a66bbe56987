#include "cycloid/page/html.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid::inline page {

TEST_CASE("html: the four characters that end a text are written as entities") {
  CHECK(escape_html("a < b & \"c\" > d") == "a &lt; b &amp; &quot;c&quot; &gt; d");
  CHECK(escape_html("plain µ") == "plain µ");
}

TEST_CASE("html: marks are replaced in order, single braces are left alone") {
  const auto loud = [](const std::string& words) { return "[" + words + "]"; };
  CHECK(fill_marks("a {{x}}{ } {{y z}}.", loud) == "a [x]{ } [y z].");
  CHECK(fill_marks("", loud) == "");
  CHECK_THROWS_AS(fill_marks("a {{x", loud), InternalError);
}

}  // namespace cycloid::inline page
