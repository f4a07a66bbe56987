// GridStepper: a time step of a flow on a staggered grid, as a Stepper (system/stepper.h).
//
// Three projected Euler steps in convex combinations (ShuOsher1988), E the stage of grid_work.h:
//   u¹ = E(u⁰),  u² = ¾ u⁰ + ¼ E(u¹),  u³ = ⅓ u⁰ + ⅔ E(u²)                        (1)
// each projected, so that u³ has no divergence whatever the start had. Third order in time; first
// at faces next to an immersed wall, whose friction is implicit. The scheme is stable where
//   4 ν Δt Σ 1/h² / 2.51 + (Δt Σ |u| / h / 1.73)² ≤ 1                              (2)
// (the ends of its region of stability on both axes); a step that starts beyond is not taken. Along
// characteristics (characteristics.h) a step is E alone, of first order in time, and stable where
// 4 ν Δt Σ 1/h² ≤ 2, whatever the Courant number. Where viscosity is implicit, the two stages of
// grid_work.h (7) (8), scalars by
//   C¹ = E(C⁰),  C² = ½ C⁰ + ½ E(C¹)                                               (3)
// with 2 and 1 in (2), and diffusivities for ν; along characteristics the first stage alone.
#pragma once

#include "cycloid/fluid/grid/grid_work.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline fluid {

// (2): why a step from a flow of this Courant number cannot be taken, or nothing.
std::string beyond_stability(const GridModel& model, double viscosity, double courant);

template <class T>
class GridStepper final : public Stepper<T> {
 public:
  explicit GridStepper(std::shared_ptr<const GridModel> model);

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
  const LaneNote* notes(const StepWorkspace& workspace) const override;
  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override;

 private:
  struct Workspace;
  int kept_stages() const;
  void begin_step(const StepInput<T>& in, Workspace& w) const;
  void load_stages(const StepInput<T>& in, const StepRecord& record, Workspace& w) const;
  StepTrouble trouble(const StepInput<T>& in, const Workspace& w, bool in_words) const;
  std::string where(const Velocities<T>& u) const;
  std::shared_ptr<const GridModel> model_;
};

extern template class GridStepper<float>;
extern template class GridStepper<double>;

}  // namespace cycloid::inline fluid
