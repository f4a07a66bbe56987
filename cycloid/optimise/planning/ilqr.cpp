#include "cycloid/optimise/planning/ilqr.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline optimise {
namespace {

constexpr double kMost = 1e10, kLeast = 1e-8;  // of μ; below the least it is zero
constexpr double kFactor = 1.6;                // by which μ's factor changes [Tassa2012]
constexpr double kShare = 1e-4;                // of the expected decrease that must come
constexpr double kLengths[] = {1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125};
constexpr int kMostOuter = 30;  // rounds of multipliers
constexpr double kPenaltyGrowth = 5;
constexpr double kNudge = 1e-3;  // noise on a start where every slope vanishes

// Levenberg's μ and how fast it moves.
struct Damping {
  double mu, factor = 1;
  bool on_state;

  void raise() {
    factor = std::max(kFactor, factor * kFactor);
    mu = std::max(kLeast, mu * factor);
  }
  void lower() {
    factor = std::min(1 / kFactor, factor / kFactor);
    mu = mu * factor > kLeast ? mu * factor : 0;
  }
};

class Ilqr {
 public:
  explicit Ilqr(Planner& p)
      : p_(p), backward_(p), damping_{p.options.regularisation, 1, p.options.regularise_state} {}

  Plan run(bool goes_on) {
    Planner& p = p_;
    if (!goes_on) p.begin_with_start();
    cost_ = p.best.cost;
    OptimiserStatus status = OptimiserStatus::stopped;
    try {
      if (goes_on || p.report(cost_)) {
        first_ = p.best.history.front();
        status = outer();
      }
    } catch (const Interrupted&) {
      status = OptimiserStatus::stopped;
    }
    if (is_converged(status)) undamped_gains(status);
    p.best.gains = public_gains(gains_, p.T, p.nu, p.nt, backward_.columns());
    return p.finish(status, words_);
  }

 private:
  // Rounds of the augmented Lagrangian; one where there are no constraints.
  OptimiserStatus outer() {
    OptimiserStatus status = inner();
    for (int round = 0; round < kMostOuter && p_.cost.has_constraints(); ++round) {
      const double violated = p_.cost.violation(p_.best.states, p_.best.controls);
      if (!is_converged(status) && status != OptimiserStatus::line_search_failed) break;
      if (violated <= p_.options.constraint_tolerance) break;
      p_.cost.update_multipliers(p_.best.states, p_.best.controls, kPenaltyGrowth);
      cost_ = p_.best.cost = p_.cost.values(p_.best.states, p_.best.controls, 1)[0];
      damping_.mu = p_.options.regularisation;
      damping_.factor = 1;
      status = inner();
    }
    return status;
  }

  OptimiserStatus inner() {
    bool expand = true;
    int still = 0;  // small decreases one after another
    for (;;) {
      if (std::ssize(p_.best.history) > p_.options.iterations) {
        return OptimiserStatus::max_iterations;
      }
      if (p_.out_of_time()) return out_of_time();
      if (expand && !model()) return OptimiserStatus::non_finite;
      while (!backward_.run({damping_.mu, damping_.on_state}, gains_)) {
        damping_.raise();
        if (damping_.mu > kMost) return OptimiserStatus::line_search_failed;
      }
      const double expected = -(gains_.linear + 0.5 * gains_.quadratic);
      const double scale = std::max(std::abs(cost_), 1e-9 * std::abs(first_));
      if (gains_.slope == 0 && p_.best.iterations == 0 && p_.options.start.empty() && nudge()) {
        continue;
      }
      if (expected <= p_.options.tolerance * scale && damping_.mu <= kSmallDamping) {
        return OptimiserStatus::converged_gradient;
      }
      const double before = cost_;
      expand = search();
      if (!p_.report(cost_)) return OptimiserStatus::stopped;
      if (expand) {
        damping_.lower();
        still = before - cost_ <= p_.options.tolerance * scale ? still + 1 : 0;
        if (still >= kStill && damping_.mu <= kSmallDamping) {
          return OptimiserStatus::converged_value;
        }
        continue;
      }
      // No candidate was better. Where hardly anything was expected, this is the end.
      if (expected <= kRounding * scale) return OptimiserStatus::converged_value;
      damping_.raise();
      if (damping_.mu > kMost) return OptimiserStatus::line_search_failed;
    }
  }

