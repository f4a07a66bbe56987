#include "cycloid/optimise/fit/fit_problem.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;
using Kind = SensorUnknown::Kind;

constexpr double kMostSteps = 1e9;

std::string label_of(std::size_t recording, std::size_t count) {
  return count == 1 ? "the recording" : message("recording ", recording);
}

double step_length(const System& system, std::span<const double> p) {
  const Parameters& registry = system.parameters();
  return registry.contains(kTimestepName)
             ? p[static_cast<std::size_t>(registry.find(kTimestepName).offset)]
             : system.timestep();
}

}  // namespace

FitProblem::FitProblem(const System& system, std::vector<Recording> recordings, Unknowns unknowns,
                       const std::vector<UnknownRequest>& sensors, const UnknownOptions& options,
                       const FitStarts& starts, double shooting, const StretchOptions& running)
    : system_(system.in_double()),
      recordings_(std::move(recordings)),
      unknowns_(std::move(unknowns)),
      names_(unknowns_.names()),
      low_(unknowns_.low()),
      high_(unknowns_.high()),
      priors_(unknowns_.priors()),
      nx_(static_cast<std::size_t>(system.states().size())),
      nt_(static_cast<std::size_t>(system.states().tangent_size())),
      nu_(static_cast<std::size_t>(system.inputs().size())),
      h_(step_length(system_, unknowns_.parameters(unknowns_.start()))),
      running_(running) {
  if (recordings_.empty()) throw Error("identify: expected one recording at least");
  for (std::size_t r = 0; r < recordings_.size(); ++r) {
    check_recording(system_, recordings_[r], label_of(r, recordings_.size()));
    measured_.emplace_back(system_, recordings_[r]);
  }
  add_sensors(sensors, options);
  cut(shooting);
  take_starts(starts);
  guess_sigma();
}

void FitProblem::add_sensors(const std::vector<UnknownRequest>& requests,
                             const UnknownOptions& options) {
  for (const UnknownRequest& request : requests) {
    const std::string& name = request.names.front();
    const std::size_t dot = name.rfind('.');
    const std::string field = dot == std::string::npos ? "" : name.substr(dot + 1);
    SensorUnknown sensor;
    sensor.name = name;
    sensor.output = name.substr(7, dot == std::string::npos ? dot : dot - 7);
    if (field == "offset" || field == "gain" || field == "delay") {
      sensor.kind = field == "offset" ? Kind::offset : field == "gain" ? Kind::gain : Kind::delay;
    } else {
      throw ParameterError(message("\"", name, "\": a sensor has \"output:", sensor.output,
                                   ".offset\", \".gain\" and \".delay\""));
    }
    std::set<std::string> known;
    const RecordedOutput* output = nullptr;
    for (const Measured& m : measured_) {
      for (std::size_t k = 0; k < m.outputs().size(); ++k) {
        known.insert(m.outputs()[k].name);
        if (m.outputs()[k].name != sensor.output) continue;
        output = &m.outputs()[k];
        for (const MeasuredPiece& piece : m.pieces()) {
          if (piece.output != static_cast<int>(k) || !piece.quaternion ||
              sensor.kind == Kind::delay)
            continue;
          throw ParameterError(message("\"", name, "\": \"", sensor.output,
                                       "\" has a quaternion, which has no offset and no gain"));
        }
      }
    }
    if (!output) {
      throw ParameterError(message(
          "\"", name, "\": no recording measures \"", sensor.output, "\"",
          did_you_mean(sensor.output, std::vector<std::string>(known.begin(), known.end()))));
    }
    for (const SensorUnknown& other : sensors_) {
      if (other.name == name) {
        throw ParameterError(message("\"", name, "\" is among the unknowns twice"));
      }
    }
    sensor.size = sensor.kind == Kind::delay ? 1 : output->size;
    sensor.place = static_cast<int>(names_.size());
    for (int i = 0; i < sensor.size; ++i) {
      names_.push_back(sensor.size == 1 ? name : message(name, "[", i, "]"));
      const double usual = sensor.kind == Kind::gain ? 1 : 0;
      const std::size_t at = request.guess.size() == 1 ? 0 : static_cast<std::size_t>(i);
      if (!request.guess.empty() && at >= request.guess.size()) {
        throw ParameterError(message("the guess of \"", name, "\": expected ", sensor.size,
                                     " numbers, got ", request.guess.size()));
      }
      sensor_start_.push_back(request.guess.empty() ? usual : request.guess[at]);
      low_.push_back(-kInfinity);
      high_.push_back(kInfinity);
    }
    sensors_.push_back(sensor);
  }
  const auto place_of = [&](const std::string& name, const char* what) {
    const auto at = std::find_if(sensors_.begin(), sensors_.end(),
                                 [&](const SensorUnknown& s) { return s.name == name; });
    if (at == sensors_.end()) {
      throw ParameterError(
          message(what, ": \"", name, "\" is not among the unknowns", did_you_mean(name, names_)));
    }
    return at;
  };
  const auto each = [](const std::vector<double>& given, int i) {
    return given.at(given.size() == 1 ? 0 : static_cast<std::size_t>(i));
  };
  for (const UnknownBounds& b : options.bounds) {
    const auto s = place_of(b.name, "bounds");
    for (int i = 0; i < s->size; ++i) {
      const std::size_t at = static_cast<std::size_t>(s->place + i);
      low_[at] = each(b.low, i), high_[at] = each(b.high, i);
      const double start = sensor_start_[at - unknowns_.size()];
      if (!(low_[at] <= high_[at]) || start < low_[at] || start > high_[at]) {
        throw ParameterError(message("bounds of \"", b.name, "\" exclude the start: it begins at ",
                                     start, ", outside ", low_[at], " to ", high_[at]));
      }
    }
  }
  for (const UnknownPrior& p : options.priors) {
    const auto s = place_of(p.name, "priors");
    for (int i = 0; i < s->size; ++i) {
      if (!(each(p.std, i) > 0)) {
        throw ParameterError(
            message("the prior of \"", p.name, "\": expected a positive standard deviation"));
      }
      priors_.push_back({s->place + i, each(p.mean, i), each(p.std, i)});
    }
  }
}

