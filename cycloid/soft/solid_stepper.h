// SolidStepper: a time step of a solid body, as a Stepper (system/stepper.h).
//
// State [x, v], of n vertices each, the angles of a rod (solid_state.h), and what terms remember
// (plastic strains) after them, which changes at the end of a step of implicit Euler
// (solid_stage.h's stage_memory). Held numbers stand
// at their rest vertex plus the input "pinned"; at the first step of a run (k = 0) the state's own
// numbers there are put to that, at rest. Stages are those of solid_stage.h, h the step:
//   implicit_euler   x̃ = x, p = m v, α = 1/h, h' = h, ζ = 1/h                                (1)
//   newmark          x̃ = x + h/2 v, p = m v + h/2 (F + m g - c m v - f(x)),
//                    α = 2/h, h' = h/2, ζ = 2/h: the trapezoidal rule in x and v              (2)
//   bdf2             (2) over γ h to (x_γ, v_γ), γ = 2 - √2, then                             (3)
//                    x̃ = a x_γ - b x, p = m (a v_γ - b v), α = 1/(d h), h' = d h, ζ = α,
//                    a = 1/(γ(2 - γ)), b = (1 - γ)² a, d = (1 - γ)/(2 - γ); TR-BDF2 (BankEtAl1985)
// Damping takes its rate of strain from the strains at the ends of the stage (viscous.h), so f(x)
// in (2) is without it: for small strains that is the trapezoidal rule of the damping too. A held
// number moves evenly over the step.
#pragma once

#include "cycloid/soft/solid_stage.h"

namespace cycloid::inline soft {

class SolidStepper final : public Stepper<double> {
 public:
  explicit SolidStepper(std::shared_ptr<const SolidBody> body);

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override;
  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override;
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override;
  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& workspace) const override;
  bool pushforward(const StepInput<double>& in, const StepRecord& record,
                   const StepTangents<double>& tangents, double* x_next_tan,
                   StepWorkspace& workspace) const override;
  void finish(StepWorkspace& workspace, double* p_bar) const override;
  const LaneNote* notes(const StepWorkspace& workspace) const override;
  StepTrouble explain(const StepInput<double>& in, int lane,
                      StepWorkspace& workspace) const override;

 private:
  struct Workspace;
  struct Record;
  struct Start;
  struct StartBars;
  struct StartTangent;

  Trespass starts_inside(const Start& s, const SolidNumbers& n) const;
  ContactSurface::Crossing starts_crossed(const Start& s) const;  // through itself
  Start start_of(const StepInput<double>& in, const SolidNumbers& n) const;
  std::vector<double> positions_at_end(const Start& s) const;
  // Calls work(segment, number among them) for a rod's segments that are held, in their order.
  template <class Work>
  void for_each_clamp(Work&& work) const {
    const SolidPlan& plan = *body_->plan;
    int clamp = 0;
    for (int j = 0; j < plan.turns; ++j) {
      if (plan.held[static_cast<std::size_t>(3 * (plan.points() + j))]) work(j, clamp++);
    }
  }
  Stage euler_stage(const SolidNumbers& n, const Start& s) const;
  Stage trapezoid_stage(const SolidNumbers& n, const Start& s, double part) const;
  Stage bdf_stage(const SolidNumbers& n, const Start& s, const std::vector<double>& x_mid,
                  const std::vector<double>& v_mid) const;
  StageRecord solve(Workspace& w, const Start& s, const Stage& stage, double part,
                    const std::vector<double>& from) const;
  std::vector<double> velocity(const Start& s, const Stage& stage,
                               const std::vector<double>& y) const;
  void pull_trapezoid(SolidNumbers& n, const Start& s, const Stage& stage,
                      const StageRecord& record, double part, std::vector<double> y_bar,
                      const std::vector<double>& v_bar, StartBars& bars) const;

  std::shared_ptr<const SolidBody> body_;
};

}  // namespace cycloid::inline soft
