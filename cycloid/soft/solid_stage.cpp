#include "cycloid/soft/solid_stage.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/soft/skew_solve.h"

namespace cycloid::inline soft {
namespace {

SolidView damped_view(const SolidNumbers& n, const Stage& stage) {
  SolidView v = n.view();
  if (n.damping == 0) return v;
  v.law.befores = stage.rule.befores;
  for (int k = 0; k < stage.rule.befores; ++k) {
    v.law.before_weight[k] = stage.rule.before_weight[k];
    v.before[k] = stage.before[k];
  }
  v.z = n.damping * stage.rule.zeta;
  return v;
}

// The same where only derivatives are asked for: that by the damping is there at zero too.
SolidView view_of_derivatives(const SolidNumbers& n, const Stage& stage) {
  SolidView v = damped_view(n, stage);
  v.law.befores = stage.rule.befores;
  for (int k = 0; k < stage.rule.befores; ++k) {
    v.law.before_weight[k] = stage.rule.before_weight[k];
    v.before[k] = stage.before[k];
  }
  return v;
}

// Terms with what was before, where something depends on it.
TermsAt terms_of(const SolidNumbers& n, const Stage& stage, bool derivatives) {
  TermsAt at;
  at.rest = n.rest, at.numbers = stage.numbers.data(), at.memory = stage.memory;
  at.frames = stage.rule.befores > 0 ? stage.before[stage.rule.befores - 1] : nullptr;
  if (!derivatives && n.damping == 0 && !n.body.has_rates) return at;
  at.step.befores = stage.rule.befores;
  at.step.rate = stage.rule.zeta, at.step.spread = stage.rule.spread;
  for (int k = 0; k < stage.rule.befores; ++k) {
    at.step.before_weight[k] = stage.rule.before_weight[k];
    at.before[k] = stage.before[k];
  }
  return at;
}

TermsAt resting_terms(const SolidNumbers& n, const TermNumbers& numbers, const double* x,
                      RodFrames frames) {
  TermsAt at;
  at.rest = n.rest, at.now = x, at.numbers = numbers.data();
  if (frames == RodFrames::from_here) at.frames = x;
  return at;
}

// Relative residual, of a solve with the skew part.
constexpr double kRotationalTolerance = 1e-9;

// With H of the solution, or its transpose. Throws GradientError where that falls short.
void solve_at_end(const SolidNumbers& n, const SolidPlan& plan, const StageRecord& record,
                  bool transposed, double* b) {
  const auto inverse = [&](double* each) {
    const SolveEnd end = record.factor->solve(each, n.threads);
    if (end.positive && end.residual <= kGradientTolerance) return;
    throw GradientError(message("the step has no gradient: ", describe(end, kGradientTolerance)));
  };
  const double left = skew_solve(plan.pattern, inverse, record.skew, 0, transposed, b);
  if (!(left > kRotationalTolerance)) return;  // what is not finite is named where it arrives
  throw GradientError(
      message("the step has no gradient: GMRES stopped at a relative residual of ", left));
}

}  // namespace

StageBars::StageBars(const SolidPlan& plan) {
  const auto n = static_cast<std::size_t>(plan.numbers());
  int own = 0;
  for (const StencilTerm& term : plan.terms) own += term.kernels->numbers;
  numbers.assign(static_cast<std::size_t>(own), 0.0);
  memory.assign(static_cast<std::size_t>(plan.memory()), 0.0);
  for (auto* bar : {&origin, &momentum, &before[0], &before[1], &force, &held}) bar->assign(n, 0.0);
}

Incremental incremental(const SolidNumbers& n, const Stage& stage) {
  Incremental out;
  out.view = damped_view(n, stage);
  out.terms = terms_of(n, stage, false);
  out.numbers = stage.numbers;
  const StageRule& r = stage.rule;
  out.inertia.resize(n.mass.size());
  for (std::size_t v = 0; v < n.mass.size(); ++v) {
    out.inertia[v] = n.mass[v] * r.alpha * (1 / r.step + n.drag);  // (3)
  }
  out.origin = stage.origin;
  out.pull.resize(stage.origin.size());
  for (std::size_t i = 0; i < out.pull.size(); ++i) {
    out.pull[i] = stage.momentum[i] / r.step + n.mass[i / 3] * n.gravity_at(i) +
                  (stage.force ? stage.force[i] : 0);  // (3)
  }
  out.target = stage.target;
  return out;
}

void stage_pullback(SolidNumbers& n, const Stage& stage, const StageRecord& record,
                    const std::vector<double>& y_bar, StageBars& bars) {
  const SolidPlan& plan = record.plan ? *record.plan : *n.body.plan;
  const StageRule& r = stage.rule;
  std::vector<double> lambda(y_bar);
  for (const int i : plan.held_numbers) {
    lambda[static_cast<std::size_t>(i)] = 0;
    bars.held[static_cast<std::size_t>(i)] += y_bar[static_cast<std::size_t>(i)];
  }
  solve_at_end(n, plan, record, true, lambda.data());  // (4)
  const double rate = r.alpha * (1 / r.step + n.drag);
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    const double m = n.mass[i / 3], l = lambda[i], d = record.y[i] - stage.origin[i];
    bars.origin[i] += m * rate * l;  // (5)
    bars.momentum[i] += l / r.step;
    bars.force[i] += l;
    n.add_gravity(i, m * l);
    n.drag_bar -= m * r.alpha * l * d;
    n.mass_bar[i / 3] += l * (n.gravity_at(i) - rate * d);  // (6)
  }
  SolidView v = view_of_derivatives(n, stage);
  v.now = record.y.data();
  std::vector<double> now_bar(lambda.size(), 0.0);
  SolidBars to = n.bars();
  to.now = now_bar.data();
  for (int k = 0; k < r.befores; ++k) to.before[k] = bars.before[k].data();
  for (double& l : lambda) l = -l;
  plan.for_each_chunk(n.threads, [&](int begin, int end) {
    n.body.kernels->force_pullback(v, begin, end, lambda.data(), to);  // (7)
  });
  n.add_damping(r.zeta);
  TermsAt at = terms_of(n, stage, true);
  at.now = record.y.data();
  TermsBars to_terms;
  to_terms.rest = n.rest_bar.data(), to_terms.now = now_bar.data();
  to_terms.numbers = bars.numbers.data(), to_terms.memory = bars.memory.data();
  for (int k = 0; k < r.befores; ++k) to_terms.before[k] = bars.before[k].data();
  terms_force_pullback(plan.terms, at, n.threads, lambda.data(), to_terms);  // (7)
  for (const int i : plan.held_numbers) {
    bars.held[static_cast<std::size_t>(i)] += now_bar[static_cast<std::size_t>(i)];
  }
}

