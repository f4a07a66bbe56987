#include "cycloid/soft/equilibrium.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/core_count.h"
#include "cycloid/base/error.h"
#include "cycloid/soft/body.h"
#include "cycloid/soft/skew_solve.h"
#include "cycloid/soft/solid_stage.h"
#include "cycloid/soft/solid_state.h"
#include "cycloid/soft/term/rod_laws.h"

namespace cycloid::inline soft {
namespace {

using Numbers = std::vector<double>;

constexpr int kMostLoadSteps = 200, kMostDirect = 25, kMostCreeps = 80;
// Of the inertia, in units of the largest load over the body's length.
constexpr double kCreepStart = 50, kCreepEnd = 1e-7;

void check_size(const char* what, std::size_t got, int expected) {
  if (got != 0 && got != static_cast<std::size_t>(expected)) {
    throw Error(message("equilibrium: ", what, " has ", expected, " numbers; got ", got));
  }
}

void check_finite(const char* what, std::span<const double> values) {
  for (const double v : values) {
    if (!std::isfinite(v)) throw Error(message("equilibrium: ", what, " must be finite; got ", v));
  }
}

// "translation y and rotation x"
std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return all;
}

// Which input moves held number k, and by how much: -1 where none does.
struct Mover {
  int input = -1;
  double scale = 1;
};
Mover mover(const SolidBody& body, std::size_t k) {
  const SolidPlan& plan = *body.plan;
  const int positions = plan.held_points(), number = plan.held_numbers[k];
  if (static_cast<int>(k) < positions) {
    return {body.held_input >= 0 ? body.held_input + static_cast<int>(k) : -1, 1};
  }
  if (number % 3 != 0 || body.turned_input < 0) return {};
  int clamp = 0;
  for (int i = 3 * plan.points(); i < number; i += 3) {
    clamp += plan.held[static_cast<std::size_t>(i)];
  }
  return {body.turned_input + clamp, plan.length};
}
double moved_by(const SolidBody& body, const Numbers& u, std::size_t k) {
  const Mover by = mover(body, k);
  return by.input >= 0 ? by.scale * u[static_cast<std::size_t>(by.input)] : 0;
}

// Of the order of that of a rod's bending, of an angle times its length [N/m].
double spin_stiffness(const SolidNumbers& n) {
  const TermNumbers own = n.numbers_of_terms(nullptr);
  for (const StencilTerm& term : n.terms()) {
    if (term.law != StencilLaw::rod_bending) continue;
    const double* const number = own.data() + term.first_number;
    const double r = number[RodBending::radius], length = n.body.plan->length;
    return number[RodBending::young] * std::pow(r, 4) / std::pow(length, 3);
  }
  return 1;
}

// A straight rod that nothing clamps may spin about itself: its first segment keeps its angle. That
// takes no force, so how strongly it is kept does not matter.
void hold_free_spin(const SolidNumbers& n, Numbers& inertia) {
  const SolidPlan& plan = *n.body.plan;
  for (int j = 0; j < plan.turns; ++j) {
    if (plan.held[static_cast<std::size_t>(3 * (plan.points() + j))]) return;
    if (j == 0) continue;
    const double* const p = n.rest + 3 * (j - 1);
    const Vec3<double> e = {p[3] - p[0], p[4] - p[1], p[5] - p[2]},
                       f = {p[6] - p[3], p[7] - p[4], p[8] - p[5]};
    if (norm(cross(e, f)) > 1e-9 * norm(e) * norm(f) || dot(e, f) < 0) return;
  }
  if (plan.turns > 0) inertia[static_cast<std::size_t>(plan.points())] += spin_stiffness(n);
}

// A stage that has only what terms remember and are made of.
Stage stage_at_rest(const TermNumbers& numbers, const Numbers& memory) {
  Stage stage{};
  stage.rule.befores = 0;
  stage.numbers = numbers, stage.memory = memory.data();
  return stage;
}

}  // namespace

struct Equilibrium::Solved {
  std::shared_ptr<const SolidBody> body;
  int parameters = 0, threads = 1;
  Numbers params, u;
  Numbers y, memory;  // of the terms, before
  std::unique_ptr<CholeskyFactor> factor;
  Numbers skew;                                 // minimise.h
  std::shared_ptr<const SolidPlan> with_pairs;  // the plan of the factor; null: the body's

  StepParameters<double> step_parameters(std::vector<const double*>& arrays) const {
    const SolidPlan& plan = *body->plan;
    const SolidBody::Place* const places[] = {&body->young, &body->poisson, &body->density,
                                              &body->mass, &body->vertices};
    const double* at = params.data() + body->lane_numbers;
    arrays.clear();
    for (const auto* place : places) {
      if (!place->array) continue;
      arrays.push_back(at);
      at += place == &body->vertices ? 3 * plan.points()
            : place == &body->mass   ? plan.points()
                                     : plan.cells();
    }
    return {params.data(), arrays.data(), nullptr, nullptr};
  }
};