// The row of controls in force at a time; the last one is not used.
std::size_t FitProblem::control_row(std::size_t recording, double time) const {
  const Numbers& times = recordings_[recording].times;
  const auto after = std::upper_bound(times.begin(), times.end(), time + kSlack * h_);
  const std::size_t row =
      after == times.begin() ? 0 : static_cast<std::size_t>(after - times.begin()) - 1;
  return std::min(row, times.size() - 2);
}

void FitProblem::cut(double shooting) {
  if (!(shooting >= 0) || std::isinf(shooting)) {
    throw Error(message("shooting must be the length of a segment [s], got ", shooting));
  }
  const double wanted = shooting > 0 ? std::round(shooting / h_) : 0;
  if (shooting > 0 && wanted < 1) {
    throw Error(
        message("shooting: a segment of ", shooting, " s is shorter than a step, ", h_, " s"));
  }
  for (std::size_t r = 0; r < recordings_.size(); ++r) {
    const Recording& rec = recordings_[r];
    const double t0 = rec.times.front(), n = (rec.times.back() - t0) / h_;
    if (n > kMostSteps) {
      throw Error(message(label_of(r, recordings_.size()), ": ", n, " steps of ", h_,
                          " s are too many; are its times in seconds?"));
    }
    const std::int64_t all =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(n - kSlack)));
    const std::int64_t each =
        shooting > 0 ? std::min<std::int64_t>(all, static_cast<std::int64_t>(wanted)) : all;
    for (std::int64_t first = 0; first < all; first += each) {
      // A short rest goes with the last whole segment.
      std::int64_t steps = std::min(each, all - first);
      if (all - first - steps < (each + 1) / 2) steps = all - first;
      FitStretch s;
      s.recording = static_cast<int>(r);
      s.first_step = first;
      s.steps = steps;
      s.last = first + steps >= all;
      stretches_.push_back(s);
      Stretch run;
      run.t0 = t0 + static_cast<double>(first) * h_;
      run.steps = steps;
      for (std::int64_t k = 0; k < steps && !rec.controls.empty() && nu_ > 0; ++k) {
        const std::size_t row = control_row(r, t0 + static_cast<double>(first + k) * h_);
        run.controls.insert(run.controls.end(),
                            rec.controls.begin() + static_cast<std::ptrdiff_t>(row * nu_),
                            rec.controls.begin() + static_cast<std::ptrdiff_t>((row + 1) * nu_));
      }
      runs_.push_back(std::move(run));
      steps_ += steps;
      if (s.last) break;
    }
  }
}

