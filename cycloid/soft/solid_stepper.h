// SolidStepper: a time step of a solid body, as a Stepper (system/stepper.h).
//
// State [x, v], of n vertices each, the angles of a rod (solid_state.h), and what terms remember
// (plastic strains) after them, which changes at the end of a step of implicit Euler
// (solid_stage.h's stage_memory). Its formulas are solid_step.h's; here the stages are solved, and
// failures explained. SolidPairStepper is the same step in dual numbers, for second derivatives.
#pragma once

#include "cycloid/soft/solid_step.h"

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
  friend class SolidPairStepper;
  struct Workspace;
  struct Record;

  Trespass starts_inside(const SolidStep<double>& s, const SolidNumbers& n) const;
  std::string starts_crossed(const SolidStep<double>& s) const;  // through itself
  StageRecord solve(Workspace& w, const SolidStep<double>& s, const Stage& stage, double part,
                    const std::vector<double>& from) const;

  std::shared_ptr<const SolidBody> body_;
};

// One body and a tangent of it as two lanes: number i of either is at 2 i and 2 i + 1, a dual
// number. What the step solved for is that of SolidStepper.
class SolidPairStepper final : public Stepper<double> {
 public:
  explicit SolidPairStepper(std::shared_ptr<const SolidStepper> one);

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override;
  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override;
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override;
  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& workspace) const override;
  void finish(StepWorkspace& workspace, double* p_bar) const override;
  const LaneNote* notes(const StepWorkspace& workspace) const override;
  StepTrouble explain(const StepInput<double>& in, int lane,
                      StepWorkspace& workspace) const override;

 private:
  struct Workspace;
  struct Record;

  std::shared_ptr<const SolidStepper> one_;
};

}  // namespace cycloid::inline soft
