#include "cycloid/fluid/grid/grid_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cycloid/base/error.h"

namespace cycloid::inline fluid {
namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

constexpr double kRealEnd = 2.51, kImaginaryEnd = 1.73;  // (2)

template <class T>
StageRule<T> rule(int stage, double dt) {
  constexpr double kBeta[3] = {1, 1.0 / 4, 2.0 / 3};  // (1)
  return {static_cast<T>(1 - kBeta[stage]), static_cast<T>(kBeta[stage]), static_cast<T>(dt)};
}

// The larger of viscosity and diffusivity.
template <class T>
double spreading(const GridWork<T>& work) {
  return static_cast<double>(std::max(work.viscosity, work.diffusivity));
}

template <class T>
bool all_finite(const T* x, int count) {
  T sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * T(0);
  return sum == T(0);
}

// 4 ν Σ 1/h²
double viscous_rate(const GridBox& box, double viscosity) {
  double sum = 0;
  for (int a = box.first; a < 3; ++a) sum += 4 * viscosity / (box.h[at(a)] * box.h[at(a)]);
  return sum;
}

}  // namespace

std::string beyond_stability(const GridModel& model, double viscosity, double courant) {
  const bool carried = model.stages() == 1;
  const double v = viscous_rate(model.box, viscosity) / (carried ? 2 : kRealEnd),
               c = carried ? 0 : courant / model.dt / kImaginaryEnd;
  const double share = v * model.dt + c * c * model.dt * model.dt;
  if (!(share > 1)) return {};
  // v Δt + c² Δt² = 1
  const double allowed = 2 / (v + std::sqrt(v * v + 4 * c * c));
  return message("CFL: the time step ", model.dt, " s is too large for this flow (Courant number ",
                 courant, ", viscous number ", viscous_rate(model.box, viscosity) * model.dt,
                 "); at most ", allowed, " s is stable: take a smaller dt or larger cells");
}

template <class T>
struct GridStepper<T>::Workspace final : StepWorkspace {
  Workspace(const std::shared_ptr<const GridModel>& model, int threads)
      : work(model, threads),
        u0(work.make()),
        u1(u0),
        u2(u0),
        u3(u0),
        bar(u0),
        bar0(u0),
        next_bar(u0) {
    if (!model->heated) return;
    const std::vector<T> none(at(model->box.numbers), T(0));
    for (auto* all :
         {&heat[0], &heat[1], &heat[2], &heat[3], &heat_bar, &heat_bar0, &heat_next_bar}) {
      *all = none;
    }
  }
  GridWork<T> work;
  LaneNote note;
  std::vector<T> heat[4], heat_bar, heat_bar0, heat_next_bar;  // temperatures of the stages
  Velocities<T> u0, u1, u2, u3, bar, bar0, next_bar;           // of tangents too
  std::optional<GridTangents<T>> tangents;                     // made when first asked for
};

