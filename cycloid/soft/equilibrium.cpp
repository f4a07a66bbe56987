#include "cycloid/soft/equilibrium.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/core_count.h"
#include "cycloid/base/error.h"
#include "cycloid/soft/arc_length.h"
#include "cycloid/soft/body.h"
#include "cycloid/soft/solid_stage.h"
#include "cycloid/soft/solid_state.h"
#include "cycloid/soft/term/rod_laws.h"

namespace cycloid::inline soft {
namespace {

using Numbers = std::vector<double>;

constexpr int kMostLoadSteps = 200, kDirectIterations = 25, kMostCreeps = 80;
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
  Numbers y, memory;                            // of the terms, before
  std::shared_ptr<const SolidPlan> with_pairs;  // the plan of the solver; null: the body's
  std::shared_ptr<const RegularSolver> solver;  // null: to be made
  bool from_rest = true;                        // held numbers come with the loads
  double load = 1;
  std::vector<PathPoint> path;

  const SolidPlan& plan() const { return with_pairs ? *with_pairs : *body->plan; }
  // Under a share of the loads; `inertia` holds the body where it is, `from` (1).
  Incremental problem_at(const SolidNumbers& n, double share, double inertia,
                         const Numbers& from) const;
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

Incremental Equilibrium::Solved::problem_at(const SolidNumbers& n, double share, double inertia,
                                            const Numbers& from) const {
  const SolidPlan& own = *body->plan;
  const auto numbers = static_cast<std::size_t>(own.numbers());
  Numbers space;
  const double* const force = n.spread_force(u.data(), space);
  Incremental out;
  out.view = n.view();
  out.terms.rest = n.rest, out.terms.step.load = share;
  out.terms.memory = memory.data();
  out.numbers = n.numbers_of_terms(u.data());
  out.inertia.assign(n.mass.size(), inertia);
  hold_free_spin(n, out.inertia);
  if (inertia > 0 || own.turns > 0) out.origin = from;
  else out.origin.assign(n.rest, n.rest + numbers);
  for (std::size_t i = 0; i < numbers; ++i) {
    out.pull.push_back(share * (n.mass[i / 3] * n.gravity_at(i) + (force ? force[i] : 0)));
  }
  for (std::size_t k = 0; k < own.held_numbers.size(); ++k) {
    out.target.push_back(n.rest[static_cast<std::size_t>(own.held_numbers[k])] +
                         (from_rest ? share : 1) * moved_by(*body, u, k));
  }
  return out;
}

namespace {

// Throws ModelError where no path can be followed.
void check_path(const SolidBody& body, bool has_start, const EquilibriumOptions& options) {
  if (!std::isfinite(options.arc_length) || options.arc_length < 0) {
    throw Error(message("arc_length must be positive [m]; got ", options.arc_length));
  }
  if (options.arc_length == 0) return;
  const auto refuse = [](const char* why) { throw ModelError(message("arc_length: ", why)); };
  const Terms& terms = body.plan->terms;
  if (has_start) refuse("the path begins at the rest shape without loads; leave x0 out");
  if (body.plan->surface || std::any_of(terms.begin(), terms.end(), [](const StencilTerm& t) {
        return t.law == StencilLaw::contact;
      })) {
    refuse("the path of a body that touches something has corners; leave obstacles out");
  }
  if (body.plan->memory() > 0) refuse("plastic matter has no path that could be gone back");
  if (!body.plan->dissection) {
    refuse("conjugate gradients cannot solve beyond a limit point; take linear_solver=\"direct\"");
  }
}

}  // namespace

Equilibrium equilibrium(const System& system, std::span<const double> x0, std::span<const double> u,
                        std::span<const double> params, const EquilibriumOptions& options) {
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
  solved->threads = options.threads > 0 ? options.threads : default_threads();
  solved->from_rest = x0.empty();
  check_path(body, !x0.empty(), options);

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
    const auto near = plan.surface->nearest(y.data(), thickness_of(plan, own));
    if (near.found) {
      throw ModelError(
          message("equilibrium: at the start ", near.name(), " overlap; give an x0 without that"));
    }
    if (const auto c = plan.surface->first_crossing(y.data()); c.edge >= 0) {
      throw ModelError(message("at the start the body goes through itself: ",
                               plan.surface->name_of(c), " cross; give an x0 without that"));
    }
  }
  solved->memory.assign(static_cast<std::size_t>(plan.memory()), 0.0);
  if (!x0.empty()) std::copy(x0.begin() + plan.moving(), x0.end(), solved->memory.begin());
  Equilibrium out;
  if (options.arc_length > 0) {
    const Numbers from = y;
    RestPath path = follow_path(
        plan, *body.kernels, [&](double load) { return solved->problem_at(n, load, 0, from); },
        from, options.arc_length, options.most_steps, n.threads);
    out.converged = path.complete;
    out.residual = path.complete ? 0 : 1;
    out.iterations = path.iterations;
    out.load_steps = static_cast<int>(path.points.size()) - 1;
    solved->y = from;
    if (path.points.empty()) solved->load = out.load = 0, out.stable = false;
    else solved->y = path.points.back().y, solved->load = out.load = path.points.back().load;
    for (const PathPoint& p : path.points) out.loads.push_back(p.load), out.stable = p.stable;
    solved->path = std::move(path.points);
    out.solved_ = std::move(solved);
    out.take_state();
    return out;
  }
  MinimiserSpace space;
  const auto solve_at = [&](double load, double inertia, int most, Numbers& from) {
    Incremental problem = solved->problem_at(n, load, inertia, from);
    problem.most_iterations = most;
    return minimise(plan, *body.kernels, problem, n.threads, from, space);
  };
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
  if (succeeds(1, 0, kDirectIterations)) {
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
  solved->y = std::move(y);
  solved->with_pairs = std::move(found.plan);
  out.stable = found.factor != nullptr;
  if (found.factor) {
    solved->solver = std::make_shared<RegularSolver>(solved->plan(), std::move(found.factor),
                                                     std::move(found.skew));
  }
  out.solved_ = std::move(solved);
  out.take_state();
  return out;
}

void Equilibrium::take_state() {
  const Solved& s = *solved_;
  const SolidPlan& plan = *s.body->plan;
  std::vector<const double*> arrays;
  SolidNumbers n(*s.body, s.threads);
  n.read(s.step_parameters(arrays));
  const Numbers still(s.y.size(), 0.0);
  state.assign(static_cast<std::size_t>(plan.moving()), 0.0);
  write_state<double>(plan, n.rest, nullptr, s.y.data(), still.data(), state.data());
  const Stage end = stage_at_rest(n.numbers_of_terms(s.u.data()), s.memory);
  const Numbers memory = stage_memory(n, end, s.y);
  state.insert(state.end(), memory.begin(), memory.end());
}

Equilibrium Equilibrium::point(int k) const {
  const Solved& s = *solved_;
  if (k < 0 || k >= static_cast<int>(s.path.size())) {
    throw Error(s.path.empty()
                    ? std::string("an equilibrium has a path where it was given an "
                                  "arc_length")
                    : message("the path has points 0 to ", s.path.size() - 1, "; got ", k));
  }
  const PathPoint& p = s.path[static_cast<std::size_t>(k)];
  auto solved = std::make_shared<Solved>();
  solved->body = s.body, solved->threads = s.threads, solved->params = s.params, solved->u = s.u;
  solved->memory = s.memory;
  solved->y = p.y, solved->load = p.load;
  Equilibrium out;
  out.converged = true;
  out.load = p.load, out.stable = p.stable, out.load_steps = k;
  out.solved_ = std::move(solved);
  out.take_state();
  return out;
}

EquilibriumGradient Equilibrium::pullback(std::span<const double> state_bar) const {
  const Solved& s = *solved_;
  const SolidPlan& plan = s.plan();
  if (state_bar.size() != state.size()) {
    throw Error(
        message("equilibrium: state_bar has ", state.size(), " numbers; got ", state_bar.size()));
  }
  if (!converged) {
    throw GradientError(message("the equilibrium did not converge (residual ", residual,
                                "), and what is no solution has no gradient"));
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
  write_state_pullback<double>(plan, n.rest, nullptr, s.y.data(), state_bar.data(), y_bar.data(),
                               still_bar.data(), nullptr, nullptr);
  StageBars bars_at_end(plan);
  stage_memory_pullback(n, stage_at_rest(own, s.memory), s.y, state_bar.data() + plan.moving(),
                        y_bar, bars_at_end);
  Numbers lambda = y_bar;
  for (const int i : plan.held_numbers) lambda[static_cast<std::size_t>(i)] = 0;
  std::shared_ptr<const RegularSolver> solver = s.solver;
  if (!solver && plan.dissection) {
    solver = std::make_shared<RegularSolver>(
        solver_at(plan, *s.body->kernels, s.problem_at(n, s.load, 0, s.y), s.y, n.threads));
  }
  if (!solver || !solver->solve(lambda.data(), true, n.threads)) {  // (2)
    throw GradientError(
        solver && plan.dissection
            ? "at this equilibrium the stiffness is singular: the body is about to give way (it "
              "buckles), and no gradient exists"
        : solver ? "conjugate gradients fell short of the gradient's tolerance at this "
                   "equilibrium; take "
                   "linear_solver=\"direct\""
                 : "at this equilibrium the stiffness is not positive definite, and conjugate "
                   "gradients cannot solve with it; take linear_solver=\"direct\"");
  }
  Numbers now_bar(lambda.size(), 0.0), f_bar(lambda.size());
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    f_bar[i] = -lambda[i];
    const double pulled = s.load * lambda[i];
    n.add_gravity(i, n.mass[i / 3] * pulled);
    n.mass_bar[i / 3] += n.gravity_at(i) * pulled;
    if (s.body->force_input >= 0 && i < static_cast<std::size_t>(3 * plan.points())) {
      out.controls[static_cast<std::size_t>(s.body->force_input) + i] += pulled;
    }
  }
  TermNumbers& own_bar = bars_at_end.numbers;
  elastic_force_pullback(n, own, s.memory.data(), s.y.data(), f_bar, now_bar, own_bar,
                         RodFrames::from_rest, s.load);
  n.add_terms(own_bar, out.controls.data());
  for (std::size_t k = 0; k < plan.held_numbers.size(); ++k) {
    const auto i = static_cast<std::size_t>(plan.held_numbers[k]);
    const double bar = y_bar[i] + now_bar[i];
    const Mover by = mover(*s.body, k);
    n.rest_bar[i] += bar;
    if (by.input >= 0) out.controls[static_cast<std::size_t>(by.input)] += s.load * by.scale * bar;
  }
  n.give_back(out.params.data());
  return out;
}

}  // namespace cycloid::inline soft
