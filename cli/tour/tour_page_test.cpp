#include "cli/tour/tour_page.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid::tour {
namespace {

const nlohmann::ordered_json kJson = {
    {"a", {{"b", 0.0123456}, {"list", {1.0, -2.5}}}}, {"word", "x < y"}, {"share", 0.945}};
const std::map<std::string, std::string> kFigures = {{"one", "<svg/>"}};

std::string filled(const std::string& text) { return fill_template(text, kJson, kFigures); }

}  // namespace

TEST_CASE("page: numbers are shown in their format, with key, scale and exact value") {
  CHECK(filled("[{{a.b | fixed 3}}]") ==
        "[<data data-key=\"a.b\" data-scale=\"1\" value=\"0.0123456\">0.012</data>]");
  CHECK(filled("{{a.b | length}}") ==
        "<data data-key=\"a.b\" data-scale=\"100\" value=\"0.0123456\">1.23</data>\u00a0cm");
  CHECK(filled("{{share | percent 1}}") ==
        "<data data-key=\"share\" data-scale=\"100\" value=\"0.945\">94.5</data>\u00a0%");
  CHECK(filled("{{a.list.1 | significant 2}}").find(">−2.5<") != std::string::npos);
}

TEST_CASE("page: texts are escaped, figures inserted, the rest left alone") {
  CHECK(filled("{{word | text}} { } {{figure one}}.") == "x &lt; y { } <svg/>.");
  CHECK(filled("{{a.b | attribute}}") == "0.0123456");
  CHECK(filled("{{json}}").find("\"share\":0.945") != std::string::npos);
}

TEST_CASE("page: what does not exist is named") {
  CHECK_THROWS_WITH_AS(filled("{{a.c | fixed 1}}"), doctest::Contains("a.c"), InternalError);
  CHECK_THROWS_WITH_AS(filled("{{a.list.2 | fixed 1}}"), doctest::Contains("a.list.2"),
                       InternalError);
  CHECK_THROWS_WITH_AS(filled("{{figure two}}"), doctest::Contains("two"), InternalError);
  CHECK_THROWS_AS(filled("{{a.b | loud}}"), InternalError);
  CHECK_THROWS_AS(filled("{{a.b}}"), InternalError);
  CHECK_THROWS_AS(filled("{{a.b | fixed 1"), InternalError);
  CHECK_THROWS_AS(filled("{{word | fixed 1}}"), InternalError);
}

}  // namespace cycloid::tour