std::vector<double> stage_pushforward(const SolidNumbers& n, const SolidNumbersTangent& along,
                                      const Stage& stage, const StageRecord& record,
                                      const StageTangent& tangent) {
  const SolidPlan& plan = record.plan ? *record.plan : *n.body.plan;
  const StageRule& r = stage.rule;
  SolidView v = view_of_derivatives(n, stage), t;
  v.now = record.y.data();
  t.rest = along.rest, t.mu = along.mu.data(), t.lam = along.lam.data();
  t.mooney = along.mooney, t.z = along.damping * r.zeta;
  t.now = tangent.held.data();
  for (int k = 0; k < r.befores; ++k) t.before[k] = tangent.before[k];
  std::vector<double> f_tan(record.y.size(), 0.0), y_tan(record.y.size());
  plan.for_each_chunk(n.threads, [&](int begin, int end) {
    n.body.kernels->force_tangent(v, t, begin, end, f_tan.data());
  });
  TermsAt at = terms_of(n, stage, true), at_tan;
  at.now = record.y.data();
  at_tan.rest = along.rest, at_tan.now = tangent.held.data();
  at_tan.numbers = tangent.numbers.data(), at_tan.memory = tangent.memory;
  for (int k = 0; k < r.befores; ++k) at_tan.before[k] = tangent.before[k];
  terms_force_tangent(plan.terms, at, at_tan, n.threads, f_tan.data());
  const double rate = r.alpha * (1 / r.step + n.drag);
  for (std::size_t i = 0; i < y_tan.size(); ++i) {
    const double m = n.mass[i / 3], m_tan = along.mass[i / 3], d = record.y[i] - stage.origin[i];
    const double a_tan = m_tan * rate + m * r.alpha * along.drag;
    const double b_tan = tangent.momentum[i] / r.step + m_tan * n.gravity_at(i) +
                         m * along.gravity_at(i) + (tangent.force ? tangent.force[i] : 0);
    y_tan[i] = m * rate * tangent.origin[i] + b_tan - a_tan * d - f_tan[i];  // (8)
  }
  for (const int i : plan.held_numbers) y_tan[static_cast<std::size_t>(i)] = 0;
  solve_at_end(n, plan, record, false, y_tan.data());
  for (const int i : plan.held_numbers) {
    y_tan[static_cast<std::size_t>(i)] = tangent.held[static_cast<std::size_t>(i)];
  }
  return y_tan;
}

