#include "cycloid/fluid/grid/grid_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cycloid/base/error.h"

namespace cycloid::inline fluid {
namespace {

constexpr double kRealEnd = 2.51, kImaginaryEnd = 1.73;      // (2)
constexpr double kRealEndOfTwo = 2, kImaginaryEndOfTwo = 1;  // (3)

template <class T>
StageRule<T> rule_of(const GridModel& model, int stage) {
  constexpr double kExplicit[3] = {1, 1.0 / 4, 2.0 / 3}, kImplicit[2] = {1, 1.0 / 2};  // (1) (3)
  const double beta = model.implicit ? kImplicit[stage] : kExplicit[stage];
  return {static_cast<T>(1 - beta), static_cast<T>(beta), static_cast<T>(model.dt)};
}

template <class T>
bool all_finite(const T* x, int count) {
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * T(0);
  return sum == T(0);
}

template <class All>
void add(const All& from, All& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::size_t m = 0; m < from[i].size(); ++m) to[i][m] += from[i][m];
  }
}

// 4 ν Σ 1/h²
double viscous_rate(const GridBox& box, double viscosity) {
  double sum = 0;
  for (int a = box.first; a < 3; ++a) sum += 4 * viscosity / (box.h[at(a)] * box.h[at(a)]);
  return sum;
}

// (2) is v Δt + c² Δt² ≤ 1.
struct Stability {
  double v = 0, c = 0;  // [1/s]
  double share(double dt) const { return v * dt + c * c * dt * dt; }
};

Stability stability_of(const GridModel& model, double viscosity, double courant) {
  const bool three = model.stages() == 3;
  const double v = viscous_rate(model.box, viscosity) / (three ? kRealEnd : kRealEndOfTwo);
  if (model.stages() == 1) return {v, 0};
  return {v, courant / model.dt / (three ? kImaginaryEnd : kImaginaryEndOfTwo)};
}

}  // namespace

std::string beyond_stability(const GridModel& model, double viscosity, double courant) {
  const Stability s = stability_of(model, viscosity, courant);
  if (!(s.share(model.dt) > 1)) return {};
  const double allowed = 2 / (s.v + std::sqrt(s.v * s.v + 4 * s.c * s.c));
  return message("CFL: the time step ", model.dt, " s is too large for this flow (Courant number ",
                 courant, ", viscous number ", viscous_rate(model.box, viscosity) * model.dt,
                 "); at most ", allowed, " s is stable: take a smaller dt or larger cells");
}

template <class T>
struct GridStepper<T>::Workspace final : StepWorkspace {
  Workspace(const std::shared_ptr<const GridModel>& model, int threads)
      : work(model, threads), bar(work.make()), bar0(bar), next_bar(bar) {
    for (auto& one : u) one = bar;
    for (auto* one : {&C[0], &C[1], &C[2], &C[3], &C_bar, &C_bar0, &C_next_bar}) {
      *one = work.make_scalars();
    }
  }
  GridWork<T> work;
  LaneNote note;
  std::array<Velocities<T>, 4> u;  // at the beginning of the stages, and at the end of the last
  std::array<Scalars<T>, 4> C;
  Velocities<T> bar, bar0, next_bar;  // of tangents too
  Scalars<T> C_bar, C_bar0, C_next_bar;
  std::optional<GridTangents<T>> tangents;  // made when first asked for
};

template <class T>
GridStepper<T>::GridStepper(std::shared_ptr<const GridModel> model)
    : Stepper<T>([&] {
        StepperSizes s;
        s.state = s.tangent = model->states();
        s.input = model->inputs;
        s.parameters = model->parameters;
        // Stages, and where there are obstacles the last one and the pressures too.
        s.record = (model->stages() - 1) * s.state;
        if (!model->obstacles.empty() && !model->implicit) {
          s.record = model->stages() * (s.state + model->box.cells);
        }
        s.record_is_costly = s.spreads = true;
        return s;
      }()),
      model_(std::move(model)) {}

template <class T>
std::unique_ptr<StepWorkspace> GridStepper<T>::make_workspace(const StepResources& r) const {
  return std::make_unique<Workspace>(model_, r.threads);
}

template <class T>
void GridStepper<T>::begin(const StepParameters<T>& p, StepWorkspace& workspace) const {
  static_cast<Workspace&>(workspace).work.read(p.lanes);
}

