#include "cycloid/evaluate/contest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/error.h"

namespace cycloid::inline evaluate {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kRanges = 10;  // beyond which a run is lost
constexpr double kLeastSpread = 1e-12;

template <class T>
RunRows simulate_in(const System& system, std::span<const double> start,
                    std::span<const double> controls, std::int64_t rows, std::int64_t steps,
                    std::int64_t states, const RolloutOptions& options,
                    std::span<const double> params) {
  const std::vector<T> x0(start.begin(), start.end()), u(controls.begin(), controls.end());
  const Controls<T> given = u.empty() ? Controls<T>(steps) : Controls<T>(u, steps);
  const Trajectory<T> run = rollout(system, std::span<const T>(x0), given, params, options);
  RunRows out{rows, steps + 1, states, {}};
  out.values.reserve(at(rows * (steps + 1) * states));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t t = 0; t <= steps; ++t) {
      const std::span<const T> x = run.state(r, t);
      out.values.insert(out.values.end(), x.begin(), x.begin() + states);
    }
  }
  for (const Failure& f : run.report().failed) {
    for (std::int64_t t = f.step + 1; t <= steps; ++t) {
      std::fill_n(out.at(f.environment, t), states, kNoNumber);
    }
  }
  return out;
}

RunRows every_kth(const RunRows& rows, std::int64_t k) {
  RunRows out{rows.runs, (rows.samples - 1) / k + 1, rows.numbers, {}};
  for (std::int64_t r = 0; r < rows.runs; ++r) {
    for (std::int64_t s = 0; s < out.samples; ++s) {
      const double* x = rows.at(r, s * k);
      out.values.insert(out.values.end(), x, x + rows.numbers);
    }
  }
  return out;
}

void check_model(const System& model, const System& truth, std::span<const double> controls) {
  const std::vector<Block>&own = model.states().blocks(), &wanted = truth.states().blocks();
  bool fits = model.states().size() >= truth.states().size();
  if (model.states().size() > truth.states().size()) {  // the truth's own blocks come first
    fits = own.size() >= wanted.size();
    for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
      fits = own[i].name == wanted[i].name && own[i].size == wanted[i].size;
    }
  }
  if (!fits) {
    throw Error(message("evaluate: the model \"", model.name(), "\" has ", model.states().size(),
                        " states, the truth \"", truth.name(), "\" has ", truth.states().size()));
  }
  const bool idle = std::all_of(controls.begin(), controls.end(), [](double u) { return u == 0; });
  if (model.inputs().size() == truth.inputs().size() || (model.inputs().size() == 0 && idle))
    return;
  throw Error(message("evaluate: the model \"", model.name(), "\" has ", model.inputs().size(),
                      " inputs, the truth \"", truth.name(), "\" has ", truth.inputs().size()));
}

void forecast_by_system(Contest& c, std::span<const double> params) {
  const System& model = *c.model.system;
  check_model(model, c.truth, c.controls);
  std::vector<double> u;
  if (model.inputs().size() > 0) u = seen_controls(c.controls, c.runs, c.steps, c.m(), c.ratio);
  const std::int64_t own_steps = c.steps / c.ratio.coarser * c.ratio.finer;
  c.forecast =
      every_kth(simulate(model, c.x0, u, c.runs, own_steps, c.n(), c.threads, c.keep_going, params),
                c.ratio.finer);
}

void forecast_by_function(Contest& c) {
  const Forecast f = c.model.forecast(c.x0, c.controls, c.runs, c.steps);
  const std::size_t expected = at(c.runs * (c.steps + 1) * c.n());
  if (f.mean.size() != expected || (!f.std.empty() && f.std.size() != expected)) {
    throw Error(message("evaluate: the forecast of \"", c.model.name, "\" has ", f.mean.size(),
                        " numbers and ", f.std.size(), " of its spread; expected ", expected,
                        " (runs, steps + 1, states)"));
  }
  c.forecast = {c.runs, c.steps + 1, c.n(), f.mean};
  if (!f.std.empty()) c.spread = {c.runs, c.steps + 1, c.n(), f.std};
}

}  // namespace

