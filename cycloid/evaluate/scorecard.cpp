#include "cycloid/evaluate/scorecard.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "cycloid/base/error.h"
#include "cycloid/page/number_text.h"

namespace cycloid::inline evaluate {
namespace {

using enum ScoreRule::Better;

constexpr ScoreRule kRules[] = {
    {"one_step_error", "accuracy", "σ", "error of one step from the truth's states", lower, 1e-2,
     0.1},
    {"error", "accuracy", "σ", "error over the horizon", lower, 0.1, 0.5},
    {"valid_time", "accuracy", "s", "time until half of the runs are off by 0.4 σ", none},
    {"survival", "accuracy", "", "share of runs that stay finite and in bounds", higher, 1, 0.95},
    {"spectrum_error", "accuracy", "", "difference of the amplitude spectra", lower, 0.1, 0.5},
    {"sinkhorn", "accuracy", "σ", "distance of the states' distributions", lower, 0.3, 1},
    {"energy_drift", "physics", "", "energy gained or lost, of the kinetic energy", lower, 0.02,
     0.2},
    {"momentum_drift", "physics", "", "momentum gained or lost, of its size", lower, 0.02, 0.2},
    {"volume_drift", "physics", "", "volume of states gained or lost in a step", lower, 1e-4, 1e-2},
    {"symplecticity", "physics", "", "how far a step is from symplectic", lower, 1e-4, 1e-2},
    {"divergence", "physics", "1/s", "divergence of the velocity beyond the truth's", lower, 1e-6,
     1e-2},
    {"time_reversal", "physics", "σ", "error after a run there and back", lower, 0.05, 0.5},
    {"penetration", "physics", "m", "depth of contacts beyond the truth's", lower, 1e-3, 1e-2},
    {"limit_violation", "physics", "", "beyond joint limits, and beyond the truth", lower, 1e-2,
     0.1},
    {"equivariance", "physics", "", "broken symmetry of a step, of its length", lower, 1e-3, 0.1},
    {"gap_parameters", "generalisation", "σ", "more error under other parameters", lower, 0.1, 0.5},
    {"gap_horizon", "generalisation", "σ", "more error over ten times the horizon", lower, 0.2, 1},
    {"gap_size", "generalisation", "σ", "more error on a larger system", lower, 0.1, 0.5},
    {"gradient_cosine", "gradients", "", "cosine of the gradient with the truth's", higher, 0.98,
     0.7},
    {"gradient_error", "gradients", "", "relative error of the gradient", lower, 0.1, 0.7},
    {"gradient_perturbed", "gradients", "", "its cosine from starts that are moved a little",
     higher, 0.98, 0.7},
    {"gradient_difference", "gradients", "", "gradient against differences of the model itself",
     lower, 1e-4, 1e-2},
    {"gradient_finite", "gradients", "", "share of gradients that are finite", higher, 1, 0.99},
    {"gradient_horizon", "gradients", "s", "how far ahead a gradient is worth following", none},
    {"coverage_50", "uncertainty", "", "share of truths in 50 % intervals", near, 0.1, 0.25, 0.5},
    {"coverage_90", "uncertainty", "", "share of truths in 90 % intervals", near, 0.05, 0.15, 0.9},
    {"coverage_95", "uncertainty", "", "share of truths in 95 % intervals", near, 0.04, 0.12, 0.95},
    {"crps", "uncertainty", "σ", "error of the forecast distribution", lower, 0.1, 0.5},
    {"spread_skill", "uncertainty", "", "stated spread over true error", near, 0.25, 0.6, 1},
    {"sharpness", "uncertainty", "σ", "stated standard deviation", none},
    {"novelty_auroc", "uncertainty", "", "whether shifted runs look strange", higher, 0.9, 0.7},
    {"regret", "planning", "", "cost of its plans in the truth beyond the best", none},
    {"regret_share", "planning", "", "share of the possible gain that its plans lose", lower, 0.05,
     0.5},
    {"seconds_per_step", "cost", "s", "of one step of one run", none},
    {"speedup", "cost", "", "over the truth computed as roughly", none},
    {"break_even_runs", "cost", "runs", "until training has paid", none},
};

std::string number(double value) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e6)) return scientific(value);
  return significant(value);
}

std::string range(const ScoreInterval& i) { return message(number(i.low), " … ", number(i.high)); }

// Text of JSON; what is not finite is null.
std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  return message(value);
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

