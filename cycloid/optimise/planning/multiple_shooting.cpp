#include "cycloid/optimise/planning/multiple_shooting.h"

#include <algorithm>
#include <cmath>

#include "cycloid/adjoint/advance.h"
#include "cycloid/base/error.h"

namespace cycloid::inline optimise {
namespace {

constexpr double kLengths[] = {1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125};
constexpr double kShare = 1e-4, kMostShootingDamping = 1e10, kClosed = 1e-9;
constexpr double kMostOpen = 10;
constexpr int kMostOuter = 30;
constexpr double kPenaltyGrowth = 5;

double sum_of(const double* d, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::abs(d[i]);
  return sum;
}

class MultipleShooting {
 public:
  explicit MultipleShooting(Planner& p) : p_(p), backward_(p), mu_(p.options.regularisation) {}

  Plan run() {
    p_.begin_with_start();
    states_ = p_.best.states;
    controls_ = p_.best.controls;
    if (!p_.options.start_states.empty()) {
      states_ = p_.options.start_states;
      std::copy(p_.x0.begin(), p_.x0.end(), states_.begin());
      for (std::int64_t t = 0; t <= p_.T; ++t) {
        if (!p_.system.states().normalise(states_.data() + t * p_.nx)) {
          throw Error(message("plan: a quaternion of the start's state ", t, " is zero"));
        }
      }
    }
    first_ = p_.best.cost;
    OptimiserStatus status = OptimiserStatus::stopped;
    try {
      if (p_.report(p_.best.cost)) status = outer();
    } catch (const Interrupted&) {
    }
    if (stuck_) return continue_by_ilqr(p_);
    if (Gains exact; is_converged(status) && backward_.run({0, false}, exact)) gains_ = exact;
    p_.best.gains = public_gains(gains_, p_.T, p_.nu, p_.nt, backward_.columns());
    return p_.finish(status, words_);
  }

 private:
  OptimiserStatus outer() {
    evaluate();
    OptimiserStatus status = inner();
    for (int round = 0; round < kMostOuter && p_.cost.has_constraints(); ++round) {
      if (!is_converged(status) && status != OptimiserStatus::line_search_failed) break;
      if (p_.cost.violation(states_, controls_) <= p_.options.constraint_tolerance) break;
      p_.cost.update_multipliers(states_, controls_, kPenaltyGrowth);
      p_.best.cost = INFINITY;  // of another Lagrangian
      evaluate();
      status = inner();
    }
    return status;
  }

  void evaluate() {
    cost_ = p_.cost.values(states_, controls_, 1)[0];
    const Gaps gaps = gaps_of(p_, states_, controls_, 1);
    if (gaps.failed[0]) throw StartFails("plan: a step from the start's states fails");
    gaps_ = gaps.d;
    open_ = sum_of(gaps_.data(), std::ssize(gaps_));
    filter_.clear();
    // Gaps may grow by as much as the states themselves could.
    most_open_ = kMostOpen * std::max(1.0, open_ + static_cast<double>(p_.T));
    keep_best();
  }

  OptimiserStatus inner() {
    bool model_is_new = false;
    for (;;) {
      if (std::ssize(p_.best.history) > p_.options.iterations) {
        return OptimiserStatus::max_iterations;
      }
      if (p_.out_of_time()) {
        words_ = message("Stopped at the time limit of ", *p_.options.time_limit, " s.");
        return OptimiserStatus::stopped;
      }
      if (!model_is_new) {
        steps_ = p_.linearise_steps(states_, controls_);
        p_.cost.expand(states_, controls_, expansion_, p_.options.keep_going);
        backward_.set(p_, controls_, steps_, expansion_, gaps_);
      }
      while (!backward_.run({mu_, p_.options.regularise_state}, gains_)) {
        mu_ = std::max(1e-8, 10 * mu_);
        if (mu_ > kMostShootingDamping) return OptimiserStatus::line_search_failed;
      }
      direction();
      const double scale = std::max(std::abs(cost_), 1e-9 * std::abs(first_));
      const bool closed = open_ <= kClosed * std::max<double>(1, std::ssize(gaps_));
      const double expected = -(gains_.linear + 0.5 * gains_.quadratic);
      if (closed && expected <= p_.options.tolerance * scale && mu_ <= 1e-4) {
        return OptimiserStatus::converged_gradient;
      }
      const bool moved = search();
      if (!p_.report(p_.best.cost)) return OptimiserStatus::stopped;
      model_is_new = !moved;
      if (moved) {
        mu_ = mu_ < 1e-8 ? 0 : mu_ / 5;
        continue;
      }
      if (closed && expected <= 1e-10 * scale) return OptimiserStatus::converged_value;
      mu_ = std::max(1e-6, 10 * mu_);
      if (mu_ > kMostShootingDamping) return OptimiserStatus::line_search_failed;
      if (closed) continue;
      stuck_ = true;
      return OptimiserStatus::line_search_failed;
    }
  }

