#include "cycloid/soft/solid_stepper.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/soft/solid_state.h"

namespace cycloid::inline soft {
namespace {

using Numbers = std::vector<double>;

// TR-BDF2 (3).
const double kGamma = 2 - std::sqrt(2.0), kA = 1 / (kGamma * (2 - kGamma)),
             kB = (1 - kGamma) * (1 - kGamma) * kA, kD = (1 - kGamma) / (2 - kGamma);

}  // namespace

struct SolidStepper::Workspace final : StepWorkspace {
  Workspace(const SolidBody& body, int threads) : numbers(body, threads) {}
  SolidNumbers numbers;
  MinimiserSpace space;
  LaneNote note;
  bool finite = true;
};

struct SolidStepper::Record final : RecordObject {
  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (const StageRecord& s : stages) {
      sum += sizeof(double) * (s.y.size() + s.skew.size()) + (s.factor ? s.factor->bytes() : 0) +
             (s.plan ? s.plan->bytes() : 0);
    }
    return sum;
  }
  std::vector<StageRecord> stages;
};

// Where a step starts: with held numbers as they are used.
struct SolidStepper::Start {
  Numbers x, v;
  Numbers target;                  // of held numbers, in their order
  const double* force = nullptr;   // (numbers), or null
  Numbers own_force;               // where `force` is no part of the inputs
  TermNumbers numbers;             // of the terms
  const double* memory = nullptr;  // likewise
  bool first = false;              // of a run
};

struct SolidStepper::StartBars {
  StartBars(int n, std::size_t own) : x(at(n), 0.0), v(x), target(x), force(x), numbers(own, 0.0) {}
  Numbers x, v;
  Numbers target, force;  // (numbers); target at held ones alone
  TermNumbers numbers;
};

struct SolidStepper::StartTangent {
  Numbers x, v, target;  // (numbers); target at held ones, zero elsewhere
  TermNumbers numbers;
  const double* force = nullptr;
  Numbers own_force = {};
};

SolidStepper::SolidStepper(std::shared_ptr<const SolidBody> body)
    : Stepper<double>([&] {
        StepperSizes s;
        s.state = s.tangent = body->plan->moving() + body->plan->memory();
        s.input = body->inputs;
        s.parameters = body->lane_numbers;
        const SolidBody::Place* const places[] = {&body->young, &body->poisson, &body->density,
                                                  &body->mass, &body->vertices};
        for (const auto* place : places) {
          if (!place->array) continue;
          const bool of_cells = place != &body->mass && place != &body->vertices;
          s.arrays.push_back(of_cells               ? body->plan->cells()
                             : place == &body->mass ? body->plan->points()
                                                    : 3 * body->plan->points());
        }
        s.record_is_costly = s.spreads = true;
        return s;
      }()),
      body_(std::move(body)) {}

std::unique_ptr<StepWorkspace> SolidStepper::make_workspace(const StepResources& r) const {
  return std::make_unique<Workspace>(*body_, r.threads);
}

void SolidStepper::begin(const StepParameters<double>& p, StepWorkspace& workspace) const {
  static_cast<Workspace&>(workspace).numbers.read(p);
}

