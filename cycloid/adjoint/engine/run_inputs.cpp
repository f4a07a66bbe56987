#include "cycloid/adjoint/engine/run_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/core_count.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// Rows in `numbers` numbers of `row` each. Rows without numbers count as one for all.
std::int64_t rows_of(std::size_t numbers, std::int64_t row, const char* what, const char* of) {
  const std::int64_t n = static_cast<std::int64_t>(numbers);
  if (row == 0 && n == 0) return 1;
  if (row == 0 || n == 0 || n % row != 0) {
    throw Error(message(what, " has ", n, " numbers; expected rows of ", row, " (", of, ")"));
  }
  return n / row;
}

void check_rows(std::int64_t rows, std::int64_t batch, const char* what) {
  if (rows != 1 && rows != batch) {
    throw Error(message(what, " has ", rows, " rows, but the batch has ", batch,
                        " environments; give one row each, or one for all"));
  }
}

template <class T>
void take_parameters(Run<T>& run, std::span<const double> params) {
  const Parameters& registry = run.system.parameters();
  if (params.empty()) {
    run.parameters = registry.default_values();
    run.parameter_rows = 1;
    return;
  }
  const std::size_t n = static_cast<std::size_t>(registry.size());
  if (n == 0 || params.size() % n != 0) {
    throw ParameterError(message("expected ", n, " parameter numbers, or rows of as many, got ",
                                 params.size(), "; Parameters::pack makes the vector from names"));
  }
  run.parameter_rows = static_cast<std::int64_t>(params.size() / n);
  for (std::int64_t r = 0; r < run.parameter_rows; ++r) {
    const auto row = params.subspan(static_cast<std::size_t>(r) * n, n);
    run.system.check_parameters(row);
    for (std::size_t i = 0; i < n; ++i) {
      const int number = static_cast<int>(i);
      if (row[i] == params[i] || run.system.varies(number)) continue;
      throw ParameterError(message("parameter \"", registry.holding(number).name,
                                   "\" differs between environments (", params[i], " and ", row[i],
                                   "); declare it in vary when the system is made"));
    }
  }
  run.parameters.assign(params.begin(), params.end());
}

// Arrays in the precision of the run. Lanes share them, so that only large worlds, which have a
// chunk each, may have their own.
template <class T>
void take_arrays(Run<T>& run) {
  const Parameters& registry = run.system.parameters();
  const std::size_t n = static_cast<std::size_t>(registry.size()),
                    lanes = static_cast<std::size_t>(registry.lane_size());
  if constexpr (!std::is_same_v<T, double>) {
    for (std::size_t at = 0; at < run.parameters.size() && lanes < n; at += n) {
      run.arrays.insert(run.arrays.end(),
                        run.parameters.begin() + static_cast<std::ptrdiff_t>(at + lanes),
                        run.parameters.begin() + static_cast<std::ptrdiff_t>(at + n));
    }
  }
}

// Asks the law where every environment starts (admission.h): calls use(e, row, x, why) with the row
// of x0, the start x as the law takes it, and why it does not.
template <class T, class Use>
void for_each_start(const Run<T>& run, Use&& use) {
  const std::int64_t nx = run.system.states().size(), np = run.system.parameters().size();
  const double rounding = 256 * static_cast<double>(std::numeric_limits<T>::epsilon());
  std::vector<double> x(static_cast<std::size_t>(nx)), p(static_cast<std::size_t>(np));
  for (std::int64_t e = 0; e < std::max(run.start_rows, run.parameter_rows); ++e) {
    const T* row = run.x0.data() + (run.start_rows == 1 ? 0 : e * nx);
    const double* values = run.parameters.data() + (run.parameter_rows == 1 ? 0 : e * np);
    std::copy_n(row, nx, x.begin());
    // Rounded as the law will see them, so that what is put on a surface is on it.
    std::transform(values, values + np, p.begin(),
                   [](double v) { return static_cast<double>(static_cast<T>(v)); });
    const std::string why = run.system.admit(p.data(), rounding, x.data());
    use(e, row, x, why);
  }
}

// Where the law puts a start that environments with parameters of their own share on a surface,
// each has its own.
template <class T>
void admit_starts(Run<T>& run) {
  if (run.system.admits_every_start()) return;
  std::vector<T> admitted;
  bool moved = false;
  for_each_start(
      run, [&](std::int64_t e, const T* row, const std::vector<double>& x, const std::string& why) {
        if (!why.empty()) {
          throw Error(message("x0 of environment ", e, " is no start for \"", run.system.name(),
                              "\": ", why));
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
          admitted.push_back(static_cast<T>(x[i]));
          moved = moved || admitted.back() != row[i];
        }
      });
  if (!moved) return;
  run.x0 = std::move(admitted);
  run.start_rows = std::max(run.x0_rows, run.parameter_rows);
}

// How near to the end of a step a time counts as it, in steps: what rounding leaves of the time and
// of t0, and a little.
double slack_at(double time, double t0, double h) {
  return 1e-9 + 2 * std::numeric_limits<double>::epsilon() * (std::abs(t0) + std::abs(time)) / h;
}

