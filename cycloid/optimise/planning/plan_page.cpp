#include "cycloid/optimise/planning/plan_page.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/page/number_text.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t kMostPlots = 12;

std::vector<std::string> names_in(const Space& space) {
  std::vector<std::string> names;
  for (const Block& b : space.blocks()) {
    for (int i = 0; i < b.size; ++i) {
      names.push_back(b.size == 1 ? b.name : message(b.name, "[", i, "]"));
    }
  }
  return names;
}

// Columns of rows over time, a plot for each.
void draw(const std::string& heading, const std::string& id, const std::vector<std::string>& names,
          const Numbers& rows, double timestep, std::span<const double> low,
          std::span<const double> high, Page& page) {
  const std::size_t n = names.size();
  if (n == 0) return;
  page.section(heading);
  Numbers t;
  for (std::size_t i = 0; i < rows.size() / n; ++i) t.push_back(static_cast<double>(i) * timestep);
  for (std::size_t c = 0; c < std::min(n, kMostPlots); ++c) {
    Numbers y;
    for (std::size_t i = 0; i < t.size(); ++i) y.push_back(rows[i * n + c]);
    Plot plot(message(id, c), message(names[c], " over time"), 440, 280);
    Numbers all = y;
    const auto limit = [&](std::span<const double> bounds) {
      return !bounds.empty() && std::isfinite(bounds[c]);
    };
    if (limit(low)) all.push_back(low[c]);
    if (limit(high)) all.push_back(high[c]);
    plot.x_axis("time [s]", range_over({t}, 0)).y_axis(names[c], range_over({all}));
    if (limit(low)) plot.horizontal(low[c], "", "muted");
    if (limit(high)) plot.horizontal(high[c], "", "muted");
    plot.line(t, y, "c1");
    page.plot(names[c], plot);
  }
  if (n > kMostPlots) page.sentence(message("… and ", n - kMostPlots, " more."));
}

}  // namespace

Page plan_page(const System& system, const Plan& plan, double timestep, std::span<const double> low,
               std::span<const double> high, const std::string& verdict) {
  Page page(message("Plan of ", system.name()));
  const std::size_t T = plan.states.size() / static_cast<std::size_t>(system.states().size()) - 1;
  page.lead(message(T, " steps, ", significant(static_cast<double>(T) * timestep, 3), " s. Cost ",
                    significant(plan.cost, 5), " after ", plan.iterations, " iterations and ",
                    plan.steps, " simulated steps. ", plan.message));
  if (!verdict.empty()) page.verdict(verdict);
  if (plan.history.size() > 1) {
    Numbers at;
    for (std::size_t i = 0; i < plan.history.size(); ++i) at.push_back(static_cast<double>(i));
    const auto [least, most] = std::minmax_element(plan.history.begin(), plan.history.end());
    Plot plot("cost", "cost after each iteration", 440, 280);
    plot.x_axis("iteration", 0, at.back());
    if (*least > 0) {
      plot.y_axis("cost", 0.8 * *least, 1.2 * *most, Scale::logarithmic);
    } else {
      plot.y_axis("cost", range_over({plan.history}));
    }
    plot.line(at, plan.history, "c1");
    page.section("On the way").plot("Cost", plot);
  }
  draw("Inputs", "u", names_in(system.inputs()), plan.controls, timestep, low, high, page);
  draw("States", "x", names_in(system.states()), plan.states, timestep, {}, {}, page);
  return page;
}

}  // namespace cycloid::inline optimise
