#include "cycloid/evaluate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cycloid/adjoint/observe.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/evaluate/consistency.h"
#include "cycloid/evaluate/gradient_scores.h"
#include "cycloid/evaluate/worth.h"

namespace cycloid::inline evaluate {
namespace {

using Numbers = std::vector<double>;
using Picked = std::span<const std::int64_t>;

constexpr double kValidError = 0.4;          // [σ]
constexpr std::int64_t kMostSpectrum = 512;  // samples of a spectrum
constexpr std::int64_t kCloud = 64;          // points of a distribution
constexpr int kCloudDraws = 16;
constexpr std::int64_t kMostOneStep = 4000;  // transitions
constexpr std::int64_t kLongRuns = 16;       // that are run ten times as long
constexpr std::int64_t kMostNumbers = 4'000'000;
constexpr std::int64_t kNoveltySteps = 32;  // of each run
constexpr double kLevels[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};

double mean_of(const Numbers& values, Picked runs) {
  double sum = 0;
  for (const std::int64_t r : runs) sum += values[at(r)];
  return sum / static_cast<double>(runs.size());
}

double median_of(const Numbers& values, Picked runs) {
  Numbers own;
  for (const std::int64_t r : runs) own.push_back(values[at(r)]);
  return quantile(own, 0.5);
}

// Sums over a run, so that resampled runs need no second look.
struct RunSums {
  Numbers sum, count;

  double mean(Picked runs) const {
    double s = 0, n = 0;
    for (const std::int64_t r : runs) s += sum[at(r)], n += count[at(r)];
    return s / n;
  }
};

// f of every number of every sample from `first` on that was measured.
template <class F>
RunSums sums_of(const RunRows& errors, std::int64_t first, const F& f) {
  RunSums out{Numbers(at(errors.runs), 0.0), Numbers(at(errors.runs), 0.0)};
  for (std::int64_t r = 0; r < errors.runs; ++r) {
    for (std::int64_t s = first; s < errors.samples; ++s) {
      for (std::int64_t k = 0; k < errors.numbers; ++k) {
        const double e = errors.at(r, s)[k];
        if (std::isnan(e)) continue;
        out.sum[at(r)] += f(e, (r * errors.samples + s) * errors.numbers + k);
        out.count[at(r)] += 1;
      }
    }
  }
  return out;
}

RunSums squares_of(const RunRows& errors, std::int64_t first = 1) {
  return sums_of(errors, first, [](double e, std::int64_t) { return e * e; });
}

class CardMaker {
 public:
  CardMaker(Scorecard& card, const EvaluateOptions& options) : card_(card), options_(options) {}

  void add(const char* name, std::int64_t runs, const RunStatistic& statistic) {
    card_.add(name, of_all_runs(runs, statistic),
              bootstrap(runs, statistic, options_.draws, options_.seed, options_.keep_going));
  }
  void add_mean(const char* name, const RunNumbers& values) {
    if (!values) return;
    add(name, static_cast<std::int64_t>(values->size()),
        [&](Picked runs) { return mean_of(*values, runs); });
  }
  void add_median(const char* name, const Numbers& values) {
    add(name, static_cast<std::int64_t>(values.size()),
        [&](Picked runs) { return median_of(values, runs); });
  }
  void note(std::string text) { card_.notes.push_back(std::move(text)); }

  // error, valid_time, survival, and the curve of errors. times (runs, samples) since the start.
  double accuracy(const RunRows& errors, const Numbers& alive, const Numbers& times) {
    const RunSums squares = squares_of(errors);
    add("error", errors.runs, [&](Picked runs) { return std::sqrt(squares.mean(runs)); });
    const std::vector<std::int64_t> first = first_beyond(errors, kValidError);
    Numbers valid;
    for (std::int64_t r = 0; r < errors.runs; ++r) {
      const std::int64_t s = std::min(first[at(r)], errors.samples - 1);
      valid.push_back(times[at(r * errors.samples + s)]);
    }
    add_median("valid_time", valid);
    add_mean("survival", alive);
    ScoreCurve curve{"error", "time [s]", "error [σ]", {}, {}};
    for (std::int64_t s = 0; s < errors.samples; ++s) {
      Numbers own;
      for (std::int64_t r = 0; r < errors.runs; ++r) {
        own.push_back(rms({errors.at(r, s), at(errors.numbers)}));
      }
      const double middle = quantile(own, 0.5);
      if (std::isnan(middle)) continue;
      curve.x.push_back(times[at(s)]);
      curve.y.push_back(middle);
      curve.low.push_back(quantile(own, 0.1));
      curve.high.push_back(quantile(own, 0.9));
    }
    card_.curves.push_back(std::move(curve));
    return std::sqrt(squares.mean(everyone(errors.runs)));
  }