  // (2), and slope and curvature of the cost along it.
  void direction() {
    const std::int64_t T = p_.T;
    const int nt = p_.nt, nu = p_.nu, columns = backward_.columns();
    dx_.assign((T + 1) * nt, 0.0);
    du_.assign(T * nu, 0.0);
    slope_ = bend_ = 0;
    for (std::int64_t t = 0; t < T; ++t) {
      const double* const dx = dx_.data() + t * nt;
      double* const du = du_.data() + t * nu;
      for (int i = 0; i < nu; ++i) {
        const double* const row = gains_.K.data() + (t * nu + i) * columns;
        double sum = gains_.k[t * nu + i];
        for (int j = 0; j < nt; ++j) sum += row[j] * dx[j];
        for (int j = nt; j < columns && t > 0; ++j) sum += row[j] * du[j - nt - nu];
        du[i] =
            std::clamp(sum, p_.low(i) - controls_[t * nu + i], p_.high(i) - controls_[t * nu + i]);
      }
      double* const next = dx_.data() + (t + 1) * nt;
      for (int i = 0; i < nt; ++i) {
        double sum = gaps_[t * nt + i];
        for (int j = 0; j < nt; ++j) sum += steps_.A[(t * nt + i) * nt + j] * dx[j];
        for (int j = 0; j < nu; ++j) sum += steps_.B[(t * nt + i) * nu + j] * du[j];
        next[i] = sum;  // (2)
      }
    }
    // Of the quadratic model: slope and curvature along (dx, du), with Smooth.
    for (std::int64_t t = 0; t <= T; ++t) {
      const double* const dx = dx_.data() + t * nt;
      for (int i = 0; i < nt; ++i) {
        slope_ += expansion_.lx[t * nt + i] * dx[i];
        for (int j = 0; j < nt; ++j) bend_ += dx[i] * expansion_.lxx[(t * nt + i) * nt + j] * dx[j];
      }
      if (t == T) break;
      const double* const du = du_.data() + t * nu;
      for (int i = 0; i < nu; ++i) {
        slope_ += expansion_.lu[t * nu + i] * du[i];
        for (int j = 0; j < nu; ++j) bend_ += du[i] * expansion_.luu[(t * nu + i) * nu + j] * du[j];
        for (int j = 0; j < nt && !expansion_.lux.empty(); ++j) {
          bend_ += 2 * du[i] * expansion_.lux[(t * nu + i) * nt + j] * dx[j];
        }
        if (t == 0 || p_.cost.smooth().empty()) continue;
        const double w = p_.cost.smooth()[i], change = du[i] - du[i - nu];
        slope_ += 2 * w * (controls_[t * nu + i] - controls_[(t - 1) * nu + i]) * change;
        bend_ += 2 * w * change * change;
      }
    }
  }

