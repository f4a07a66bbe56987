#include "cycloid/evaluate/gradient_scores.h"

#include <algorithm>
#include <cmath>

#include "cycloid/adjoint/diagnose.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline evaluate {
namespace {

using Numbers = std::vector<double>;

constexpr int kHorizons = 8;
constexpr double kWorthFollowing = 0.5;
constexpr int kMovedStarts = 2;
constexpr double kMove = 0.01;                             // [σ]
constexpr double kDifferenceSteps[] = {1e-4, 1e-5, 1e-6};  // [σ]
constexpr std::uint32_t kMoveStream = 0x6d6f7665;

// Gradients of w · x at one sample, for each run: by the start and by the inputs of every sample's
// stretch, on the coarser of the two clocks.
class GradientRun {
 public:
  // `stretch`: its steps from one sample to the next; x0 (runs, states of the truth).
  GradientRun(const Contest& c, const System& system, const StepRatio& ratio, std::int64_t stretch,
              const Numbers& starts)
      : c_(c), system_(system.in_double()), stretch_(stretch) {
    Numbers u;
    if (system_.inputs().size() > 0) u = seen_controls(c.controls, c.runs, c.steps, c.m(), ratio);
    const std::int64_t steps = (c.states.samples - 1) * stretch;
    const Numbers x0 = padded_states(system_, starts, c.runs, c.n());
    const Controls<double> controls =
        u.empty() ? Controls<double>(steps) : Controls<double>(u, steps);
    run_.emplace(
        rollout(system_, x0, controls, {},
                {.save = Save::every(stretch), .threads = c.threads, .keep_going = c.keep_going}));
  }

  // (runs, states of the truth + inputs of every sample); rows that are not finite are empty.
  std::vector<Numbers> gradients(const Numbers& w, std::int64_t sample) const {
    const std::int64_t nx = system_.states().size(), n = c_.n(), m = c_.m(), S = c_.states.samples;
    Numbers bar(at(c_.runs * S * nx), 0.0);
    for (std::int64_t r = 0; r < c_.runs; ++r) {
      for (std::int64_t k = 0; k < n; ++k) bar[at((r * S + sample) * nx + k)] = w[at(r * n + k)];
    }
    PullbackOptions options;
    options.params = false, options.each = true;
    options.failed = PullbackOptions::Failed::skip;
    options.keep_going = c_.keep_going;
    const Gradient<double> g = run_->pullback(bar, options);
    std::vector<Numbers> out(at(c_.runs));
    const std::int64_t steps = (S - 1) * stretch_;
    const bool moved = system_.inputs().size() > 0;
    for (std::int64_t r = 0; r < c_.runs; ++r) {
      Numbers row(g.x0.begin() + r * nx, g.x0.begin() + r * nx + n);
      row.resize(at(n + (S - 1) * m), 0.0);
      for (std::int64_t t = 0; t < steps && moved; ++t) {
        for (std::int64_t i = 0; i < m; ++i) {
          row[at(n + t / stretch_ * m + i)] += g.controls[at((r * steps + t) * m + i)];
        }
      }
      double size = 0;
      for (const double v : row) size += v * v;
      if (std::isfinite(size) && size > 0) out[at(r)] = std::move(row);
    }
    return out;
  }

  // w · x at a sample, for each run.
  Numbers losses(const Numbers& w, std::int64_t sample) const {
    Numbers out;
    for (std::int64_t r = 0; r < c_.runs; ++r) {
      const double* const x = run_->state(r, sample).data();
      double sum = 0;
      for (std::int64_t k = 0; k < c_.n(); ++k) sum += w[at(r * c_.n() + k)] * x[k];
      out.push_back(sum);
    }
    return out;
  }

  // [s], within the run.
  double diagnosed_horizon(const Numbers& w) const {
    const std::int64_t nx = system_.states().size(), n = c_.n(), S = c_.states.samples;
    Numbers bar(at(c_.runs * S * nx), 0.0);
    for (std::int64_t r = 0; r < c_.runs; ++r) {
      for (std::int64_t k = 0; k < n; ++k) bar[at((r * S + S - 1) * nx + k)] = w[at(r * n + k)];
    }
    return diagnose(*run_, std::span<const double>(bar), c_.keep_going).horizon;
  }

 private:
  const Contest& c_;
  System system_;
  std::int64_t stretch_;
  std::optional<Trajectory<double>> run_;
};

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double cosine_of(const Numbers& a, const Numbers& b) {
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));  // (1)
}

// σ ξ of each run, (runs, tangents).
Numbers moves_of(const Contest& c, std::uint64_t seed, std::uint64_t which) {
  Numbers out;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    RandomStream random(seed ^ kMoveStream, static_cast<std::uint32_t>(r), which);
    for (const double sigma : c.scale) out.push_back(sigma * random.normal());
  }
  return out;
}

// x0 ⊕ size d.
Numbers moved_starts(const Contest& c, const Numbers& d, double size) {
  const Space& space = c.truth.states();
  const std::size_t n = at(space.size()), nt = at(space.tangent_size());
  Numbers out(c.x0.size()), own(nt);
  for (std::size_t r = 0; r < at(c.runs); ++r) {
    for (std::size_t k = 0; k < nt; ++k) own[k] = size * d[r * nt + k];
    space.retract(c.x0.data() + r * n, own.data(), out.data() + r * n);
  }
  return out;
}