  // spectrum_error and sinkhorn, of rows in units of the truth's standard deviation.
  void distribution(RunRows truth, RunRows forecast) {
    for (std::size_t i = 0; i < truth.values.size(); ++i) {
      if (!std::isfinite(truth.values[i])) return;
      if (!std::isfinite(forecast.values[i])) {
        note("spectrum_error and sinkhorn are left out: a run of the model is lost");
        return;
      }
    }
    if (truth.samples >= 16) spectrum(truth, forecast);
    clouds(truth, forecast);
  }

  // coverage, crps, spread over skill, sharpness; errors and spread in units of σ.
  void uncertainty(const RunRows& errors, const RunRows& spread) {
    const auto std_at = [&](std::int64_t i) { return spread.values[at(i)]; };
    ScoreCurve curve{"coverage", "stated", "found", {}, {}};
    for (const double level : kLevels) {
      const double z = normal_quantile(0.5 * (1 + level));
      const RunSums inside = sums_of(errors, 1, [&](double e, std::int64_t i) {
        return std::abs(e) <= z * std_at(i) ? 1.0 : 0.0;
      });
      curve.x.push_back(level), curve.y.push_back(inside.mean(everyone(errors.runs)));
      const char* name = level == 0.5    ? "coverage_50"
                         : level == 0.9  ? "coverage_90"
                         : level == 0.95 ? "coverage_95"
                                         : nullptr;
      if (name) add(name, errors.runs, [&](Picked runs) { return inside.mean(runs); });
    }
    card_.curves.push_back(std::move(curve));
    const RunSums crps =
        sums_of(errors, 1, [&](double e, std::int64_t i) { return gaussian_crps(e, std_at(i)); });
    add("crps", errors.runs, [&](Picked runs) { return crps.mean(runs); });
    const RunSums skill = squares_of(errors),
                  wide = sums_of(errors, 1,
                                 [&](double, std::int64_t i) { return std_at(i) * std_at(i); });
    add("spread_skill", errors.runs,
        [&](Picked runs) { return std::sqrt(wide.mean(runs) / skill.mean(runs)); });
    const RunSums sharp = sums_of(errors, 1, [&](double, std::int64_t i) { return std_at(i); });
    add("sharpness", errors.runs, [&](Picked runs) { return sharp.mean(runs); });
  }

 private:
  std::vector<std::int64_t> everyone(std::int64_t runs) const {
    std::vector<std::int64_t> all(at(runs));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  void spectrum(const RunRows& truth, const RunRows& forecast) {
    const auto head = [](const RunRows& rows) {
      RunRows out{rows.runs, std::min(rows.samples, kMostSpectrum), rows.numbers, {}};
      for (std::int64_t r = 0; r < rows.runs; ++r) {
        out.values.insert(out.values.end(), rows.at(r, 0),
                          rows.at(r, 0) + out.samples * rows.numbers);
      }
      return out;
    };
    const Numbers best = power_spectra(head(truth)), own = power_spectra(head(forecast));
    const std::size_t width = best.size() / at(truth.runs);
    if (!(std::accumulate(best.begin(), best.end(), 0.0) > 0)) return;
    add("spectrum_error", truth.runs, [&](Picked runs) {
      Numbers a(width, 0.0), b(width, 0.0);
      for (const std::int64_t r : runs) {
        for (std::size_t f = 0; f < width; ++f) {
          a[f] += own[at(r) * width + f], b[f] += best[at(r) * width + f];
        }
      }
      return spectrum_error(a, b);
    });
  }

  // Points of the second half of runs.
  void clouds(const RunRows& truth, const RunRows& forecast) {
    const std::int64_t from = truth.samples / 2, room = truth.samples - from;
    if (truth.runs * room < 16) return;
    const auto cloud = [&](const RunRows& rows, Picked runs, std::uint64_t seed) {
      Numbers out;
      RandomStream random(options_.seed, 1, seed);
      const std::int64_t count = std::min(kCloud, truth.runs * room);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t r = runs[at(i * static_cast<std::int64_t>(runs.size()) / count)];
        const std::int64_t s =
            from + static_cast<std::int64_t>(random.uniform() * static_cast<double>(room));
        const double* x = rows.at(r, std::min(s, rows.samples - 1));
        out.insert(out.end(), x, x + rows.numbers);
      }
      return out;
    };
    std::uint64_t draw = 0;
    const RunStatistic statistic = [&](Picked runs) {
      ++draw;  // the same times of both: what differs is the model
      return sinkhorn_distance(cloud(forecast, runs, draw), cloud(truth, runs, draw),
                               truth.numbers);
    };
    const double value = of_all_runs(truth.runs, statistic);
    card_.add("sinkhorn", value,
              bootstrap(truth.runs, statistic, kCloudDraws, options_.seed, options_.keep_going));
  }

