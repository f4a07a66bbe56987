#include "cycloid/evaluate/scorecard.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "cycloid/base/error.h"

using namespace cycloid;

TEST_CASE("score_rules: names are unique, and each marks good, fair and poor in its direction") {
  std::set<std::string> names;
  for (const ScoreRule& rule : score_rules()) {
    CHECK(names.insert(rule.name).second);
    if (rule.better == ScoreRule::Better::none) {
      CHECK(rule.mark(1) == ScoreMark::plain);
      continue;
    }
    CHECK(rule.mark(NAN) == ScoreMark::poor);
    const bool near = rule.better == ScoreRule::Better::near;
    const double base = near ? rule.target : 0;
    CHECK(rule.mark(base + (near ? 0.999 : 1) * rule.good) == ScoreMark::good);
    const double sign = rule.better == ScoreRule::Better::higher ? -1 : 1;
    CHECK(rule.mark(base + rule.poor + sign * 1e-9) == ScoreMark::poor);
    CHECK(rule.mark(base + 0.5 * (rule.good + rule.poor)) == ScoreMark::fair);
  }
  CHECK(find_rule("error") != nullptr);
  CHECK(find_rule("eror") == nullptr);
}

TEST_CASE(
    "Scorecard: the verdict names what is poor, then what is fair; unknown scores are a fault") {
  Scorecard card;
  card.model = "m", card.truth = "t";
  CHECK(card.verdict() == "nothing could be judged");
  card.add("error", 0.01, {0, 0.02});
  CHECK(card.verdict() == "trustworthy in accuracy");
  card.add("gradient_cosine", 0.9, {0.8, 0.95});
  CHECK(card.verdict().starts_with("usable with care: gradient_cosine 0.900"));
  card.add("energy_drift", 0.5, {0.4, 0.6});
  CHECK(card.verdict().starts_with("not to be trusted: energy_drift 0.500"));
  CHECK_THROWS_AS(card.add("nothing", 1, {}), InternalError);
}

TEST_CASE("Scorecard: JSON escapes texts and writes null for what is not finite") {
  Scorecard card;
  card.model = "a \"b\"\n", card.truth = "t";
  card.add("break_even_runs", INFINITY, {1, INFINITY});
  const std::string json = card.json();
  CHECK(json.find("\"model\": \"a \\\"b\\\"\\u000a\"") != json.npos);
  CHECK(json.find("\"value\": null, \"interval\": [1, null]") != json.npos);
}

TEST_CASE(
    "scorecard_table, scorecard_page: two cards side by side, with a dash where one has none") {
  Scorecard a, b;
  a.model = "first", b.model = "second", a.truth = b.truth = "t";
  a.add("error", 0.25, {0.2, 0.3});
  b.add("survival", 1, {1, 1});
  a.curves.push_back({"error", "time [s]", "error [σ]", {0, 1}, {0, 0.2}, {0, 0.1}, {0, 0.3}});
  const std::vector<Scorecard> cards = {a, b};
  const std::string table = scorecard_table(cards);
  CHECK(table.find("first") < table.find("second"));
  CHECK(table.find("0.250") != table.npos);
  CHECK(table.find("–") != table.npos);
  const std::string html = scorecard_page(cards).html();
  CHECK(html.find("first: usable with care") != html.npos);
  CHECK(html.find("second: trustworthy") != html.npos);
  CHECK(html.find("id=\"error\"") != html.npos);
  CHECK_THROWS_AS(scorecard_page({}), Error);
  b.model = "first";
  CHECK(scorecard_page(std::vector<Scorecard>{a, b}).html().find("first (2): trust") != html.npos);
  CHECK(scorecard_table(std::vector<Scorecard>{a, b}).find("first (2)") != table.npos);
}