  // Gains around the very result, and without damping where that is possible.
  void undamped_gains(OptimiserStatus status) {
    try {
      if (status != OptimiserStatus::converged_gradient && !model()) return;
      Gains exact;
      if (backward_.run({0, false}, exact)) gains_ = std::move(exact);
    } catch (const Interrupted&) {
    } catch (const GradientError&) {
    }
  }

  OptimiserStatus out_of_time() {
    words_ = message("Stopped at the time limit of ", *p_.options.time_limit, " s.");
    return OptimiserStatus::stopped;
  }

  // (1) around the best.
  bool model() {
    try {
      Linearised steps = p_.linearise_steps(p_.best.states, p_.best.controls);
      p_.cost.expand(p_.best.states, p_.best.controls, expansion_, p_.options.keep_going);
      if (p_.options.full_hessian) {
        p_.add_curvature(p_.best.states, p_.best.controls, steps, expansion_);
      }
      backward_.set(p_, p_.best.controls, std::move(steps), expansion_, {});
      return true;
    } catch (const GradientError& error) {
      if (p_.best.iterations == 0) throw;
      words_ = message("Stopped: ", error.what());
      return false;
    }
  }

  // (3), (4). True where the best moved.
  bool search() {
    Policy policy;
    policy.states = p_.best.states;
    policy.controls = p_.best.controls;
    policy.k = gains_.k;
    policy.K = gains_.K;
    policy.columns = backward_.columns();
    const PolicyRollout::Candidates found = p_.search(std::move(policy), kLengths);
    const std::vector<double> costs = p_.costs(found.states, found.controls, found.failed);
    std::size_t least = 0;
    for (std::size_t i = 1; i < costs.size(); ++i) {
      if (costs[i] < costs[least]) least = i;
    }
    const double a = kLengths[least], hoped = -(a * gains_.linear + 0.5 * a * a * gains_.quadratic);
    if (!(costs[least] < cost_) || cost_ - costs[least] < kShare * hoped) return false;
    const std::int64_t nx = (p_.T + 1) * p_.nx, nu = p_.T * p_.nu,
                       row = static_cast<std::int64_t>(least);
    p_.best.states.assign(found.states.begin() + row * nx, found.states.begin() + (row + 1) * nx);
    p_.best.controls.assign(found.controls.begin() + row * nu,
                            found.controls.begin() + (row + 1) * nu);
    cost_ = p_.best.cost = costs[least];
    return true;
  }

  // At rest in a symmetric place, such as a pendulum that hangs, no input has a slope although
  // there may be a way: a little noise shows it. Once.
  bool nudge() {
    if (nudged_) return false;
    nudged_ = true;
    std::vector<double> u = p_.best.controls, states;
    RandomStream random(p_.options.seed);
    for (std::size_t i = 0; i < u.size(); ++i) {
      const int input = static_cast<int>(i) % p_.nu;
      const double width = p_.high(input) - p_.low(input);
      u[i] += kNudge * (std::isfinite(width) ? width : 1.0) * random.normal();
    }
    p_.clamp(u);
    if (!p_.roll_out(u, states)) return false;
    p_.best.controls = std::move(u);
    p_.best.states = std::move(states);
    cost_ = p_.best.cost = p_.cost.values(p_.best.states, p_.best.controls, 1)[0];
    return model();
  }

  static constexpr int kStill = 2;
  static constexpr double kSmallDamping = 1e-4, kRounding = 1e-10;

  Planner& p_;
  BackwardPass backward_;
  Damping damping_;
  Gains gains_;
  Expansion expansion_;
  double cost_ = 0, first_ = 0;
  bool nudged_ = false;
  std::string words_;
};

}  // namespace

