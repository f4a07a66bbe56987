// contest.h: a model's runs beside those of the truth, from the same starts under the same inputs.
//
// The truth's step is the clock: a run has T of its steps, and row t of the controls acts in step
// t. A model whose step is k times longer sees the mean of k rows; one whose step is k times
// shorter holds each row for k steps. Both are compared where both have a state. A model may have
// more states than the truth, behind the truth's own: they begin as its initial state has them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/evaluate/forecast_scores.h"

namespace cycloid::inline evaluate {

// (rows, T + 1, states) each; `std` is empty where the model states none.
struct Forecast {
  std::vector<double> mean, std;
};

// x0 (rows, states), controls (rows, T, inputs).
using Forecaster =
    std::function<Forecast(std::span<const double> x0, std::span<const double> controls,
                           std::int64_t rows, std::int64_t steps)>;
// How strange transitions are: larger is stranger. x, next (rows, states), u (rows, inputs).
using Strangeness = std::function<std::vector<double>(
    std::span<const double> x, std::span<const double> u, std::span<const double> next)>;

// What is judged: a System, or whatever else can forecast.
struct Candidate {
  std::string name;
  std::optional<System> system = {};
  Forecaster forecast = {};  // where it is no System, or has forecasts with a spread
  Strangeness novelty = {};  // null: it has none
};

// States (rows, T + 1, states of the truth), NaN behind a failure, in the System's own precision.
// `states`: how many numbers of a state the rows have.
RunRows simulate(const System& system, std::span<const double> x0, std::span<const double> controls,
                 std::int64_t rows, std::int64_t steps, std::int64_t states, int threads,
                 const KeepGoing& keep_going, std::span<const double> params = {});

// x0 rows with what the System has besides the first `states` numbers.
std::vector<double> padded_states(const System& system, std::span<const double> x0,
                                  std::int64_t rows, std::int64_t states);

// How two steps fit into each other.
struct StepRatio {
  std::int64_t coarser = 1;  // truth steps in a step of the model
  std::int64_t finer = 1;    // model steps in a step of the truth
};
// Throws Error where neither divides the other.
StepRatio step_ratio(double model, double truth);

// Controls (rows, T, inputs) of the truth as the model sees them; T / coarser x finer steps.
std::vector<double> seen_controls(std::span<const double> controls, std::int64_t rows,
                                  std::int64_t steps, std::int64_t inputs, const StepRatio& ratio);

struct Contest {
  Candidate model;
  System truth;                                // in double
  std::int64_t runs = 0, steps = 0;            // T, a multiple of ratio.coarser
  std::vector<double> x0 = {}, controls = {};  // (runs, states), (runs, T, inputs)
  StepRatio ratio = {};
  int threads = 0;
  KeepGoing keep_going = {};
  RunRows every = {};                  // the truth's states, all T + 1
  RunRows states = {};                 // ... where both have one
  RunRows forecast = {}, spread = {};  // the model's there; spread may be empty
  std::vector<double> scale = {};      // (tangents) the truth's standard deviation

  std::int64_t n() const { return truth.states().size(); }
  std::int64_t m() const { return truth.inputs().size(); }
  double sample_time() const { return truth.timestep() * static_cast<double>(ratio.coarser); }
};

// Runs both. Throws Error on sizes that do not fit.
Contest hold_contest(const Candidate& model, const System& truth, std::span<const double> x0,
                     const Controls<double>& controls, int threads, const KeepGoing& keep_going,
                     std::span<const double> params = {});

// The standard deviation of each tangent number over all samples; 1 where it does not vary.
std::vector<double> standard_deviations(const Space& space, const RunRows& rows);

// (forecast - truth) in units of `scale`, in tangents. A forecast that is not finite counts as far
// away as survival allows (ten ranges).
RunRows scaled_errors(const Space& space, const RunRows& truth, const RunRows& forecast,
                      std::span<const double> scale);

// Of each run, whether all states are finite and within ten ranges of the truth.
std::vector<double> survivors(const RunRows& truth, const RunRows& forecast);

}  // namespace cycloid::inline evaluate
