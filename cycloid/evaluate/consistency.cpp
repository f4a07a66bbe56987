#include "cycloid/evaluate/consistency.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/observe.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/math/lu.h"
#include "cycloid/rigid/forward.h"

namespace cycloid::inline evaluate {
namespace {

using Numbers = std::vector<double>;

constexpr std::int64_t kMostTangents = 64;  // of a state whose Jacobian is judged
constexpr std::int64_t kPointsPerRun = 8;   // at which a step is judged
constexpr double kIsSymplectic = 1e-4;      // of the truth's own step
constexpr double kComesBack = 0.02;         // [σ] of the truth's own run
constexpr double kIsSymmetric = 1e-7;       // of the truth's own step

bool is_finite_row(const double* x, std::int64_t n) {
  return std::all_of(x, x + n, [](double v) { return std::isfinite(v); });
}

// States of a run up to its first that is not finite.
Numbers finite_states(const RunRows& rows, std::int64_t run) {
  Numbers out;
  for (std::int64_t s = 0; s < rows.samples && is_finite_row(rows.at(run, s), rows.numbers); ++s) {
    out.insert(out.end(), rows.at(run, s), rows.at(run, s) + rows.numbers);
  }
  return out;
}

bool shows(const System& system, const std::string& name) {
  for (const Observable& o : observables_of(system)) {
    if (o.name == name) return true;
  }
  return false;
}

bool is_robot(const System& system) {
  return system.observables() && system.observables()->find("qfrc_actuator").has_value();
}

// Values of one name at states, (samples, numbers).
Numbers shown_at(const Contest& c, const std::string& name, const Numbers& states) {
  return observe(Observer(c.truth, {{name}}), {.states = states}, {c.threads, c.keep_going})
      .values();
}

Numbers at_rest(const Numbers& states, std::int64_t n, const std::vector<int>& velocities) {
  Numbers out = states;
  for (std::size_t s = 0; s < states.size(); s += at(n)) {
    for (const int v : velocities) out[s + static_cast<std::size_t>(v)] = 0;
  }
  return out;
}

// The largest |a - b| over the samples that both have, of rows of `width`.
double largest_distance(const Numbers& a, const Numbers& b, std::size_t width) {
  double most = 0;
  const std::size_t size = std::min(a.size(), b.size());
  for (std::size_t s = 0; s < size; s += width) {
    double sum = 0;
    for (std::size_t k = 0; k < width; ++k) sum += (a[s + k] - b[s + k]) * (a[s + k] - b[s + k]);
    most = std::max(most, std::sqrt(sum));
  }
  return most;
}

double largest(const Numbers& a, std::size_t width) {
  return largest_distance(a, Numbers(a.size(), 0.0), width);
}

double log_determinant(Numbers a, int n) {
  Numbers exchanged(static_cast<std::size_t>(n));
  lu_factor(n, a.data(), exchanged.data());
  double sum = 0;
  for (int k = 0; k < n; ++k) {
    sum -= std::log(std::abs(a[static_cast<std::size_t>(k * n + k)]));
  }
  return sum;
}

// ‖Aᵀ J A - J‖ / ‖J‖
double symplectic_error(const double* a, int n) {
  const int half = n / 2;
  const auto form = [&](int i, int j) {  // (Aᵀ J A)_ij
    double sum = 0;
    for (int k = 0; k < half; ++k) {
      sum += a[k * n + i] * a[(k + half) * n + j] - a[(k + half) * n + i] * a[k * n + j];
    }
    return sum;
  };
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const double d = form(i, j) - (j == i + half ? 1 : i == j + half ? -1 : 0);
      sum += d * d;
    }
  }
  return std::sqrt(sum / n);
}

// Points along the truth's runs with the inputs there, the same number from each.
struct StepPoints {
  Numbers x, u;
  std::int64_t per_run = 0;
};

StepPoints step_points(const Contest& c) {
  StepPoints p;
  p.per_run = std::min(kPointsPerRun, c.steps);
  for (std::int64_t r = 0; r < c.runs; ++r) {
    for (std::int64_t k = 0; k < p.per_run; ++k) {
      const std::int64_t t = k * c.steps / p.per_run;
      p.x.insert(p.x.end(), c.every.at(r, t), c.every.at(r, t) + c.n());
      const double* u = c.controls.data() + (r * c.steps + t) * c.m();
      p.u.insert(p.u.end(), u, u + c.m());
    }
  }
  return p;
}

// Means of (runs, per_run) numbers over a run's points.
Numbers means_by_run(const Numbers& values, std::int64_t per_run) {
  Numbers out;
  for (std::size_t i = 0; i < values.size(); i += at(per_run)) {
    double sum = 0;
    for (std::int64_t k = 0; k < per_run; ++k) sum += values[i + at(k)];
    out.push_back(sum / static_cast<double>(per_run));
  }
  return out;
}