template <class Range, class Show>
std::string json_list(const Range& range, const Show& show) {
  std::string out = "[";
  for (const auto& element : range) {
    if (out.size() > 1) out += ", ";
    out += show(element);
  }
  return out + "]";
}

std::string in_words(const ScoreRule& rule, const Score& score) {
  return message(rule.name, " ", number(score.value), rule.unit[0] ? " " : "", rule.unit, " (",
                 rule.meaning, ")");
}

const char* mark_text(ScoreMark mark) {
  switch (mark) {
    case ScoreMark::good: return "✓";
    case ScoreMark::fair: return "~";
    case ScoreMark::poor: return "✗";
    case ScoreMark::plain: break;
  }
  return "";
}

// Rules of which some card has a score.
std::vector<const ScoreRule*> rules_of(std::span<const Scorecard> cards) {
  std::vector<const ScoreRule*> out;
  for (const ScoreRule& rule : kRules) {
    if (std::any_of(cards.begin(), cards.end(),
                    [&](const Scorecard& c) { return c.find(rule.name) != nullptr; })) {
      out.push_back(&rule);
    }
  }
  return out;
}

// Characters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  }));
}

void pad(std::string& line, std::size_t to) {
  while (width_of(line) < to) line += ' ';
}

Plot curve_plot(std::span<const Scorecard> cards, const std::string& curve,
                const std::string& description, std::optional<PlotRange> y_range) {
  Plot plot(curve, description, 440, 280);
  PlotRange xs{1e300, -1e300}, ys{1e300, -1e300};
  std::string x_label, y_label;
  const auto cover = [](PlotRange& range, const std::vector<double>& numbers) {
    for (const double v : numbers) {
      if (std::isfinite(v))
        range.low = std::min(range.low, v), range.high = std::max(range.high, v);
    }
  };
  for (const Scorecard& card : cards) {
    for (const ScoreCurve& c : card.curves) {
      if (c.name != curve) continue;
      cover(xs, c.x), cover(ys, c.y), cover(ys, c.high);
      x_label = c.x_label, y_label = c.y_label;
    }
  }
  if (!(xs.high > xs.low)) xs = {0, 1};
  if (!(ys.high > ys.low)) ys = {0, 1};
  plot.x_axis(x_label, xs)
      .y_axis(y_label, y_range.value_or(PlotRange{std::min(0.0, ys.low), 1.05 * ys.high}));
  return plot;
}

void draw_curves(Plot& plot, std::span<const Scorecard> cards, const std::string& name) {
  for (std::size_t k = 0; k < cards.size(); ++k) {
    const std::string css = message("c", k % 4 + 1);
    for (const ScoreCurve& c : cards[k].curves) {
      if (c.name != name) continue;
      plot.line(c.x, c.y, css);
      if (!c.low.empty()) plot.line(c.x, c.low, css + " dashed");
      if (!c.high.empty()) plot.line(c.x, c.high, css + " dashed");
    }
  }
}

bool has_curve(std::span<const Scorecard> cards, const std::string& name) {
  return std::any_of(cards.begin(), cards.end(), [&](const Scorecard& card) {
    return std::any_of(card.curves.begin(), card.curves.end(),
                       [&](const ScoreCurve& c) { return c.name == name; });
  });
}

bool loses_gradients(std::span<const Scorecard> cards) {
  return std::any_of(cards.begin(), cards.end(), [](const Scorecard& card) {
    return std::any_of(card.curves.begin(), card.curves.end(), [](const ScoreCurve& c) {
      return c.name == "gradient_finite" && *std::min_element(c.y.begin(), c.y.end()) < 1;
    });
  });
}