std::vector<double> padded_states(const System& system, std::span<const double> x0,
                                  std::int64_t rows, std::int64_t states) {
  std::vector<double> out;
  const std::vector<double>& own = system.initial_state();
  for (std::int64_t r = 0; r < rows; ++r) {
    out.insert(out.end(), x0.begin() + r * states, x0.begin() + (r + 1) * states);
    out.insert(out.end(), own.begin() + states, own.end());
  }
  return out;
}

RunRows simulate(const System& system, std::span<const double> x0, std::span<const double> controls,
                 std::int64_t rows, std::int64_t steps, std::int64_t states, int threads,
                 const KeepGoing& keep_going, std::span<const double> params) {
  const std::vector<double> start = padded_states(system, x0, rows, states);
  const RolloutOptions options{.threads = threads, .keep_going = keep_going};
  return system.precision() == Precision::float32
             ? simulate_in<float>(system, start, controls, rows, steps, states, options, params)
             : simulate_in<double>(system, start, controls, rows, steps, states, options, params);
}

StepRatio step_ratio(double model, double truth) {
  const double up = model / truth, down = truth / model;
  const auto whole = [](double v) { return std::abs(v - std::round(v)) < 1e-6 * v; };
  StepRatio ratio;
  if (up >= 1 && whole(up)) {
    ratio.coarser = std::llround(up);
  } else if (down > 1 && whole(down)) {
    ratio.finer = std::llround(down);
  } else {
    throw Error(message("evaluate: the model's step of ", model, " s and the truth's of ", truth,
                        " s do not divide each other; take a variant(dt=...) of one"));
  }
  return ratio;
}

std::vector<double> seen_controls(std::span<const double> controls, std::int64_t rows,
                                  std::int64_t steps, std::int64_t inputs, const StepRatio& ratio) {
  std::vector<double> out;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t t = 0; t + ratio.coarser <= steps; t += ratio.coarser) {
      std::vector<double> u(at(inputs), 0.0);
      for (std::int64_t k = 0; k < ratio.coarser; ++k) {
        for (std::int64_t i = 0; i < inputs; ++i) {
          u[at(i)] +=
              controls[at((r * steps + t + k) * inputs + i)] / static_cast<double>(ratio.coarser);
        }
      }
      for (std::int64_t k = 0; k < ratio.finer; ++k) out.insert(out.end(), u.begin(), u.end());
    }
  }
  return out;
}

Contest hold_contest(const Candidate& model, const System& given, std::span<const double> x0,
                     const Controls<double>& controls, int threads, const KeepGoing& keep_going,
                     std::span<const double> params) {
  Contest c{.model = model, .truth = given.in_double()};
  c.threads = threads, c.keep_going = keep_going;
  const std::int64_t n = c.n(), m = c.m();
  if (n == 0 || x0.empty() || static_cast<std::int64_t>(x0.size()) % n != 0) {
    throw Error(message("evaluate: x0 has ", x0.size(), " numbers, expected rows of ", n,
                        " (states of \"", given.name(), "\")"));
  }
  c.runs = static_cast<std::int64_t>(x0.size()) / n;
  c.x0.assign(x0.begin(), x0.end());
  if (model.system) c.ratio = step_ratio(model.system->timestep(), given.timestep());
  c.steps = controls.steps / c.ratio.coarser * c.ratio.coarser;
  if (c.steps < 1) {
    throw Error(message("evaluate: ", controls.steps,
                        " steps of the truth do not make one of the "
                        "model, which is ",
                        c.ratio.coarser, " times as long"));
  }
  const std::int64_t row = controls.steps * m;
  const std::int64_t rows =
      row == 0 || controls.zero ? 0 : static_cast<std::int64_t>(controls.values.size()) / row;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    if (rows == 0) {
      c.controls.insert(c.controls.end(), at(c.steps * m), 0.0);
      continue;
    }
    const auto from = controls.values.begin() + (rows == 1 ? 0 : r) * row;
    c.controls.insert(c.controls.end(), from, from + c.steps * m);
  }
  c.every = simulate(c.truth, c.x0, c.controls, c.runs, c.steps, n, threads, keep_going);
  for (const double v : c.every.values) {
    if (std::isfinite(v)) continue;
    throw Error(message("evaluate: a run of the truth \"", given.name(),
                        "\" fails; give other starts, inputs or fewer steps"));
  }
  c.states = every_kth(c.every, c.ratio.coarser);
  c.scale = standard_deviations(c.truth.states(), c.states);
  if (model.forecast) {
    forecast_by_function(c);
  } else if (model.system) {
    forecast_by_system(c, params);
  } else {
    throw Error("evaluate: a candidate needs a System or a forecast");
  }
  return c;
}