// A symmetry: x and u, row by row, to other ones.
using Symmetry = std::function<void(double* x, double* u)>;

// Points of `d` numbers each that all blocks are made of, or 0.
int point_size(const Space& space, int d) {
  if (!space.flat()) return 0;
  for (const Block& b : space.blocks()) {
    if (b.size % d != 0) return 0;
  }
  return d;
}

std::vector<Symmetry> candidates(const Contest& c) {
  const Space& space = c.truth.states();
  const std::int64_t n = c.n(), m = c.m();
  std::vector<Symmetry> out;
  if (!space.flat()) return out;
  out.push_back([n, m](double* x, double* u) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = -x[i];
    for (std::int64_t i = 0; i < m; ++i) u[i] = -u[i];
  });
  const std::vector<int> velocities = velocity_numbers(space);
  const auto is_velocity = [&](std::int64_t i) {
    return std::find(velocities.begin(), velocities.end(), static_cast<int>(i)) != velocities.end();
  };
  if (velocities.empty()) return out;
  for (std::int64_t i = 0; i < n; ++i) {
    if (is_velocity(i)) continue;
    out.push_back([i](double* x, double*) { x[i] += 2 * std::numbers::pi; });
  }
  for (const int d : {2, 3}) {
    if (!point_size(space, d) || m % d != 0) continue;
    const double cosine = std::cos(0.7), sine = std::sin(0.7);
    const auto turn = [=](double* v) {
      const double a = cosine * v[0] - sine * v[1], b = sine * v[0] + cosine * v[1];
      v[0] = a, v[1] = b;
    };
    out.push_back([=](double* x, double* u) {
      for (std::int64_t i = 0; i < n; i += d) turn(x + i);
      for (std::int64_t i = 0; i < m; i += d) turn(u + i);
    });
    for (int axis = 0; axis < d; ++axis) {
      std::vector<std::int64_t> moved;
      for (std::int64_t i = axis; i < n; i += d) {
        if (!is_velocity(i)) moved.push_back(i);
      }
      out.push_back([moved](double* x, double*) {
        for (const std::int64_t i : moved) x[i] += 0.83;
      });
    }
  }
  return out;
}

// One step of each point by the model, in its own step; by the truth where `system` is it.
Numbers stepped(const Contest& c, const System& system, const Numbers& x, const Numbers& u) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / c.n();
  const Numbers given = system.inputs().size() > 0 ? u : Numbers();
  const RunRows run = simulate(system, x, given, rows, 1, c.n(), c.threads, c.keep_going);
  Numbers out;
  for (std::int64_t r = 0; r < rows; ++r) out.insert(out.end(), run.at(r, 1), run.at(r, 1) + c.n());
  return out;
}

// (8) of one symmetry at every point.
Numbers broken(const Contest& c, const System& system, const StepPoints& p, const Symmetry& g) {
  const std::int64_t n = c.n(), m = c.m(), rows = static_cast<std::int64_t>(p.x.size()) / n;
  Numbers gx = p.x, gu = p.u, nothing(at(m));
  for (std::int64_t r = 0; r < rows; ++r) g(gx.data() + r * n, gu.data() + r * m);
  const Numbers there = stepped(c, system, gx, gu);
  Numbers next = stepped(c, system, p.x, p.u), out;
  for (std::int64_t r = 0; r < rows; ++r) {
    double moved = 0, off = 0;
    const auto add = [&](double& sum, double d, std::int64_t k) {
      sum += d * d / (c.scale[at(k)] * c.scale[at(k)]);
    };
    for (std::int64_t k = 0; k < n; ++k) add(moved, next[at(r * n + k)] - p.x[at(r * n + k)], k);
    g(next.data() + r * n, nothing.data());
    for (std::int64_t k = 0; k < n; ++k) add(off, there[at(r * n + k)] - next[at(r * n + k)], k);
    out.push_back(std::sqrt(off / std::max(moved, 1e-24)));
  }
  return out;
}

}  // namespace

std::vector<int> velocity_numbers(const Space& space) {
  std::vector<int> out;
  const auto add = [&](const Block& b) {
    for (int k = 0; k < b.size; ++k) out.push_back(b.offset + k);
  };
  for (const Block& b : space.blocks()) {
    if (b.name.find("velocit") != b.name.npos || b.name == "qvel" || b.name == "p") add(b);
  }
  const std::vector<Block>& blocks = space.blocks();
  if (out.empty() && blocks.size() == 2 && blocks[0].size == blocks[1].size) add(blocks[1]);
  return out;
}