void add_plots(Page& page, std::span<const Scorecard> cards) {
  std::vector<LegendEntry> legend;
  for (std::size_t k = 0; k < cards.size(); ++k) {
    legend.push_back({message("c", k % 4 + 1), cards[k].model});
  }
  if (has_curve(cards, "error")) {
    Plot plot = curve_plot(cards, "error", "Error over the horizon", std::nullopt);
    draw_curves(plot, cards, "error");
    page.plot("Error over the horizon", plot,
              "RMS over numbers, in standard deviations of the truth: median over runs, and the "
              "middle 80 % dashed.",
              legend);
  }
  if (has_curve(cards, "coverage")) {
    Plot plot = curve_plot(cards, "coverage", "Share of truths inside the stated intervals",
                           PlotRange{0, 1});
    plot.x_axis("stated", 0, 1).line(std::vector<double>{0, 1}, std::vector<double>{0, 1}, "muted");
    draw_curves(plot, cards, "coverage");
    page.plot("Coverage", plot,
              "On the diagonal the stated intervals are right; below it they are "
              "too narrow.",
              legend);
  }
  if (has_curve(cards, "gradient_cosine")) {
    Plot plot = curve_plot(cards, "gradient_cosine", "Cosine of the gradient with the truth's",
                           PlotRange{-1, 1.05});
    draw_curves(plot, cards, "gradient_cosine");
    page.plot("Gradient over the horizon", plot,
              "Median over runs of the cosine between the model's gradient of a final state and "
              "the truth's.",
              legend);
  }
  if (loses_gradients(cards)) {
    Plot plot = curve_plot(cards, "gradient_finite", "Share of gradients that are finite",
                           PlotRange{0, 1.05});
    draw_curves(plot, cards, "gradient_finite");
    page.plot("Finite gradients over the horizon", plot,
              "Share of runs whose gradient of a final state is finite, by the time of that state.",
              legend);
  }
}

}  // namespace

const char* name(ScoreMark mark) {
  switch (mark) {
    case ScoreMark::good: return "good";
    case ScoreMark::fair: return "fair";
    case ScoreMark::poor: return "poor";
    case ScoreMark::plain: break;
  }
  return "plain";
}

ScoreMark ScoreRule::mark(double value) const {
  if (better == none) return ScoreMark::plain;
  if (std::isnan(value)) return ScoreMark::poor;
  const double off = better == near ? std::abs(value - target) : value;
  const bool is_good = better == higher ? off >= good : off <= good;
  const bool is_poor = better == higher ? off < poor : off > poor;
  return is_good ? ScoreMark::good : is_poor ? ScoreMark::poor : ScoreMark::fair;
}

std::span<const ScoreRule> score_rules() { return kRules; }

const ScoreRule* find_rule(std::string_view name) {
  for (const ScoreRule& rule : kRules) {
    if (name == rule.name) return &rule;
  }
  return nullptr;
}

const Score* Scorecard::find(std::string_view wanted) const {
  for (const Score& s : scores) {
    if (s.name == wanted) return &s;
  }
  return nullptr;
}

void Scorecard::add(std::string score, double value, ScoreInterval interval) {
  if (!find_rule(score)) throw InternalError(message("no rule for the score \"", score, "\""));
  scores.push_back({std::move(score), value, interval});
}

ScoreMark Scorecard::mark(const Score& score) const {
  return find_rule(score.name)->mark(score.value);
}

std::string Scorecard::verdict() const {
  std::string poor, fair, groups;
  std::set<std::string> judged;
  for (const ScoreRule& rule : kRules) {
    const Score* score = find(rule.name);
    if (!score) continue;
    const ScoreMark m = rule.mark(score->value);
    if (m == ScoreMark::plain) continue;
    if (judged.insert(rule.group).second) groups += message(groups.empty() ? "" : ", ", rule.group);
    std::string* const list = m == ScoreMark::poor ? &poor : m == ScoreMark::fair ? &fair : nullptr;
    if (list) *list += message(list->empty() ? "" : "; ", in_words(rule, *score));
  }
  if (groups.empty()) return "nothing could be judged";
  if (!poor.empty()) {
    return message("not to be trusted: ", poor, fair.empty() ? "" : "; with care: ", fair);
  }
  if (!fair.empty()) return message("usable with care: ", fair);
  return message("trustworthy in ", groups);
}