std::vector<double> standard_deviations(const Space& space, const RunRows& rows) {
  const std::size_t nt = at(space.tangent_size());
  std::vector<double> d(nt), sum(nt, 0.0), squares(nt, 0.0), out(nt, 1.0);
  const std::int64_t samples = rows.runs * rows.samples;
  const double* const reference = rows.values.data();
  for (std::int64_t s = 0; s < samples; ++s) {
    space.difference(reference, rows.values.data() + s * rows.numbers, d.data());
    for (std::size_t k = 0; k < nt; ++k) sum[k] += d[k], squares[k] += d[k] * d[k];
  }
  const double count = static_cast<double>(samples);
  for (std::size_t k = 0; k < nt; ++k) {
    const double mean = sum[k] / count;
    const double std = std::sqrt(std::max(0.0, squares[k] / count - mean * mean));
    if (std > kLeastSpread) out[k] = std;
  }
  return out;
}

RunRows scaled_errors(const Space& space, const RunRows& truth, const RunRows& forecast,
                      std::span<const double> scale) {
  const std::int64_t nt = space.tangent_size();
  RunRows out{truth.runs, truth.samples, nt,
              std::vector<double>(at(truth.runs * truth.samples * nt))};
  const double* const reference = truth.values.data();
  std::vector<double> low(at(nt), 0.0), high(at(nt), 0.0), d(at(nt));
  for (std::int64_t s = 0; s < truth.runs * truth.samples; ++s) {
    space.difference(reference, truth.values.data() + s * truth.numbers, d.data());
    for (std::size_t k = 0; k < at(nt); ++k) {
      low[k] = std::min(low[k], d[k]), high[k] = std::max(high[k], d[k]);
    }
  }
  for (std::int64_t r = 0; r < truth.runs; ++r) {
    for (std::int64_t s = 0; s < truth.samples; ++s) {
      const double *a = truth.at(r, s), *b = forecast.at(r, s);
      const bool finite =
          std::all_of(b, b + truth.numbers, [](double v) { return std::isfinite(v); });
      if (finite) space.difference(a, b, d.data());
      for (std::int64_t k = 0; k < nt; ++k) {
        const double width = std::max(high[at(k)] - low[at(k)], scale[at(k)]);
        out.at(r, s)[k] = (finite ? d[at(k)] : kRanges * width) / scale[at(k)];
      }
    }
  }
  return out;
}

std::vector<double> survivors(const RunRows& truth, const RunRows& forecast) {
  std::vector<double> low(at(truth.numbers), std::numeric_limits<double>::infinity()), high(low);
  for (double& v : high) v = -v;
  for (std::int64_t s = 0; s < truth.runs * truth.samples; ++s) {
    for (std::int64_t k = 0; k < truth.numbers; ++k) {
      const double v = truth.values[at(s * truth.numbers + k)];
      if (std::isnan(v)) continue;
      low[at(k)] = std::min(low[at(k)], v), high[at(k)] = std::max(high[at(k)], v);
    }
  }
  std::vector<double> out;
  for (std::int64_t r = 0; r < forecast.runs; ++r) {
    bool lives = true;
    for (std::int64_t s = 0; s < forecast.samples && lives; ++s) {
      for (std::int64_t k = 0; k < forecast.numbers; ++k) {
        const double v = forecast.at(r, s)[k], width = high[at(k)] - low[at(k)];
        const double room = kRanges * (width > kLeastSpread ? width : 1);
        // What was not measured has no bounds.
        lives = lives && std::isfinite(v) && !(v < low[at(k)] - room) && !(v > high[at(k)] + room);
      }
    }
    out.push_back(lives ? 1 : 0);
  }
  return out;
}

}  // namespace cycloid::inline evaluate