RunNumbers energy_drift(const Contest& c) {
  const bool robot = is_robot(c.truth);
  const std::vector<int> velocities = velocity_numbers(c.truth.states());
  if (!robot &&
      (!shows(c.truth, "energy") || (velocities.empty() && !shows(c.truth, "kinetic_energy")))) {
    return std::nullopt;
  }
  struct Energy {
    Numbers total;
    double kinetic = 0;
  };
  const auto energy = [&](const Numbers& states) {
    Energy e;
    if (robot) {
      const Forward f = forward(c.truth, {.states = states});
      for (std::size_t i = 0; i < f.energy.size(); i += 2) {
        e.total.push_back(f.energy[i] + f.energy[i + 1]);
        e.kinetic = std::max(e.kinetic, f.energy[i + 1]);
      }
      return e;
    }
    e.total = shown_at(c, "energy", states);
    const bool shown = shows(c.truth, "kinetic_energy");
    const Numbers other = shown ? shown_at(c, "kinetic_energy", states)
                                : shown_at(c, "energy", at_rest(states, c.n(), velocities));
    for (std::size_t i = 0; i < other.size(); ++i) {
      e.kinetic = std::max(e.kinetic, shown ? other[i] : e.total[i] - other[i]);
    }
    return e;
  };
  Numbers out;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    const Energy truth = energy(finite_states(c.states, r)),
                 own = energy(finite_states(c.forecast, r));
    if (!(truth.kinetic > 0)) return std::nullopt;
    out.push_back(largest_distance(own.total, truth.total, 1) / truth.kinetic);  // (1)
  }
  return out;
}

RunNumbers momentum_drift(const Contest& c) {
  RunNumbers out;
  for (const Observable& o : observables_of(c.truth)) {
    if (o.name.find("momentum") == o.name.npos || !o.of_state.empty()) continue;
    const std::size_t width = static_cast<std::size_t>(o.size());
    if (!out) out = Numbers(at(c.runs), 0.0);
    for (std::int64_t r = 0; r < c.runs; ++r) {
      const Numbers truth = shown_at(c, o.name, finite_states(c.states, r)),
                    own = shown_at(c, o.name, finite_states(c.forecast, r));
      const double size = largest(truth, width);
      if (!(size > 0)) continue;
      (*out)[at(r)] = std::max((*out)[at(r)], largest_distance(own, truth, width) / size);  // (2)
    }
  }
  return out;
}

RunNumbers divergence(const Contest& c) {
  if (!shows(c.truth, "divergence")) return std::nullopt;
  Numbers out;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    const Numbers truth = shown_at(c, "divergence", finite_states(c.states, r)),
                  own = shown_at(c, "divergence", finite_states(c.forecast, r));
    out.push_back(std::max(0.0, largest(own, 1) - largest(truth, 1)));
  }
  return out;
}

JacobianScores jacobian_scores(const Contest& c) {
  JacobianScores out;
  const int nt = c.truth.states().tangent_size();
  if (!c.model.system || nt > kMostTangents || c.model.system->states().tangent_size() != nt) {
    return out;
  }
  const System model = c.model.system->in_double();
  const StepPoints p = step_points(c);
  const LineariseOptions options{.threads = c.threads, .keep_going = c.keep_going};
  const Numbers none;
  const Linearisation<double> own =
      linearise(model, p.x, model.inputs().size() > 0 ? p.u : none, {}, options);
  const Linearisation<double> truth = linearise(c.truth, p.x, p.u, {}, options);
  const std::size_t size = static_cast<std::size_t>(nt * nt);
  // In a step of the truth.
  const double share = static_cast<double>(c.ratio.finer) / static_cast<double>(c.ratio.coarser);
  Numbers volume, symplectic;
  double truth_error = 0;
  for (std::size_t i = 0; i * size < own.A.size(); ++i) {
    const double *a = own.A.data() + i * size, *b = truth.A.data() + i * size;
    volume.push_back(std::abs(share * log_determinant({a, a + size}, nt) -
                              log_determinant({b, b + size}, nt)));  // (3)
    if (nt % 2 == 0) {
      symplectic.push_back(share * symplectic_error(a, nt));  // (4)
      truth_error = std::max(truth_error, symplectic_error(b, nt));
    }
  }
  out.volume = means_by_run(volume, p.per_run);
  if (nt % 2 == 0 && !velocity_numbers(c.truth.states()).empty() && truth_error < kIsSymplectic) {
    out.symplecticity = means_by_run(symplectic, p.per_run);
  }
  return out;
}

