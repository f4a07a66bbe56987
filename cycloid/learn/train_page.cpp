#include "cycloid/learn/train_page.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/page/number_text.h"

namespace cycloid::inline learn {
namespace {

// Where y is positive: the axis is logarithmic.
void draw(Plot& plot, const std::vector<TrainRecord>& history, double TrainRecord::* number,
          const char* css) {
  std::vector<double> xs, ys;
  for (const TrainRecord& r : history) {
    if (!(r.*number > 0) || !std::isfinite(r.*number)) continue;
    xs.push_back(static_cast<double>(r.step)), ys.push_back(r.*number);
  }
  if (xs.size() > 1) plot.line(xs, ys, css);
}

}  // namespace

Page train_page(const TrainState& state, const std::string& title, const std::string& verdict) {
  Page page(title);
  page.lead(message(state.step, " steps in ", significant(state.seconds), " s."));
  page.verdict(verdict);
  double low = 1e300, high = 0;
  for (const TrainRecord& r : state.history) {
    for (const double y : {r.loss, r.validation}) {
      if (y > 0 && std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
    }
  }
  if (!(high > 0)) low = 0.1, high = 1;
  // Whole decades, so that the axis has its numbers.
  low = std::pow(10, std::floor(std::log10(low))), high = std::pow(10, std::ceil(std::log10(high)));
  if (!(high > low)) high = 10 * low;
  std::vector<LegendEntry> legend = {{"c1", "training"}};
  const bool held = std::any_of(state.history.begin(), state.history.end(),
                                [](const TrainRecord& r) { return std::isfinite(r.validation); });
  if (held) legend.push_back({"c2", "held back"});
  const double last = static_cast<double>(std::max<std::int64_t>(1, state.step));
  Plot loss("loss", "Loss after each step of training", 440, 280);
  loss.x_axis("step", 0, last).y_axis("loss", low, high, Scale::logarithmic);
  draw(loss, state.history, &TrainRecord::loss, "c1");
  draw(loss, state.history, &TrainRecord::validation, "c2");
  const char* const caption =
      held ? "Mean over the batch, and over what is held back." : "Mean over the batch.";
  page.section("Loss").plot("Loss", loss, caption, legend);
  PageTable table;
  table.columns = {"step", "loss", "held back", "learning rate", "seconds"};
  const std::size_t every = std::max<std::size_t>(1, state.history.size() / 10);
  for (std::size_t i = 0; i < state.history.size(); ++i) {
    if (i % every != 0 && i + 1 != state.history.size()) continue;
    const TrainRecord& r = state.history[i];
    table.rows.push_back({message(r.step), significant(r.loss),
                          std::isnan(r.validation) ? "–" : significant(r.validation),
                          significant(r.rate), significant(r.seconds)});
  }
  page.section("History").table(table);
  return page;
}

}  // namespace cycloid::inline learn
