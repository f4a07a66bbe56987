#include "cycloid/optimise/fit/stretch_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cycloid/adjoint/engine/run.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/math/dual.h"
#include "cycloid/optimise/planning/products.h"
#include "cycloid/system/integrator/interpolation.h"
#include "cycloid/system/systems.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;
using Dual1 = Dual<double, 1>;

constexpr double kBytesAtOnce = 2e8;    // of saved states and inputs in one batch
constexpr double kSameStep = 1e-9;      // how near, relative, steps are that do not know the time
constexpr std::size_t kRunsPerRow = 2;  // steps that a row of a Jacobian costs, at most
constexpr double kAlike = 0.7;          // stretches of so much of the longest share its batch

double step_length(const System& system, std::span<const double> p) {
  const Parameters& registry = system.parameters();
  return registry.contains(kTimestepName)
             ? p[static_cast<std::size_t>(registry.find(kTimestepName).offset)]
             : system.timestep();
}

// Stretches that run together, and how their states are found.
struct Together {
  std::vector<std::size_t> members;
  std::int64_t steps = 0;  // of the longest
  double t0 = 0;
  bool parts = false;               // states inside steps come from the rollout itself
  std::vector<Sample> samples;      // of all members, with `parts`
  Numbers times;                    // ... and their times, which differ
  std::vector<std::int64_t> saved;  // steps, without
};

class Runs {
 public:
  Runs(const System& system, const std::vector<Stretch>& stretches, std::span<const double> starts,
       std::span<const double> parameters, std::span<const double> directions,
       const StretchOptions& options, bool apart)
      : system_(system.in_double()),
        space_(system_.states()),
        stretches_(stretches),
        starts_(starts),
        parameters_(parameters),
        directions_(directions),
        options_(options),
        apart_(apart),
        timeless_(is_timeless(system_)),
        nx_(n(space_.size())),
        nt_(n(space_.tangent_size())),
        nu_(n(system_.inputs().size())),
        np_(n(system_.parameters().size())),
        q_(np_ == 0 ? 0 : directions.size() / np_),
        h_(step_length(system_, parameters)) {
    out_.states.resize(stretches.size());
    out_.ends.resize(stretches.size());
    for (const Stretch& s : stretches) {
      samples_.emplace_back();
      for (const double offset : s.offsets) {
        samples_.back().push_back(samples_at(std::span(&offset, 1), 0, s.steps, h_).front());
      }
    }
    group();
  }

  StretchStates run() {
    for (const Together& together : groups_) {
      for (const Together& some : portions(together, 1)) run_some(some);
      if (!out_.ok) break;
    }
    return std::move(out_);
  }

  StretchStates run_with_tangents() {
    out_.states_tan.resize(stretches_.size());
    out_.ends_tan.resize(stretches_.size());
    for (std::size_t e = 0; e < stretches_.size(); ++e) {
      out_.states_tan[e].assign(samples_[e].size() * nt_ * columns(), 0.0);
      out_.ends_tan[e].assign(nt_ * columns(), 0.0);
      out_.states[e].assign(samples_[e].size() * nx_, 0.0);
      out_.ends[e].assign(nx_, 0.0);
    }
    const auto& dual = system_.steppers<double>().dual;
    const bool in_lanes = dual && dual->sizes().lanes > 2;
    const bool large = !dual || dual->sizes().spreads;  // a step's solve serves all directions
    const bool at_once = timeless_ ? !in_lanes : large;
    const bool pushes = large && few_columns() && has_push();
    for (const Together& together : groups_) {
      if (pushes && !together.parts) {
        for (const Together& some : portions(together, pushed_columns())) push_some(some);
      } else if (at_once && !together.parts) {
        for (const Together& some : portions(every_step(together), 1)) {
          if (!chain_some(some)) propagate_some(some);
        }
      } else if (dual) {
        for (const Together& some : portions(together, pushed_columns())) push_some(some);
      } else {
        for (const Together& some : portions(together, 1)) propagate_some(some);
      }
      if (!out_.ok) break;
    }
    return std::move(out_);
  }