Equilibrium equilibrium(const System& system, std::span<const double> x0, std::span<const double> u,
                        std::span<const double> params, int threads) {
  auto solved = std::make_shared<Equilibrium::Solved>();
  solved->body = soft_body_of(system);
  const SolidBody& body = *solved->body;
  const SolidPlan& plan = *body.plan;
  check_size("x0", x0.size(), system.states().size());
  check_size("u", u.size(), body.inputs);
  check_finite("x0", x0), check_finite("u", u);
  solved->params.assign(params.begin(), params.end());
  if (params.empty()) solved->params = system.parameters().default_values();
  system.check_parameters(solved->params);
  solved->u.assign(u.begin(), u.end());
  solved->u.resize(static_cast<std::size_t>(body.inputs), 0.0);
  solved->threads = threads > 0 ? threads : default_threads();

  std::vector<const double*> arrays;
  SolidNumbers n(body, solved->threads);
  n.read(solved->step_parameters(arrays));
  const TermNumbers own = n.numbers_of_terms(solved->u.data());
  for (int part = 0; part < plan.mesh.parts; ++part) {
    if (plan.is_supported(part)) continue;
    const auto free = plan.free_motions(n.rest, part);
    if (free.empty()) continue;
    throw ModelError(message(
        "nothing holds the body", plan.mesh.parts > 1 ? message("'s part ", part) : std::string(),
        " against ", listed(free), ": without inertia it has no place of rest; pin vertices"));
  }
  const auto numbers = static_cast<std::size_t>(plan.numbers());
  Numbers force_space;
  const double* const force = n.spread_force(solved->u.data(), force_space);
  Numbers y(n.rest, n.rest + numbers), still(numbers, 0.0);
  if (!x0.empty()) read_state(plan, x0.data(), y.data(), still.data());
  // Held numbers stand where they do without their input, whatever x0 has there.
  for (const int i : plan.held_numbers) {
    y[static_cast<std::size_t>(i)] = n.rest[static_cast<std::size_t>(i)];
  }
  if (!x0.empty()) {  // ... or, from a start of the user's, where they shall be
    for (std::size_t k = 0; k < plan.held_numbers.size(); ++k) {
      const auto i = static_cast<std::size_t>(plan.held_numbers[k]);
      y[i] = n.rest[i] + moved_by(body, solved->u, k);
    }
  }
  if (const Trespass t = first_trespass(plan.terms, own, y.data()); t.vertex >= 0) {
    throw ModelError(message("vertex ", t.vertex, " lies ", -t.distance, " m inside \"", t.obstacle,
                             "\", whose barrier keeps everything out: give an x0 outside of it"));
  }
  if (plan.surface) {
    if (const auto c = plan.surface->first_crossing(y.data()); c.edge >= 0) {
      throw ModelError(message("at the start the body goes through itself: ",
                               plan.surface->name_of(c), " cross; give an x0 without that"));
    }
  }
  solved->memory.assign(static_cast<std::size_t>(plan.memory()), 0.0);
  if (!x0.empty()) std::copy(x0.begin() + plan.moving(), x0.end(), solved->memory.begin());
  MinimiserSpace space;
  // Under a part of the load; `inertia` holds the body where it is (1).
  const auto solve_at = [&](double load, double inertia, int most, Numbers& from) {
    Incremental problem;
    problem.view = n.view();
    problem.terms.rest = n.rest, problem.terms.step.load = load;
    problem.terms.memory = solved->memory.data();
    problem.numbers = own;
    problem.inertia.assign(n.mass.size(), inertia);
    hold_free_spin(n, problem.inertia);
    problem.most_iterations = most;
    if (inertia > 0 || plan.turns > 0) problem.origin = from;
    else problem.origin.assign(n.rest, n.rest + numbers);
    for (std::size_t i = 0; i < numbers; ++i) {
      problem.pull.push_back(load * (n.mass[i / 3] * n.gravity_at(i) + (force ? force[i] : 0)));
    }
    for (std::size_t k = 0; k < plan.held_numbers.size(); ++k) {
      problem.target.push_back(n.rest[static_cast<std::size_t>(plan.held_numbers[k])] +
                               (x0.empty() ? load : 1) * moved_by(body, solved->u, k));
    }
    return minimise(plan, *body.kernels, problem, n.threads, from, space);
  };
  Equilibrium out;
  out.load_steps = 0;
  Minimum found;
  const auto succeeds = [&](double load, double inertia, int most) {
    Numbers trial = y;
    found = solve_at(load, inertia, most, trial);
    out.iterations += found.iterations;
    const bool good = found.finite && found.residual == 0;
    if (good) y = std::move(trial);
    return good;
  };
  // Slowly: the body creeps under its whole load, less and less held back.
  const auto creep = [&] {
    double largest = 0;
    for (std::size_t i = 0; i < numbers; ++i) {
      largest =
          std::max(largest, std::abs(n.mass[i / 3] * n.gravity_at(i) + (force ? force[i] : 0)));
    }
    const double first = kCreepStart * std::max(largest, 1e-300) / plan.length;
    double inertia = first;
    for (int k = 0; k < kMostCreeps && inertia > kCreepEnd * first; ++k) {
      inertia *= succeeds(1, inertia, 15) ? 0.25 : 16;
      if (inertia > 1e12 * first) return false;
    }
    return succeeds(1, 0, 60);
  };
  double done = 0, step = 1;
  const Numbers start = y;
  if (succeeds(1, 0, kMostDirect)) {
    done = 1, out.load_steps = 1;
  } else if (creep()) {
    done = 1, out.load_steps = 1;
  } else {
    y = start;
  }
  while (done < 1 && out.load_steps < kMostLoadSteps) {
    const double load = std::min(1.0, done + step);
    ++out.load_steps;
    if (succeeds(load, 0, 60)) {
      done = load;
      step *= 2;
    } else {
      step *= 0.5;
      if (step < 1e-6) break;
    }
  }
  out.converged = done == 1;
  out.residual = out.converged ? 0 : std::max(found.residual, 2 * kFound);
  out.state.assign(static_cast<std::size_t>(plan.moving()), 0.0);
  std::fill(still.begin(), still.end(), 0.0);
  write_state(plan, n.rest, nullptr, y.data(), still.data(), out.state.data());
  const Stage end = stage_at_rest(own, solved->memory);
  const Numbers memory = stage_memory(n, end, y);
  out.state.insert(out.state.end(), memory.begin(), memory.end());
  solved->y = std::move(y);
  if (out.converged) solved->factor = std::move(found.factor);
  solved->skew = std::move(found.skew);
  solved->with_pairs = std::move(found.plan);
  out.solved_ = std::move(solved);
  return out;
}

