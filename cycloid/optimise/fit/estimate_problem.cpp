#include "cycloid/optimise/fit/estimate_problem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline optimise {
namespace {

using Row = std::vector<double>;

// Standard deviations, one for each of `size`.
Row deviations(const Row& given, std::size_t size, const char* name) {
  if (given.size() != 1 && given.size() != size) {
    throw Error(
        message("estimate: ", name, " has ", given.size(), " numbers; expected one, or ", size));
  }
  for (const double s : given) {
    if (!std::isfinite(s) || s < 0) {
      throw Error(message("estimate: ", name, " must be finite and not negative; got ", s));
    }
  }
  return given.size() == size ? given : Row(size, given[0]);
}

// Places of the unknown forces among the inputs.
struct Forces {
  std::vector<std::size_t> places;
  std::vector<std::string> names;
};

Forces find_forces(const System& system, const std::vector<std::string>& wanted) {
  Forces out;
  std::vector<std::string> known;
  for (const Block& b : system.inputs().blocks()) known.push_back(b.name);
  for (const std::string& name : wanted) {
    const std::size_t bracket = name.find('[');
    const std::string block = name.substr(0, bracket);
    const auto at = std::find(known.begin(), known.end(), block);
    if (at == known.end()) {
      throw Error(message("estimate: no input of system \"", system.name(), "\" is called \"",
                          block, "\"",
                          known.empty() ? "; it has none" : did_you_mean(block, known)));
    }
    const Block& b = system.inputs().blocks()[static_cast<std::size_t>(at - known.begin())];
    int first = 0, last = b.size - 1;
    if (bracket != name.npos) {
      first = last = std::atoi(name.c_str() + bracket + 1);
      if (name.back() != ']' || first < 0 || first >= b.size) {
        throw Error(message("estimate: input \"", block, "\" has numbers 0 to ", b.size - 1,
                            "; got \"", name, "\""));
      }
    }
    for (int i = first; i <= last; ++i) {
      const std::size_t place = static_cast<std::size_t>(b.offset + i);
      if (std::find(out.places.begin(), out.places.end(), place) != out.places.end()) {
        throw Error(message("estimate: force \"", name, "\" is named twice"));
      }
      out.places.push_back(place);
      out.names.push_back(b.size == 1 ? block : message(block, "[", i, "]"));
    }
  }
  return out;
}

// σ of a column where it is not known: noise has no smooth second difference, a signal has one.
double guessed_sigma(const Recording& r, std::size_t column) {
  const std::size_t m = r.columns();
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 1; i + 1 < r.samples(); ++i) {
    const double d = r.values[(i - 1) * m + column] - 2 * r.values[i * m + column] +
                     r.values[(i + 1) * m + column];
    if (!std::isnan(d)) sum += d * d, ++count;
  }
  if (count == 0 || sum == 0) {
    throw Error(message("estimate: the noise of column ", column,
                        " cannot be told from its samples; give the recording a sigma"));
  }
  return std::sqrt(sum / (6 * static_cast<double>(count)));
}

const System& checked(const System& system, const Recording& recording) {
  check_recording(system, recording, "the recording");
  return system;
}

}  // namespace

EstimateProblem::EstimateProblem(const System& system, const Recording& recording,
                                 const EstimateOptions& options)
    : system_(checked(system.in_double(), recording)),
      recording_(recording),
      options_(options),
      unknowns_(system_, options.params, options.unknowns),
      measured_(system_, recording),
      observer_(system_, names_of_outputs()) {
  Forces forces = find_forces(system_, options.forces);
  force_places_ = std::move(forces.places), force_names_ = std::move(forces.names);
  nx_ = static_cast<std::size_t>(system_.states().size());
  nt_ = static_cast<std::size_t>(system_.states().tangent_size());
  nu_ = static_cast<std::size_t>(system_.inputs().size());
  nf_ = force_places_.size(), np_ = unknowns_.size(), nz_ = nt_ + nf_ + np_;
  set_deviations();
  set_sigma();
  set_knots();
}

std::vector<std::string> EstimateProblem::names_of_outputs() const {
  std::vector<std::string> names;
  for (const RecordedOutput& o : outputs_of(system_, recording_)) names.push_back(o.name);
  return names;
}

