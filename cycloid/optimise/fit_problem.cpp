#include "cycloid/optimise/fit_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;
using Kind = SensorUnknown::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSlack = 1e-6;       // of a step: times that count as its beginning
constexpr double kDelayShare = 1e-3;  // of a step, for the derivative by a delay
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
  for (FitStretch& s : stretches_) s.free = s.first_step > 0 || !known;
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
  to.starts.resize(from.starts.size());
  for (std::size_t e = 0; e < stretches_.size(); ++e) {
    system_.states().retract(from.starts.data() + e * nx_, starts_tan.data() + e * nt_,
                             to.starts.data() + e * nx_);
  }
  return to;
}

int FitProblem::delay_of(std::size_t recording, int output) const {
  const std::string& name = measured_[recording].outputs()[static_cast<std::size_t>(output)].name;
  for (std::size_t s = 0; s < sensors_.size(); ++s) {
    if (sensors_[s].kind == Kind::delay && sensors_[s].output == name) return static_cast<int>(s);
  }
  return -1;
}

double FitProblem::sensor_value(std::span<const double> theta, Kind kind, std::size_t recording,
                                int output, int within, int* place) const {
  *place = -1;
  const std::string& name = measured_[recording].outputs()[static_cast<std::size_t>(output)].name;
  for (const SensorUnknown& s : sensors_) {
    if (s.kind != kind || s.output != name) continue;
    *place = s.place + within;
    return theta[static_cast<std::size_t>(*place)];
  }
  return kind == Kind::gain ? 1 : 0;
}

FitProblem::Looks FitProblem::looks(std::span<const double> theta) const {
  Looks out;
  out.of.resize(recordings_.size());
  out.rows.resize(recordings_.size());
  out.stretches = runs_;
  std::size_t first = 0;
  for (std::size_t r = 0; r < recordings_.size(); ++r) {
    std::size_t end = first;
    while (!stretches_[end].last) ++end;
    const Recording& rec = recordings_[r];
    const Measured& seen = measured_[r];
    const std::size_t m = seen.columns();
    const double length =
        static_cast<double>(stretches_[end].first_step + stretches_[end].steps) * h_;
    std::set<int> delays;
    for (std::size_t o = 0; o < seen.outputs().size(); ++o) {
      delays.insert(delay_of(r, static_cast<int>(o)));
    }
    std::vector<Look>& list = out.of[r];
    const auto add = [&](int sample, int delay, double since, bool readings) {
      const double at = std::clamp(since, 0.0, length);
      std::size_t e = first;
      while (e < end && at >= (static_cast<double>(stretches_[e + 1].first_step) - kSlack) * h_)
        ++e;
      const double offset = std::max(0.0, at - static_cast<double>(stretches_[e].first_step) * h_);
      list.push_back({sample, delay, static_cast<int>(e), offset, -1, -1, readings});
      return static_cast<int>(list.size()) - 1;
    };
    for (std::size_t i = 0; i < rec.samples(); ++i) {
      for (const int delay : delays) {
        bool any = false;
        for (const MeasuredPiece& piece : seen.pieces()) {
          any = any || (delay_of(r, piece.output) == delay &&
                        !std::isnan(rec.values[i * m + static_cast<std::size_t>(piece.column)]));
        }
        if (!any) continue;
        const double since = rec.times[i] - rec.times.front();
        if (delay < 0) {
          add(static_cast<int>(i), delay, since, true);
          continue;
        }
        const double late =
            since -
            theta[static_cast<std::size_t>(sensors_[static_cast<std::size_t>(delay)].place)];
        const int before = add(static_cast<int>(i), delay, late - kDelayShare * h_, false),
                  at = add(static_cast<int>(i), delay, late, true),
                  after = add(static_cast<int>(i), delay, late + kDelayShare * h_, false);
        list[static_cast<std::size_t>(at)].before = before;
        list[static_cast<std::size_t>(at)].after = after;
      }
    }
    // The looks of every stretch in the order of time.
    out.rows[r].resize(list.size());
    std::vector<std::size_t> order(list.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return list[a].offset < list[b].offset; });
    for (const std::size_t l : order) {
      Stretch& s = out.stretches[static_cast<std::size_t>(list[l].stretch)];
      out.rows[r][l] = s.offsets.size();
      s.offsets.push_back(list[l].offset);
    }
    first = end + 1;
  }
  return out;
}

