#include "cycloid/fluid/lattice/lattice_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/error.h"

namespace cycloid::inline fluid {
namespace {

template <class T>
struct LatticeWorkspace final : StepWorkspace {
  LatticeWorkspace(const std::shared_ptr<const LatticeModel>& model, int threads)
      : work(model, threads) {}
  LatticeWork<T> work;
};

template <class T>
LatticeWork<T>& work_of(StepWorkspace& w) {
  return static_cast<LatticeWorkspace<T>&>(w).work;
}

}  // namespace

template <class T>
LatticeStepper<T>::LatticeStepper(std::shared_ptr<const LatticeModel> model)
    : Stepper<T>([&] {
        StepperSizes s;
        s.state = s.tangent = model->states();
        s.input = model->inputs;
        s.parameters = model->parameters;
        s.spreads = true;
        return s;
      }()),
      model_(std::move(model)) {}

template <class T>
std::unique_ptr<StepWorkspace> LatticeStepper<T>::make_workspace(const StepResources& r) const {
  return std::make_unique<LatticeWorkspace<T>>(model_, r.threads);
}

template <class T>
void LatticeStepper<T>::begin(const StepParameters<T>& p, StepWorkspace& workspace) const {
  work_of<T>(workspace).read(p.lanes);
}

template <class T>
StepStatus LatticeStepper<T>::step(const StepInput<T>& in, T* x_next, StepRecord*,
                                   StepWorkspace& workspace) const {
  LatticeWork<T>& work = work_of<T>(workspace);
  work.set_inputs(in.u);
  if (work.step(in.x, x_next)) return StepStatus::ok;
  std::fill_n(x_next, model_->states(), std::numeric_limits<T>::quiet_NaN());
  return StepStatus::non_finite;
}

template <class T>
void LatticeStepper<T>::pullback(const StepInput<T>& in, const StepRecord&, const T* x_next_bar,
                                 T* x_bar, T* u_bar, StepWorkspace& workspace) const {
  LatticeWork<T>& work = work_of<T>(workspace);
  work.set_inputs(in.u);
  work.step_pullback(in.x, x_next_bar, x_bar, u_bar);
}

template <class T>
bool LatticeStepper<T>::pushforward(const StepInput<T>& in, const StepRecord&,
                                    const StepTangents<T>& tangents, T* x_next_tan,
                                    StepWorkspace& workspace) const {
  LatticeWork<T>& work = work_of<T>(workspace);
  work.set_inputs(in.u);
  work.step_pushforward(in.x, tangents.x, tangents.p, tangents.u, x_next_tan);
  return true;
}

template <class T>
void LatticeStepper<T>::finish(StepWorkspace& workspace, double* p_bar) const {
  work_of<T>(workspace).give_back(p_bar);
}

template <class T>
StepTrouble LatticeStepper<T>::explain(const StepInput<T>& in, int,
                                       StepWorkspace& workspace) const {
  LatticeWork<T>& work = work_of<T>(workspace);
  work.set_inputs(in.u);
  const auto& n = model_->box.n;
  double most = -1;
  int found = 0;
  for (int m = 0; m < model_->box.cells; ++m) {
    T u[3];
    work.velocity(in.x, m, u);
    const double speed =
        std::hypot(static_cast<double>(u[0]), static_cast<double>(u[1]), static_cast<double>(u[2]));
    if (speed > most || !std::isfinite(speed)) most = speed, found = m;
    if (!std::isfinite(speed)) break;
  }
  const double time = in.t0 + static_cast<double>(in.step) * model_->dt;
  return {"collision",
          model_->box.place("node", found / n[2] / n[1], found / n[2] % n[1], found % n[2]),
          message("CFL: the flow is not slower than the lattice's sound (Courant number ", most,
                  ", less than 0.577 is needed) at t = ", time,
                  " s: take a smaller dt, larger cells or a larger viscosity")};
}

template class LatticeStepper<float>;
template class LatticeStepper<double>;

}  // namespace cycloid::inline fluid