void EstimateProblem::set_deviations() {
  x0_std_ = deviations(options_.x0_std, nt_, "x0_std");
  process_ = deviations(options_.process, nt_, "process");
  force_std_ = deviations(options_.force_std, nf_, "force_std");
  force_rate_ = deviations(options_.force_rate, nf_, "force_rate");
  Row half, hundredth;
  for (const double v : unknowns_.values(unknowns_.start())) {
    half.push_back(v == 0 ? 1 : 0.5 * std::abs(v));
  }
  param_std_ = options_.param_std.empty() ? half : deviations(options_.param_std, np_, "param_std");
  for (const double s : param_std_) hundredth.push_back(0.01 * s);
  param_rate_ =
      options_.param_rate.empty() ? hundredth : deviations(options_.param_rate, np_, "param_rate");
}

void EstimateProblem::set_sigma() {
  const std::size_t m = recording_.columns();
  for (std::size_t c = 0; c < m; ++c) {
    sigma_.push_back(recording_.sigma.empty()       ? guessed_sigma(recording_, c)
                     : recording_.sigma.size() == 1 ? recording_.sigma[0]
                                                    : recording_.sigma[c]);
  }
}

void EstimateProblem::set_knots() {
  const double h = system_.timestep();
  for (std::size_t i = 0; i < recording_.samples(); ++i) {
    knot_of_sample_.push_back(knots_.size());
    if (i + 1 == recording_.samples()) {
      knots_.push_back({recording_.times[i], 0, i, true});
      break;
    }
    const double length = recording_.times[i + 1] - recording_.times[i];
    const double count = std::max(1.0, std::round(length / h));
    double own = length / count;
    if (std::abs(own - h) <= 1e-9 * h) own = h;
    if (own != h && !system_.parameters().contains(kTimestepName)) {
      throw Error(message("estimate: the time step of system \"", system_.name(),
                          "\" is fixed, and samples ", i, " and ", i + 1, " are ", length,
                          " s apart, which is no multiple of ", h, " s"));
    }
    for (double k = 0; k < count; ++k) {
      knots_.push_back({recording_.times[i] + k * own, own, i, k == 0});
    }
  }
}

Row EstimateProblem::first_state() const {
  const bool given = !options_.x0.empty(), recorded = !recording_.x0.empty();
  Row x = given ? options_.x0 : recorded ? recording_.x0 : system_.initial_state();
  if (x.size() != nx_) {
    throw Error(message("estimate: x0 has ", x.size(), " numbers, expected ", nx_));
  }
  for (std::size_t i = 0; i < nx_ && !given && !recorded; ++i) {
    const int column = measured_.column_of_state(static_cast<int>(i));
    if (column < 0) continue;
    const double v = recording_.values[static_cast<std::size_t>(column)];
    if (!std::isnan(v)) x[i] = v;
  }
  if (!system_.states().normalise(x.data())) {
    throw Error("estimate: a quaternion of x0 is zero, which is no orientation");
  }
  return x;
}

Row EstimateProblem::first_covariance() const {
  Row P(nz_ * nz_, 0.0);
  for (std::size_t i = 0; i < nz_; ++i) {
    const double s = i < nt_         ? x0_std_[i]
                     : i < nt_ + nf_ ? force_std_[i - nt_]
                                     : param_std_[i - nt_ - nf_];
    P[i * nz_ + i] = s * s;
  }
  return P;
}

Row EstimateProblem::inputs(const EstimatePath& path, std::size_t k) const {
  Row u(nu_, 0.0);
  const std::size_t sample = knots_[k].sample;
  // The last row of controls acts on nothing: what is seen there is under those before.
  const std::size_t row = sample + 1 == recording_.samples() && sample > 0 ? sample - 1 : sample;
  if (!recording_.controls.empty()) {
    std::copy_n(recording_.controls.begin() + static_cast<std::ptrdiff_t>(row * nu_), nu_,
                u.begin());
  }
  for (std::size_t i = 0; i < nf_; ++i) u[force_places_[i]] += path.f[k * nf_ + i];
  return u;
}

Row EstimateProblem::parameters(const EstimatePath& path, std::size_t k) const {
  Row p = unknowns_.parameters(std::span(path.theta).subspan(k * np_, np_));
  if (knots_[k].h > 0 && knots_[k].h != system_.timestep()) {
    p[static_cast<std::size_t>(system_.parameters().find(kTimestepName).offset)] = knots_[k].h;
  }
  return p;
}