 private:
  static std::size_t n(std::int64_t count) { return static_cast<std::size_t>(count); }
  std::size_t columns() const { return q_ + (options_.by_starts ? nt_ : 0); }
  // Those that are run; a run without any still gives the states.
  std::size_t pushed_columns() const { return std::max<std::size_t>(1, columns()); }
  // Whether a run for each is less than the Jacobian of every step, of large worlds row by row.
  bool few_columns() const { return kRunsPerRow * pushed_columns() <= nt_; }
  // Whether the System pushes tangents itself, seen at the first start.
  bool has_push() const {
    const Stretch& s = stretches_.front();
    const std::span<const double> u =
        s.controls.empty() ? std::span<const double>() : std::span(s.controls).first(nu_);
    LineariseOptions options;
    options.t = s.t0;
    return StepOperator(system_, starts_.first(nx_), u, parameters_of(0), options).has_push();
  }
  std::span<const double> parameters_of(std::size_t e) const {
    return apart_ ? parameters_.subspan(e * np_, np_) : parameters_;
  }

  static bool on_grid(const Sample& s) { return s.part == 0 || s.share == 1; }
  // The step whose state a sample on the grid is.
  static std::int64_t step_of(const Sample& s) { return s.part == 0 ? s.step : s.step + 1; }