void FitProblem::take_starts(const FitStarts& starts) {
  if (!starts.rows.empty() && starts.rows.size() != recordings_.size() * nx_) {
    throw Error(message("x0: expected ", recordings_.size(), " rows of ", nx_, " numbers, got ",
                        starts.rows.size()));
  }
  for (std::size_t r = 0; r < recordings_.size(); ++r) {
    const Recording& rec = recordings_[r];
    const Measured& seen = measured_[r];
    Numbers x = system_.initial_state();
    bool complete = true;
    if (!starts.rows.empty()) {
      x.assign(starts.rows.begin() + static_cast<std::ptrdiff_t>(r * nx_),
               starts.rows.begin() + static_cast<std::ptrdiff_t>((r + 1) * nx_));
    } else if (!rec.x0.empty()) {
      x = rec.x0;
    } else {
      const std::size_t m = seen.columns();
      const auto row_complete = [&](std::size_t i) {
        return std::none_of(rec.values.begin() + static_cast<std::ptrdiff_t>(i * m),
                            rec.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * m),
                            [](double v) { return std::isnan(v); });
      };
      std::size_t row = 0;
      while (row < rec.samples() && !row_complete(row)) ++row;
      complete = row < rec.samples() && !seen.state_columns().empty();
      // The first complete row, else of every number the first that was measured.
      for (std::size_t i = 0; i < nx_; ++i) {
        const int c = seen.column_of_state(static_cast<int>(i));
        if (c < 0) continue;
        std::size_t from = complete ? row : 0;
        while (from < rec.samples() &&
               std::isnan(rec.values[from * m + static_cast<std::size_t>(c)]))
          ++from;
        if (from < rec.samples()) x[i] = rec.values[from * m + static_cast<std::size_t>(c)];
      }
    }
    for (const double v : x) {
      if (!std::isfinite(v))
        throw Error(message("x0 of ", label_of(r, recordings_.size()), " must be finite"));
    }
    if (starts.known && !complete) {
      throw Error(message(label_of(r, recordings_.size()),
                          ": x0=\"known\", but it has no x0 and no row that measures the whole "
                          "state; give Recording(x0=...), or x0=\"free\""));
    }
    if (!system_.states().normalise(x.data())) {
      throw Error(message("x0 of ", label_of(r, recordings_.size()), ": a quaternion is zero"));
    }
    first_states_.push_back(x);
  }
  const bool known = starts.known || !starts.rows.empty();
  for (FitStretch& s : stretches_) {
    s.free = s.first_step > 0 || !known;
    if (s.free) ns_ = nt_;
  }
}

// Where σ is not known, it begins with the spread of what was measured.
void FitProblem::guess_sigma() {
  for (std::size_t r = 0; r < recordings_.size(); ++r) {
    const Recording& rec = recordings_[r];
    const std::size_t m = measured_[r].columns();
    Numbers sigma(m, 1.0);
    if (!rec.sigma.empty()) {
      for (std::size_t c = 0; c < m; ++c) sigma[c] = rec.sigma[rec.sigma.size() == 1 ? 0 : c];
    } else {
      sigma_known_ = false;
      for (const RecordedOutput& output : measured_[r].outputs()) {
        double mean = 0, square = 0, count = 0;
        for (int pass = 0; pass < 2; ++pass) {
          for (std::size_t i = 0; i < rec.samples(); ++i) {
            for (int c = output.column; c < output.column + output.size; ++c) {
              const double v = rec.values[i * m + static_cast<std::size_t>(c)];
              if (std::isnan(v)) continue;
              if (pass == 0) mean += v, count += 1;
              if (pass == 1) square += (v - mean) * (v - mean);
            }
          }
          if (pass == 0) mean /= std::max(1.0, count);
        }
        const double spread = std::sqrt(square / std::max(1.0, count));
        for (int c = output.column; c < output.column + output.size; ++c) {
          sigma[static_cast<std::size_t>(c)] = spread > 0 ? spread : 1;
        }
      }
    }
    sigma_.push_back(std::move(sigma));
  }
}

