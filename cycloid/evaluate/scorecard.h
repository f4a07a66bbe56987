// scorecard.h: what was found about a model, as numbers with intervals and in plain words.
//
// A score has a rule (score_rules): its unit, what it says, and from where on it is good or poor.
// The verdict names what is poor and what is doubtful; a card that has neither is trustworthy. The
// same card as JSON (docs/scorecard.schema.json), as text in columns, and as a page with plots; two
// cards stand side by side.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cycloid/evaluate/bootstrap.h"
#include "cycloid/page/page.h"

namespace cycloid::inline evaluate {

enum class ScoreMark { good, fair, poor, plain };
const char* name(ScoreMark mark);

// Where a score is good. `lower`: at most `good`, poor beyond `poor`; `higher`: likewise the other
// way; `near`: within `good` of `target`; `none`: a number that is neither good nor poor.
struct ScoreRule {
  enum class Better { lower, higher, near, none };
  const char *name, *group, *unit, *meaning;
  Better better = Better::lower;
  double good = 0, poor = 0, target = 0;

  ScoreMark mark(double value) const;
};

// In the order in which they are shown.
std::span<const ScoreRule> score_rules();
// Null where there is none of this name.
const ScoreRule* find_rule(std::string_view name);

struct Score {
  std::string name;
  double value = 0;
  ScoreInterval interval;
};

// y over x with a band, which may be empty.
struct ScoreCurve {
  std::string name, x_label, y_label;
  std::vector<double> x, y, low = {}, high = {};
};

struct Scorecard {
  std::string model, truth;
  std::int64_t runs = 0, steps = 0;
  double timestep = 0;  // [s]
  std::vector<Score> scores;
  std::vector<ScoreCurve> curves;  // "error", "coverage", "gradient_cosine", "gradient_finite"
  std::vector<std::string> notes;  // what was left out, and why

  const Score* find(std::string_view name) const;
  // One value of a score with a rule, and what it would be with other runs.
  void add(std::string name, double value, ScoreInterval interval);
  ScoreMark mark(const Score& score) const;
  // "not to be trusted: energy_drift 0.31 (...); with care: …"
  std::string verdict() const;
  std::string json() const;
};

// Of models with one name the second is "name (2)", and so on: side by side they can be told apart.
std::vector<Scorecard> told_apart(std::span<const Scorecard> cards);

// Names, values with intervals and marks in columns; several cards side by side.
std::string scorecard_table(std::span<const Scorecard> cards);
Page scorecard_page(std::span<const Scorecard> cards);

}  // namespace cycloid::inline evaluate
