// LatticeStepper: a time step of a flow on a lattice, as a Stepper (system/stepper.h).
//
// A step keeps nothing but the state: the way back collides again. A state with a node that is not
// slower than sound (|u| Δt / h < 1/√3) is not stepped; starts are held to |u| Δt / h ≤ 0.4, where
// the error of compressibility is large already.
#pragma once

#include "cycloid/fluid/lattice/lattice_work.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline fluid {

inline constexpr double kMostCourant = 0.4;

template <class T>
class LatticeStepper final : public Stepper<T> {
 public:
  explicit LatticeStepper(std::shared_ptr<const LatticeModel> model);

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override;
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override;
  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override;
  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override;
  bool pushforward(const StepInput<T>& in, const StepRecord& record,
                   const StepTangents<T>& tangents, T* x_next_tan,
                   StepWorkspace& workspace) const override;
  void finish(StepWorkspace& workspace, double* p_bar) const override;
  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override;

 private:
  std::shared_ptr<const LatticeModel> model_;
};

extern template class LatticeStepper<float>;
extern template class LatticeStepper<double>;

}  // namespace cycloid::inline fluid