template <class T>
StepStatus GridStepper<T>::step(const StepInput<T>& in, T* x_next, StepRecord* record,
                                StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  GridWork<T>& work = w.work;
  const int n = model_->states(), stages = model_->stages();
  begin_step(in, w);
  if (!trouble(in, w, false).reason.empty()) {
    std::fill_n(x_next, n, std::numeric_limits<T>::quiet_NaN());
    return StepStatus::non_finite;
  }
  work.projection.iterations = 0, work.projection.residual = 0;
  if (work.viscous) work.viscous->iterations = 0, work.viscous->residual = 0;
  T* const kept = record ? record->numbers<T>() : nullptr;
  for (int stage = 0; stage < stages; ++stage) {
    const StageRule<T> now = rule_of<T>(*model_, stage);
    T* const q = kept && work.obstacles && !model_->implicit
                     ? kept + stages * n + stage * model_->box.cells
                     : nullptr;
    if (model_->implicit) {
      work.implicit_stage(stage, w.u[0], w.u[at(stage)], w.C[0], w.C[at(stage)],
                          w.u[at(stage + 1)]);
    } else {
      work.stage(now, w.u[0], w.u[at(stage)], w.C[at(stage)], w.u[at(stage + 1)], q);
    }
    work.carry(now, w.u[at(stage)], w.C[0], w.C[at(stage)], w.C[at(stage + 1)]);
    if (stage + 1 == stages) break;
    work.sides.fill_ghosts(w.u[at(stage + 1)]);
    for (std::size_t i = 0; i < work.scalars.size(); ++i) {
      work.scalars[i].fill(w.C[at(stage + 1)][i]);
    }
  }
  work.store(w.u[at(stages)], x_next);
  work.store(w.C[at(stages)], x_next);
  if (work.obstacles) work.obstacles->store(x_next + model_->scalar(model_->scalars.size()));
  for (int stage = 1; kept && stage < kept_stages(); ++stage) {
    work.store(w.u[at(stage)], kept + (stage - 1) * n);
    work.store(w.C[at(stage)], kept + (stage - 1) * n);
  }
  const bool by_multigrid = model_->counts_pressure;
  if (by_multigrid) w.note.counters[0] = work.projection.iterations;
  if (work.viscous) w.note.counters[by_multigrid ? 1 : 0] = work.viscous->iterations;
  w.note.residual = std::max(work.projection.residual, work.viscous ? work.viscous->residual : 0.0);
  if (!all_finite(x_next, n)) return StepStatus::non_finite;
  return w.note.residual > 0 ? StepStatus::short_of : StepStatus::ok;
}

// Stages 1 … are kept, and where there are obstacles the end of the last too, unless viscosity is
// implicit: such a stage is made again.
template <class T>
int GridStepper<T>::kept_stages() const {
  return model_->stages() + (model_->obstacles.empty() || model_->implicit ? 0 : 1);
}

template <class T>
void GridStepper<T>::begin_step(const StepInput<T>& in, Workspace& w) const {
  w.work.set_inputs(in.u, in.x, GridObstacles<T>::Moment::next);
  w.work.load(in.x, w.u[0]);
  w.work.sides.fill_ghosts(w.u[0]);
  w.work.load(in.x, w.C[0]);
}

template <class T>
void GridStepper<T>::load_stages(const StepInput<T>& in, const StepRecord& record,
                                 Workspace& w) const {
  const int n = model_->states();
  const T* const kept = record.numbers<const T>();
  begin_step(in, w);
  for (int stage = 1; stage < kept_stages(); ++stage) {
    w.work.load(kept + (stage - 1) * n, w.u[at(stage)]);
    if (stage == model_->stages()) break;
    w.work.sides.fill_ghosts(w.u[at(stage)]);
    w.work.load(kept + (stage - 1) * n, w.C[at(stage)]);
  }
}

template <class T>
void GridStepper<T>::pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar,
                              T* x_bar, T* u_bar, StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  GridWork<T>& work = w.work;
  const int stages = model_->stages();
  const T* const q = record.numbers<const T>() + stages * model_->states();
  load_stages(in, record, w);

  const auto clear = [](auto& all) {
    for (auto& one : all) std::fill(one.begin(), one.end(), T(0));
  };
  // Cotangents of a stage's end, of its beginning, and of the step's.
  Velocities<T>*end = &w.next_bar, *begin = &w.bar;
  Scalars<T>*C_end = &w.C_next_bar, *C_begin = &w.C_bar;
  clear(*end), clear(w.bar0), clear(*C_end), clear(w.C_bar0);
  work.add_row(x_next_bar, *end);
  work.add_row(x_next_bar, *C_end);
  for (int stage = stages - 1; stage >= 0; --stage) {
    const StageRule<T> now = rule_of<T>(*model_, stage);
    const Velocities<T>& u = w.u[at(stage)];
    const Scalars<T>& C = w.C[at(stage)];
    clear(*begin), clear(*C_begin);
    work.carry_pullback(now, u, C, *C_end, w.C_bar0, *C_begin, *begin);
    if (model_->implicit) {
      work.implicit_stage_pullback(stage, w.u[0], u, w.C[0], C, *end, w.bar0, *begin, w.C_bar0,
                                   *C_begin, in.wants_parameters);
    } else {
      work.stage_pullback(now, u, C, q + stage * model_->box.cells, w.u[at(stage + 1)], *end,
                          w.bar0, *begin, *C_begin, in.wants_parameters);
    }
    work.sides.fill_ghosts_pullback(*begin);
    for (std::size_t i = 0; stage > 0 && i < work.scalars.size(); ++i) {
      work.scalars[i].fill_pullback((*C_begin)[i]);
    }
    std::swap(begin, end), std::swap(C_begin, C_end);
  }
  if (model_->implicit) work.sides.fill_ghosts_pullback(w.bar0);
  add(*end, w.bar0), add(*C_end, w.C_bar0);
  work.load_pullback(w.bar0, x_bar);
  for (std::size_t i = 0; i < work.scalars.size(); ++i) {
    work.scalars[i].load_pullback(w.C_bar0[i], x_bar + model_->scalar(i));
  }
  work.give_back_inputs(u_bar, x_next_bar, x_bar);
}

