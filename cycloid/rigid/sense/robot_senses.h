// RobotSenses: the sensors and fields of sense.h in the lanes of one scalar S, as ChunkObserver.
//
// A step evaluates the laws of motion at one state or more on its way. MuJoCo's sensors stay at the
// first of these, the state before the step, and derived fields at the last, which is found again
// from the step's record.
#pragma once

#include "cycloid/rigid/rk4_step.h"
#include "cycloid/rigid/sense/robot_observers.h"

namespace cycloid::inline rigid {

// Base: ChunkObserver<T>, or DifferentiableObserver for RobotObserver.
template <class S, class Base = ChunkObserver<Scalar<S>>>
class RobotSenses : public Base {
 public:
  using T = Scalar<S>;

  explicit RobotSenses(const ObserverKey& key)
      : Base(kLanes<S>, key.list.size),
        key_(key),
        sensors_(key.list.only(false)),
        fields_(key.list.only(true)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    return std::make_unique<LaneWorkspace>(Memory::bytes(key_));
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    const Memory at = carved(workspace);
    at.read_parameters(key_, p.lanes);
    const SolidArrays<T> arrays{p.arrays, p.arrays_bar, p.left_out};
    if (key_.constraints) {
      at.space.constraints.contacts.set_solids(key_.constraints->contacts, tree().source, arrays);
    }
    if (key_.list.solids) {
      set_seen_solids(*key_.list.solids, tree().source, arrays, at.space.seen);
    }
  }

  void observe(const ObservedPoint<T>& at, T* values, StepWorkspace& workspace) const override {
    show(key_.list, at, values, workspace);
  }

  void observe_behind(const ObservedStep<T>& step, T* values,
                      StepWorkspace& workspace) const override {
    if (tree().model.options.integrator != RigidIntegrator::rk4) {
      return show(key_.list, step.before, values, workspace);
    }
    if (!sensors_.sensors.empty()) show(sensors_, step.before, values, workspace);
    if (fields_.sensors.empty()) return;
    Memory at = carved(workspace);
    if (key_.constraints) {
      show_last_stage(ConstrainedDynamics<S>{*key_.constraints, at.space.constraints, false}, step,
                      at, values, workspace);
    } else {
      show_last_stage(SmoothDynamics{}, step, at, values, workspace);
    }
  }

  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return carved(workspace).notes;
  }

 protected:
  using Memory = ObserverMemory<S>;
  static constexpr int W = kLanes<S>;

  const Tree& tree() const { return *key_.tree; }
  Memory carved(const StepWorkspace& workspace) const {
    Memory at;
    Arena arena = Arena::over(LaneWorkspace::memory(workspace));
    at.carve(key_, arena);
    return at;
  }

  ObserverKey key_;

 private:
  void show(const SensorList& list, const ObservedPoint<T>& point, T* out,
            StepWorkspace& workspace) const {
    Memory at = carved(workspace);
    at.space.notes = at.notes;
    std::fill_n(at.notes, W, LaneNote{});
    if (key_.constraints) at.space.constraints.contacts.begin(key_.constraints->contacts);
    sense(at.robot(key_), list, instant_of<S>(tree().model, point.x, point.u),
          S(static_cast<T>(point.t)), at.space, reinterpret_cast<S*>(out));
  }

  // The fields at the fourth stage of a Runge–Kutta step.
  template <class Dynamics>
  void show_last_stage(const Dynamics& dynamics, const ObservedStep<T>& step, const Memory& at,
                       T* out, StepWorkspace& workspace) const {
    const StepShape n(tree());
    const Rk4Stages<S> stages(tree(), at.space.work, n, dynamics);
    const S *before = reinterpret_cast<const S*>(step.before.x),
            *record = step.record.template numbers<const S>();
    for (int i = 0; i < 4; ++i) rk4_stage_state(at.robot(key_), before, i, record, stages);
    T* const state = reinterpret_cast<T*>(stages.state);
    for (int i = 0; i < (n.nq + n.nv + n.na) * W; ++i) {
      if (step.failed[i % W]) state[i] = step.before.x[i];
    }
    show(fields_, {state, step.before.u, step.before.t}, out, workspace);
    show_mean_accelerations(stages, record, step.failed, out);
  }

  // q̈, of which a Runge–Kutta step leaves the mean of its stages.
  void show_mean_accelerations(const Rk4Stages<S>& stages, const S* record, const bool* failed,
                               T* out) const {
    for (std::size_t k = 0; k < fields_.sensors.size(); ++k) {
      const Sensor& s = fields_.sensors[k];
      if (kind_of(s) != SensorKind::joint_qacc) continue;
      const int dof = tree().model.joints[static_cast<std::size_t>(s.object)].dof;
      for (int i = 0; i < s.dimension; ++i) {
        S mean(0);
        for (int stage = 0; stage < 4; ++stage) {
          mean += number<S>(stage_W(stage)) * record[stage * stages.stride + stages.a + dof + i];
        }
        put(mean, failed, out + (fields_.places[k] + i) * W);
      }
    }
  }
  // Into the lanes that have not failed.
  static void put(const S& value, const bool* failed, T* out) {
    for (int l = 0; l < W; ++l) {
      if (!failed[l]) out[l] = lane(value, l);
    }
  }

  SensorList sensors_, fields_;  // of key_.list
};

}  // namespace cycloid::inline rigid