EquilibriumGradient Equilibrium::pullback(std::span<const double> state_bar) const {
  const Solved& s = *solved_;
  const SolidPlan& plan = s.with_pairs ? *s.with_pairs : *s.body->plan;
  if (state_bar.size() != state.size()) {
    throw Error(
        message("equilibrium: state_bar has ", state.size(), " numbers; got ", state_bar.size()));
  }
  if (!converged) {
    throw GradientError(message("the equilibrium did not converge (residual ", residual,
                                "), and what is no solution has no gradient"));
  }
  if (!s.factor) {
    throw GradientError(
        "at this equilibrium the stiffness is not positive definite: the body is about to give way "
        "(it buckles), and no gradient exists or the place is not stable");
  }
  SolidNumbers n(*s.body, s.threads);
  std::vector<const double*> arrays;
  EquilibriumGradient out;
  out.params.assign(s.params.size(), 0.0);
  out.controls.assign(s.u.size(), 0.0);
  StepParameters<double> p = s.step_parameters(arrays);
  std::vector<double*> bars;
  for (const double* a : arrays) bars.push_back(out.params.data() + (a - s.params.data()));
  p.arrays_bar = bars.data();
  n.read(p);
  const TermNumbers own = n.numbers_of_terms(s.u.data());
  Numbers y_bar(static_cast<std::size_t>(plan.numbers()), 0.0), still_bar(y_bar);
  write_state_pullback(plan, n.rest, nullptr, s.y.data(), state_bar.data(), y_bar.data(),
                       still_bar.data(), nullptr, nullptr);
  StageBars bars_at_end(plan);
  stage_memory_pullback(n, stage_at_rest(own, s.memory), s.y, state_bar.data() + plan.moving(),
                        y_bar, bars_at_end);
  Numbers lambda = y_bar;
  for (const int i : plan.held_numbers) lambda[static_cast<std::size_t>(i)] = 0;
  skew_solve(plan.pattern, *s.factor, s.skew, true, n.threads, lambda.data());  // (2)
  Numbers now_bar(lambda.size(), 0.0), f_bar(lambda.size());
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    f_bar[i] = -lambda[i];
    n.add_gravity(i, n.mass[i / 3] * lambda[i]);
    n.mass_bar[i / 3] += n.gravity_at(i) * lambda[i];
    if (s.body->force_input >= 0 && i < static_cast<std::size_t>(3 * plan.points())) {
      out.controls[static_cast<std::size_t>(s.body->force_input) + i] += lambda[i];
    }
  }
  TermNumbers& own_bar = bars_at_end.numbers;
  elastic_force_pullback(n, own, s.memory.data(), s.y.data(), f_bar, now_bar, own_bar,
                         RodFrames::from_rest);
  n.add_terms(own_bar, out.controls.data());
  for (std::size_t k = 0; k < plan.held_numbers.size(); ++k) {
    const auto i = static_cast<std::size_t>(plan.held_numbers[k]);
    const double bar = y_bar[i] + now_bar[i];
    const Mover by = mover(*s.body, k);
    n.rest_bar[i] += bar;
    if (by.input >= 0) out.controls[static_cast<std::size_t>(by.input)] += by.scale * bar;
  }
  n.give_back(out.params.data());
  return out;
}

}  // namespace cycloid::inline soft
