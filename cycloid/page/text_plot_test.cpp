#include "cycloid/page/text_plot.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid::inline page {
namespace {

using Row = std::vector<double>;

}  // namespace

TEST_CASE("text_plot: a diagonal from corner to corner") {
  TextPlot plot(2, 1, {0, 3}, {0, 3});
  plot.line(Row{0, 3}, Row{0, 3});
  CHECK(plot.text("> ", false) == "> ⡠⠊\n");
}

TEST_CASE("text_plot: dots, marks, colours; points outside are left out") {
  TextPlot plot(3, 2, {0, 5}, {0, 7});
  plot.dots(Row{0, 99, -99}, Row{7, 0, 0}, "36");
  plot.mark(5, 0, "x", "31");
  CHECK(plot.text("", false) == "⠁\n  x\n");
  CHECK(plot.text("", true) == "\x1b[36m⠁\x1b[0m\n  \x1b[31mx\x1b[0m\n");
  CHECK_THROWS_AS(TextPlot(0, 1, {0, 1}, {0, 1}), InternalError);
}

}  // namespace cycloid::inline page