LookedRows FitProblem::looked_rows(std::size_t recording, const Looks& looks,
                                   const std::vector<Numbers>& states) const {
  const Recording& rec = recordings_[recording];
  LookedRows rows;
  for (std::size_t l = 0; l < looks.of[recording].size(); ++l) {
    const Look& look = looks.of[recording][l];
    const std::size_t e = static_cast<std::size_t>(look.stretch);
    const double* x = states[e].data() + looks.rows[recording][l] * nx_;
    const double time = runs_[e].t0 + look.offset;
    rows.states.insert(rows.states.end(), x, x + nx_);
    rows.times.push_back(time);
    if (rec.controls.empty()) {
      rows.inputs.insert(rows.inputs.end(), nu_, 0.0);
    } else {
      const double* u = rec.controls.data() + control_row(recording, time) * nu_;
      rows.inputs.insert(rows.inputs.end(), u, u + nu_);
    }
  }
  return rows;
}

Evaluated FitProblem::evaluate(const FitPoint& at, bool jacobian) const {
  Evaluated out;
  out.stretches.resize(stretches_.size());
  const std::size_t k = unknowns_.size(), K = size();
  const std::span<const double> z = std::span(at.theta).first(k);
  if (out.reason = refusal(at.theta); !out.reason.empty()) {
    out.ok = false;
    return out;
  }
  const Numbers p = parameters(at.theta);
  const Looks where = looks(at.theta);
  const Numbers directions = jacobian ? unknowns_.directions(z) : Numbers();
  StretchOptions running = running_;
  running.by_starts =
      std::any_of(stretches_.begin(), stretches_.end(), [](const FitStretch& s) { return s.free; });
  StretchStates run = jacobian ? run_stretches_with_tangents(system_, where.stretches, at.starts, p,
                                                             directions, running)
                               : run_stretches(system_, where.stretches, at.starts, p, running_);
  out.ok = run.ok;
  out.reason = run.reason;
  if (!out.ok) return out;
  for (std::size_t r = 0; r < recordings_.size(); ++r) {
    const LookedRows rows = looked_rows(r, where, run.states);
    const Looked seen =
        jacobian ? measured_[r].look(rows, p, directions, running_.threads, running_.keep_going)
                 : measured_[r].look(rows, p, running_.threads, running_.keep_going);
    add_residuals(where, r, seen, run, at.theta, jacobian, out);
    out.shown.push_back(shown(where, r, seen, at.theta));
  }
  for (std::size_t e = 0; e < stretches_.size(); ++e) {
    StretchResiduals& s = out.stretches[e];
    if (!stretches_[e].last) {
      s.gap.resize(nt_);
      system_.states().difference(run.ends[e].data(), at.starts.data() + (e + 1) * nx_,
                                  s.gap.data());  // (2)
    }
    if (!jacobian) continue;
    s.end_tan.assign(nt_ * (K + nt_), 0.0);
    for (std::size_t i = 0; i < nt_; ++i) {
      for (std::size_t j = 0; j < k + nt_; ++j) {
        s.end_tan[i * (K + nt_) + (j < k ? j : j - k + K)] = run.ends_tan[e][i * (k + nt_) + j];
      }
    }
  }
  for (const StretchResiduals& s : out.stretches) {
    for (const double r : s.r) out.ok = out.ok && std::isfinite(r);
  }
  return out;
}

