#include "cycloid/page/svg_plot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline page {
namespace {

using Row = std::vector<double>;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

bool contains(const std::string& text, const std::string& part) { return count(text, part) > 0; }

Plot unit_plot() {
  Plot plot("p", "a plot", 200, 100);
  plot.x_axis("x [m]", 0, 10).y_axis("y", 0, 1);
  return plot;
}

}  // namespace

TEST_CASE("svg_plot: ticks are round numbers within the range") {
  CHECK(linear_ticks(0, 10, 5) == Row{0, 2, 4, 6, 8, 10});
  const Row ticks = linear_ticks(0.7963, 0.8042, 4);
  REQUIRE(ticks.size() >= 3);
  CHECK(ticks.front() == doctest::Approx(0.798));
  CHECK(ticks[1] - ticks[0] == doctest::Approx(0.002));
  CHECK(linear_ticks(-1.5, 1.5, 3) == Row{-1, 0, 1});
  const Row powers = logarithmic_ticks(2e-8, 200, 6);
  for (const double v : powers) CHECK(std::log10(v) == doctest::Approx(std::round(std::log10(v))));
  CHECK(powers.front() >= 2e-8);
  CHECK(powers.back() <= 200);
  CHECK(powers.size() <= 6);
}

TEST_CASE("svg_plot: axes map their ends to the frame, also logarithmically") {
  Plot plot = unit_plot();
  CHECK(plot.px(10) - plot.px(0) > 120);
  CHECK(plot.py(0) > plot.py(1));
  CHECK(plot.px(5) == doctest::Approx((plot.px(0) + plot.px(10)) / 2));
  Plot logarithmic("q", "", 200, 100);
  logarithmic.x_axis("", 0, 1).y_axis("", 1e-4, 1, Scale::logarithmic);
  CHECK(logarithmic.py(1e-2) == doctest::Approx((logarithmic.py(1e-4) + logarithmic.py(1)) / 2));
}

TEST_CASE("svg_plot: lines, dots, bars and texts are there, escaped and clipped") {
  Plot plot = unit_plot();
  plot.line(Row{0, 5, 10}, Row{0, 1, 0}, "c1", "data-frame=\"3\"");
  plot.dots(Row{1, 2, 3}, Row{0.5, 0.5, 0.5}, 2, "c2");
  plot.bar(4, 0.2, 0.8, "c1");
  plot.vertical(5, "a < b", "muted");
  plot.horizontal(0.5, "", "muted");
  plot.arrow(1, 0.5, 20, 0, "wind");
  const std::string svg = plot.svg();
  CHECK(contains(svg, "viewBox=\"0 0 200 100\""));
  CHECK(contains(svg, "aria-label=\"a plot\""));
  CHECK(contains(svg, "clip-path=\"url(#p-clip)\""));
  CHECK(contains(svg, "data-frame=\"3\""));
  CHECK(contains(svg, "a &lt; b"));
  CHECK(contains(svg, "x [m]"));
  CHECK(count(svg, "h0") == 3);
  CHECK(!contains(svg, "nan"));
  CHECK(count(svg, "<svg") == count(svg, "</svg>"));
}

TEST_CASE("svg_plot: a line drops points too near to see, an exact line keeps all") {
  Row x, y;
  for (int i = 0; i <= 1000; ++i) x.push_back(0.01 * i), y.push_back(0.5);
  Plot thinned = unit_plot(), exact = unit_plot();
  CHECK(count(thinned.line(x, y, "").svg(), "L") < 300);
  CHECK(count(exact.exact_line(x, y, "").svg(), "L") == 1000);
}

TEST_CASE("svg_plot: a line is broken where nothing was measured, and dots leave it out") {
  Plot plot = unit_plot();
  const double nan = std::nan("");
  plot.line(Row{0, 1, 2, 3, 4}, Row{0.1, 0.2, nan, 0.3, 0.4}, "c1");
  plot.dots(Row{0, 1, 2}, Row{0.1, nan, 0.2}, 2, "c1");
  const std::string svg = plot.svg();
  const std::size_t at = svg.find("line c1");
  const std::string path = svg.substr(at, svg.find("/>", at) - at);
  CHECK(count(path, "M") == 2);
  CHECK(count(path, "L") == 2);
  CHECK(count(svg, "h0") == 2);
  CHECK(!contains(svg, "nan"));
}

TEST_CASE("svg_plot: numbers far outside stay short and finite") {
  Plot plot = unit_plot();
  const std::string svg = plot.line(Row{0, 10}, Row{-1e12, 1e12}, "c1").svg();
  CHECK(contains(svg, "100000.0"));
  CHECK(!contains(svg, "inf"));
}

TEST_CASE("svg_plot: refuses axes without extent and rows that do not fit") {
  Plot plot = unit_plot();
  CHECK_THROWS_AS(plot.x_axis("", 1, 1), InternalError);
  CHECK_THROWS_AS(plot.y_axis("", 0, 1, Scale::logarithmic), InternalError);
  CHECK_THROWS_AS(plot.line(Row{1, 2}, Row{1}, ""), InternalError);
}

}  // namespace cycloid::inline page