  Scorecard& card_;
  const EvaluateOptions& options_;
};

// Rows in units of σ, of states without quaternions; those have their numbers as they are.
RunRows in_units(const Contest& c, const RunRows& rows) {
  RunRows out = rows;
  if (!c.truth.states().flat()) return out;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] /= c.scale[i % at(rows.numbers)];
  }
  return out;
}

Numbers sample_times(const Contest& c) {
  Numbers out;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    for (std::int64_t s = 0; s < c.states.samples; ++s) {
      out.push_back(static_cast<double>(s) * c.sample_time());
    }
  }
  return out;
}

double error_of(const Contest& c) {
  RunRows e = scaled_errors(c.truth.states(), c.states, c.forecast, c.scale);
  const RunSums squares = squares_of(e);
  return std::sqrt(std::accumulate(squares.sum.begin(), squares.sum.end(), 0.0) /
                   std::accumulate(squares.count.begin(), squares.count.end(), 0.0));
}

// From each state of the truth one step ahead, of each run as many.
void one_step(CardMaker& maker, const Contest& c) {
  const std::int64_t stride = c.ratio.coarser, count = (c.steps - stride) / stride + 1;
  const std::int64_t skip = std::max<std::int64_t>(1, c.runs * count / kMostOneStep);
  Numbers x, u;
  RunRows after{c.runs, 0, c.n(), {}};
  for (std::int64_t r = 0; r < c.runs; ++r) {
    after.samples = 0;
    for (std::int64_t k = 0; k < count; k += skip, ++after.samples) {
      const std::int64_t t = k * stride;
      x.insert(x.end(), c.every.at(r, t), c.every.at(r, t) + c.n());
      const double* row = c.controls.data() + (r * c.steps + t) * c.m();
      u.insert(u.end(), row, row + stride * c.m());
      after.values.insert(after.values.end(), c.every.at(r, t + stride),
                          c.every.at(r, t + stride) + c.n());
    }
  }
  const std::int64_t rows = c.runs * after.samples;
  RunRows found{c.runs, after.samples, c.n(), {}};
  if (c.model.forecast) {
    const Forecast f = c.model.forecast(x, u, rows, 1);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto from = f.mean.begin() + (2 * r + 1) * c.n();
      found.values.insert(found.values.end(), from, from + c.n());
    }
  } else {
    const System& system = *c.model.system;
    const Numbers own =
        system.inputs().size() > 0 ? seen_controls(u, rows, stride, c.m(), c.ratio) : Numbers();
    const RunRows run =
        simulate(system, x, own, rows, c.ratio.finer, c.n(), c.threads, c.keep_going);
    for (std::int64_t r = 0; r < rows; ++r) {
      found.values.insert(found.values.end(), run.at(r, c.ratio.finer),
                          run.at(r, c.ratio.finer) + c.n());
    }
  }
  const RunSums squares = squares_of(scaled_errors(c.truth.states(), after, found, c.scale), 0);
  maker.add("one_step_error", c.runs, [&](Picked runs) { return std::sqrt(squares.mean(runs)); });
}