void FitProblem::add_residuals(const Looks& looks, std::size_t recording, const Looked& seen,
                               const StretchStates& run, std::span<const double> theta,
                               bool jacobian, Evaluated& out) const {
  const Recording& rec = recordings_[recording];
  const Measured& measured = measured_[recording];
  const std::size_t m = measured.columns(), k = unknowns_.size(), K = size(), c = K + nt_,
                    own = k + nt_;
  const std::vector<Look>& list = looks.of[recording];
  for (std::size_t l = 0; l < list.size(); ++l) {
    const Look& look = list[l];
    if (!look.readings) continue;
    StretchResiduals& to = out.stretches[static_cast<std::size_t>(look.stretch)];
    const double* shown = seen.values.data() + l * m;
    // ∂(column)/∂(z, s) of this look.
    const double* Y = jacobian ? run.states_tan[static_cast<std::size_t>(look.stretch)].data() +
                                     looks.rows[recording][l] * nt_ * own
                               : nullptr;
    const auto slope = [&](std::size_t column, double* row) {  // row is zero
      const double* by_direction = seen.by_direction.data() + (l * m + column) * k;
      std::copy_n(by_direction, k, row);
      for (std::size_t d = 0; d < nt_; ++d) {
        const double H = seen.by_state[(l * m + column) * nt_ + d];
        if (H == 0) continue;
        const double* y = Y + d * own;
        for (std::size_t j = 0; j < k; ++j) row[j] += H * y[j];
        for (std::size_t j = 0; j < nt_; ++j) row[K + j] += H * y[k + j];
      }
    };
    for (std::size_t q = 0; q < measured.pieces().size(); ++q) {
      const MeasuredPiece& piece = measured.pieces()[q];
      if (delay_of(recording, piece.output) != look.delay) continue;
      const std::size_t column = static_cast<std::size_t>(piece.column);
      const double* v = rec.values.data() + static_cast<std::size_t>(look.sample) * m + column;
      if (std::any_of(v, v + piece.columns(), [](double x) { return std::isnan(x); })) continue;
      const double sigma = sigma_[recording][column];
      // By the delay, through the time of the state.
      const auto by_time = [&](std::size_t of) {
        if (look.before < 0) return 0.0;
        const std::size_t a = static_cast<std::size_t>(look.before),
                          b = static_cast<std::size_t>(look.after);
        const double ta = runs_[static_cast<std::size_t>(list[a].stretch)].t0 + list[a].offset,
                     tb = runs_[static_cast<std::size_t>(list[b].stretch)].t0 + list[b].offset;
        return tb > ta ? (seen.values[b * m + of] - seen.values[a * m + of]) / (tb - ta) : 0.0;
      };
      const std::size_t first = to.r.size();
      to.r.resize(first + static_cast<std::size_t>(piece.residuals()));
      if (jacobian) to.J.resize(to.r.size() * c, 0.0);
      for (int i = 0; i < piece.residuals(); ++i) {
        to.places.push_back({static_cast<int>(recording), look.sample, static_cast<int>(q), i});
      }
      if (!piece.quaternion) {
        int gain_at, offset_at;
        const double gain = sensor_value(theta, Kind::gain, recording, piece.output, piece.within,
                                         &gain_at),
                     offset = sensor_value(theta, Kind::offset, recording, piece.output,
                                           piece.within, &offset_at);
        to.r[first] = (gain * shown[column] + offset - v[0]) / sigma;  // (1)
        if (!jacobian) continue;
        double* row = to.J.data() + first * c;
        slope(column, row);
        for (std::size_t j = 0; j < c; ++j) row[j] *= gain / sigma;
        if (gain_at >= 0) row[gain_at] = shown[column] / sigma;
        if (offset_at >= 0) row[offset_at] = 1 / sigma;
        if (look.delay >= 0) {
          row[sensors_[static_cast<std::size_t>(look.delay)].place] =
              -gain * by_time(column) / sigma;
        }
        continue;
      }
      double turn[3], D[9];
      turn_between(v, shown + column, turn, D);
      for (std::size_t i = 0; i < 3; ++i) to.r[first + i] = turn[i] / sigma;
      if (!jacobian) continue;
      // Tangents of the quaternion from those of its coordinates: 2 vec(q* ⊗ q̇).
      Numbers q_tan(4 * c, 0.0), d(3 * c, 0.0);
      for (std::size_t i = 0; i < 4; ++i) {
        slope(column + i, q_tan.data() + i * c);
        if (look.delay >= 0) {
          q_tan[i * c +
                static_cast<std::size_t>(sensors_[static_cast<std::size_t>(look.delay)].place)] =
              -by_time(column + i);
        }
      }
      const double w = shown[column], x = shown[column + 1], y = shown[column + 2],
                   zq = shown[column + 3];
      for (std::size_t j = 0; j < c; ++j) {
        const double a = q_tan[j], b = q_tan[c + j], e = q_tan[2 * c + j], f = q_tan[3 * c + j];
        d[j] = 2 * (w * b - x * a - y * f + zq * e);
        d[c + j] = 2 * (w * e - y * a - zq * b + x * f);
        d[2 * c + j] = 2 * (w * f - zq * a - x * e + y * b);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < c; ++j) {
          to.J[(first + i) * c + j] =
              (D[3 * i] * d[j] + D[3 * i + 1] * d[c + j] + D[3 * i + 2] * d[2 * c + j]) / sigma;
        }
      }
    }
  }
}