FitPoint FitProblem::start() {
  FitPoint at;
  at.theta = unknowns_.start();
  at.theta.insert(at.theta.end(), sensor_start_.begin(), sensor_start_.end());
  at.starts.assign(stretches_.size() * nx_, 0.0);
  const Numbers p = parameters(at.theta);
  for (std::size_t e = 0; e < stretches_.size(); ++e) {
    const FitStretch& s = stretches_[e];
    const std::size_t r = static_cast<std::size_t>(s.recording);
    const Recording& rec = recordings_[r];
    double* x = at.starts.data() + e * nx_;
    if (s.first_step == 0) {
      std::copy_n(first_states_[r].data(), nx_, x);
      continue;
    }
    // What was measured nearest to the start; the rest from a run of the stretch before.
    const StretchStates run = run_stretches(
        system_, {runs_[e - 1]}, std::span(at.starts).subspan((e - 1) * nx_, nx_), p, running_);
    std::copy_n(run.ok ? run.ends[0].data() : at.starts.data() + (e - 1) * nx_, nx_, x);
    const std::size_t m = measured_[r].columns();
    for (std::size_t i = 0; i < nx_; ++i) {
      const int c = measured_[r].column_of_state(static_cast<int>(i));
      if (c < 0) continue;
      double nearest = 0.5 * static_cast<double>(s.steps) * h_;
      for (std::size_t k = 0; k < rec.samples(); ++k) {
        const double v = rec.values[k * m + static_cast<std::size_t>(c)],
                     away = std::abs(rec.times[k] - runs_[e].t0);
        if (!std::isnan(v) && away <= nearest) nearest = away, x[i] = v;
      }
    }
    if (!system_.states().normalise(x)) std::copy_n(first_states_[r].data(), nx_, x);
  }
  return at;
}

Numbers FitProblem::parameters(std::span<const double> theta) const {
  return unknowns_.parameters(theta.first(unknowns_.size()));
}

Numbers FitProblem::values(std::span<const double> theta) const {
  Numbers v = unknowns_.values(theta.first(unknowns_.size()));
  v.insert(v.end(), theta.begin() + static_cast<std::ptrdiff_t>(unknowns_.size()), theta.end());
  return v;
}

Numbers FitProblem::values_jacobian(std::span<const double> theta) const {
  const std::size_t K = size(), k = unknowns_.size();
  const Numbers own = unknowns_.values_jacobian(theta.first(k));
  Numbers all(K * K, 0.0);
  for (std::size_t i = 0; i < K; ++i) {
    all[i * K + i] = 1;
    for (std::size_t j = 0; i < k && j < k; ++j) all[i * K + j] = own[i * k + j];
  }
  return all;
}

std::string FitProblem::refusal(std::span<const double> theta) const {
  return unknowns_.refusal(theta.first(unknowns_.size()));
}

void FitProblem::project(std::span<const double> theta, std::span<double> to) const {
  const std::size_t k = unknowns_.size();
  unknowns_.project(theta.first(k), to.first(k));
  for (std::size_t i = k; i < size(); ++i) to[i] = std::clamp(to[i], low_[i], high_[i]);
}

FitPoint FitProblem::moved(const FitPoint& from, std::span<const double> theta,
                           std::span<const double> starts_tan) const {
  FitPoint to;
  to.theta.assign(theta.begin(), theta.end());
  to.starts = from.starts;
  for (std::size_t e = 0; e < stretches_.size() && !starts_tan.empty(); ++e) {
    system_.states().retract(from.starts.data() + e * nx_, starts_tan.data() + e * nt_,
                             to.starts.data() + e * nx_);
  }
  return to;
}

}  // namespace cycloid::inline optimise
