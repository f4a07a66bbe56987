#include "cycloid/page/page.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "tests/support/scratch_folder.h"

namespace cycloid::inline page {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

Plot small_plot(const std::string& id) {
  Plot plot(id, "a plot", 200, 100);
  plot.x_axis("x", 0, 1).y_axis("y", 0, 1).line(std::vector{0.0, 1.0}, std::vector{0.0, 1.0}, "c1");
  return plot;
}

}  // namespace

TEST_CASE("page: elements come in their order, every one is closed, and texts are escaped") {
  Page page("Fit & <plan>");
  page.lead("What it is.").section("First").sentence("a < b").verdict("Beware.");
  page.plot("One", small_plot("one"), "caption", {{"c1", "the line"}});
  page.plot("Two", small_plot("two"));
  page.section("Second").table(
      {.heading = "Found", .columns = {"name", "value"}, .rows = {{"m", "1"}, {"k", "2"}}});
  const std::string html = page.html();
  CHECK(count(html, "<title>Fit &amp; &lt;plan&gt;</title>") == 1);
  CHECK(count(html, "<p>a &lt; b</p>") == 1);
  for (const char* tag : {"section", "div", "figure", "table", "tr", "p", "h2", "h3", "blockquote",
                          "figcaption", "ul", "svg", "main", "header", "body", "html"}) {
    CAPTURE(tag);
    CHECK(count(html, message("<", tag, ">")) + count(html, message("<", tag, " ")) ==
          count(html, message("</", tag, ">")));
  }
  // Two plots share a grid, the table after the next heading has its own.
  CHECK(count(html, "<div class=\"grid\">") == 2);
  std::size_t at = 0;
  for (const char* part : {"What it is.", "First", "a &lt; b", "Beware.", "id=\"one\"", "the line",
                           "caption", "id=\"two\"", "Second", "Found", "<th scope=\"row\">k"}) {
    CAPTURE(part);
    const std::size_t next = html.find(part, at);
    REQUIRE(next != html.npos);
    at = next;
  }
}

TEST_CASE("page: needs no script and nothing from elsewhere, and knows dark and narrow screens") {
  const std::string html = Page("t").html();
  CHECK(count(html, "<script") == 0);
  CHECK(count(html, "http:") + count(html, "https:") + count(html, "@import") == 0);
  CHECK(count(html, "default-src 'none'") == 1);
  CHECK(count(html, "prefers-color-scheme: dark") == 1);
  CHECK(count(html, "width=device-width") == 1);
  CHECK(count(html, "{{") == 0);
}

TEST_CASE("page: refuses two plots of one id and rows that do not fit") {
  Page page("t");
  page.plot("", small_plot("one"));
  CHECK_THROWS_AS(page.plot("", small_plot("one")), InternalError);
  CHECK_THROWS_AS(page.table({.columns = {"a", "b"}, .rows = {{"1"}}}), InternalError);
}

TEST_CASE("page: a plot is a picture of its own, with its colours") {
  const std::string svg = picture(small_plot("one"));
  CHECK(svg.find("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" id=\"one\"") == 0);
  CHECK(count(svg, "prefers-color-scheme: dark") == 1);
  CHECK(svg.find("<rect") < svg.find("<path"));
  CHECK(count(svg, "<svg") == 1);
}

TEST_CASE("page: writes itself") {
  const test::ScratchFolder folder;
  Page page("t");
  page.sentence("hello");
  page.write(folder.path("page.html"));
  CHECK(folder.read("page.html") == page.html());
  CHECK_THROWS_AS(page.write(folder.path("no/page.html")), Error);
}

}  // namespace cycloid::inline page