std::vector<double> FitProblem::costs(const FitPoint& at,
                                      const std::vector<Numbers>& thetas) const {
  const std::size_t k = unknowns_.size(), E = stretches_.size();
  std::vector<double> out(thetas.size(), kInfinity);
  bool apart = thetas.size() > 1 && k > 0;
  for (const Unknowns::Group& group : unknowns_.groups()) {
    for (const Unknowns::Member& member : group.members) {
      for (int i = 0; i < group.size; ++i) apart = apart && system_.varies(member.offset + i);
    }
  }
  const auto cost_of = [](const Evaluated& e) {
    double sum = 0;
    for (const StretchResiduals& s : e.stretches) {
      for (const double r : s.r) sum += r * r / 2;
    }
    return e.ok ? sum : kInfinity;
  };
  if (!apart || !sensors_.empty()) {
    for (std::size_t i = 0; i < thetas.size(); ++i) {
      out[i] = cost_of(evaluate({thetas[i], at.starts}, false));
    }
    return out;
  }
  const Looks where = looks(at.theta);
  std::vector<Stretch> runs;
  Numbers starts, p;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < thetas.size(); ++i) {
    if (!refusal(thetas[i]).empty()) continue;
    kept.push_back(i);
    const Numbers own = parameters(thetas[i]);
    for (std::size_t e = 0; e < E; ++e) {
      runs.push_back(where.stretches[e]);
      starts.insert(starts.end(), at.starts.begin() + static_cast<std::ptrdiff_t>(e * nx_),
                    at.starts.begin() + static_cast<std::ptrdiff_t>((e + 1) * nx_));
      p.insert(p.end(), own.begin(), own.end());
    }
  }
  if (kept.empty()) return out;
  const StretchStates run = run_stretches_apart(system_, runs, starts, p, running_);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    StretchStates part;
    bool finite = true;
    for (std::size_t e = 0; e < E; ++e) {
      part.states.push_back(run.states[i * E + e]);
      for (const double x : part.states.back()) finite = finite && std::isfinite(x);
      for (const double x : run.ends[i * E + e]) finite = finite && std::isfinite(x);
    }
    if (!finite) continue;
    Evaluated evaluated;
    evaluated.stretches.resize(E);
    const Numbers own = parameters(thetas[kept[i]]);
    for (std::size_t r = 0; r < recordings_.size(); ++r) {
      const Looked seen = measured_[r].look(looked_rows(r, where, part.states), own,
                                            running_.threads, running_.keep_going);
      add_residuals(where, r, seen, part, thetas[kept[i]], false, evaluated);
    }
    const double cost = cost_of(evaluated);
    if (std::isfinite(cost)) out[kept[i]] = cost;
  }
  return out;
}

Numbers FitProblem::shown(const Looks& looks, std::size_t r, const Looked& seen,
                          std::span<const double> theta) const {
  const std::size_t m = measured_[r].columns();
  Numbers out(recordings_[r].samples() * m, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t l = 0; l < looks.of[r].size(); ++l) {
    const Look& look = looks.of[r][l];
    for (const MeasuredPiece& piece : measured_[r].pieces()) {
      if (!look.readings || delay_of(r, piece.output) != look.delay) continue;
      for (int i = 0; i < piece.columns(); ++i) {
        const std::size_t c = static_cast<std::size_t>(piece.column + i);
        int place;
        const double gain =
                         sensor_value(theta, Kind::gain, r, piece.output, piece.within + i, &place),
                     offset = sensor_value(theta, Kind::offset, r, piece.output, piece.within + i,
                                           &place);
        out[static_cast<std::size_t>(look.sample) * m + c] = gain * seen.values[l * m + c] + offset;
      }
    }
  }
  return out;
}

}  // namespace cycloid::inline optimise