// Calls f; where it ends since a System has no gradient, says so and returns nothing.
template <class F>
auto unless_without_gradient(CardMaker& maker, const EvaluateOptions& options, const char* what,
                             const F& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const GradientError& e) {
    maker.note(message(what, " left out: ", e.what()));
  } catch (...) {
    if (!options.lacks_gradient || !options.lacks_gradient(std::current_exception())) throw;
    maker.note(message(what, " left out: a System has no gradient"));
  }
  return std::nullopt;
}

void physics(CardMaker& maker, const Contest& c, const EvaluateOptions& options) {
  maker.add_mean("energy_drift", energy_drift(c));
  maker.add_mean("momentum_drift", momentum_drift(c));
  maker.add_mean("divergence", divergence(c));
  const JacobianScores steps =
      unless_without_gradient(maker, options, "volume and symplecticity are", [&] {
        return jacobian_scores(c);
      }).value_or(JacobianScores());
  maker.add_mean("volume_drift", steps.volume);
  maker.add_mean("symplecticity", steps.symplecticity);
  maker.add_mean("time_reversal", time_reversal(c));
  maker.add_mean("penetration", penetration(c));
  maker.add_mean("limit_violation", limit_violation(c));
  maker.add_mean("equivariance", equivariance(c));
}

// The model with the parameters in which `other` differs from `truth`, where it has them.
Candidate told(const Candidate& model, const System& truth, const System& other) {
  if (!model.system) return model;
  Candidate out = model;
  SystemParts parts = model.system->parts();
  std::map<std::string, Numbers> values;
  for (const Parameter& p : truth.parameters().all()) {
    if (p.name == kTimestepName || !other.parameters().contains(p.name) ||
        !model.system->parameters().contains(p.name)) {
      continue;
    }
    const Parameter& there = other.parameters().find(p.name);
    if (there.size != p.size || model.system->parameters().find(p.name).size != p.size) continue;
    const auto numbers = [](const System& s, const Parameter& which) {
      const auto from = s.parameters().default_values().begin() + which.offset;
      return Numbers(from, from + which.size);
    };
    const Numbers now = numbers(other, there);
    if (now != numbers(truth, p)) values[p.name] = now;
  }
  if (values.empty()) return model;
  parts.parameters = with_defaults(parts.parameters, values);
  out.system = System(std::move(parts));
  return out;
}

void check_shift(const std::string& name, const System& shift, const System& truth) {
  if (shift.states().size() == truth.states().size() &&
      shift.inputs().size() == truth.inputs().size()) {
    return;
  }
  throw Error(message("evaluate: the shift \"", name, "\" has ", shift.states().size(),
                      " states and ", shift.inputs().size(), " inputs, the truth has ",
                      truth.states().size(), " and ", truth.inputs().size()));
}

// Of each run, the mean over some of its steps.
Numbers strangeness(const Contest& c) {
  Numbers out;
  const std::int64_t count = std::min(kNoveltySteps, c.steps);
  for (std::int64_t r = 0; r < c.runs; ++r) {
    Numbers x, u, next;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t t = k * c.steps / count;
      x.insert(x.end(), c.every.at(r, t), c.every.at(r, t) + c.n());
      next.insert(next.end(), c.every.at(r, t + 1), c.every.at(r, t + 1) + c.n());
      const double* row = c.controls.data() + (r * c.steps + t) * c.m();
      u.insert(u.end(), row, row + c.m());
    }
    const Numbers found = c.model.novelty(x, u, next);
    out.push_back(std::accumulate(found.begin(), found.end(), 0.0) /
                  static_cast<double>(found.size()));
  }
  return out;
}