SolidStepper::Start SolidStepper::start_of(const StepInput<double>& in,
                                           const SolidNumbers& n) const {
  const SolidPlan& plan = *body_->plan;
  Start s;
  s.x.resize(at(plan.numbers())), s.v.resize(at(plan.numbers()));
  read_state(plan, in.x, s.x.data(), s.v.data());
  s.memory = in.x + plan.moving();
  s.first = in.step == 0;
  s.numbers = n.numbers_of_terms(in.u);
  s.force = n.spread_force(in.u, s.own_force);
  const auto positions = at(plan.held_points());
  for (std::size_t k = 0; k < positions; ++k) {
    const std::size_t i = at(plan.held_numbers[k]);
    const double moved = body_->held_input >= 0 ? in.u[at(body_->held_input) + k] : 0;
    s.target.push_back(n.rest[i] + moved);
    if (s.first) s.x[i] = s.target[k], s.v[i] = 0;
  }
  const Numbers end = positions_at_end(s);
  int clamp = 0;
  for (std::size_t k = positions; k < plan.held_numbers.size(); ++k) {
    const int i = plan.held_numbers[k], j = i / 3 - plan.points();
    s.target.push_back(0);
    if (i % 3 == 0) {
      const double turned = body_->turned_input >= 0 ? in.u[body_->turned_input + clamp++] : 0;
      s.target[k] = held_turn(plan, j, n.rest, s.x.data(), end.data(), turned);
    }
    if (s.first) s.x[at(i)] = s.target[k], s.v[at(i)] = 0;
  }
  return s;
}

// With held positions where they shall be.
Numbers SolidStepper::positions_at_end(const Start& s) const {
  Numbers end = s.x;
  for (std::size_t k = 0; k < at(body_->plan->held_points()); ++k) {
    end[at(body_->plan->held_numbers[k])] = s.target[k];
  }
  return end;
}

Stage SolidStepper::euler_stage(const SolidNumbers& n, const Start& s) const {
  const double h = body_->dt;
  Stage stage{{1 / h, h, 1 / h}, s.x, s.v, {s.x.data(), nullptr}, s.force, s.target, s.numbers};
  for (std::size_t i = 0; i < stage.momentum.size(); ++i) stage.momentum[i] *= n.mass[i / 3];
  stage.memory = s.memory;
  return stage;  // (1)
}

Stage SolidStepper::trapezoid_stage(const SolidNumbers& n, const Start& s, double part) const {
  const double h = part * body_->dt;
  Stage stage{{2 / h, h / 2, 2 / h}, s.x, s.v, {s.x.data(), nullptr}, s.force, s.target, s.numbers};
  stage.rule.spread = 2;
  Numbers f(s.x.size(), 0.0);
  elastic_force(n, s.numbers, s.x.data(), f);
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double m = n.mass[i / 3];
    const double total =
        (s.force ? s.force[i] : 0) + m * (n.gravity_at(i) - n.drag * s.v[i]) - f[i];
    stage.momentum[i] = m * s.v[i] + h / 2 * total;  // (2)
    stage.origin[i] += h / 2 * s.v[i];
  }
  for (std::size_t k = 0; k < s.target.size(); ++k) {
    const double x = s.x[at(body_->plan->held_numbers[k])];
    stage.target[k] = part == 1 ? s.target[k] : x + part * (s.target[k] - x);
  }
  return stage;
}

Stage SolidStepper::bdf_stage(const SolidNumbers& n, const Start& s, const Numbers& x_mid,
                              const Numbers& v_mid) const {
  const double h = kD * body_->dt;
  Stage stage{{1 / h, h, 1 / h, 2, {kA, -kB}},
              x_mid,
              v_mid,
              {x_mid.data(), s.x.data()},
              s.force,
              s.target,
              s.numbers};
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    stage.origin[i] = kA * x_mid[i] - kB * s.x[i];
    stage.momentum[i] = n.mass[i / 3] * (kA * v_mid[i] - kB * s.v[i]);  // (3)
  }
  return stage;
}

// (1) of solid_stage.h; held numbers move evenly.
Numbers SolidStepper::velocity(const Start& s, const Stage& stage, const Numbers& y) const {
  Numbers v(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) v[i] = stage.rule.alpha * (y[i] - stage.origin[i]);
  for (std::size_t k = 0; k < s.target.size(); ++k) {
    const std::size_t i = at(body_->plan->held_numbers[k]);
    v[i] = (s.target[k] - s.x[i]) / body_->dt;
  }
  return v;
}