void EstimateProblem::linearise_steps(const EstimatePath& path, std::size_t first, std::size_t last,
                                      std::vector<KalmanStep>& steps, Row* next) const {
  // Steps that share their parameters go together, in lanes.
  for (std::size_t k = first; k < last;) {
    const Row p = parameters(path, k);
    Row u;
    std::size_t end = k;
    while (end < last && end - k < kMostRows && (end == k || parameters(path, end) == p)) {
      const Row own = inputs(path, end++);
      u.insert(u.end(), own.begin(), own.end());
    }
    const std::size_t count = end - k;
    const Row directions =
        unknowns_.directions(std::span(path.theta).subspan(k * np_, np_));  // (K, parameters)
    const Linearisation<double> lin =
        linearise(system_, std::span(path.x).subspan(k * nx_, count * nx_), u, p,
                  {.directions = directions,
                   .t = knots_[k].time,
                   .threads = options_.threads,
                   .keep_going = options_.keep_going});
    simulated_ += static_cast<std::int64_t>(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      steps[k - first + i] = step_of(lin, i, knots_[k + i].h);
    }
    if (next)
      std::copy(lin.next.begin(), lin.next.end(),
                next->begin() + static_cast<std::ptrdiff_t>((k - first) * nx_));
    k = end;
  }
}

KalmanStep EstimateProblem::step_of(const Linearisation<double>& lin, std::size_t i,
                                    double h) const {
  KalmanStep step;
  step.F.assign(nz_ * nz_, 0.0), step.Q.assign(nz_ * nz_, 0.0), step.d.assign(nz_, 0.0);
  for (std::size_t r = 0; r < nz_; ++r) step.F[r * nz_ + r] = r < nt_ ? 0 : 1;  // (2), (3)
  for (std::size_t r = 0; r < nt_; ++r) {
    double* row = step.F.data() + r * nz_;
    std::copy_n(lin.A.data() + (i * nt_ + r) * nt_, nt_, row);
    for (std::size_t c = 0; c < nf_; ++c) {
      row[nt_ + c] = lin.B[(i * nt_ + r) * nu_ + force_places_[c]];
    }
    std::copy_n(lin.P.data() + (i * nt_ + r) * np_, np_, row + nt_ + nf_);
  }
  for (std::size_t r = 0; r < nz_; ++r) {
    const double rate = r < nt_         ? process_[r]
                        : r < nt_ + nf_ ? force_rate_[r - nt_]
                                        : param_rate_[r - nt_ - nf_];
    step.Q[r * nz_ + r] = rate * rate * h;
  }
  return step;
}

void EstimateProblem::see(const EstimatePath& path, std::size_t first, std::size_t last,
                          std::vector<KalmanStep>& steps) const {
  std::vector<std::size_t> at;
  for (std::size_t k = first; k <= last; ++k) {
    if (knots_[k].measured) at.push_back(k);
  }
  Row x, u, p;
  for (const std::size_t k : at) {
    x.insert(x.end(), path.x.begin() + static_cast<std::ptrdiff_t>(k * nx_),
             path.x.begin() + static_cast<std::ptrdiff_t>((k + 1) * nx_));
    const Row own = inputs(path, k), numbers = parameters(path, k);
    u.insert(u.end(), own.begin(), own.end()), p.insert(p.end(), numbers.begin(), numbers.end());
  }
  if (at.empty()) return;
  const ObserveOptions running{options_.threads, options_.keep_going};
  const Observation seen = observe(observer_, {.states = x, .inputs = u, .parameters = p}, running);
  const std::size_t m = recording_.columns(), all = p.size() / at.size();
  // ∂(column)/∂z of every row.
  Row slopes(at.size() * m * nz_, 0.0), bar(at.size() * m, 0.0);
  for (std::size_t c = 0; c < m; ++c) {
    for (std::size_t i = 0; i < at.size(); ++i) bar[i * m + c] = 1;
    const ObservationGradient g = seen.pullback(bar, running);
    for (std::size_t i = 0; i < at.size(); ++i) {
      bar[i * m + c] = 0;
      double* row = slopes.data() + (i * m + c) * nz_;
      std::copy_n(g.states_tangent.data() + i * nt_, nt_, row);
      for (std::size_t j = 0; j < nf_; ++j) row[nt_ + j] = g.inputs[i * nu_ + force_places_[j]];
      if (np_ == 0) continue;
      const Row directions = unknowns_.directions(std::span(path.theta).subspan(at[i] * np_, np_));
      const double* own = g.parameters.data() + (g.parameters.size() == all ? 0 : i * all);
      for (std::size_t j = 0; j < np_; ++j) {
        for (std::size_t q = 0; q < all; ++q) {
          const double w = directions[j * all + q];
          if (w != 0) row[nt_ + nf_ + j] += w * own[q];
        }
      }
    }
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    add_rows(recording_.values.data() + knots_[at[i]].sample * m, seen.values().data() + i * m,
             slopes.data() + i * m * nz_, steps[at[i] - first]);
  }
}

