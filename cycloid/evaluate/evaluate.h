// Room evaluate: how far to believe a simulator, learned or not.
//
//   const Scorecard card = evaluate_model({"coarse", coarse}, truth, x0, 200);
//   card.verdict();  scorecard_page({&card, 1}).write("card.html");
//
// Any model against any truth, a System or recordings: accuracy, physics that is kept,
// generalisation, gradients, stated uncertainty, plans, cost. Errors are in units of the truth's
// standard deviation of each number. Every score has an interval by the bootstrap over runs; one
// that does not apply is left out.
//
// Where to start reading:
//   evaluate.h          the card of a model
//   contest.h           runs of model and truth side by side
//   forecast_scores.h   scores of forecasts, on plain arrays;   bootstrap.h  their intervals
//   consistency.h       energy, volume, symmetry, contacts;     gradient_scores.h  gradients
//   worth.h             regret of plans, time and what it buys
//   scorecard.h         what a card says: rules, verdict, JSON, table, page
#pragma once

#include <exception>
#include <functional>
#include <utility>

#include "cycloid/evaluate/contest.h"
#include "cycloid/evaluate/scorecard.h"
#include "cycloid/optimise/cost.h"
#include "cycloid/record/recording.h"

namespace cycloid::inline evaluate {

// A larger world of the same kind, and the model in it.
struct LargerWorld {
  Candidate model;
  System truth;
  std::vector<double> x0;  // rows
};

struct EvaluateOptions {
  // Truths with other parameters, by name. A model that has the parameters that differ is told.
  std::vector<std::pair<std::string, System>> shifts = {};
  std::optional<LargerWorld> larger = {};
  std::optional<Cost> cost = {};  // of plans; none: no regret
  int plan_starts = 4;
  std::optional<double> training_seconds = {};
  bool timing = true;  // seconds_per_step, speedup and break_even_runs
  int draws = 200;     // of the bootstrap
  std::uint64_t seed = 0;
  int threads = 0;
  KeepGoing keep_going = {};
  // Whether an exception that is no GradientError says that a System has no gradient; null: none
  // does.
  std::function<bool(const std::exception_ptr&)> lacks_gradient = {};
};

// Throws Error on sizes that do not fit, steps that do not divide each other, and a truth that
// fails.
Scorecard evaluate_model(const Candidate& model, const System& truth, std::span<const double> x0,
                         const Controls<double>& controls, const EvaluateOptions& options = {});

// What was recorded is the truth. A run starts at Recording::x0, else at the first row where rows
// are whole states. A System shows what was recorded by name; a forecast needs whole states,
// recorded at equal times. Throws Error where a start is missing.
Scorecard evaluate_model(const Candidate& model, const std::vector<Recording>& recordings,
                         const EvaluateOptions& options = {});

}  // namespace cycloid::inline evaluate