// Where a time that is `n` steps after t0 lies. Step and share are made of the one number, so that
// they cannot contradict each other; only the run's beginning is the beginning of a step.
Sample sample_after(double n, double slack, double h, std::int64_t steps) {
  n = std::clamp(n, 0.0, static_cast<double>(steps));
  const double whole = std::round(n), k = std::floor(n);
  if (std::abs(n - whole) > slack) return {static_cast<std::int64_t>(k), (n - k) * h, n - k};
  return whole == 0 ? Sample{0, 0, 0} : Sample{static_cast<std::int64_t>(whole) - 1, h, 1};
}

template <class T>
void take_times(Run<T>& run, const std::vector<double>& times) {
  if (times.empty()) return;
  for (std::int64_t e = 1; e < run.parameter_rows; ++e) {
    if (run.step_length(e) == run.step_length()) continue;
    throw Error(message("states at given times need one time step for all environments; \"",
                        kTimestepName, "\" is ", run.step_length(), " and ", run.step_length(e),
                        " s"));
  }
  run.samples = samples_at(times, run.t0, run.steps, run.step_length());
  run.sample_times = times;
  for (const Sample& sample : run.samples) {
    run.sample_parts.push_back(sample.part);
    run.saved.push_back(static_cast<std::int64_t>(run.saved.size()));
  }
}

}  // namespace

std::vector<Sample> samples_at(std::span<const double> times, double t0, std::int64_t steps,
                               double h) {
  const double end = t0 + static_cast<double>(steps) * h;
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double time = times[i], n = (time - t0) / h, slack = slack_at(time, t0, h);
    // Where times are a running sum, every step has rounded once.
    const double beyond = static_cast<double>(steps) * slack;
    if (!std::isfinite(n) || n < -slack || n > static_cast<double>(steps) + beyond) {
      throw Error(
          message("times must lie within the run, from ", t0, " to ", end, " s; got ", time));
    }
    if (i > 0 && time <= times[i - 1]) {
      throw Error(message("times must increase; ", time, " follows ", times[i - 1]));
    }
    samples.push_back(sample_after(n, slack, h, steps));
  }
  return samples;
}

std::string refused_start(const Run<double>& run) {
  std::string first;
  if (run.system.admits_every_start()) return first;
  for_each_start(
      run, [&](std::int64_t, const double*, const std::vector<double>&, const std::string& why) {
        if (first.empty()) first = why;
      });
  return first;
}

template <class T>
void check_finite(std::span<const T> values, const char* what, std::int64_t row,
                  const Space* space) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const std::int64_t place = static_cast<std::int64_t>(i);
    throw Error(message(
        what, " must be finite; number ", place % row, " of row ", place / row,
        space ? message(" (", space->block_of(static_cast<int>(place % space->size())).name, ")")
              : std::string(),
        " is ", values[i]));
  }
}

template <class T>
Run<T> checked_run(const System& system, std::span<const T> x0, const Controls<T>& controls,
                   std::span<const double> params, const RolloutOptions& options) {
  Run<T> run(system);
  system.steppers<T>();  // of this precision
  run.steps = controls.steps;
  run.t0 = options.t0;
  run.threads = options.threads > 0 ? options.threads : default_threads();
  if (run.steps < 1) {
    throw Error(message("a rollout needs at least one step; got T = ", run.steps));
  }
  if (options.threads < 0)
    throw Error(message("threads must not be negative; got ", options.threads));
  if (!std::isfinite(options.t0)) throw Error(message("t0 must be finite; got ", options.t0));

  const Space &states = system.states(), &inputs = system.inputs();
  run.x0_rows = rows_of(x0.size(), states.size(), "x0", "the states of an environment");
  if (!controls.zero) {
    const std::int64_t row = run.steps * inputs.size();
    if (row == 0) {
      if (!controls.values.empty()) {
        throw Error(message("system \"", system.name(), "\" has no inputs, but controls has ",
                            controls.values.size(), " numbers"));
      }
      run.control_rows = 0;
    } else {
      run.control_rows =
          rows_of(controls.values.size(), row, "controls", "steps times inputs of an environment");
    }
  }
  take_parameters(run, params);
  take_arrays(run);
  run.batch = std::max({run.x0_rows, run.control_rows, run.parameter_rows});
  check_rows(run.x0_rows, run.batch, "x0");
  if (run.control_rows > 0) check_rows(run.control_rows, run.batch, "controls");
  check_rows(run.parameter_rows, run.batch, "parameters");

  check_finite(x0, "x0", states.size(), &states);
  check_finite(controls.values, "controls", run.steps * inputs.size(), &inputs);
  run.x0_raw.assign(x0.begin(), x0.end());
  run.x0 = run.x0_raw;
  for (std::int64_t r = 0; r < run.x0_rows; ++r) {
    if (!states.normalise(run.x0.data() + r * states.size())) {
      throw Error(message("x0: a quaternion of row ", r, " is zero, which is no orientation"));
    }
  }
  run.start_rows = run.x0_rows;
  admit_starts(run);
  run.controls.assign(controls.values.begin(), controls.values.end());
  take_times(run, options.times);
  if (options.times.empty()) run.saved = options.save.steps(run.steps);
  return run;
}

template void check_finite(std::span<const float>, const char*, std::int64_t, const Space*);
template void check_finite(std::span<const double>, const char*, std::int64_t, const Space*);
template Run<float> checked_run(const System&, std::span<const float>, const Controls<float>&,
                                std::span<const double>, const RolloutOptions&);
template Run<double> checked_run(const System&, std::span<const double>, const Controls<double>&,
                                 std::span<const double>, const RolloutOptions&);

}  // namespace cycloid::inline adjoint