// (4)
Numbers perturbed_cosines(const Contest& c, const Numbers& w, std::uint64_t seed) {
  const std::int64_t last = c.states.samples - 1;
  Numbers out(at(c.runs), NAN);
  for (int k = 0; k < kMovedStarts; ++k) {
    const Numbers x0 = moved_starts(c, moves_of(c, seed, static_cast<std::uint64_t>(k)), kMove);
    const auto g = GradientRun(c, *c.model.system, c.ratio, c.ratio.finer, x0).gradients(w, last);
    const auto best = GradientRun(c, c.truth, {}, c.ratio.coarser, x0).gradients(w, last);
    for (std::size_t r = 0; r < g.size(); ++r) {
      if (best[r].empty()) continue;
      const double cosine = g[r].empty() ? 0 : cosine_of(g[r], best[r]);
      out[r] = std::isnan(out[r]) ? cosine : std::min(out[r], cosine);
    }
  }
  return out;
}

// (5), of gradients g by the start.
Numbers difference_errors(const Contest& c, const Numbers& w, const std::vector<Numbers>& g,
                          std::uint64_t seed) {
  const Space& space = c.truth.states();
  const std::size_t n = at(space.size()), nt = at(space.tangent_size());
  const std::int64_t last = c.states.samples - 1;
  const Numbers d = moves_of(c, seed, kMovedStarts);
  Numbers out(at(c.runs), NAN), x_tan(n);
  for (const double h : kDifferenceSteps) {
    const auto loss = [&](double size) {
      return GradientRun(c, *c.model.system, c.ratio, c.ratio.finer, moved_starts(c, d, size))
          .losses(w, last);
    };
    const Numbers up = loss(h), down = loss(-h);
    for (std::size_t r = 0; r < g.size(); ++r) {
      if (g[r].empty()) {
        out[r] = 1;
        continue;
      }
      space.velocity(c.x0.data() + r * n, d.data() + r * nt, x_tan.data());
      const Numbers own(g[r].begin(), g[r].begin() + static_cast<std::ptrdiff_t>(n));
      const double size = std::sqrt(dot(own, own) * dot(x_tan, x_tan));
      const double off = std::abs(dot(own, x_tan) - (up[r] - down[r]) / (2 * h));
      if (size > 0 && !(off / size >= out[r])) out[r] = off / size;
    }
  }
  return out;
}

}  // namespace

std::optional<GradientScores> gradient_scores(const Contest& c, std::uint64_t seed) {
  if (!c.model.system || c.model.system->inputs().size() != c.m()) return std::nullopt;
  const std::int64_t n = c.n(), S = c.states.samples;
  Numbers w;
  for (std::int64_t r = 0; r < c.runs; ++r) {
    RandomStream random(seed, static_cast<std::uint32_t>(r));
    for (std::int64_t k = 0; k < n; ++k) w.push_back(random.normal());
  }
  const GradientRun model(c, *c.model.system, c.ratio, c.ratio.finer, c.x0),
      truth(c, c.truth, {}, c.ratio.coarser, c.x0);
  GradientScores out;
  for (int k = 1; k <= kHorizons; ++k) {
    const double share = static_cast<double>(k) / kHorizons;
    const std::int64_t sample =
        std::max<std::int64_t>(1, std::llround(std::pow(static_cast<double>(S - 1), share)));
    if (out.samples.empty() || sample > out.samples.back()) out.samples.push_back(sample);
  }
  out.finite.assign(at(c.runs), 1.0);
  std::vector<Numbers> last;
  out.horizon.assign(at(c.runs), 0.0);
  std::vector<bool> followed(at(c.runs), true);
  const double limit = model.diagnosed_horizon(w);
  for (const std::int64_t sample : out.samples) {
    std::vector<Numbers> g = model.gradients(w, sample);
    const std::vector<Numbers> best = truth.gradients(w, sample);
    const double finite = static_cast<double>(
        std::count_if(g.begin(), g.end(), [](const Numbers& row) { return !row.empty(); }));
    out.finite_at.push_back(finite / static_cast<double>(c.runs));
    Numbers cosine(at(c.runs), 0.0), error(at(c.runs), 1.0);
    for (std::size_t r = 0; r < at(c.runs); ++r) {
      if (g[r].empty()) out.finite[r] = 0;
      if (best[r].empty()) {
        cosine[r] = error[r] = NAN;
        continue;
      }
      if (g[r].empty()) {
        followed[r] = false;
        continue;
      }
      const double size = std::sqrt(dot(best[r], best[r]));
      cosine[r] = cosine_of(g[r], best[r]);
      Numbers d = g[r];
      for (std::size_t i = 0; i < d.size(); ++i) d[i] -= best[r][i];
      error[r] = std::sqrt(dot(d, d)) / size;  // (2)
      followed[r] = followed[r] && cosine[r] >= kWorthFollowing;
      const double time = static_cast<double>(sample) * c.sample_time();
      if (followed[r]) out.horizon[r] = std::min(limit, time);  // (3)
    }
    out.cosine.push_back(std::move(cosine));
    out.error = std::move(error);
    last = std::move(g);
  }
  try {
    out.moved_cosine = perturbed_cosines(c, w, seed);
    out.difference = difference_errors(c, w, last, seed);
  } catch (const GradientError&) {
    throw;
  } catch (const Error&) {  // a start that is moved need not be one
    out.moved_cosine.clear(), out.difference.clear();
  }
  return out;
}

}  // namespace cycloid::inline evaluate