StageRecord SolidStepper::solve(Workspace& w, const Start& s, const Stage& stage, double part,
                                const Numbers& from) const {
  StageRecord out;
  Incremental problem = incremental(w.numbers, stage);
  problem.guess = from;
  Numbers outside = from;  // an obstacle may have come to the body
  push_out(body_->plan->terms, s.numbers, body_->plan->held, outside.data());
  if (body_->plan->surface) {  // ... but not through itself
    Numbers way(from.size());
    for (std::size_t i = 0; i < way.size(); ++i) way[i] = outside[i] - from[i];
    const double free = body_->plan->surface->free_part(from.data(), way.data(), w.numbers.threads);
    for (std::size_t i = 0; i < way.size() && free < 1; ++i) outside[i] = from[i] + free * way[i];
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!body_->plan->held[i]) problem.guess[i] += part * body_->dt * s.v[i];
  }
  out.y = outside;
  Minimum found =
      minimise(*body_->plan, *body_->kernels, problem, w.numbers.threads, out.y, w.space);
  w.note.counters[0] += found.iterations, w.note.counters[1] += found.linear_iterations;
  if (!found.finite || found.residual > 0) {  // once more, from where the body stood
    problem.guess.clear();
    out.y = outside;
    found = minimise(*body_->plan, *body_->kernels, problem, w.numbers.threads, out.y, w.space);
    w.note.counters[0] += found.iterations, w.note.counters[1] += found.linear_iterations;
  }
  w.finite = w.finite && found.finite;
  // Without a factor there is no way back through this step.
  w.note.residual = std::max(w.note.residual, found.factor ? found.residual : 1.0);
  out.factor = std::move(found.factor);
  out.skew = std::move(found.skew);
  out.plan = std::move(found.plan);
  return out;
}

// At the start of a run: who is inside an obstacle, both where it was built and where it is.
Trespass SolidStepper::starts_inside(const Start& s, const SolidNumbers& n) const {
  if (!s.first) return {};
  const Terms& terms = body_->plan->terms;
  if (first_trespass(terms, n.numbers_of_terms(nullptr), s.x.data()).vertex < 0) return {};
  return first_trespass(terms, s.numbers, s.x.data());
}

ContactSurface::Crossing SolidStepper::starts_crossed(const Start& s) const {
  if (!s.first || !body_->plan->surface) return {};
  return body_->plan->surface->first_crossing(s.x.data());
}

StepStatus SolidStepper::step(const StepInput<double>& in, double* x_next, StepRecord* record,
                              StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  const SolidNumbers& n = w.numbers;
  w.note = {};
  w.finite = true;
  const Start s = start_of(in, n);
  std::vector<StageRecord> stages;
  Numbers v, memory;
  if (starts_inside(s, n).vertex >= 0 || starts_crossed(s).edge >= 0) {
    std::fill_n(x_next, sizes().state, std::nan(""));
    return StepStatus::non_finite;
  }
  if (body_->integrator == SolidIntegrator::implicit_euler) {
    const Stage stage = euler_stage(n, s);
    stages.push_back(solve(w, s, stage, 1, s.x));
    v = velocity(s, stage, stages[0].y);
    memory = stage_memory(n, stage, stages[0].y);
  } else if (body_->integrator == SolidIntegrator::newmark) {
    const Stage stage = trapezoid_stage(n, s, 1);
    stages.push_back(solve(w, s, stage, 1, s.x));
    v = velocity(s, stage, stages[0].y);
  } else {
    const Stage first = trapezoid_stage(n, s, kGamma);
    stages.push_back(solve(w, s, first, kGamma, s.x));
    if (w.finite) {
      const Numbers v_mid = velocity(s, first, stages[0].y);
      const Stage second = bdf_stage(n, s, stages[0].y, v_mid);
      stages.push_back(solve(w, s, second, 1 - kGamma, stages[0].y));
      v = velocity(s, second, stages[1].y);
    }
  }
  const Numbers& y = stages.back().y;
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!w.finite || !std::all_of(y.begin(), y.end(), finite) ||
      !std::all_of(v.begin(), v.end(), finite)) {
    std::fill_n(x_next, sizes().state, std::nan(""));
    return StepStatus::non_finite;
  }
  write_state(*body_->plan, n.rest, s.x.data(), y.data(), v.data(), x_next);
  std::copy(memory.begin(), memory.end(), x_next + body_->plan->moving());
  if (record) {
    auto own = std::make_unique<Record>();
    own->stages = std::move(stages);
    record->object = std::move(own);
    record->bytes = 0;
  }
  return w.note.residual > 0 ? StepStatus::short_of : StepStatus::ok;
}