void generalisation(CardMaker& maker, const Contest& c, const EvaluateOptions& options,
                    double error) {
  Numbers gaps, usual;
  std::vector<Numbers> strange;
  for (const auto& [name, given] : options.shifts) {
    check_shift(name, given, c.truth);
    const System shift = given.in_double();
    const Controls<double> controls(c.controls, c.steps);
    Contest other =
        hold_contest(told(c.model, c.truth, shift), shift, c.x0, controls, c.threads, c.keep_going);
    other.scale = c.scale;
    gaps.push_back(error_of(other) - error);
    if (c.model.novelty) strange.push_back(strangeness(other));
  }
  if (!gaps.empty()) maker.add_mean("gap_parameters", gaps);
  if (!strange.empty()) {
    usual = strangeness(c);
    maker.add("novelty_auroc", c.runs, [&](Picked runs) {
      const auto of = [&](const Numbers& all) {
        Numbers own;
        for (const std::int64_t r : runs) own.push_back(all[at(r)]);
        return own;
      };
      double sum = 0;
      for (const Numbers& s : strange) sum += auroc(of(usual), of(s));
      return sum / static_cast<double>(strange.size());
    });
  }
  const std::int64_t runs = std::min(c.runs, kLongRuns), steps = 10 * c.steps;
  if (runs * steps * c.n() <= kMostNumbers) {
    Numbers u;
    for (std::int64_t r = 0; r < runs; ++r) {
      for (int k = 0; k < 10; ++k) {
        u.insert(u.end(), c.controls.begin() + r * c.steps * c.m(),
                 c.controls.begin() + (r + 1) * c.steps * c.m());
      }
    }
    const std::span<const double> x0(c.x0.data(), at(runs * c.n()));
    try {
      const Contest longer =
          hold_contest(c.model, c.truth, x0, Controls<double>(u, steps), c.threads, c.keep_going);
      const RunSums far =
          squares_of(scaled_errors(c.truth.states(), longer.states, longer.forecast, c.scale));
      const RunSums near =
          squares_of(scaled_errors(c.truth.states(), c.states, c.forecast, c.scale));
      maker.add("gap_horizon", runs, [&](Picked picked) {
        return std::sqrt(far.mean(picked)) - std::sqrt(near.mean(picked));
      });
    } catch (const Error& e) {
      maker.note(message("gap_horizon is left out: ", e.what()));
    }
  }
  if (options.larger) {
    const LargerWorld& larger = *options.larger;
    const Contest other = hold_contest(larger.model, larger.truth, larger.x0,
                                       Controls<double>(c.steps), c.threads, c.keep_going);
    const RunSums squares =
        squares_of(scaled_errors(other.truth.states(), other.states, other.forecast, other.scale));
    maker.add("gap_size", other.runs,
              [&](Picked picked) { return std::sqrt(squares.mean(picked)) - error; });
  }
}

void gradients(CardMaker& maker, Scorecard& card, const Contest& c,
               const EvaluateOptions& options) {
  const std::optional<GradientScores> found =
      unless_without_gradient(maker, options, "gradients are", [&] {
        return gradient_scores(c, options.seed);
      }).value_or(std::nullopt);
  if (!found) return;
  maker.add_median("gradient_cosine", found->cosine.back());
  maker.add_median("gradient_error", found->error);
  if (!found->moved_cosine.empty()) maker.add_median("gradient_perturbed", found->moved_cosine);
  if (!found->difference.empty()) maker.add_median("gradient_difference", found->difference);
  maker.add_mean("gradient_finite", found->finite);
  maker.add_median("gradient_horizon", found->horizon);
  ScoreCurve curve{"gradient_cosine", "horizon [s]", "cosine", {}, {}};
  for (std::size_t k = 0; k < found->samples.size(); ++k) {
    curve.x.push_back(static_cast<double>(found->samples[k]) * c.sample_time());
    curve.y.push_back(quantile(found->cosine[k], 0.5));
    curve.low.push_back(quantile(found->cosine[k], 0.1));
    curve.high.push_back(quantile(found->cosine[k], 0.9));
  }
  card.curves.push_back(std::move(curve));
  ScoreCurve finite{"gradient_finite", "horizon [s]", "share", {}, {}};
  for (std::size_t k = 0; k < found->samples.size(); ++k) {
    finite.x.push_back(static_cast<double>(found->samples[k]) * c.sample_time());
    finite.y.push_back(found->finite_at[k]);
  }
  card.curves.push_back(std::move(finite));
}

void worth(CardMaker& maker, const Contest& c, const EvaluateOptions& options, double error) {
  if (options.cost) {
    if (const auto regret = plan_regret(c, *options.cost, options.plan_starts)) {
      maker.add_mean("regret", regret->regret);
      maker.add_mean("regret_share", regret->share);
    } else {
      maker.note(
          "regret is left out: plans need a System with the truth's states, inputs and step");
    }
  }
  if (!options.timing) return;
  const RunCost cost = run_cost(c, error);
  maker.add_mean("seconds_per_step", Numbers{cost.seconds_per_step});
  maker.add_mean("speedup", Numbers{cost.speedup});
  if (!options.training_seconds) return;
  const double runs = cost.saved_seconds > 0 ? *options.training_seconds / cost.saved_seconds
                                             : std::numeric_limits<double>::infinity();
  maker.add_mean("break_even_runs", Numbers{runs});
  if (!(cost.saved_seconds > 0))
    maker.note("training never pays: the truth is as fast at this error");
}