  void group() {
    const StepperSizes& sizes = system_.steppers<double>().one->sizes();
    std::vector<std::size_t> order(stretches_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return stretches_[a].steps > stretches_[b].steps;
    });
    for (const std::size_t e : order) {
      const Stretch& s = stretches_[e];
      const bool parts =
          sizes.takes_parts && !std::all_of(samples_[e].begin(), samples_[e].end(),
                                            [](const Sample& i) { return on_grid(i); });
      const double t0 = timeless_ ? 0 : s.t0;
      const auto fits = [&](const Together& g) {
        if (g.parts != parts || g.t0 != t0) return false;
        if (!parts) return static_cast<double>(s.steps) >= kAlike * static_cast<double>(g.steps);
        return s.steps == g.steps && s.offsets == stretches_[g.members.front()].offsets;
      };
      auto at = std::find_if(groups_.begin(), groups_.end(), fits);
      if (at == groups_.end()) {
        groups_.push_back({{}, s.steps, t0, parts, {}, {}, {}});
        at = groups_.end() - 1;
      }
      at->members.push_back(e);
    }
    for (Together& g : groups_) {
      if (g.parts) {
        list_times(g);
      } else {
        list_steps(g);
      }
    }
  }

  // The times of a group whose members have them alike, once each, and the end.
  void list_times(Together& g) {
    const auto same = [](const Sample& a, const Sample& b) {
      return a.step == b.step && a.part == b.part;
    };
    const std::size_t e = g.members.front();
    const double end = static_cast<double>(g.steps) * h_;
    for (std::size_t i = 0; i < samples_[e].size(); ++i) {
      if (!g.samples.empty() && same(g.samples.back(), samples_[e][i])) continue;
      g.samples.push_back(samples_[e][i]);
      g.times.push_back(g.t0 + std::min(stretches_[e].offsets[i], end));
    }
    const Sample last{g.steps - 1, h_, 1};
    if (g.samples.empty() || !same(g.samples.back(), last)) {
      g.samples.push_back(last);
      g.times.push_back(g.t0 + end);
    }
  }

  void list_steps(Together& g) {
    for (const std::size_t e : g.members) {
      g.saved.push_back(stretches_[e].steps);
      for (const Sample& s : samples_[e]) {
        if (on_grid(s)) {
          g.saved.push_back(step_of(s));
        } else {
          g.saved.insert(g.saved.end(), {s.step, s.step + 1});
        }
      }
    }
    std::sort(g.saved.begin(), g.saved.end());
    g.saved.erase(std::unique(g.saved.begin(), g.saved.end()), g.saved.end());
  }

  // A group in portions that fit into memory, with so many rows for each member.
  std::vector<Together> portions(const Together& g, std::size_t rows) const {
    const double saved = static_cast<double>(g.parts ? g.times.size() : g.saved.size()),
                 bytes = 8 * static_cast<double>(rows) *
                         (4 * saved * static_cast<double>(nx_) +
                          2 * static_cast<double>(g.steps) * static_cast<double>(nu_));
    const std::size_t most =
        std::max<std::size_t>(1, static_cast<std::size_t>(kBytesAtOnce / std::max(1.0, bytes)));
    std::vector<Together> out;
    for (std::size_t i = 0; i < g.members.size(); i += most) {
      out.push_back(g);
      const auto from = g.members.begin() + static_cast<std::ptrdiff_t>(i);
      out.back().members.assign(
          from, from + static_cast<std::ptrdiff_t>(std::min(most, g.members.size() - i)));
    }
    return out;
  }

  RolloutOptions options_of(const Together& g) const {
    RolloutOptions options;
    if (g.parts) {
      options.times = g.times;
    } else {
      options.save = Save::at(g.saved);
    }
    options.memory = Memory::checkpoints(1);
    options.t0 = g.t0;
    options.threads = options_.threads;
    options.keep_going = options_.keep_going;
    return options;
  }

  // Inputs of members, each `rows` times; the last input of a shorter one goes on.
  Numbers controls_of(const Together& g, std::size_t rows) const {
    Numbers u(g.members.size() * rows * n(g.steps) * nu_, 0.0);
    double* to = u.data();
    for (const std::size_t e : g.members) {
      const Stretch& s = stretches_[e];
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::int64_t k = 0; k < g.steps && nu_ > 0; ++k, to += nu_) {
          if (s.controls.empty()) continue;
          std::copy_n(s.controls.data() + n(std::min(k, s.steps - 1)) * nu_, nu_, to);
        }
      }
    }
    return u;
  }

  Numbers starts_of(const Together& g, std::size_t rows) const {
    Numbers x;
    for (const std::size_t e : g.members) {
      for (std::size_t r = 0; r < rows; ++r) {
        x.insert(x.end(), starts_.begin() + static_cast<std::ptrdiff_t>(e * nx_),
                 starts_.begin() + static_cast<std::ptrdiff_t>((e + 1) * nx_));
      }
    }
    return x;
  }

  static std::size_t place(const std::vector<std::int64_t>& steps, std::int64_t k) {
    return n(std::lower_bound(steps.begin(), steps.end(), k) - steps.begin());
  }
  // Of a sample among the times of a group.
  static std::size_t place(const Together& g, const Sample& s) {
    std::size_t i = 0;
    while (g.samples[i].step != s.step || g.samples[i].part != s.part) ++i;
    return i;
  }

  void run_some(const Together& g) {
    const Numbers x = starts_of(g, 1), u = controls_of(g, 1);
    Numbers p(parameters_.begin(), parameters_.end());
    if (apart_) {
      p.clear();
      for (const std::size_t e : g.members) {
        const auto own = parameters_of(e);
        p.insert(p.end(), own.begin(), own.end());
      }
    }
    const Trajectory<double> run =
        rollout(system_, x, Controls<double>(u, g.steps), p, options_of(g));
    const std::size_t saved = run.saved_steps().size();
    const std::vector<bool> failed = failed_members(g, run);
    for (std::size_t m = 0; m < g.members.size(); ++m) {
      const std::size_t e = g.members[m];
      const double* rows = run.states().data() + m * saved * nx_;
      if (failed[m]) {
        out_.states[e].assign(samples_[e].size() * nx_, NAN);
        out_.ends[e].assign(nx_, NAN);
        continue;
      }
      take_values(g, e, rows);
    }
  }

  std::vector<bool> failed_members(const Together& g, const Trajectory<double>& run) {
    std::vector<bool> failed(g.members.size(), false);
    for (const Failure& f : run.report().failed) {
      const std::size_t m = n(f.environment);
      if (f.step >= stretches_[g.members[m]].steps) continue;  // beyond its own end
      failed[m] = true;
      if (!apart_) out_.ok = false;
      if (out_.reason.empty()) out_.reason = describe(f);
    }
    return failed;
  }

  // The states of stretch e from saved rows.
  void take_values(const Together& g, std::size_t e, const double* rows) {
    out_.states[e].resize(samples_[e].size() * nx_);
    out_.ends[e].resize(nx_);
    std::size_t at = 0;
    for (std::size_t i = 0; i < samples_[e].size(); ++i) {
      const Sample& s = samples_[e][i];
      double* to = out_.states[e].data() + i * nx_;
      if (g.parts) {
        while (g.samples[at].step != s.step || g.samples[at].part != s.part) ++at;
        std::copy_n(rows + at * nx_, nx_, to);
      } else if (on_grid(s)) {
        std::copy_n(rows + place(g.saved, step_of(s)) * nx_, nx_, to);
      } else {
        const double* x = rows + place(g.saved, s.step) * nx_;
        const double* x_next = rows + place(g.saved, s.step + 1) * nx_;
        interpolate(space_, 1, x, x_next, s.share, to);
      }
    }
    const std::size_t end = g.parts ? g.samples.size() - 1 : place(g.saved, stretches_[e].steps);
    std::copy_n(rows + end * nx_, nx_, out_.ends[e].data());
  }

  // (2) by dual numbers: a row for every member and direction.
  void push_some(const Together& g) {
    const std::size_t c = pushed_columns(), rows = g.members.size() * c;
    const Numbers x = starts_of(g, c), u = controls_of(g, c);
    Numbers x_tan(rows * nt_, 0.0), p_tan(rows * np_, 0.0);
    for (std::size_t m = 0; m < g.members.size(); ++m) {
      for (std::size_t j = 0; j < c; ++j) {
        const std::size_t row = m * c + j;
        if (j < q_) {
          std::copy_n(directions_.data() + j * np_, np_, p_tan.data() + row * np_);
        } else if (options_.by_starts) {
          x_tan[row * nt_ + j - q_] = 1;
        }
      }
    }
    Direction direction;
    direction.x0 = x_tan;
    if (q_ > 0) direction.params = p_tan;
    const Pushforward pushed = pushforward(system_, x, Controls<double>(u, g.steps), direction,
                                           parameters_, options_of(g));
    const std::size_t saved = g.parts ? g.times.size() : g.saved.size();
    Numbers own, own_next;
    for (std::size_t m = 0; m < g.members.size(); ++m) {
      const std::size_t e = g.members[m];
      take_values(g, e, pushed.states().data() + m * c * saved * nx_);
      for (std::size_t j = 0; j < columns(); ++j) {
        const double* values = pushed.states().data() + (m * c + j) * saved * nx_;
        const double* tangents = pushed.states_tan().data() + (m * c + j) * saved * nx_;
        take_tangents(g, e, j, values, tangents);
      }
    }
  }

  void to_tangent(const double* x, const double* x_tan, double* d) const {
    tangent_of_velocity(space_, x, x_tan, d);
  }
  void put(std::vector<double>& to, std::size_t sample, std::size_t j, const double* d) const {
    for (std::size_t i = 0; i < nt_; ++i) to[(sample * nt_ + i) * columns() + j] = d[i];
  }

  // Column j of (2) of stretch e, from saved rows and their tangents in coordinates.
  void take_tangents(const Together& g, std::size_t e, std::size_t j, const double* rows,
                     const double* tangents) {
    Numbers d(nt_);
    std::size_t at = 0;
    for (std::size_t i = 0; i < samples_[e].size(); ++i) {
      const Sample& s = samples_[e][i];
      if (g.parts) {
        while (g.samples[at].step != s.step || g.samples[at].part != s.part) ++at;
        to_tangent(rows + at * nx_, tangents + at * nx_, d.data());
      } else if (on_grid(s)) {
        const std::size_t k = place(g.saved, step_of(s)) * nx_;
        to_tangent(rows + k, tangents + k, d.data());
      } else {
        const std::size_t k = place(g.saved, s.step) * nx_, next = place(g.saved, s.step + 1) * nx_;
        between(rows + k, tangents + k, rows + next, tangents + next, s.share, d.data());
      }
      put(out_.states_tan[e], i, j, d.data());
    }
    const std::size_t end =
        (g.parts ? g.samples.size() - 1 : place(g.saved, stretches_[e].steps)) * nx_;
    to_tangent(rows + end, tangents + end, d.data());
    put(out_.ends_tan[e], 0, j, d.data());
  }

  // The tangent of a state on the path between two, whose tangents are in coordinates.
  void between(const double* x, const double* x_tan, const double* x_next, const double* next_tan,
               double share, double* d) const {
    std::vector<Dual1> a(nx_), b(nx_), y(nx_);
    for (std::size_t i = 0; i < nx_; ++i) {
      a[i] = Dual1(x[i]), b[i] = Dual1(x_next[i]);
      a[i].tangent[0] = x_tan[i], b[i].tangent[0] = next_tan[i];
    }
    interpolate(space_, 1, a.data(), b.data(), Dual1(share), y.data());
    Numbers value(nx_), tangent(nx_);
    for (std::size_t i = 0; i < nx_; ++i) value[i] = y[i].value, tangent[i] = y[i].tangent[0];
    to_tangent(value.data(), tangent.data(), d);
  }

  // The same group with every step saved.
  static Together every_step(Together g) {
    g.saved.resize(n(g.steps) + 1);
    std::iota(g.saved.begin(), g.saved.end(), std::int64_t{0});
    return g;
  }

  // Whether steps that were made at other times than those of a run lead where the run went.
  bool same_steps(const Numbers& a, const Numbers& b) const {
    for (std::size_t c = 0; c < nx_; ++c) {
      double apart = 0, size = 0;
      for (std::size_t i = c; i < a.size(); i += nx_) {
        apart = std::max(apart, std::abs(a[i] - b[i]));
        size = std::max(size, std::abs(a[i]));
      }
      if (!(apart <= kSameStep * size)) return false;
    }
    return true;
  }

  // (3), where steps do not depend on the time: a run first, then the steps of all members in one
  // batch of lanes, then the products along each. False where they do.
  bool chain_some(const Together& g) {
    const std::size_t T = n(g.steps), c = columns();
    const Numbers u = controls_of(g, 1);
    const Trajectory<double> run =
        rollout(system_, starts_of(g, 1), Controls<double>(u, g.steps), parameters_, options_of(g));
    failed_members(g, run);
    if (!out_.ok) return true;
    struct Row {
      std::size_t member, step;
    };
    std::vector<Row> rows;
    for (std::size_t m = 0; m < g.members.size(); ++m) {
      take_values(g, g.members[m], run.states().data() + m * (T + 1) * nx_);
      for (std::size_t k = 0; k < n(stretches_[g.members[m]].steps); ++k) rows.push_back({m, k});
    }
    if (c == 0) return true;
    const std::size_t most = std::max<std::size_t>(
        1, static_cast<std::size_t>(kBytesAtOnce / static_cast<double>(8 * nt_ * (c + nu_))));
    const Products product = products();
    Numbers x, ahead, inputs, d, next(nt_ * c), path;  // path: d of every step of one member
    for (std::size_t first = 0; first < rows.size(); first += most) {
      const std::size_t count = std::min(most, rows.size() - first);
      x.resize(count * nx_), ahead.resize(count * nx_), inputs.resize(count * nu_);
      for (std::size_t i = 0; i < count; ++i) {
        const auto [m, k] = rows[first + i];
        const double* state = run.states().data() + (m * (T + 1) + k) * nx_;
        std::copy_n(state, nx_, x.data() + i * nx_);
        std::copy_n(state + nx_, nx_, ahead.data() + i * nx_);
        std::copy_n(u.data() + (m * T + k) * nu_, nu_, inputs.data() + i * nu_);
      }
      const Linearisation<double> lin = linearised(g, 0, x, inputs, parameters_);
      if (!timeless_ && !same_steps(ahead, lin.next)) return false;
      for (std::size_t i = 0; i < count; ++i) {
        const auto [m, k] = rows[first + i];
        if (k == 0) {
          d.assign(nt_ * c, 0.0);
          for (std::size_t a = 0; a < nt_ && c > q_; ++a) d[a * c + q_ + a] = 1;
          path = d;
        }
        for (std::size_t a = 0; a < nt_; ++a) {
          double* to = next.data() + a * c;
          std::copy_n(lin.P.data() + (i * nt_ + a) * q_, q_, to);
          std::fill(to + q_, to + c, 0.0);
        }
        const int rank = static_cast<int>(nt_);
        product.add(rank, static_cast<int>(c), rank, lin.A.data() + i * nt_ * nt_, d.data(),
                    next.data());
        std::swap(d, next);
        path.insert(path.end(), d.begin(), d.end());
        const std::size_t e = g.members[m];
        if (k + 1 == n(stretches_[e].steps)) {
          take_path(e, run.states().data() + m * (T + 1) * nx_, path, c);
        }
      }
    }
    return true;
  }

  // Tangents of stretch e from those of all its states, (steps + 1, tangents, c).
  void take_path(std::size_t e, const double* rows, const Numbers& path, std::size_t c) {
    Numbers a(nt_), b(nt_), a_tan(nx_), b_tan(nx_), own(nt_);
    const auto take = [&](std::vector<double>& to, std::size_t sample, std::size_t k) {
      for (std::size_t i = 0; i < nt_; ++i) {
        std::copy_n(path.data() + (k * nt_ + i) * c, c, to.data() + (sample * nt_ + i) * columns());
      }
    };
    for (std::size_t i = 0; i < samples_[e].size(); ++i) {
      const Sample& s = samples_[e][i];
      if (on_grid(s)) {
        take(out_.states_tan[e], i, n(step_of(s)));
        continue;
      }
      const std::size_t k = n(s.step);
      const double *from = rows + k * nx_, *to = from + nx_;
      for (std::size_t j = 0; j < c; ++j) {
        for (std::size_t r = 0; r < nt_; ++r) {
          a[r] = path[(k * nt_ + r) * c + j];
          b[r] = path[((k + 1) * nt_ + r) * c + j];
        }
        space_.velocity(from, a.data(), a_tan.data());
        space_.velocity(to, b.data(), b_tan.data());
        between(from, a_tan.data(), to, b_tan.data(), s.share, own.data());
        put(out_.states_tan[e], i, j, own.data());
      }
    }
    take(out_.ends_tan[e], 0, n(stretches_[e].steps));
  }

  // (3): step after step, all members at once.
  void propagate_some(const Together& g) {
    const std::size_t c = columns(), count = g.members.size();
    Numbers x = starts_of(g, 1), u_all = controls_of(g, 1), u(count * nu_);
    for (std::size_t m = 0; m < count; ++m) space_.normalise(x.data() + m * nx_);
    Numbers d(count * nt_ * c, 0.0);
    for (std::size_t m = 0; m < count; ++m) {
      for (std::size_t i = 0; i < nt_ && c > q_; ++i) d[(m * nt_ + i) * c + q_ + i] = 1;
    }
    std::vector<std::size_t> next_sample(count, 0);
    const auto take_whole = [&](std::size_t m, std::int64_t k) {  // samples that are state k
      const std::size_t e = g.members[m];
      while (next_sample[m] < samples_[e].size() && on_grid(samples_[e][next_sample[m]]) &&
             step_of(samples_[e][next_sample[m]]) == k) {
        const std::size_t i = next_sample[m]++;
        std::copy_n(x.data() + m * nx_, nx_, out_.states[e].data() + i * nx_);
        std::copy_n(d.data() + m * nt_ * c, nt_ * c, out_.states_tan[e].data() + i * nt_ * c);
      }
      if (k != stretches_[e].steps) return;
      std::copy_n(x.data() + m * nx_, nx_, out_.ends[e].data());
      std::copy_n(d.data() + m * nt_ * c, nt_ * c, out_.ends_tan[e].data());
    };
    for (std::int64_t k = 0; k <= g.steps; ++k) {
      for (std::size_t m = 0; m < count; ++m) take_whole(m, k);
      if (k == g.steps) break;
      for (std::size_t m = 0; m < count && nu_ > 0; ++m) {
        std::copy_n(u_all.data() + (m * n(g.steps) + n(k)) * nu_, nu_, u.data() + m * nu_);
      }
      if (g.parts) take_parts(g, k, x, u, d, next_sample);
      const Linearisation<double> lin = linearised(g, k, x, u, parameters_);
      const Numbers d_next = pushed(lin, d, count);
      if (!g.parts) take_between(g, k, x, d, lin.next, d_next, next_sample);
      x = lin.next;
      d = d_next;
    }
  }

  Linearisation<double> linearised(const Together& g, std::int64_t k, const Numbers& x,
                                   const Numbers& u, std::span<const double> p) const {
    LineariseOptions options;
    options.directions = directions_;
    options.unsolved = true;
    options.t = g.t0;
    options.step = k;
    options.threads = options_.threads;
    options.keep_going = options_.keep_going;
    return linearise(system_, x, u, p, options);
  }

  Numbers pushed(const Linearisation<double>& lin, const Numbers& d, std::size_t count) const {
    const std::size_t c = columns();
    Numbers next(count * nt_ * c, 0.0);
    for (std::size_t m = 0; m < count; ++m) {
      for (std::size_t i = 0; i < nt_; ++i) {
        double* to = next.data() + (m * nt_ + i) * c;
        for (std::size_t a = 0; a < nt_; ++a) {
          const double A = lin.A[(m * nt_ + i) * nt_ + a];
          const double* from = d.data() + (m * nt_ + a) * c;
          for (std::size_t j = 0; j < c; ++j) to[j] += A * from[j];
        }
        for (std::size_t j = 0; j < q_; ++j) to[j] += lin.P[(m * nt_ + i) * q_ + j];
      }
    }
    return next;
  }

  // Samples inside step k on the path between its ends.
  void take_between(const Together& g, std::int64_t k, const Numbers& x, const Numbers& d,
                    const Numbers& x_next, const Numbers& d_next,
                    std::vector<std::size_t>& next_sample) {
    const std::size_t c = columns();
    Numbers a(nt_), b(nt_), a_tan(nx_), b_tan(nx_), own(nt_);
    for (std::size_t m = 0; m < g.members.size(); ++m) {
      const std::size_t e = g.members[m];
      const double *from = x.data() + m * nx_, *to = x_next.data() + m * nx_;
      while (next_sample[m] < samples_[e].size() && samples_[e][next_sample[m]].step == k &&
             !on_grid(samples_[e][next_sample[m]])) {
        const std::size_t i = next_sample[m]++;
        const double share = samples_[e][i].share;
        interpolate(space_, 1, from, to, share, out_.states[e].data() + i * nx_);
        for (std::size_t j = 0; j < c; ++j) {
          for (std::size_t r = 0; r < nt_; ++r) {
            a[r] = d[(m * nt_ + r) * c + j];
            b[r] = d_next[(m * nt_ + r) * c + j];
          }
          space_.velocity(from, a.data(), a_tan.data());
          space_.velocity(to, b.data(), b_tan.data());
          between(from, a_tan.data(), to, b_tan.data(), share, own.data());
          put(out_.states_tan[e], i, j, own.data());
        }
      }
    }
  }

  // Samples inside step k by a step of that length.
  void take_parts(const Together& g, std::int64_t k, const Numbers& x, const Numbers& u,
                  const Numbers& d, std::vector<std::size_t>& next_sample) {
    const std::size_t c = columns(), count = g.members.size();
    const std::size_t first = g.members.front();
    while (next_sample[0] < samples_[first].size() && samples_[first][next_sample[0]].step == k &&
           !on_grid(samples_[first][next_sample[0]])) {
      const std::size_t i = next_sample[0];
      Numbers p(parameters_.begin(), parameters_.end());
      p[n(system_.parameters().find(kTimestepName).offset)] = samples_[first][i].part;
      Together at = g;
      at.t0 = g.t0 + static_cast<double>(k) * h_;
      const Linearisation<double> lin = linearised(at, 0, x, u, p);
      const Numbers d_next = pushed(lin, d, count);
      for (std::size_t m = 0; m < count; ++m) {
        const std::size_t e = g.members[m];
        std::copy_n(lin.next.data() + m * nx_, nx_, out_.states[e].data() + i * nx_);
        std::copy_n(d_next.data() + m * nt_ * c, nt_ * c, out_.states_tan[e].data() + i * nt_ * c);
        ++next_sample[m];
      }
    }
  }

  System system_;
  const Space& space_;
  const std::vector<Stretch>& stretches_;
  std::span<const double> starts_, parameters_, directions_;
  const StretchOptions& options_;
  bool apart_, timeless_;
  std::size_t nx_, nt_, nu_, np_, q_;
  double h_;
  std::vector<std::vector<Sample>> samples_;  // of each stretch
  std::vector<Together> groups_;
  StretchStates out_;
};

}  // namespace