// Of a stage of (2): y_bar and v_bar of its end.
void SolidStepper::pull_trapezoid(SolidNumbers& n, const Start& s, const Stage& stage,
                                  const StageRecord& record, double part, Numbers y_bar,
                                  const Numbers& v_bar, StartBars& bars) const {
  const SolidPlan& plan = *body_->plan;
  const double half = part * body_->dt / 2, alpha = stage.rule.alpha;
  StageBars own(plan);
  for (std::size_t i = 0; i < y_bar.size(); ++i) {
    if (plan.held[i]) {
      bars.target[i] += v_bar[i] / body_->dt;
      bars.x[i] -= v_bar[i] / body_->dt;
    } else {
      y_bar[i] += alpha * v_bar[i];
      own.origin[i] -= alpha * v_bar[i];
    }
  }
  stage_pullback(n, stage, record, y_bar, own);
  Numbers f_bar(y_bar.size());
  for (std::size_t i = 0; i < y_bar.size(); ++i) {
    const double m = n.mass[i / 3], p_bar = own.momentum[i], total_bar = half * p_bar;
    if (plan.held[i]) {
      bars.target[i] += part * own.held[i];
      bars.x[i] += (1 - part) * own.held[i];
    }
    bars.x[i] += own.origin[i] + own.before[0][i];
    bars.v[i] += half * own.origin[i] + m * p_bar - n.drag * m * total_bar;
    bars.force[i] += own.force[i] + total_bar;
    n.mass_bar[i / 3] += s.v[i] * p_bar + total_bar * (n.gravity_at(i) - n.drag * s.v[i]);
    n.add_gravity(i, m * total_bar);
    n.drag_bar -= m * s.v[i] * total_bar;
    f_bar[i] = -total_bar;
  }
  elastic_force_pullback(n, s.numbers, nullptr, s.x.data(), f_bar, bars.x, bars.numbers);  // (2)
  for (std::size_t i = 0; i < own.numbers.size(); ++i) bars.numbers[i] += own.numbers[i];
}