template <class T>
bool GridStepper<T>::pushforward(const StepInput<T>& in, const StepRecord& record,
                                 const StepTangents<T>& tangents, T* x_next_tan,
                                 StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  if (!model_->scalars.empty() || model_->stages() != 3) return false;
  GridWork<T>& work = w.work;
  const T* const q = record.numbers<const T>() + 3 * model_->states();
  load_stages(in, record, w);
  if (!w.tangents) w.tangents = work.make_tangents();
  work.set_tangents(tangents.p, tangents.u, tangents.x, *w.tangents);
  Velocities<T>*from = &w.bar, *to = &w.next_bar;
  work.load_pushforward(tangents.x, *w.tangents, w.bar0);
  work.sides.fill_ghosts(w.bar0, w.tangents->W);
  *from = w.bar0;
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) work.sides.fill_ghosts(*from, w.tangents->W);
    work.stage_pushforward(rule_of<T>(*model_, stage), w.u[at(stage)],
                           q + stage * model_->box.cells, w.u[at(stage + 1)], *w.tangents, w.bar0,
                           *from, *to);
    std::swap(from, to);
  }
  work.store(*from, x_next_tan);
  if (work.obstacles) {
    work.obstacles->store_tangents(*w.tangents->obstacles,
                                   x_next_tan + model_->scalar(model_->scalars.size()));
  }
  return true;
}

template <class T>
void GridStepper<T>::finish(StepWorkspace& workspace, double* p_bar) const {
  static_cast<Workspace&>(workspace).work.give_back(p_bar);
}

template <class T>
const LaneNote* GridStepper<T>::notes(const StepWorkspace& workspace) const {
  return &static_cast<const Workspace&>(workspace).note;
}

// The fastest cell, or one that is not finite.
template <class T>
std::string GridStepper<T>::where(const Velocities<T>& u) const {
  const GridBox& box = model_->box;
  double most = -1;
  std::string place;
  for (int i = 0; i < box.n[0]; ++i) {
    for (int j = 0; j < box.n[1]; ++j) {
      for (int k = 0; k < box.n[2]; ++k) {
        double sum = 0;
        for (int a = box.first; a < 3; ++a) {
          sum += std::abs(static_cast<double>(u[at(a)][at(box.index(i, j, k))])) / box.h[at(a)];
        }
        if (!std::isfinite(sum)) return box.place("cell", i, j, k);
        if (sum > most) most = sum, place = box.place("cell", i, j, k);
      }
    }
  }
  return place;
}

// Why a step cannot be taken from what `begin_step` has loaded; no reason: it can. That the flow is
// too fast is said in words only if they are asked for: steps in parts look for none.
template <class T>
StepTrouble GridStepper<T>::trouble(const StepInput<T>& in, const Workspace& w,
                                    bool in_words) const {
  const double time = in.t0 + static_cast<double>(in.step) * model_->dt;
  if (w.work.projection.solver().blocked()) {
    return {"pressure", "inflow", "obstacles part an inflow from every outflow: there is no way"};
  }
  if (w.work.obstacles) {
    const auto [obstacle, why] = w.work.obstacles->astray();
    if (obstacle >= 0) {
      return {"motion", message("obstacle:#", obstacle), message(why, " (at t = ", time, " s)")};
    }
  }
  const double courant = w.work.courant(w.u[0], nullptr);
  if (!std::isfinite(courant)) {
    return {"time step", where(w.u[0]), message("the velocity is not finite at t = ", time, " s")};
  }
  if (!in_words) {
    const Stability s = stability_of(*model_, w.work.spreading(), courant);
    return {{}, {}, s.share(model_->dt) > 1 ? "CFL" : ""};
  }
  const std::string cfl = beyond_stability(*model_, w.work.spreading(), courant);
  if (cfl.empty()) return {};
  return {"time step", where(w.u[0]), message(cfl, " (at t = ", time, " s)")};
}

template <class T>
StepTrouble GridStepper<T>::explain(const StepInput<T>& in, int, StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  begin_step(in, w);
  if (const StepTrouble found = trouble(in, w, true); !found.reason.empty()) return found;
  std::vector<T> next(at(model_->states()));
  this->step(in, next.data(), nullptr, workspace);
  const double time = in.t0 + static_cast<double>(in.step) * model_->dt;
  return {"momentum", where(w.u[at(model_->stages())]),
          message("the velocity is not finite after t = ", time, " s")};
}

template class GridStepper<float>;
template class GridStepper<double>;

}  // namespace cycloid::inline fluid