template <class T>
GridStepper<T>::GridStepper(std::shared_ptr<const GridModel> model)
    : Stepper<T>([&] {
        StepperSizes s;
        s.state = s.tangent = model->states();
        s.input = model->inputs;
        s.parameters = model->parameters;
        // Stages, and where there are obstacles the last one and the pressures too.
        s.record = 2 * s.state;
        if (!model->obstacles.empty()) s.record = 3 * (s.state + model->box.cells);
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
  const int n = model_->states(), faces = model_->box.states();
  work.set_inputs(in.u);
  work.load(in.x, w.u0);
  work.fill_ghosts(w.u0);
  const double courant = work.courant(w.u0, nullptr);
  if (!std::isfinite(courant) || work.solver().blocked() ||
      !beyond_stability(*model_, spreading(work), courant).empty()) {
    std::fill_n(x_next, n, std::numeric_limits<T>::quiet_NaN());
    return StepStatus::non_finite;
  }
  work.iterations = 0, work.residual = 0;
  T* const kept = record ? record->numbers<T>() : nullptr;
  T* const q = kept && work.has_obstacles() ? kept + 3 * n : nullptr;
  const auto q_of = [&](int stage) { return q ? q + stage * model_->box.cells : nullptr; };
  Velocities<T>* const u[4] = {&w.u0, &w.u1, &w.u2, &w.u3};
  if (model_->heated) work.load_heat(in.x + faces, w.heat[0]);
  const int stages = model_->stages();
  for (int stage = 0; stage < stages; ++stage) {
    const StageRule<T> now = rule<T>(stage, model_->dt);
    const std::vector<T>* const heat = model_->heated ? &w.heat[stage] : nullptr;
    work.stage(now, w.u0, *u[stage], *u[stage + 1], q_of(stage), heat);
    if (heat) work.heat_stage(now, *u[stage], w.heat[0], *heat, w.heat[stage + 1]);
    if (stage + 1 == stages) break;
    work.fill_ghosts(*u[stage + 1]);
    if (heat) work.fill_heat(w.heat[stage + 1]);
  }
  work.store(*u[stages], x_next);
  if (model_->heated) work.store_heat(w.heat[3], x_next + faces);
  if (kept) {
    for (int stage = 1; stage < stages + (work.has_obstacles() ? 1 : 0); ++stage) {
      work.store(*u[stage], kept + (stage - 1) * n);
      if (model_->heated) work.store_heat(w.heat[stage], kept + (stage - 1) * n + faces);
    }
  }
  w.note.counters[0] = work.iterations, w.note.residual = work.residual;
  if (!all_finite(x_next, n)) return StepStatus::non_finite;
  return work.residual > 0 ? StepStatus::short_of : StepStatus::ok;
}

template <class T>
void GridStepper<T>::load_stages(const StepInput<T>& in, const StepRecord& record,
                                 Workspace& w) const {
  GridWork<T>& work = w.work;
  const int n = model_->states(), faces = model_->box.states();
  const T* const kept = record.numbers<const T>();
  work.set_inputs(in.u);
  if (model_->heated) {
    work.load_heat(in.x + faces, w.heat[0]), work.load_heat(kept + faces, w.heat[1]);
    work.load_heat(kept + n + faces, w.heat[2]);
  }
  Velocities<T>* const u[4] = {&w.u0, &w.u1, &w.u2, &w.u3};
  work.load(in.x, w.u0), work.fill_ghosts(w.u0);
  const int stages = model_->stages();
  for (int stage = 1; stage < stages + (work.has_obstacles() ? 1 : 0); ++stage) {
    work.load(kept + (stage - 1) * n, *u[stage]);
    if (stage < stages) work.fill_ghosts(*u[stage]);
  }
}

template <class T>
void GridStepper<T>::pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar,
                              T* x_bar, T* u_bar, StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  GridWork<T>& work = w.work;
  const int n = model_->states(), faces = model_->box.states();
  const T* const kept = record.numbers<const T>();
  const auto q_of = [&](int stage) { return kept + 3 * n + stage * model_->box.cells; };
  load_stages(in, record, w);

  const auto clear = [](Velocities<T>& u) {
    for (auto& component : u) std::fill(component.begin(), component.end(), T(0));
  };
  // ū of a stage's end, of its beginning, and of the step's.
  Velocities<T>*end = &w.next_bar, *begin = &w.bar;
  clear(*end), clear(w.bar0);
  const GridBox& box = model_->box;
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for (int i = 0, row = 0; i < box.count(a, 0); ++i) {
      for (int j = 0; j < box.count(a, 1); ++j, ++row) {
        std::copy_n(x_next_bar + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length,
                    length, (*end)[at(a)].data() + box.index(i, j, 0));
      }
    }
  }
  const Velocities<T>* const u[4] = {&w.u0, &w.u1, &w.u2, &w.u3};
  std::vector<T>*heat_end = &w.heat_next_bar, *heat_begin = &w.heat_bar;
  if (model_->heated) {
    std::fill(heat_end->begin(), heat_end->end(), T(0));
    std::fill(w.heat_bar0.begin(), w.heat_bar0.end(), T(0));
    for (int i = 0, row = 0; i < box.n[0]; ++i) {
      for (int j = 0; j < box.n[1]; ++j, ++row) {
        std::copy_n(x_next_bar + faces + static_cast<std::ptrdiff_t>(row) * box.n[2], box.n[2],
                    heat_end->data() + box.index(i, j, 0));
      }
    }
  }
  for (int stage = model_->stages() - 1; stage >= 0; --stage) {
    const StageRule<T> now = rule<T>(stage, model_->dt);
    const std::vector<T>* const heat = model_->heated ? &w.heat[stage] : nullptr;
    clear(*begin);
    if (heat) {
      std::fill(heat_begin->begin(), heat_begin->end(), T(0));
      work.heat_stage_pullback(now, *u[stage], *heat, *heat_end, w.heat_bar0, *heat_begin, *begin);
    }
    work.stage_pullback(now, *u[stage], q_of(stage), *u[stage + 1], *end, w.bar0, *begin,
                        in.wants_parameters, heat, heat_begin);
    work.fill_ghosts_pullback(*begin);
    if (heat) {
      work.fill_heat_pullback(*heat_begin);
      std::swap(heat_begin, heat_end);
    }
    std::swap(begin, end);
  }
  if (model_->heated) {
    for (int i = 0, cell = 0; i < box.n[0]; ++i) {
      for (int j = 0; j < box.n[1]; ++j) {
        for (int k = 0; k < box.n[2]; ++k, ++cell) {
          const std::size_t m = at(box.index(i, j, k));
          x_bar[faces + cell] += (*heat_end)[m] + w.heat_bar0[m];
        }
      }
    }
  }
  for (int a = box.first; a < 3; ++a) {
    T* const to = w.bar0[at(a)].data();
    const T* const from = (*end)[at(a)].data();
    for (std::ptrdiff_t m = 0; m < box.numbers; ++m) to[m] += from[m];
  }
  work.load_pullback(w.bar0, x_bar);
  work.give_back_inputs(u_bar);
}