void SolidStepper::pullback(const StepInput<double>& in, const StepRecord& record,
                            const double* x_next_bar, double* x_bar, double* u_bar,
                            StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  SolidNumbers& n = w.numbers;
  const SolidPlan& plan = *body_->plan;
  const int numbers = plan.numbers();
  if (!record.object) return;  // the step failed, and leaves nothing to go back through
  const auto& stages = static_cast<const Record&>(*record.object).stages;
  for (const StageRecord& s : stages) {
    if (!s.factor) return;  // the step said so in its note
  }
  const Start s = start_of(in, n);
  StartBars bars(numbers, s.numbers.size());
  Numbers y_bar(at(numbers), 0.0), v_bar(y_bar);
  write_state_pullback(plan, n.rest, s.x.data(), stages.back().y.data(), x_next_bar, y_bar.data(),
                       v_bar.data(), n.rest_bar.data(), bars.x.data());
  if (body_->integrator == SolidIntegrator::newmark) {
    pull_trapezoid(n, s, trapezoid_stage(n, s, 1), stages[0], 1, y_bar, v_bar, bars);
  } else {
    const bool two = body_->integrator == SolidIntegrator::bdf2;
    Stage first, stage;
    Numbers v_mid;
    if (two) {
      first = trapezoid_stage(n, s, kGamma);
      v_mid = velocity(s, first, stages[0].y);
      stage = bdf_stage(n, s, stages[0].y, v_mid);
    } else {
      stage = euler_stage(n, s);
    }
    StageBars own(plan);
    for (std::size_t i = 0; i < y_bar.size(); ++i) {
      if (plan.held[i]) {
        bars.target[i] += v_bar[i] / body_->dt;
        bars.x[i] -= v_bar[i] / body_->dt;
      } else {
        y_bar[i] += stage.rule.alpha * v_bar[i];
        own.origin[i] -= stage.rule.alpha * v_bar[i];
      }
    }
    if (!two) stage_memory_pullback(n, stage, stages[0].y, x_next_bar + plan.moving(), y_bar, own);
    stage_pullback(n, stage, stages.back(), y_bar, own);
    for (std::size_t i = 0; i < own.memory.size(); ++i)
      x_bar[at(plan.moving()) + i] += own.memory[i];
    Numbers x_mid_bar(y_bar.size(), 0.0), v_mid_bar(x_mid_bar);
    for (std::size_t i = 0; i < y_bar.size(); ++i) {
      const double m = n.mass[i / 3], p_bar = own.momentum[i];
      bars.target[i] += own.held[i];
      bars.force[i] += own.force[i];
      if (two) {
        x_mid_bar[i] = kA * own.origin[i] + own.before[0][i];
        bars.x[i] += own.before[1][i] - kB * own.origin[i];
        v_mid_bar[i] = kA * m * p_bar;
        bars.v[i] -= kB * m * p_bar;
        n.mass_bar[i / 3] += p_bar * (kA * v_mid[i] - kB * s.v[i]);  // (3)
      } else {
        bars.x[i] += own.origin[i] + own.before[0][i];
        bars.v[i] += m * p_bar;
        n.mass_bar[i / 3] += p_bar * s.v[i];  // (1)
      }
    }
    for (std::size_t i = 0; i < own.numbers.size(); ++i) bars.numbers[i] += own.numbers[i];
    if (two) {
      pull_trapezoid(n, s, first, stages[0], kGamma, std::move(x_mid_bar), v_mid_bar, bars);
    }
  }
  n.add_terms(bars.numbers, u_bar);
  const auto positions = at(plan.held_points());
  const auto take_start = [&](std::size_t k) {
    const std::size_t i = at(plan.held_numbers[k]);
    if (!s.first) return;
    bars.target[i] += bars.x[i];
    bars.x[i] = bars.v[i] = 0;
  };
  for (std::size_t k = positions; k < plan.held_numbers.size(); ++k) take_start(k);
  const Numbers end = positions_at_end(s);
  for_each_clamp([&](int j, int clamp) {
    double turned_bar = 0;
    held_turn_pullback(plan, j, n.rest, s.x.data(), end.data(),
                       bars.target[at(3 * (plan.points() + j))], n.rest_bar.data(), bars.x.data(),
                       bars.target.data(), turned_bar);
    if (body_->turned_input >= 0) u_bar[body_->turned_input + clamp] += turned_bar;
  });
  for (std::size_t k = 0; k < positions; ++k) {
    const std::size_t i = at(plan.held_numbers[k]);
    take_start(k);
    n.rest_bar[i] += bars.target[i];
    if (body_->held_input >= 0) u_bar[at(body_->held_input) + k] += bars.target[i];
  }
  read_state_pullback(plan, bars.x.data(), bars.v.data(), x_bar);
  for (int i = 0; body_->force_input >= 0 && i < 3 * plan.points(); ++i) {
    u_bar[body_->force_input + i] += bars.force[at(i)];
  }
}

