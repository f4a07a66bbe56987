#include "cycloid/optimise/fit/measured.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/math/rotation.h"
#include "cycloid/optimise/fit/stretch_run.h"
#include "cycloid/optimise/output.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

std::vector<std::string> names_of(const std::vector<RecordedOutput>& outputs) {
  std::vector<std::string> names;
  for (const RecordedOutput& o : outputs) names.push_back(o.name);
  return names;
}

}  // namespace

Measured::Measured(const System& system, const Recording& recording)
    : system_(system.in_double()),
      observer_(system_, names_of(outputs_of(system, recording))),
      outputs_(outputs_of(system, recording)),
      column_of_state_(static_cast<std::size_t>(system.states().size()), -1),
      columns_(static_cast<std::size_t>(observer_.size())),
      timeless_(observer_.computed().empty() || is_timeless(system_)) {
  // Which columns are quaternions: of the state its own pieces, of others what they say.
  std::vector<bool> quaternion(columns_, false);  // that one begins here
  for (const ObservedPiece& piece : observer_.of_state()) {
    for (int i = 0; i < piece.count; ++i) {
      column_of_state_[static_cast<std::size_t>(piece.from + i)] = piece.place + i;
    }
    for (const Block& b : system_.states().pieces()) {
      const int at = b.offset - piece.from;
      if (b.kind != BlockKind::quaternion || at < 0 || at + 4 > piece.count) continue;
      quaternion[static_cast<std::size_t>(piece.place + at)] = true;
    }
  }
  for (const Observed& o : observer_.observed()) {
    if (o.what.unit == "s") timeless_ = false;  // a clock
    if (!shows_quaternions(o.what)) continue;
    for (int i = 0; i < o.what.size(); i += 4) {
      quaternion[static_cast<std::size_t>(o.place + i)] = true;
    }
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    for (int c = outputs_[k].column; c < outputs_[k].column + outputs_[k].size;) {
      const bool four = quaternion[static_cast<std::size_t>(c)];
      pieces_.push_back({static_cast<int>(k), c - outputs_[k].column, c, four});
      c += four ? 4 : 1;
    }
  }
  const bool whole =
      std::none_of(column_of_state_.begin(), column_of_state_.end(), [](int c) { return c < 0; });
  if (whole) state_columns_ = column_of_state_;
  list_slopes();
}

// visit(piece of the state, number in it, column) for the columns that are numbers of the state.
template <class Visit>
void Measured::for_each_state_column(Visit&& visit) const {
  for (const ObservedPiece& piece : observer_.of_state()) {
    for (const Block& b : system_.states().pieces()) {
      const int from = std::max(b.offset, piece.from),
                to = std::min(b.offset + b.size, piece.from + piece.count);
      for (int c = from; c < to; ++c) {
        visit(b, c - b.offset, static_cast<std::size_t>(piece.place + c - piece.from));
      }
    }
  }
}

void Measured::list_slopes() {
  const std::size_t nt = static_cast<std::size_t>(system_.states().tangent_size());
  slopes_.assign(columns_, {0, nt, 0});
  for_each_state_column([&](const Block& b, int number, std::size_t column) {
    const bool turns = b.kind == BlockKind::quaternion;
    slopes_[column].tangent = static_cast<std::size_t>(b.tangent_offset + (turns ? 0 : number));
    slopes_[column].count = turns ? 3 : 1;
  });
  for (ColumnSlopes& s : slopes_) {
    s.place = slope_numbers_;
    slope_numbers_ += s.count;
  }
}

Looked Measured::look(const LookedRows& at, std::span<const double> parameters, int threads,
                      const KeepGoing& keep_going) const {
  return looked(at, parameters, {}, false, threads, keep_going);
}

Looked Measured::look(const LookedRows& at, std::span<const double> parameters,
                      std::span<const double> directions, int threads,
                      const KeepGoing& keep_going) const {
  return looked(at, parameters, directions, true, threads, keep_going);
}

Looked Measured::looked(const LookedRows& at, std::span<const double> parameters,
                        std::span<const double> directions, bool derivatives, int threads,
                        const KeepGoing& keep_going) const {
  const std::size_t rows = at.rows(),
                    q = parameters.empty() ? 0 : directions.size() / parameters.size();
  Looked out;
  out.values.resize(rows * columns_);
  if (derivatives) {
    out.by_state.assign(rows * slope_numbers_, 0.0);
    out.by_direction.assign(rows * columns_ * q, 0.0);
  }
  for_each_part(at, [&](std::size_t first, std::size_t count) {
    look_at_once(at, first, count, parameters, directions, derivatives, threads, keep_going, out);
  });
  return out;
}

template <class Function>
void Measured::for_each_part(const LookedRows& at, Function&& function) const {
  const std::size_t rows = at.rows();
  for (std::size_t i = 0; i < rows;) {
    std::size_t end = i + 1;
    while (end < rows && (timeless_ || at.times[end] == at.times[i])) ++end;
    function(i, end - i);
    i = end;
  }
}

ObservedRows Measured::part(const LookedRows& at, std::size_t first, std::size_t count,
                            std::span<const double> parameters) const {
  const std::size_t nx = static_cast<std::size_t>(system_.states().size()),
                    nu = static_cast<std::size_t>(system_.inputs().size());
  ObservedRows where;
  where.states = std::span(at.states).subspan(first * nx, count * nx);
  where.inputs = std::span(at.inputs).subspan(first * nu, count * nu);
  where.parameters = parameters;
  where.time = at.times[first];
  return where;
}

