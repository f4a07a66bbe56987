#include "cycloid/soft/solid_stage.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/soft/dual_arrays.h"
#include "cycloid/soft/skew_solve.h"

namespace cycloid::inline soft {
namespace {

template <class S>
inline constexpr bool kDual = Apart<S>::kDual;

std::size_t numbers_of(const SolidNumbers& n) {
  return static_cast<std::size_t>(n.body.plan->numbers());
}

// The forces at y, as kernels take them; of dual numbers, with a direction.
template <class S>
struct Forces {
  // Of a stage. With `derivatives`, those by the damping and by what was before are there too where
  // the damping is zero.
  Forces(const NumbersIn<S>& n, const StageOf<S>& stage, const std::vector<S>& y, bool derivatives)
      : now(y), numbers(stage.numbers) {
    const SolidNumbers& own = values_of(n);
    const StageRule& r = stage.rule;
    for (int k = 0; k < r.befores; ++k) before[k] = Apart<S>(stage.before[k], numbers_of(own));
    memory = Apart<S>(stage.memory, static_cast<std::size_t>(own.body.plan->memory()));
    fill(n);
    cells.z = own.damping * r.zeta;
    terms.memory = memory.value;
    terms.frames = r.befores > 0 ? before[r.befores - 1].value : nullptr;
    if (derivatives || own.damping != 0) {
      cells.law.befores = r.befores;
      for (int k = 0; k < r.befores; ++k) {
        cells.law.before_weight[k] = r.before_weight[k];
        cells.before[k] = before[k].value;
      }
    }
    if (derivatives || own.damping != 0 || own.body.has_rates) {
      terms.step.befores = r.befores;
      terms.step.rate = r.zeta, terms.step.spread = r.spread;
      for (int k = 0; k < r.befores; ++k) {
        terms.step.before_weight[k] = r.before_weight[k];
        terms.before[k] = before[k].value;
      }
    }
    if constexpr (kDual<S>) {
      cells_tan.z = n.along.damping * r.zeta;
      terms_tan.memory = memory.tangent;
      for (int k = 0; k < r.befores; ++k) {
        cells_tan.before[k] = terms_tan.before[k] = before[k].tangent;
      }
    }
  }
  // Without damping and friction, at x.
  Forces(const NumbersIn<S>& n, const std::vector<S>& own_numbers, const S* x, RodFrames frames)
      : now(x, numbers_of(values_of(n))), numbers(own_numbers) {
    fill(n);
    if (frames == RodFrames::from_here) terms.frames = now.value, terms_tan.frames = now.tangent;
  }

  Apart<S> now, before[2], numbers, memory;
  SolidView cells, cells_tan;
  TermsAt terms, terms_tan;