bool SolidStepper::pushforward(const StepInput<double>& in, const StepRecord& record,
                               const StepTangents<double>& tangents, double* x_next_tan,
                               StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  const SolidNumbers& n = w.numbers;
  const SolidPlan& plan = *body_->plan;
  const int numbers = plan.numbers();
  if (!record.object) return false;
  const auto& stages = static_cast<const Record&>(*record.object).stages;
  for (const StageRecord& r : stages) {
    if (!r.factor) return false;
  }
  const Start s = start_of(in, n);
  const SolidNumbersTangent along(n, tangents);
  StartTangent t{Numbers(at(numbers), 0.0), Numbers(at(numbers), 0.0), Numbers(at(numbers), 0.0),
                 term_numbers_tangent(plan.terms, tangents.p, tangents.u)};
  if (tangents.x) read_state(plan, tangents.x, t.x.data(), t.v.data());
  t.force = n.spread_force(tangents.u, t.own_force);
  const auto positions = at(plan.held_points());
  for (std::size_t k = 0; k < positions; ++k) {
    const std::size_t i = at(plan.held_numbers[k]);
    t.target[i] =
        (along.rest ? along.rest[i] : 0) +
        (tangents.u && body_->held_input >= 0 ? tangents.u[at(body_->held_input) + k] : 0);
    if (s.first) t.x[i] = t.target[i], t.v[i] = 0;
  }
  const Numbers end = positions_at_end(s);
  for_each_clamp([&](int j, int clamp) {
    const double turned_tan =
        tangents.u && body_->turned_input >= 0 ? tangents.u[body_->turned_input + clamp] : 0;
    t.target[at(3 * (plan.points() + j))] =
        held_turn_tangent(plan, j, n.rest, s.x.data(), end.data(), along.rest, t.x.data(),
                          t.target.data(), turned_tan);
  });
  for (std::size_t k = positions; s.first && k < plan.held_numbers.size(); ++k) {
    const std::size_t i = at(plan.held_numbers[k]);
    t.x[i] = t.target[i], t.v[i] = 0;
  }
  const auto velocity_tan = [&](const Stage& stage, const StageTangent& st, const Numbers& y_tan) {
    Numbers v(y_tan.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = plan.held[i] ? (t.target[i] - t.x[i]) / body_->dt
                          : stage.rule.alpha * (y_tan[i] - st.origin[i]);
    }
    return v;
  };
  const auto trapezoid = [&](const Stage& stage, double part) {
    const double half = part * body_->dt / 2;
    StageTangent st{t.x, t.v, {t.x.data(), nullptr}, t.force, t.target, t.numbers};
    Numbers f_tan(at(numbers), 0.0);
    elastic_force_pushforward(n, along, s.numbers, t.numbers, s.x.data(), t.x.data(), f_tan);
    for (std::size_t i = 0; i < f_tan.size(); ++i) {
      const double m = n.mass[i / 3], m_tan = along.mass[i / 3];
      const double total =
          (t.force ? t.force[i] : 0) + m_tan * (n.gravity_at(i) - n.drag * s.v[i]) +
          m * (along.gravity_at(i) - along.drag * s.v[i] - n.drag * t.v[i]) - f_tan[i];
      st.momentum[i] = m_tan * s.v[i] + m * t.v[i] + half * total;
      st.origin[i] += half * t.v[i];
      if (plan.held[i]) st.held[i] = t.x[i] + part * (t.target[i] - t.x[i]);
    }
    return std::pair(st, stage);
  };
  Numbers y_tan, v_tan;
  if (body_->integrator == SolidIntegrator::implicit_euler) {
    const Stage stage = euler_stage(n, s);
    StageTangent st{t.x, t.v, {t.x.data(), nullptr}, t.force, t.target, t.numbers};
    for (std::size_t i = 0; i < st.momentum.size(); ++i) {
      st.momentum[i] = n.mass[i / 3] * t.v[i] + along.mass[i / 3] * s.v[i];
    }
    if (tangents.x) st.memory = tangents.x + plan.moving();
    y_tan = stage_pushforward(n, along, stage, stages[0], st);
    v_tan = velocity_tan(stage, st, y_tan);
    const Numbers memory_tan = stage_memory_pushforward(n, along, stage, st, stages[0].y, y_tan);
    std::copy(memory_tan.begin(), memory_tan.end(), x_next_tan + plan.moving());
  } else if (body_->integrator == SolidIntegrator::newmark) {
    const auto [st, stage] = trapezoid(trapezoid_stage(n, s, 1), 1);
    y_tan = stage_pushforward(n, along, stage, stages[0], st);
    v_tan = velocity_tan(stage, st, y_tan);
  } else {
    const auto [st, first] = trapezoid(trapezoid_stage(n, s, kGamma), kGamma);
    const Numbers x_mid_tan = stage_pushforward(n, along, first, stages[0], st),
                  v_mid_tan = velocity_tan(first, st, x_mid_tan),
                  v_mid = velocity(s, first, stages[0].y);
    const Stage stage = bdf_stage(n, s, stages[0].y, v_mid);
    StageTangent second{x_mid_tan, v_mid_tan, {x_mid_tan.data(), t.x.data()},
                        t.force,   t.target,  t.numbers};
    for (std::size_t i = 0; i < x_mid_tan.size(); ++i) {
      second.origin[i] = kA * x_mid_tan[i] - kB * t.x[i];
      second.momentum[i] = n.mass[i / 3] * (kA * v_mid_tan[i] - kB * t.v[i]) +
                           along.mass[i / 3] * (kA * v_mid[i] - kB * s.v[i]);
    }
    y_tan = stage_pushforward(n, along, stage, stages[1], second);
    v_tan = velocity_tan(stage, second, y_tan);
  }
  write_state_tangent(plan, n.rest, s.x.data(), stages.back().y.data(), along.rest, t.x.data(),
                      y_tan.data(), v_tan.data(), x_next_tan);
  return true;
}