RunNumbers time_reversal(const Contest& c) {
  const std::vector<int> velocities = velocity_numbers(c.truth.states());
  if (!c.model.system || velocities.empty()) return std::nullopt;
  const std::int64_t n = c.n(), m = c.m();
  const auto there_and_back = [&](const System& system, const RunRows& there,
                                  const StepRatio& ratio) {
    Numbers x, u;
    std::vector<bool> lost(at(c.runs));
    for (std::int64_t r = 0; r < c.runs; ++r) {
      const double* last = there.at(r, there.samples - 1);
      lost[at(r)] = !is_finite_row(last, n);
      if (lost[at(r)]) last = c.x0.data() + r * n;
      x.insert(x.end(), last, last + n);
      for (const int v : velocities) x[at(r * n + v)] = -x[at(r * n + v)];
      for (std::int64_t t = c.steps; t-- > 0;) {
        const double* row = c.controls.data() + (r * c.steps + t) * m;
        u.insert(u.end(), row, row + m);
      }
    }
    if (system.inputs().size() == 0) u.clear();
    if (!u.empty()) u = seen_controls(u, c.runs, c.steps, m, ratio);
    const std::int64_t steps = c.steps / ratio.coarser * ratio.finer;
    RunRows back = simulate(system, x, u, c.runs, steps, n, c.threads, c.keep_going);
    RunRows home{c.runs, 1, n, {}}, start{c.runs, 1, n, c.x0};
    for (std::int64_t r = 0; r < c.runs; ++r) {
      double* x_end = back.at(r, steps);
      for (const int v : velocities) x_end[v] = -x_end[v];
      if (lost[at(r)]) x_end[0] = NAN;
      home.values.insert(home.values.end(), x_end, x_end + n);
    }
    const RunRows e = scaled_errors(c.truth.states(), start, home, c.scale);
    Numbers out;
    for (std::int64_t r = 0; r < c.runs; ++r) {
      out.push_back(rms({e.at(r, 0), at(e.numbers)}));
    }
    return out;
  };
  const Numbers own = there_and_back(c.truth, c.every, {});
  if (*std::max_element(own.begin(), own.end()) > kComesBack) return std::nullopt;
  return there_and_back(*c.model.system, c.forecast, c.ratio);  // (5)
}

RunNumbers penetration(const Contest& c) {
  if (!is_robot(c.truth)) return std::nullopt;
  bool any = false;
  const auto depth = [&](const Numbers& states) {
    const Forward f = forward(c.truth, {.states = states});
    double most = 0;
    for (std::size_t s = 0; s < f.contacts.count.size(); ++s) {
      for (std::int64_t k = 0; k < f.contacts.count[s]; ++k) {
        any = true;
        most = std::max(most, -f.contacts.dist[s * at(f.contacts.most) + at(k)]);
      }
    }
    return most;
  };
  Numbers out;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    const double truth = depth(finite_states(c.states, r));
    out.push_back(std::max(0.0, depth(finite_states(c.forecast, r)) - truth));  // (6)
  }
  return any ? RunNumbers(out) : std::nullopt;
}

RunNumbers limit_violation(const Contest& c) {
  if (!is_robot(c.truth)) return std::nullopt;
  // Ranges by joint, where joints have one number each, in the order of qpos.
  struct Range {
    std::int64_t place;
    double low, high;
  };
  std::vector<Range> ranges;
  const Numbers& all = c.truth.parameters().default_values();
  std::int64_t joint = 0;
  for (const Parameter& p : c.truth.parameters().all()) {
    if (!p.name.starts_with("joint:") || !p.name.ends_with(".range")) continue;
    const double* v = all.data() + p.offset;
    if (p.size == 2 && v[0] < v[1]) ranges.push_back({joint, v[0], v[1]});
    ++joint;
  }
  const Block& qpos = c.truth.states().blocks().front();
  if (ranges.empty() || joint != qpos.size) return std::nullopt;
  const auto beyond = [&](const Numbers& states) {
    double most = 0;
    for (std::size_t s = 0; s < states.size(); s += at(c.n())) {
      for (const Range& range : ranges) {
        const double q = states[s + at(range.place)];
        most = std::max({most, (range.low - q) / (range.high - range.low),
                         (q - range.high) / (range.high - range.low)});
      }
    }
    return most;
  };
  Numbers out;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    const double truth = beyond(finite_states(c.states, r));
    out.push_back(std::max(0.0, beyond(finite_states(c.forecast, r)) - truth));  // (7)
  }
  return out;
}

RunNumbers equivariance(const Contest& c) {
  if (!c.model.system) return std::nullopt;
  const StepPoints p = step_points(c);
  RunNumbers out;
  for (const Symmetry& g : candidates(c)) {
    const Numbers truth = broken(c, c.truth, p, g);
    if (!(*std::max_element(truth.begin(), truth.end()) < kIsSymmetric)) continue;
    const Numbers own = means_by_run(broken(c, *c.model.system, p, g), p.per_run);
    if (!out) out = Numbers(own.size(), 0.0);
    for (std::size_t r = 0; r < own.size(); ++r) (*out)[r] = std::max((*out)[r], own[r]);  // (8)
  }
  return out;
}

}  // namespace cycloid::inline evaluate