bool is_timeless(const System& system) {
  // Laws of the catalogue and robots, which come with dual numbers; a law of the user's own may
  // look at the time.
  if (!system.steppers<double>().dual) return false;
  const std::vector<std::string>& laws = systems::names();
  const bool law = std::find(laws.begin(), laws.end(), system.name()) != laws.end();
  return law || system.parameters().contains("option.gravity");
}

StretchStates run_stretches(const System& system, const std::vector<Stretch>& stretches,
                            std::span<const double> starts, std::span<const double> parameters,
                            const StretchOptions& options) {
  return Runs(system, stretches, starts, parameters, {}, options, false).run();
}

StretchStates run_stretches_with_tangents(const System& system,
                                          const std::vector<Stretch>& stretches,
                                          std::span<const double> starts,
                                          std::span<const double> parameters,
                                          std::span<const double> directions,
                                          const StretchOptions& options) {
  return Runs(system, stretches, starts, parameters, directions, options, false)
      .run_with_tangents();
}

StretchStates run_stretches_apart(const System& system, const std::vector<Stretch>& stretches,
                                  std::span<const double> starts,
                                  std::span<const double> parameters,
                                  const StretchOptions& options) {
  return Runs(system, stretches, starts, parameters, {}, options, true).run();
}

}  // namespace cycloid::inline optimise