std::string Scorecard::json() const {
  std::string out = message("{\"schema\": \"cycloid.scorecard/1\", \"model\": ", json_text(model),
                            ", \"truth\": ", json_text(truth), ", \"runs\": ", runs,
                            ", \"steps\": ", steps, ", \"timestep\": ", json_number(timestep),
                            ", \"verdict\": ", json_text(verdict()), ", \"scores\": {");
  bool first = true;
  for (const Score& s : scores) {
    const ScoreRule& rule = *find_rule(s.name);
    out += message(first ? "" : ", ", json_text(s.name), ": {\"value\": ", json_number(s.value),
                   ", \"interval\": [", json_number(s.interval.low), ", ",
                   json_number(s.interval.high), "], \"unit\": ", json_text(rule.unit),
                   ", \"group\": ", json_text(rule.group),
                   ", \"meaning\": ", json_text(rule.meaning), ", \"mark\": \"", mark(s), "\"}");
    first = false;
  }
  out += "}, \"curves\": {";
  first = true;
  for (const ScoreCurve& c : curves) {
    out += message(
        first ? "" : ", ", json_text(c.name), ": {\"x_label\": ", json_text(c.x_label),
        ", \"y_label\": ", json_text(c.y_label), ", \"x\": ", json_list(c.x, json_number),
        ", \"y\": ", json_list(c.y, json_number), ", \"low\": ", json_list(c.low, json_number),
        ", \"high\": ", json_list(c.high, json_number), "}");
    first = false;
  }
  return out + message("}, \"notes\": ", json_list(notes, json_text), "}");
}

std::vector<Scorecard> told_apart(std::span<const Scorecard> cards) {
  std::vector<Scorecard> all(cards.begin(), cards.end());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto same = [&](const Scorecard& c) { return c.model == cards[k].model; };
    const auto before = std::count_if(cards.begin(), cards.begin() + static_cast<int>(k), same);
    if (before > 0) all[k].model += message(" (", before + 1, ")");
  }
  return all;
}

std::string scorecard_table(std::span<const Scorecard> given) {
  const std::vector<Scorecard> cards = told_apart(given);
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> head = {"", ""};
  for (const Scorecard& c : cards) head.insert(head.end(), {c.model, "95 %", ""});
  lines.push_back(head);
  std::string group;
  for (const ScoreRule* rule : rules_of(cards)) {
    if (group != rule->group) lines.push_back({group = rule->group});
    std::vector<std::string> line = {message("  ", rule->name), rule->unit};
    for (const Scorecard& c : cards) {
      const Score* s = c.find(rule->name);
      if (!s) {
        line.insert(line.end(), {"–", "", ""});
        continue;
      }
      line.insert(line.end(), {number(s->value), range(s->interval), mark_text(c.mark(*s))});
    }
    lines.push_back(line);
  }
  std::vector<std::size_t> widths(head.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t k = 0; k < line.size(); ++k) {
      widths[k] = std::max(widths[k], width_of(line[k]));
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text = "  ";
    std::size_t end = 2;
    for (std::size_t k = 0; k < line.size(); ++k) {
      text += line[k];
      end += widths[k] + 2;
      if (k + 1 < line.size()) pad(text, end);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  }
  return out;
}

Page scorecard_page(std::span<const Scorecard> given) {
  if (given.empty()) throw Error("a page of scores needs a card");
  const std::vector<Scorecard> cards = told_apart(given);
  std::string title;
  for (const Scorecard& c : cards) title += message(title.empty() ? "" : " and ", c.model);
  Page page(message("How far to trust ", title));
  const Scorecard& first = cards.front();
  page.lead(message("Against ", first.truth, ": ", first.runs,
                    first.runs == 1 ? " run of " : " runs of ", first.steps, " steps of ",
                    significant(1e3 * first.timestep), " ms."));
  for (const Scorecard& c : cards) page.verdict(message(c.model, ": ", c.verdict(), "."));
  page.section("Pictures");
  add_plots(page, cards);
  page.section("Scores");
  PageTable table;
  table.columns = {"score", "unit"};
  PageTable meanings;
  meanings.columns = {"score", "what it says"};
  for (const Scorecard& c : cards) {
    table.columns.insert(table.columns.end(), {c.model, "95 % interval", ""});
  }
  for (const ScoreRule* rule : rules_of(cards)) {
    std::vector<std::string> row = {rule->name, rule->unit};
    meanings.rows.push_back({rule->name, rule->meaning});
    for (const Scorecard& c : cards) {
      const Score* s = c.find(rule->name);
      row.insert(row.end(), {s ? number(s->value) : "–", s ? range(s->interval) : "",
                             s ? mark_text(c.mark(*s)) : ""});
    }
    table.rows.push_back(row);
  }
  table.note =
      "σ: standard deviations of the truth. Intervals: other runs, by the bootstrap. "
      "✓ good, ~ with care, ✗ poor.";
  page.table(table).section("What they say").table(meanings);
  for (const Scorecard& c : cards) {
    for (const std::string& note : c.notes) page.sentence(message(c.model, ": ", note, "."));
  }
  return page;
}

}  // namespace cycloid::inline evaluate
