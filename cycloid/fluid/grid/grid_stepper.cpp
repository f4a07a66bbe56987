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
  const double v = viscous_rate(model.box, viscosity) / kRealEnd,
               c = courant / model.dt / kImaginaryEnd;
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
        next_bar(u0) {}
  GridWork<T> work;
  Velocities<T> u0, u1, u2, u3, bar, bar0, next_bar;  // of tangents too
  std::optional<GridTangents<T>> tangents;            // made when first asked for
};

template <class T>
GridStepper<T>::GridStepper(std::shared_ptr<const GridModel> model)
    : Stepper<T>([&] {
        StepperSizes s;
        s.state = s.tangent = model->box.states();
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
  const int n = model_->box.states();
  work.set_inputs(in.u);
  work.load(in.x, w.u0);
  work.fill_ghosts(w.u0);
  const double courant = work.courant(w.u0, nullptr);
  if (!std::isfinite(courant) ||
      !beyond_stability(*model_, static_cast<double>(work.viscosity), courant).empty()) {
    std::fill_n(x_next, n, std::numeric_limits<T>::quiet_NaN());
    return StepStatus::non_finite;
  }
  T* const kept = record ? record->numbers<T>() : nullptr;
  T* const q = kept && work.has_obstacles() ? kept + 3 * n : nullptr;
  const auto q_of = [&](int stage) { return q ? q + stage * model_->box.cells : nullptr; };
  work.stage(rule<T>(0, model_->dt), w.u0, w.u0, w.u1, q_of(0));
  work.fill_ghosts(w.u1);
  work.stage(rule<T>(1, model_->dt), w.u0, w.u1, w.u2, q_of(1));
  work.fill_ghosts(w.u2);
  work.stage(rule<T>(2, model_->dt), w.u0, w.u2, w.u3, q_of(2));
  work.store(w.u3, x_next);
  if (kept) {
    work.store(w.u1, kept), work.store(w.u2, kept + n);
    if (work.has_obstacles()) work.store(w.u3, kept + 2 * n);
  }
  return all_finite(x_next, n) ? StepStatus::ok : StepStatus::non_finite;
}

template <class T>
void GridStepper<T>::load_stages(const StepInput<T>& in, const StepRecord& record,
                                 Workspace& w) const {
  GridWork<T>& work = w.work;
  const int n = model_->box.states();
  const T* const kept = record.numbers<const T>();
  work.set_inputs(in.u);
  work.load(in.x, w.u0), work.load(kept, w.u1), work.load(kept + n, w.u2);
  if (work.has_obstacles()) work.load(kept + 2 * n, w.u3);
  for (Velocities<T>* u : {&w.u0, &w.u1, &w.u2}) work.fill_ghosts(*u);
}

template <class T>
void GridStepper<T>::pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar,
                              T* x_bar, T* u_bar, StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  GridWork<T>& work = w.work;
  const int n = model_->box.states();
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
  for (int stage = 2; stage >= 0; --stage) {
    clear(*begin);
    work.stage_pullback(rule<T>(stage, model_->dt), *u[stage], q_of(stage), *u[stage + 1], *end,
                        w.bar0, *begin, in.wants_parameters);
    work.fill_ghosts_pullback(*begin);
    std::swap(begin, end);
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
  w.work.set_inputs(in.u);
  w.work.load(in.x, w.u0);
  w.work.fill_ghosts(w.u0);
  const double courant = w.work.courant(w.u0, nullptr);
  const std::string cfl = beyond_stability(*model_, static_cast<double>(w.work.viscosity), courant);
  if (!cfl.empty()) return {"time step", where(w.u0), message(cfl, " (at t = ", time, " s)")};
  std::vector<T> next(at(box.states()));
  this->step(in, next.data(), nullptr, workspace);
  return {"rk3", where(w.u3), message("the velocity is not finite after t = ", time, " s")};
}

template class GridStepper<float>;
template class GridStepper<double>;

}  // namespace cycloid::inline fluid
