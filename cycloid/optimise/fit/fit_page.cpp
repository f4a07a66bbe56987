#include "cycloid/optimise/fit/fit_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cycloid/base/error.h"
#include "cycloid/page/number_text.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t kMostPlots = 12;  // of a recording
constexpr double kNormal95 = 1.959963984540054;

std::string number(double value, int digits = 6) {
  if (!std::isfinite(value)) return std::isnan(value) ? "–" : "∞";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return typeset(text);
}

PageTable numbers_table(const Fit& fit) {
  PageTable table{
      "Parameters", {"number", "estimate", "standard error", "95 % from", "to"}, {}, ""};
  for (std::size_t i = 0; i < fit.names.size(); ++i) {
    const double v = fit.values[i], s = fit.std[i];
    table.rows.push_back({fit.names[i], number(v), number(s, 3),
                          std::isfinite(s) ? number(v - kNormal95 * s) : "–",
                          std::isfinite(s) ? number(v + kNormal95 * s) : "–"});
  }
  return table;
}

PageTable outputs_table(const Fit& fit) {
  PageTable table{"Outputs",
                  {"output", "numbers", "rms of residuals", "σ", "whiteness p"},
                  {},
                  "A small p says that residuals are not white: the model misses something."};
  for (const FitOutput& o : fit.outputs) {
    table.rows.push_back(
        {o.name, message(o.count), number(o.rms, 4), number(o.sigma, 4), number(o.whiteness, 3)});
  }
  return table;
}

// What was measured as dots, the fit as a line, and below the difference.
void draw(const System& system, const FitPicture& picture, std::size_t index, Page& page) {
  const Recording& r = picture.recording;
  const std::vector<std::string> names = column_names(system, r);
  const std::size_t m = names.size(), S = r.samples();
  page.section(picture.heading);
  for (std::size_t c = 0; c < std::min(m, kMostPlots); ++c) {
    Numbers t, v, w, e;
    for (std::size_t i = 0; i < S; ++i) {
      t.push_back(r.times[i]);
      v.push_back(r.values[i * m + c]);
      w.push_back(picture.shown[i * m + c]);
      e.push_back(v.back() - w.back());
    }
    const std::string id = message("r", index, "c", c);
    Plot both(id, message("measured and fitted ", names[c]), 440, 280);
    both.x_axis("time [s]", range_over({t}, 0)).y_axis(names[c], range_over({v, w}));
    both.dots(t, v, 1.5, "c2").line(t, w, "c1");
    page.plot(names[c], both, "", {{"c2 dots", "measured"}, {"c1", "fitted"}});
    Plot rest(id + "e", message("residuals of ", names[c]), 440, 280);
    rest.x_axis("time [s]", range_over({t}, 0)).y_axis("measured − fitted", range_over({e}));
    rest.dots(t, e, 1.5, "c2").horizontal(0, "", "c1");
    page.plot(message("Residuals of ", names[c]), rest);
  }
  if (m > kMostPlots) page.sentence(message("… and ", m - kMostPlots, " columns more."));
}

}  // namespace

Page fit_page(const System& system, const Fit& fit, const std::vector<FitPicture>& pictures,
              const std::string& verdict) {
  Page page(message("Fit of ", system.name()));
  page.lead(message(fit.iterations, " iterations, ", fit.steps, " simulated steps. ",
                    fit.converged ? "" : "Not converged. ", fit.message));
  if (!verdict.empty()) page.verdict(verdict);
  for (const std::string& sentence : fit.weak) page.verdict("Weak: " + sentence + ".");
  page.section("What was found");
  page.table(numbers_table(fit)).table(outputs_table(fit));
  if (fit.history.size() > 1) {
    Numbers at;
    for (std::size_t i = 0; i < fit.history.size(); ++i) at.push_back(static_cast<double>(i));
    const auto [low, high] = std::minmax_element(fit.history.begin(), fit.history.end());
    const double least = std::max(*low, 1e-12 * *high);
    Plot plot("cost", "cost after each iteration", 440, 280);
    plot.x_axis("iteration", 0, at.back())
        .y_axis("cost", 0.8 * least, 1.2 * *high, Scale::logarithmic)
        .line(at, fit.history, "c1");
    page.plot("Cost", plot, "Half the sum of squares, in units of σ.");
  }
  for (std::size_t i = 0; i < pictures.size(); ++i) draw(system, pictures[i], i, page);
  return page;
}

}  // namespace cycloid::inline optimise