std::vector<double> Measured::pull(const LookedRows& at, std::span<const double> parameters,
                                   std::span<const double> values_bar, int threads,
                                   const KeepGoing& keep_going,
                                   std::span<double> parameters_bar) const {
  Numbers out;
  const ObserveOptions options{threads, keep_going};
  for_each_part(at, [&](std::size_t first, std::size_t count) {
    const Observation seen = observe(observer_, part(at, first, count, parameters), options);
    const ObservationGradient g =
        seen.pullback(values_bar.subspan(first * columns_, count * columns_), options);
    out.insert(out.end(), g.states.begin(), g.states.end());
    for (std::size_t i = 0; i < g.parameters.size(); ++i) parameters_bar[i] += g.parameters[i];
  });
  return out;
}

void Measured::look_at_once(const LookedRows& at, std::size_t first, std::size_t count,
                            std::span<const double> parameters, std::span<const double> directions,
                            bool derivatives, int threads, const KeepGoing& keep_going,
                            Looked& out) const {
  const Space& space = system_.states();
  const std::size_t nx = static_cast<std::size_t>(space.size()),
                    nt = static_cast<std::size_t>(space.tangent_size()), np = parameters.size(),
                    q = np == 0 ? 0 : directions.size() / np;
  const ObservedRows where = part(at, first, count, parameters);
  const ObserveOptions options{threads, keep_going};
  const Observation seen = observe(observer_, where, options);
  std::copy(seen.values().begin(), seen.values().end(),
            out.values.begin() + static_cast<std::ptrdiff_t>(first * columns_));
  if (!derivatives) return;
  const auto by_state = [&](std::size_t row, std::size_t column) {
    return out.by_state.data() + (first + row) * slope_numbers_ + slopes_[column].place;
  };
  for_each_state_column([&](const Block& b, int number, std::size_t column) {
    for (std::size_t i = 0; i < count; ++i) {
      double* const slope = by_state(i, column);
      if (b.kind != BlockKind::quaternion) {
        slope[0] = 1;
        continue;
      }
      const double *turn = at.states.data() + (first + i) * nx + b.offset, w = turn[0], x = turn[1],
                   y = turn[2], z = turn[3];
      const double half_turns[4][3] = {{-x, -y, -z}, {w, -z, y}, {z, w, -x}, {-y, x, w}};
      for (int d = 0; d < 3; ++d) slope[d] = 0.5 * half_turns[number][d];  // ½ q ⊗ (0, d)
    }
  });
  if (observer_.computed().empty()) return;
  Numbers bar(count * columns_, 0.0), rows;
  std::optional<Observation> apart;  // with parameters of every row's own
  for (const ObservedPiece& piece : observer_.computed()) {
    for (std::size_t c = static_cast<std::size_t>(piece.place);
         c < static_cast<std::size_t>(piece.place + piece.count); ++c) {
      // Weights that do not cancel: a parameter whose sum over rows is zero does not act.
      for (std::size_t i = 0; i < count; ++i) {
        bar[i * columns_ + c] = 1 + 0.5 * std::sin(1.0 + static_cast<double>(i));
      }
      const ObservationGradient g = seen.pullback(bar, options);
      bool acts = false;
      for (std::size_t i = 0; i < count; ++i) {
        const double weight = bar[i * columns_ + c];
        for (std::size_t d = 0; d < nt; ++d) {
          by_state(i, c)[d] = g.states_tangent[i * nt + d] / weight;
        }
        bar[i * columns_ + c] = 0;
      }
      for (std::size_t j = 0; j < q; ++j) {
        for (std::size_t p = 0; p < np; ++p) {
          acts = acts || (directions[j * np + p] != 0 && g.parameters[p] != 0);
        }
      }
      if (!acts) continue;
      if (!apart) {
        for (std::size_t i = 0; i < count; ++i) {
          rows.insert(rows.end(), parameters.begin(), parameters.end());
        }
        ObservedRows own = where;
        own.parameters = rows;
        apart.emplace(observe(observer_, own, options));
      }
      for (std::size_t i = 0; i < count; ++i) bar[i * columns_ + c] = 1;
      const ObservationGradient own = apart->pullback(bar, options);
      for (std::size_t i = 0; i < count; ++i) {
        bar[i * columns_ + c] = 0;
        for (std::size_t j = 0; j < q; ++j) {
          double sum = 0;
          for (std::size_t p = 0; p < np; ++p) {
            if (directions[j * np + p] != 0)
              sum += directions[j * np + p] * own.parameters[i * np + p];
          }
          out.by_direction[((first + i) * columns_ + c) * q + j] = sum;
        }
      }
    }
  }
}

void turn_between(const double* measured, const double* shown, double* r, double* by_tangent) {
  const Quat<double> a = normalise(
                         Quat<double>{measured[0], measured[1], measured[2], measured[3]}),
                     b{shown[0], shown[1], shown[2], shown[3]};
  const Vec3<double> phi = difference(a, b);
  r[0] = phi.x, r[1] = phi.y, r[2] = phi.z;
  for (int i = 0; i < 3; ++i) {
    Vec3<double> a_bar{}, b_bar{};
    const Vec3<double> unit{i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0};
    difference_tangent_pullback(phi, unit, a_bar, b_bar);
    by_tangent[3 * i] = b_bar.x, by_tangent[3 * i + 1] = b_bar.y, by_tangent[3 * i + 2] = b_bar.z;
  }
}

}  // namespace cycloid::inline optimise