std::vector<double> stage_memory(const SolidNumbers& n, const Stage& stage,
                                 const std::vector<double>& y) {
  std::vector<double> next(static_cast<std::size_t>(n.body.plan->memory()), 0.0);
  TermsAt at = terms_of(n, stage, false);
  at.now = y.data();
  terms_flow(n.terms(), at, n.threads, next.data());
  return next;
}

void stage_memory_pullback(SolidNumbers& n, const Stage& stage, const std::vector<double>& y,
                           const double* next_bar, std::vector<double>& y_bar, StageBars& bars) {
  TermsAt at = terms_of(n, stage, false);
  at.now = y.data();
  TermsBars to;
  to.rest = n.rest_bar.data(), to.now = y_bar.data();
  to.numbers = bars.numbers.data(), to.memory = bars.memory.data();
  terms_flow_pullback(n.terms(), at, n.threads, next_bar, to);
}

std::vector<double> stage_memory_pushforward(const SolidNumbers& n,
                                             const SolidNumbersTangent& along, const Stage& stage,
                                             const StageTangent& tangent,
                                             const std::vector<double>& y,
                                             const std::vector<double>& y_tan) {
  std::vector<double> next(static_cast<std::size_t>(n.body.plan->memory()), 0.0);
  TermsAt at = terms_of(n, stage, false), t;
  at.now = y.data();
  t.rest = along.rest, t.now = y_tan.data();
  t.numbers = tangent.numbers.data(), t.memory = tangent.memory;
  terms_flow_tangent(n.terms(), at, t, n.threads, next.data());
  return next;
}

void elastic_force(const SolidNumbers& n, const TermNumbers& numbers, const double* x,
                   std::vector<double>& f) {
  SolidView v = n.view();
  v.now = x;
  n.body.plan->for_each_chunk(
      n.threads, [&](int begin, int end) { n.body.kernels->force(v, begin, end, f.data()); });
  const TermsAt at = resting_terms(n, numbers, x, RodFrames::from_here);
  terms_force(n.terms(), at, n.threads, f.data());
  terms_force(touching_terms(*n.body.plan, numbers, x, n.threads), at, n.threads, f.data());
}

void elastic_force_pullback(SolidNumbers& n, const TermNumbers& numbers, const double* memory,
                            const double* x, const std::vector<double>& f_bar,
                            std::vector<double>& x_bar, TermNumbers& numbers_bar, RodFrames frames,
                            double load) {
  SolidView v = n.view();
  v.now = x;
  SolidBars to = n.bars();
  to.now = x_bar.data();
  n.body.plan->for_each_chunk(n.threads, [&](int begin, int end) {
    n.body.kernels->force_pullback(v, begin, end, f_bar.data(), to);
  });
  TermsBars to_terms;
  to_terms.rest = n.rest_bar.data(), to_terms.now = x_bar.data();
  to_terms.numbers = numbers_bar.data();
  if (frames == RodFrames::from_here) to_terms.frames = x_bar.data();
  TermsAt at = resting_terms(n, numbers, x, frames);
  at.memory = memory, at.step.load = load;
  terms_force_pullback(n.terms(), at, n.threads, f_bar.data(), to_terms);
  terms_force_pullback(touching_terms(*n.body.plan, numbers, x, n.threads), at, n.threads,
                       f_bar.data(), to_terms);
}

void elastic_force_pushforward(const SolidNumbers& n, const SolidNumbersTangent& along,
                               const TermNumbers& numbers, const TermNumbers& numbers_tan,
                               const double* x, const double* x_tan, std::vector<double>& f_tan) {
  SolidView v = n.view(), t;
  v.now = x, t.now = x_tan;
  t.rest = along.rest, t.mu = along.mu.data(), t.lam = along.lam.data(), t.mooney = along.mooney;
  n.body.plan->for_each_chunk(n.threads, [&](int begin, int end) {
    n.body.kernels->force_tangent(v, t, begin, end, f_tan.data());
  });
  const TermsAt at = resting_terms(n, numbers, x, RodFrames::from_here);
  TermsAt at_tan = resting_terms(n, numbers_tan, x_tan, RodFrames::from_here);
  at_tan.rest = along.rest;
  terms_force_tangent(n.terms(), at, at_tan, n.threads, f_tan.data());
  terms_force_tangent(touching_terms(*n.body.plan, numbers, x, n.threads), at, at_tan, n.threads,
                      f_tan.data());
}

}  // namespace cycloid::inline soft