  // (3), (4).
  bool search() {
    const std::int64_t T = p_.T, nx = p_.nx, nt = p_.nt, nu = p_.nu, rows = std::ssize(kLengths);
    std::vector<double> states(rows * (T + 1) * nx), controls(rows * T * nu), step(nt);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t t = 0; t <= T; ++t) {
        for (std::int64_t i = 0; i < nt; ++i) step[i] = kLengths[r] * dx_[t * nt + i];
        p_.system.states().retract(states_.data() + t * nx, step.data(),
                                   states.data() + (r * (T + 1) + t) * nx);  // (3)
      }
      for (std::int64_t i = 0; i < T * nu; ++i) {
        controls[r * T * nu + i] =
            std::clamp(controls_[i] + kLengths[r] * du_[i], p_.low(static_cast<int>(i % nu)),
                       p_.high(static_cast<int>(i % nu)));
      }
    }
    const Gaps gaps = gaps_of(p_, states, controls, rows);
    const std::vector<double> costs = p_.costs(states, controls, gaps.failed);
    // (4), the longest step first.
    filter_.push_back({open_, cost_});
    std::int64_t least = -1;
    for (std::int64_t r = 0; r < rows && least < 0; ++r) {
      const double open = sum_of(gaps.d.data() + r * T * nt, T * nt), a = kLengths[r],
                   hoped = -(a * slope_ + 0.5 * a * a * bend_);
      if (!std::isfinite(costs[r]) || open > most_open_) continue;
      const bool passes = std::all_of(filter_.begin(), filter_.end(), [&](const Entry& e) {
        return open < (1 - kShare) * e.open || costs[r] < e.cost - kShare * e.open;
      });
      // Without gaps to close, the cost itself must fall as it should.
      const bool falls = open_ > kClosed * std::ssize(gaps_) || cost_ - costs[r] > kShare * hoped;
      if (passes && falls) least = r;
    }
    filter_.pop_back();
    if (least < 0) return false;
    filter_.push_back({open_, cost_});
    states_.assign(states.begin() + least * (T + 1) * nx,
                   states.begin() + (least + 1) * (T + 1) * nx);
    controls_.assign(controls.begin() + least * T * nu, controls.begin() + (least + 1) * T * nu);
    gaps_.assign(gaps.d.begin() + least * T * nt, gaps.d.begin() + (least + 1) * T * nt);
    cost_ = costs[least];
    open_ = sum_of(gaps_.data(), T * nt);
    keep_best();
    return true;
  }

  // The best that a user can run: as it stands where gaps are closed, else what the gains make of
  // it.
  void keep_best() {
    if (open_ <= kClosed * std::max<double>(1, std::ssize(gaps_))) {
      if (cost_ <= p_.best.cost) take(controls_, states_, cost_);
      return;
    }
    if (gains_.K.empty()) return;
    Policy policy;
    policy.states = states_;
    policy.controls = controls_;
    policy.k.assign(gains_.k.size(), 0.0);
    policy.K = gains_.K;
    policy.columns = backward_.columns();
    const double none[] = {0};
    PolicyRollout::Candidates run = p_.search(std::move(policy), none);
    const double cost = p_.costs(run.states, run.controls, run.failed)[0];
    if (cost < p_.best.cost) take(run.controls, run.states, cost);
  }
  void take(const std::vector<double>& controls, const std::vector<double>& states, double cost) {
    p_.best.controls = controls;
    p_.best.states = states;
    p_.best.cost = cost;
  }

  struct Entry {
    double open, cost;
  };

  Planner& p_;
  BackwardPass backward_;
  double mu_, cost_ = 0, first_ = 0, open_ = 0, slope_ = 0, bend_ = 0, most_open_ = INFINITY;
  std::vector<Entry> filter_;
  std::vector<double> states_, controls_, gaps_, dx_, du_;
  Linearised steps_;
  Expansion expansion_;
  Gains gains_;
  bool stuck_ = false;
  std::string words_;
};

}  // namespace

Gaps gaps_of(Planner& p, const std::vector<double>& states, const std::vector<double>& controls,
             std::int64_t rows) {
  const std::int64_t T = p.T, nx = p.nx, nt = p.nt;
  std::vector<double> x(rows * T * nx);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::copy_n(states.data() + r * (T + 1) * nx, T * nx, x.data() + r * T * nx);
  }
  Gaps out{std::vector<double>(rows * T * nt), std::vector<bool>(rows, false)};
  const Planner::Stepped next = p.step_all(x, controls, rows);
  for (std::int64_t i = 0; i < rows * T; ++i) {
    const std::int64_t r = i / T, t = i % T;
    if (next.failed[i]) out.failed[r] = true;
    p.system.states().difference(states.data() + (r * (T + 1) + t + 1) * nx,
                                 next.states.data() + i * nx, out.d.data() + i * nt);  // (1)
  }
  return out;
}

Plan plan_multiple_shooting(Planner& planner) { return MultipleShooting(planner).run(); }

}  // namespace cycloid::inline optimise