void SolidStepper::finish(StepWorkspace& workspace, double* p_bar) const {
  static_cast<Workspace&>(workspace).numbers.give_back(p_bar);
}

const LaneNote* SolidStepper::notes(const StepWorkspace& workspace) const {
  return &static_cast<const Workspace&>(workspace).note;
}

StepTrouble SolidStepper::explain(const StepInput<double>& in, int,
                                  StepWorkspace& workspace) const {
  SolidNumbers& n = static_cast<Workspace&>(workspace).numbers;
  const SolidPlan& plan = *body_->plan;
  const Start s = start_of(in, n);
  if (const Trespass t = starts_inside(s, n); t.vertex >= 0) {
    return {"start of the run", message("vertex ", t.vertex),
            message("it lies ", -t.distance, " m inside \"", t.obstacle,
                    "\", whose barrier keeps everything out: start outside of it, or take "
                    "contact=\"compliant\"")};
  }
  if (const auto c = starts_crossed(s); c.edge >= 0) {
    return {"start of the run", plan.surface->name_of(c),
            "the body goes through itself, and self contact keeps apart what is apart: start with "
            "positions that do not cross"};
  }
  SolidView v = n.view();
  v.now = s.x.data();
  Numbers least(at(plan.cells()), 0.0);
  plan.for_each_chunk(
      1, [&](int begin, int end) { body_->kernels->least_stretch(v, begin, end, least.data()); });
  for (int c = 0; c < plan.cells(); ++c) {
    if (least[at(c)] > 0) continue;
    return {"start of the step", cell_name(plan.mesh, c),
            message("it is turned inside out or without volume (det F is ", least[at(c)],
                    "), and its energy has no derivative there: take smaller steps or move held "
                    "vertices more slowly")};
  }
  return {"minimisation", "positions",
          "no finite positions were found: take smaller steps, or look at loads and parameters"};
}

}  // namespace cycloid::inline soft