// Recording::x0, or the first row where it has the whole state.
Numbers start_of(const Candidate& model, const Recording& r, const std::string& label) {
  if (!r.x0.empty()) return r.x0;
  const std::size_t m = r.columns();
  Numbers row(r.values.begin(), r.values.begin() + static_cast<std::ptrdiff_t>(m)), x0 = row;
  if (!r.names.empty() && model.system) {
    x0.assign(at(model.system->states().size()), NAN);
    for (const RecordedOutput& o : outputs_of(*model.system, r)) {
      std::size_t from = static_cast<std::size_t>(o.column);
      for (const StateNumbers& n : find_observable(*model.system, o.name).of_state) {
        for (int k = 0; k < n.count; ++k) x0[static_cast<std::size_t>(n.from + k)] = row[from++];
      }
    }
  }
  if (std::all_of(x0.begin(), x0.end(), [](double v) { return std::isfinite(v); })) return x0;
  throw Error(message("evaluate: ", label, " has no x0, and its first row is no whole state from ",
                      "which the model could start"));
}

// Of one recording: the model's forecast of what was measured, sample by sample.
Forecast forecast_recording(const Candidate& model, const Recording& r, const std::string& label,
                            const EvaluateOptions& options) {
  const std::size_t S = r.samples();
  const Numbers x0 = start_of(model, r, label);
  if (model.forecast) {
    Numbers u(r.controls.begin(),
              r.controls.empty()
                  ? r.controls.end()
                  : r.controls.end() - static_cast<std::ptrdiff_t>(r.controls.size() / S));
    return model.forecast(x0, u, 1, static_cast<std::int64_t>(S) - 1);
  }
  const System system = model.system->in_double();
  check_recording(system, r, label);
  const double h = system.timestep(), duration = r.times.back() - r.times.front();
  const std::int64_t steps =
      std::max<std::int64_t>(1, std::llround(std::ceil(duration / h - 1e-6)));
  const std::size_t m = static_cast<std::size_t>(system.inputs().size());
  Numbers u, times;
  std::size_t row = 0;
  for (std::int64_t t = 0; t < steps && m > 0 && !r.controls.empty(); ++t) {
    const double now = r.times.front() + (static_cast<double>(t) + 1e-6) * h;
    while (row + 2 < S && r.times[row + 1] <= now) ++row;
    const auto from = r.controls.begin() + static_cast<std::ptrdiff_t>(row * m);
    u.insert(u.end(), from, from + static_cast<std::ptrdiff_t>(m));
  }
  for (const double t : r.times) {
    times.push_back(std::min(t - r.times.front(), static_cast<double>(steps) * h));
  }
  const Controls<double> controls =
      u.empty() ? Controls<double>(steps) : Controls<double>(u, steps);
  const Trajectory<double> run =
      rollout(system, x0, controls, {},
              {.times = times, .threads = options.threads, .keep_going = options.keep_going});
  Forecast out;
  const Numbers states(run.states().begin(), run.states().end());
  if (r.names.empty()) {
    out.mean = states;
  } else {
    out.mean = observe(Observer(system, r.names), {.states = states},
                       {options.threads, options.keep_going})
                   .values();
  }
  for (const Failure& f : run.report().failed) {
    const std::size_t width = out.mean.size() / S;
    for (std::size_t s = 0; s < S; ++s) {
      if (times[s] <= static_cast<double>(f.step) * h) continue;
      std::fill_n(out.mean.begin() + static_cast<std::ptrdiff_t>(s * width), width, NAN);
    }
  }
  return out;
}

}  // namespace