void EstimateProblem::add_rows(const double* measured, const double* shown, const double* slopes,
                               KalmanStep& step) const {
  for (const MeasuredPiece& piece : measured_.pieces()) {
    const std::size_t c = static_cast<std::size_t>(piece.column);
    const double sigma = sigma_[c];
    if (std::isnan(measured[c])) continue;
    if (!piece.quaternion) {
      step.r.push_back((measured[c] - shown[c]) / sigma);
      for (std::size_t j = 0; j < nz_; ++j) step.C.push_back(slopes[c * nz_ + j] / sigma);
      continue;
    }
    double turn[3], D[9];
    turn_between(measured + c, shown + c, turn, D);
    const double w = shown[c], x = shown[c + 1], y = shown[c + 2], z = shown[c + 3];
    Row d(3 * nz_);  // of the quaternion, as a rotation vector: 2 vec(q* ⊗ q̇)
    for (std::size_t j = 0; j < nz_; ++j) {
      const double a = slopes[c * nz_ + j], b = slopes[(c + 1) * nz_ + j],
                   e = slopes[(c + 2) * nz_ + j], f = slopes[(c + 3) * nz_ + j];
      d[j] = 2 * (w * b - x * a - y * f + z * e);
      d[nz_ + j] = 2 * (w * e - y * a - z * b + x * f);
      d[2 * nz_ + j] = 2 * (w * f - z * a - x * e + y * b);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      step.r.push_back(-turn[i] / sigma);
      for (std::size_t j = 0; j < nz_; ++j) {
        step.C.push_back(
            (D[3 * i] * d[j] + D[3 * i + 1] * d[nz_ + j] + D[3 * i + 2] * d[2 * nz_ + j]) / sigma);
      }
    }
  }
}

void EstimateProblem::move(EstimatePath& path, std::size_t k, const Row& change,
                           double share) const {
  Row d(nt_), x(nx_);
  for (std::size_t i = 0; i < nt_; ++i) d[i] = share * change[i];
  system_.states().retract(path.x.data() + k * nx_, d.data(), x.data());
  system_.states().normalise(x.data());
  std::copy(x.begin(), x.end(), path.x.begin() + static_cast<std::ptrdiff_t>(k * nx_));
  for (std::size_t i = 0; i < nf_; ++i) path.f[k * nf_ + i] += share * change[nt_ + i];
  if (np_ == 0) return;
  const std::span theta = std::span(path.theta).subspan(k * np_, np_);
  Row to(theta.begin(), theta.end());
  for (std::size_t i = 0; i < np_; ++i) to[i] += share * change[nt_ + nf_ + i];
  unknowns_.project(theta, to);
  std::copy(to.begin(), to.end(), theta.begin());
}

Row EstimateProblem::change(const EstimatePath& from, const EstimatePath& to, std::size_t k) const {
  Row d(nz_);
  system_.states().difference(from.x.data() + k * nx_, to.x.data() + k * nx_, d.data());
  for (std::size_t i = 0; i < nf_; ++i) d[nt_ + i] = to.f[k * nf_ + i] - from.f[k * nf_ + i];
  for (std::size_t i = 0; i < np_; ++i) {
    d[nt_ + nf_ + i] = to.theta[k * np_ + i] - from.theta[k * np_ + i];
  }
  return d;
}

void EstimateProblem::add_gap(const EstimatePath& path, const double* next, std::size_t k,
                              KalmanStep& step) const {
  system_.states().difference(path.x.data() + (k + 1) * nx_, next, step.d.data());
  for (std::size_t i = 0; i < nf_; ++i) {
    step.d[nt_ + i] = path.f[k * nf_ + i] - path.f[(k + 1) * nf_ + i];
  }
  for (std::size_t i = 0; i < np_; ++i) {
    step.d[nt_ + nf_ + i] = path.theta[k * np_ + i] - path.theta[(k + 1) * np_ + i];
  }
}

}  // namespace cycloid::inline optimise