template <class T>
bool GridStepper<T>::pushforward(const StepInput<T>& in, const StepRecord& record,
                                 const StepTangents<T>& tangents, T* x_next_tan,
                                 StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  if (model_->heated || model_->advection != Advection::central) return false;
  GridWork<T>& work = w.work;
  const int n = model_->box.states();
  const T* const q = record.numbers<const T>() + 3 * n;
  load_stages(in, record, w);
  if (!w.tangents) w.tangents = work.make_tangents();
  work.set_tangents(tangents.p, tangents.u, *w.tangents);
  const Velocities<T>* const u[4] = {&w.u0, &w.u1, &w.u2, &w.u3};
  Velocities<T>*from = &w.bar, *to = &w.next_bar;
  work.load_pushforward(tangents.x, *w.tangents, w.bar0);
  work.fill_ghosts_pushforward(*w.tangents, w.bar0);
  *from = w.bar0;
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) work.fill_ghosts_pushforward(*w.tangents, *from);
    work.stage_pushforward(rule<T>(stage, model_->dt), *u[stage], q + stage * model_->box.cells,
                           *u[stage + 1], *w.tangents, w.bar0, *from, *to);
    std::swap(from, to);
  }
  work.store(*from, x_next_tan);
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

template <class T>
StepTrouble GridStepper<T>::explain(const StepInput<T>& in, int, StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  const GridBox& box = model_->box;
  const double time = in.t0 + static_cast<double>(in.step) * model_->dt;
  const auto where = [&](const Velocities<T>& u) {
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
  };
  if (w.work.solver().blocked()) {
    return {"pressure", "inflow", "obstacles part an inflow from every outflow: there is no way"};
  }
  w.work.set_inputs(in.u);
  w.work.load(in.x, w.u0);
  w.work.fill_ghosts(w.u0);
  const double courant = w.work.courant(w.u0, nullptr);
  const std::string cfl = beyond_stability(*model_, spreading(w.work), courant);
  if (!cfl.empty()) return {"time step", where(w.u0), message(cfl, " (at t = ", time, " s)")};
  std::vector<T> next(at(model_->states()));
  this->step(in, next.data(), nullptr, workspace);
  return {"rk3", where(model_->stages() == 1 ? w.u1 : w.u3),
          message("the velocity is not finite after t = ", time, " s")};
}

template class GridStepper<float>;
template class GridStepper<double>;

}  // namespace cycloid::inline fluid