Scorecard evaluate_model(const Candidate& model, const System& truth, std::span<const double> x0,
                         const Controls<double>& controls, const EvaluateOptions& options) {
  const Contest c = hold_contest(model, truth, x0, controls, options.threads, options.keep_going);
  Scorecard card;
  card.model = model.name, card.truth = truth.name();
  card.runs = c.runs, card.steps = c.steps, card.timestep = truth.timestep();
  CardMaker maker(card, options);
  one_step(maker, c);
  const RunRows errors = scaled_errors(c.truth.states(), c.states, c.forecast, c.scale);
  const double error = maker.accuracy(errors, survivors(c.states, c.forecast), sample_times(c));
  maker.distribution(in_units(c, c.states), in_units(c, c.forecast));
  physics(maker, c, options);
  generalisation(maker, c, options, error);
  gradients(maker, card, c, options);
  if (!c.spread.empty() && c.truth.states().flat()) {
    maker.uncertainty(errors, in_units(c, c.spread));
  }
  worth(maker, c, options, error);
  return card;
}

Scorecard evaluate_model(const Candidate& model, const std::vector<Recording>& recordings,
                         const EvaluateOptions& options) {
  if (recordings.empty()) throw Error("evaluate: no recordings were given");
  Scorecard card;
  card.model = model.name;
  card.truth = message(recordings.size(), recordings.size() == 1 ? " recording" : " recordings");
  card.runs = static_cast<std::int64_t>(recordings.size());
  std::int64_t samples = 0;
  const std::int64_t width = static_cast<std::int64_t>(recordings.front().columns());
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const std::int64_t own = static_cast<std::int64_t>(recordings[i].samples());
    if (own < 2 || static_cast<std::int64_t>(recordings[i].columns()) != width) {
      throw Error(message("evaluate: recording ", i, " has ", own, " samples of ",
                          recordings[i].columns(), " numbers; expected at least 2 samples of ",
                          width));
    }
    samples = std::max(samples, own);
  }
  RunRows truth{card.runs, samples, width, {}}, mean = truth, spread = truth;
  Numbers times;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const Recording& r = recordings[i];
    const Forecast f = forecast_recording(model, r, message("recording ", i), options);
    if (f.mean.size() != r.values.size() || (!f.std.empty() && f.std.size() != r.values.size())) {
      throw Error(message("evaluate: the forecast of recording ", i, " has ", f.mean.size(),
                          " numbers, the recording ", r.values.size()));
    }
    const std::size_t missing = at(samples * width) - r.values.size();
    const auto append = [&](Numbers& to, const Numbers& from, bool hole) {
      to.insert(to.end(), from.begin(), from.end());
      for (std::size_t k = 0; k < missing; ++k) {
        to.push_back(hole ? NAN : from[from.size() - at(width) + k % at(width)]);
      }
    };
    append(truth.values, r.values, true);
    append(mean.values, f.mean, false);
    if (!f.std.empty()) append(spread.values, f.std, false);
    for (std::int64_t s = 0; s < samples; ++s) {
      times.push_back(r.times[std::min(at(s), r.samples() - 1)] - r.times.front());
    }
  }
  // Columns have no manifold: what was measured is compared as it is.
  Numbers scale;
  RunRows errors = mean;
  for (std::int64_t k = 0; k < width; ++k) {
    double sum = 0, squares = 0, count = 0, low = 0, high = 0;
    for (std::size_t i = at(k); i < truth.values.size(); i += at(width)) {
      const double v = truth.values[i];
      if (std::isnan(v)) continue;
      low = count == 0 ? v : std::min(low, v), high = count == 0 ? v : std::max(high, v);
      sum += v, squares += v * v, count += 1;
    }
    const double variance = squares / count - sum / count * (sum / count);
    scale.push_back(variance > 1e-24 ? std::sqrt(variance) : 1);
    for (std::size_t i = at(k); i < truth.values.size(); i += at(width)) {
      const bool finite = std::isfinite(mean.values[i]);
      errors.values[i] = (finite ? mean.values[i] - truth.values[i]
                                 : truth.values[i] - truth.values[i] + 10 * (high - low)) /
                         scale.back();
      mean.values[i] /= scale.back(), truth.values[i] /= scale.back();
      if (!spread.empty()) spread.values[i] /= scale.back();
    }
  }
  card.steps = samples - 1;
  card.timestep = recordings.front().times[1] - recordings.front().times[0];
  CardMaker maker(card, options);
  maker.accuracy(errors, survivors(truth, mean), times);
  maker.distribution(truth, mean);
  if (!spread.empty()) maker.uncertainty(errors, spread);
  return card;
}

}  // namespace cycloid::inline evaluate
