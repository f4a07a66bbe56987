// The residuals of a FitProblem (fit_problem.h (1) to (3)): which states are looked at, what they
// show, and how far that is from what was measured.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "cycloid/optimise/fit/fit_problem.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;
using Kind = SensorUnknown::Kind;

constexpr double kDelayShare = 1e-3;  // of a step, for the derivative by a delay

}  // namespace

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
  running.by_starts = ns_ > 0;
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
    if (!jacobian || stretches_[e].last) continue;
    s.end_tan.assign(nt_ * (K + ns_), 0.0);
    for (std::size_t i = 0; i < nt_; ++i) {
      for (std::size_t j = 0; j < k + ns_; ++j) {
        s.end_tan[i * (K + ns_) + (j < k ? j : j - k + K)] = run.ends_tan[e][i * (k + ns_) + j];
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
  const std::size_t m = measured.columns(), k = unknowns_.size(), K = size(), c = K + ns_,
                    own = k + ns_;
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
      const ColumnSlopes& slopes = measured.slopes()[column];
      const double* H = seen.by_state.data() + l * measured.slope_numbers() + slopes.place;
      for (std::size_t d = 0; d < slopes.count; ++d) {
        if (H[d] == 0) continue;
        const double* y = Y + (slopes.tangent + d) * own;
        for (std::size_t j = 0; j < k; ++j) row[j] += H[d] * y[j];
        for (std::size_t j = 0; j < ns_; ++j) row[K + j] += H[d] * y[k + j];
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