BackwardPass::BackwardPass(const Planner& p)
    : T_(p.T), n_(p.nt), nt_(p.nt), nu_(p.nu), smooth_(p.cost.smooth()) {
  if (!smooth_.empty()) n_ += nu_;
  if (!p.bounded()) return;
  low_.resize(T_ * nu_);
  high_.resize(T_ * nu_);
}

void BackwardPass::set(const Planner& p, const std::vector<double>& controls, Linearised steps,
                       const Expansion& e, const std::vector<double>& gaps) {
  const std::int64_t T = T_;
  const int n = n_, nt = nt_, m = nu_;
  for (std::size_t i = 0; i < low_.size(); ++i) {
    low_[i] = p.options.low[i % m] - controls[i];
    high_[i] = p.options.high[i % m] - controls[i];
  }
  lu_ = e.lu;
  luu_ = e.luu;
  if (smooth_.empty()) {
    A_ = std::move(steps.A);
    B_ = std::move(steps.B);
    gaps_ = gaps;
    lx_ = e.lx;
    lxx_ = e.lxx;
    lux_ = e.lux;
    return;
  }
  // z = (dx, du of the step before); Smooth couples du with the latter.
  A_.assign(T * n * n, 0.0);
  B_.assign(T * n * m, 0.0);
  gaps_.assign(gaps.empty() ? 0 : T * n, 0.0);
  lx_.assign((T + 1) * n, 0.0);
  lxx_.assign((T + 1) * n * n, 0.0);
  lux_.assign(T * m * n, 0.0);
  for (std::int64_t t = 0; t <= T; ++t) {
    for (int i = 0; i < nt; ++i) {
      lx_[t * n + i] = e.lx[t * nt + i];
      std::copy_n(e.lxx.data() + (t * nt + i) * nt, nt, lxx_.data() + (t * n + i) * n);
    }
    if (t == T) break;
    for (int i = 0; i < nt; ++i) {
      std::copy_n(steps.A.data() + (t * nt + i) * nt, nt, A_.data() + (t * n + i) * n);
      std::copy_n(steps.B.data() + (t * nt + i) * m, m, B_.data() + (t * n + i) * m);
      if (!gaps.empty()) gaps_[t * n + i] = gaps[t * nt + i];
    }
    for (int i = 0; i < m; ++i) {
      B_[(t * n + nt + i) * m + i] = 1;
      if (!e.lux.empty()) {
        std::copy_n(e.lux.data() + (t * m + i) * nt, nt, lux_.data() + (t * m + i) * n);
      }
      if (t == 0) continue;
      const double w = smooth_[i], change = controls[t * m + i] - controls[(t - 1) * m + i];
      lu_[t * m + i] += 2 * w * change;
      luu_[(t * m + i) * m + i] += 2 * w;
      lx_[t * n + nt + i] = -2 * w * change;
      lxx_[(t * n + nt + i) * n + nt + i] = 2 * w;
      lux_[(t * m + i) * n + nt + i] = -2 * w;
    }
  }
}

bool BackwardPass::run(const Regularisation& regularisation, Gains& gains) const {
  const auto given = [](const std::vector<double>& v) { return v.empty() ? nullptr : v.data(); };
  const LinearQuadratic lq{T_,           n_,          nu_,         A_.data(),  B_.data(),
                           given(gaps_), lx_.data(),  lxx_.data(), lu_.data(), luu_.data(),
                           given(lux_),  given(low_), given(high_)};
  return riccati(lq, regularisation, gains);
}

std::vector<double> public_gains(const Gains& gains, std::int64_t T, int inputs, int tangents,
                                 int columns) {
  std::vector<double> out(T * inputs * tangents, 0.0);
  for (std::int64_t row = 0; row < T * inputs && !gains.K.empty(); ++row) {
    for (int j = 0; j < tangents; ++j) out[row * tangents + j] = -gains.K[row * columns + j];
  }
  return out;
}

Plan plan_ilqr(Planner& planner) { return Ilqr(planner).run(false); }

Plan continue_by_ilqr(Planner& planner) { return Ilqr(planner).run(true); }

}  // namespace cycloid::inline optimise