 private:
  void fill(const NumbersIn<S>& n) {
    const SolidNumbers& own = values_of(n);
    cells = own.view();
    cells.now = terms.now = now.value;
    terms.rest = own.rest, terms.numbers = numbers.value;
    if constexpr (kDual<S>) {
      const SolidNumbersTangent& t = n.along;
      cells_tan.rest = terms_tan.rest = t.rest;
      cells_tan.mu = t.mu.data(), cells_tan.lam = t.lam.data(), cells_tan.mooney = t.mooney;
      cells_tan.now = terms_tan.now = now.tangent;
      terms_tan.numbers = numbers.tangent;
    }
  }
};

// Cotangents of what forces are of, besides those of parameters.
struct ForceBars {
  explicit ForceBars(const SolidPlan& plan)
      : now(static_cast<std::size_t>(plan.numbers()), 0.0), before{now, now} {
    int own = 0;
    for (const StencilTerm& term : plan.terms) own += term.kernels->numbers;
    numbers.assign(static_cast<std::size_t>(own), 0.0);
    memory.assign(static_cast<std::size_t>(plan.memory()), 0.0);
  }
  SolidBars cells(NumberBars& n, int befores) {
    SolidBars to = n.bars();
    to.now = now.data();
    for (int k = 0; k < befores; ++k) to.before[k] = before[k].data();
    return to;
  }
  TermsBars terms(NumberBars& n, int befores) {
    TermsBars to;
    to.rest = n.rest_bar.data(), to.now = now.data();
    to.numbers = numbers.data(), to.memory = memory.data();
    for (int k = 0; k < befores; ++k) to.before[k] = before[k].data();
    return to;
  }
  std::vector<double> now, before[2], numbers, memory;
};

template <class S>
const TermNumbers& term_values(const Forces<S>& f, const std::vector<S>& numbers) {
  if constexpr (kDual<S>) return f.numbers.values;
  else return numbers;
}

// The pullback of forces, (7); and its tangent, with f_bar held, (9).
template <class S>
void pull_cells(const SolidNumbers& own, const SolidPlan& plan, const Forces<S>& f,
                const double* f_bar, const SolidBars& to) {
  plan.for_each_chunk(own.threads, [&](int begin, int end) {
    own.body.kernels->force_pullback(f.cells, begin, end, f_bar, to);
  });
}
void pull_cells_tangent(const SolidNumbers& own, const SolidPlan& plan, const Forces<Dual1>& f,
                        const double* f_bar, const SolidBars& to) {
  plan.for_each_chunk(own.threads, [&](int begin, int end) {
    own.body.kernels->force_pullback_tangent(f.cells, f.cells_tan, begin, end, f_bar, to);
  });
}
template <class S>
void pull_forces(const SolidNumbers& own, const SolidPlan& plan, const Forces<S>& f,
                 const std::vector<double>& f_bar, NumberBars& n, ForceBars& bars) {
  pull_cells(own, plan, f, f_bar.data(), bars.cells(n, f.cells.law.befores));
  terms_force_pullback(plan.terms, f.terms, own.threads, f_bar.data(),
                       bars.terms(n, f.terms.step.befores));
}
void pull_forces_tangent(const SolidNumbers& own, const SolidPlan& plan, const Forces<Dual1>& f,
                         const std::vector<double>& f_bar, NumberBars& n, ForceBars& bars) {
  pull_cells_tangent(own, plan, f, f_bar.data(), bars.cells(n, f.cells.law.befores));
  terms_force_pullback_tangent(plan.terms, f.terms, f.terms_tan, own.threads, f_bar.data(),
                               bars.terms(n, f.terms.step.befores));
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

const SolidPlan& plan_of(const SolidNumbers& n, const StageRecord& record) {
  return record.plan ? *record.plan : *n.body.plan;
}

std::vector<double> negative(std::vector<double> x) {
  for (double& v : x) v = -v;
  return x;
}

}  // namespace

template <class S>
StageBarsOf<S>::StageBarsOf(const SolidPlan& plan) {
  const auto n = static_cast<std::size_t>(plan.numbers());
  int own = 0;
  for (const StencilTerm& term : plan.terms) own += term.kernels->numbers;
  numbers.assign(static_cast<std::size_t>(own), S(0));
  memory.assign(static_cast<std::size_t>(plan.memory()), S(0));
  for (auto* bar : {&origin, &momentum, &before[0], &before[1], &force, &held}) {
    bar->assign(n, S(0));
  }
}

Incremental incremental(const SolidNumbers& n, const Stage& stage) {
  Incremental out;
  const Forces<double> f(n, stage, {}, false);
  out.view = f.cells, out.terms = f.terms;
  out.numbers = stage.numbers;
  out.terms.numbers = nullptr;  // the minimiser's own
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

template <class S>
std::vector<S> stage_end(const NumbersIn<S>& n, const StageOf<S>& stage,
                         const StageRecord& record) {
  std::vector<S> y(record.y.begin(), record.y.end());
  if constexpr (kDual<S>) {
    const SolidNumbers& own = n.at;
    const SolidPlan& plan = plan_of(own, record);
    const StageRule& r = stage.rule;
    for (std::size_t k = 0; k < plan.held_numbers.size(); ++k) {
      y[static_cast<std::size_t>(plan.held_numbers[k])].tangent[0] = stage.target[k].tangent[0];
    }
    const Forces<S> f(n, stage, y, true);
    std::vector<double> f_tan(y.size(), 0.0), y_tan(y.size());
    plan.for_each_chunk(own.threads, [&](int begin, int end) {
      own.body.kernels->force_tangent(f.cells, f.cells_tan, begin, end, f_tan.data());
    });
    terms_force_tangent(plan.terms, f.terms, f.terms_tan, own.threads, f_tan.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const S m = n.mass_at(i), a = m * r.alpha * (1 / r.step + n.drag_rate());
      S b = stage.momentum[i] / r.step + m * n.gravity_at(i);
      if (stage.force) b += stage.force[i];
      const S left = a * (record.y[i] - stage.origin[i]) - b;
      y_tan[i] = plan.held[i] ? 0 : -left.tangent[0] - f_tan[i];  // (8)
    }
    solve_at_end(own, plan, record, false, y_tan.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!plan.held[i]) y[i].tangent[0] = y_tan[i];
    }
  }
  return y;
}

template <class S>
void stage_pullback(NumbersIn<S>& n, const StageOf<S>& stage, const StageRecord& record,
                    const std::vector<S>& y, const std::vector<S>& y_bar, StageBarsOf<S>& bars) {
  SolidNumbers& own = values_of(n);
  const SolidPlan& plan = plan_of(own, record);
  const StageRule& r = stage.rule;
  std::vector<double> l(y.size()), l_tan;
  for (std::size_t i = 0; i < l.size(); ++i) {
    l[i] = plan.held[i] ? 0 : primal(y_bar[i]);
    if (plan.held[i]) bars.held[i] += y_bar[i];
  }
  solve_at_end(own, plan, record, true, l.data());  // (4)
  const Forces<S> f(n, stage, y, true);
  ForceBars values(plan), tangents(plan);
  pull_forces(own, plan, f, negative(l), own, values);  // (7)
  const S rate = r.alpha * (1 / r.step + n.drag_rate());
  if constexpr (kDual<S>) {
    pull_forces_tangent(own, plan, f, negative(l), n.tangent, tangents);
    l_tan.resize(l.size());
    for (std::size_t i = 0; i < l.size(); ++i) {
      const S a = n.mass_at(i) * rate;
      l_tan[i] =
          plan.held[i] ? 0 : y_bar[i].tangent[0] - a.tangent[0] * l[i] + tangents.now[i];  // (9)
    }
    solve_at_end(own, plan, record, true, l_tan.data());
    pull_forces(own, plan, f, negative(l_tan), n.tangent, tangents);
    n.tangent.add_damping(r.zeta);
  }
  own.add_damping(r.zeta);
  for (std::size_t i = 0; i < l.size(); ++i) {
    const S m = n.mass_at(i), d = y[i] - stage.origin[i];
    S lambda(l[i]);
    if constexpr (kDual<S>) lambda.tangent[0] = l_tan[i];
    bars.origin[i] += m * rate * lambda;  // (5)
    bars.momentum[i] += lambda / r.step;
    bars.force[i] += lambda;
    n.add_gravity(i, m * lambda);
    n.add_drag(-(m * r.alpha * lambda * d));
    n.add_mass(i, lambda * (n.gravity_at(i) - rate * d));  // (6)
    S now_bar(values.now[i]);
    if constexpr (kDual<S>) now_bar.tangent[0] = tangents.now[i];
    if (plan.held[i]) bars.held[i] += now_bar;
  }
  for (int k = 0; k < r.befores; ++k) add_values(values.before[k], bars.before[k]);
  add_values(values.numbers, bars.numbers), add_values(values.memory, bars.memory);
  if constexpr (kDual<S>) {
    for (int k = 0; k < r.befores; ++k) add_tangents(tangents.before[k], bars.before[k]);
    add_tangents(tangents.numbers, bars.numbers), add_tangents(tangents.memory, bars.memory);
  }
}

template <class S>
std::vector<S> stage_memory(const NumbersIn<S>& n, const StageOf<S>& stage,
                            const std::vector<S>& y) {
  const SolidNumbers& own = values_of(n);
  const auto size = static_cast<std::size_t>(own.body.plan->memory());
  std::vector<double> next(size, 0.0), next_tan(size, 0.0);
  const Forces<S> f(n, stage, y, false);
  terms_flow(own.terms(), f.terms, own.threads, next.data());
  std::vector<S> out(next.begin(), next.end());
  if constexpr (kDual<S>) {
    terms_flow_tangent(own.terms(), f.terms, f.terms_tan, own.threads, next_tan.data());
    add_tangents(next_tan, out);
  }
  return out;
}

template <class S>
void stage_memory_pullback(NumbersIn<S>& n, const StageOf<S>& stage, const std::vector<S>& y,
                           const S* next_bar, std::vector<S>& y_bar, StageBarsOf<S>& bars) {
  SolidNumbers& own = values_of(n);
  const SolidPlan& plan = *own.body.plan;
  const Forces<S> f(n, stage, y, false);
  const Apart<S> bar(next_bar, static_cast<std::size_t>(plan.memory()));
  const auto add = [&](const ForceBars& from, auto&& to) {
    to(from.now, y_bar), to(from.numbers, bars.numbers), to(from.memory, bars.memory);
  };
  ForceBars values(plan);
  terms_flow_pullback(plan.terms, f.terms, own.threads, bar.value, values.terms(own, 0));
  add(values, [](const auto& from, auto& to) { add_values(from, to); });
  if constexpr (kDual<S>) {
    ForceBars tangents(plan);
    const TermsBars to = tangents.terms(n.tangent, 0);
    terms_flow_pullback_tangent(plan.terms, f.terms, f.terms_tan, own.threads, bar.value, to);
    terms_flow_pullback(plan.terms, f.terms, own.threads, bar.tangent, to);
    add(tangents, [](const auto& from, auto& to_bar) { add_tangents(from, to_bar); });
  }
}

template <class S>
void elastic_force(const NumbersIn<S>& n, const std::vector<S>& numbers, const S* x,
                   std::vector<S>& f) {
  const SolidNumbers& own = values_of(n);
  const SolidPlan& plan = *own.body.plan;
  const Forces<S> at(n, numbers, x, RodFrames::from_here);
  const Terms touching = touching_terms(plan, term_values(at, numbers), at.now.value, own.threads);
  std::vector<double> values(f.size(), 0.0);
  plan.for_each_chunk(own.threads, [&](int begin, int end) {
    own.body.kernels->force(at.cells, begin, end, values.data());
  });
  for (const Terms* terms : {&plan.terms, &touching}) {
    terms_force(*terms, at.terms, own.threads, values.data());
  }
  add_values(values, f);
  if constexpr (kDual<S>) {
    std::vector<double> tangents(f.size(), 0.0);
    plan.for_each_chunk(own.threads, [&](int begin, int end) {
      own.body.kernels->force_tangent(at.cells, at.cells_tan, begin, end, tangents.data());
    });
    for (const Terms* terms : {&plan.terms, &touching}) {
      terms_force_tangent(*terms, at.terms, at.terms_tan, own.threads, tangents.data());
    }
    add_tangents(tangents, f);
  }
}

template <class S>
void elastic_force_pullback(NumbersIn<S>& n, const std::vector<S>& numbers, const double* memory,
                            const S* x, const std::vector<S>& f_bar, std::vector<S>& x_bar,
                            std::vector<S>& numbers_bar, RodFrames frames, double load) {
  SolidNumbers& own = values_of(n);
  const SolidPlan& plan = *own.body.plan;
  Forces<S> at(n, numbers, x, frames);
  at.terms.memory = memory, at.terms.step.load = load;
  const Terms touching = touching_terms(plan, term_values(at, numbers), at.now.value, own.threads);
  const Apart<S> bar(f_bar);
  // work(terms, where their cotangents go), of all terms.
  const auto of_terms = [&](ForceBars& bars, NumberBars& to, auto&& work) {
    TermsBars own_bars = bars.terms(to, 0);
    own_bars.memory = nullptr;
    if (frames == RodFrames::from_here) own_bars.frames = bars.now.data();
    for (const Terms* terms : {&plan.terms, &touching}) work(*terms, own_bars);
  };
  ForceBars values(plan);
  pull_cells(own, plan, at, bar.value, values.cells(own, 0));
  of_terms(values, own, [&](const Terms& terms, const TermsBars& to) {
    terms_force_pullback(terms, at.terms, own.threads, bar.value, to);
  });
  add_values(values.now, x_bar), add_values(values.numbers, numbers_bar);
  if constexpr (kDual<S>) {
    ForceBars tangents(plan);
    const SolidBars to_cells = tangents.cells(n.tangent, 0);
    pull_cells_tangent(own, plan, at, bar.value, to_cells);
    pull_cells(own, plan, at, bar.tangent, to_cells);
    of_terms(tangents, n.tangent, [&](const Terms& terms, const TermsBars& to) {
      terms_force_pullback_tangent(terms, at.terms, at.terms_tan, own.threads, bar.value, to);
      terms_force_pullback(terms, at.terms, own.threads, bar.tangent, to);
    });
    add_tangents(tangents.now, x_bar), add_tangents(tangents.numbers, numbers_bar);
  }
}

template struct StageBarsOf<double>;
template std::vector<double> stage_end(const NumbersIn<double>&, const StageOf<double>&,
                                       const StageRecord&);
template void stage_pullback(NumbersIn<double>&, const StageOf<double>&, const StageRecord&,
                             const std::vector<double>&, const std::vector<double>&,
                             StageBarsOf<double>&);
template std::vector<double> stage_memory(const NumbersIn<double>&, const StageOf<double>&,
                                          const std::vector<double>&);
template void stage_memory_pullback(NumbersIn<double>&, const StageOf<double>&,
                                    const std::vector<double>&, const double*, std::vector<double>&,
                                    StageBarsOf<double>&);
template void elastic_force(const NumbersIn<double>&, const std::vector<double>&, const double*,
                            std::vector<double>&);
template void elastic_force_pullback(NumbersIn<double>&, const std::vector<double>&, const double*,
                                     const double*, const std::vector<double>&,
                                     std::vector<double>&, std::vector<double>&, RodFrames, double);
template struct StageBarsOf<Dual1>;
template std::vector<Dual1> stage_end(const NumbersIn<Dual1>&, const StageOf<Dual1>&,
                                      const StageRecord&);
template void stage_pullback(NumbersIn<Dual1>&, const StageOf<Dual1>&, const StageRecord&,
                             const std::vector<Dual1>&, const std::vector<Dual1>&,
                             StageBarsOf<Dual1>&);
template std::vector<Dual1> stage_memory(const NumbersIn<Dual1>&, const StageOf<Dual1>&,
                                         const std::vector<Dual1>&);
template void stage_memory_pullback(NumbersIn<Dual1>&, const StageOf<Dual1>&,
                                    const std::vector<Dual1>&, const Dual1*, std::vector<Dual1>&,
                                    StageBarsOf<Dual1>&);
template void elastic_force(const NumbersIn<Dual1>&, const std::vector<Dual1>&, const Dual1*,
                            std::vector<Dual1>&);
template void elastic_force_pullback(NumbersIn<Dual1>&, const std::vector<Dual1>&, const double*,
                                     const Dual1*, const std::vector<Dual1>&, std::vector<Dual1>&,
                                     std::vector<Dual1>&, RodFrames, double);

}  // namespace cycloid::inline soft
