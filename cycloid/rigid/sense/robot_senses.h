// RobotSenses: the sensors and fields of sense.h in the lanes of one scalar S, as ChunkSenses.
#pragma once

#include "cycloid/rigid/rk4_step.h"
#include "cycloid/rigid/sense/robot_observers.h"

namespace cycloid::inline rigid {

template <class S>
class RobotSenses final : public ChunkSenses<Scalar<S>> {
 public:
  using T = Scalar<S>;

  explicit RobotSenses(const ObserverKey& key)
      : key_(key), sensors_(key.list.only(false)), fields_(key.list.only(true)) {}

  std::size_t workspace() const override { return Memory::bytes(key_); }

  void begin(const T* p, std::byte* memory) const override {
    carved(memory).read_parameters(key_, p);
  }

  void sense(const T* x, const T* u, double t, T* out, std::byte* memory) const override {
    show(key_.list, x, u, t, out, memory);
  }

  void sense_behind(const SensedStep<T>& step, T* out, std::byte* memory) const override {
    if (tree().model.options.integrator != RigidIntegrator::rk4) {
      return show(key_.list, step.x, step.u, step.t, out, memory);
    }
    if (!sensors_.sensors.empty()) show(sensors_, step.x, step.u, step.t, out, memory);
    if (fields_.sensors.empty()) return;
    Memory at = carved(memory);
    if (key_.constraints) {
      show_last_stage(ConstrainedDynamics<S>{*key_.constraints, at.space.constraints, false}, step,
                      at, out, memory);
    } else {
      show_last_stage(SmoothDynamics{}, step, at, out, memory);
    }
  }

 private:
  using Memory = ObserverMemory<S>;
  static constexpr int W = kLanes<S>;

  void show(const SensorList& list, const T* x, const T* u, double t, T* out,
            std::byte* memory) const {
    Memory at = carved(memory);
    if (key_.constraints) at.space.constraints.contacts.begin(key_.constraints->contacts);
    cycloid::sense(at.robot(key_), list, instant_of<S>(tree().model, x, u), S(static_cast<T>(t)),
                   at.space, reinterpret_cast<S*>(out));
  }

  // The fields at the fourth stage of a Runge–Kutta step.
  template <class Dynamics>
  void show_last_stage(const Dynamics& dynamics, const SensedStep<T>& step, const Memory& at,
                       T* out, std::byte* memory) const {
    const StepShape n(tree());
    const Rk4Stages<S> stages(tree(), at.space.work, n, dynamics);
    const S *before = reinterpret_cast<const S*>(step.x),
            *record = reinterpret_cast<const S*>(step.record);
    for (int i = 0; i < 4; ++i) rk4_stage_state(at.robot(key_), before, i, record, stages);
    T* const state = reinterpret_cast<T*>(stages.state);
    for (int i = 0; i < (n.nq + n.nv + n.na) * W; ++i) {
      if (step.failed >> i % W & 1) state[i] = step.x[i];
    }
    show(fields_, state, step.u, step.t, out, memory);
    show_mean_accelerations(stages, record, step.failed, out);
  }

  // q̈, of which a Runge–Kutta step leaves the mean of its stages.
  void show_mean_accelerations(const Rk4Stages<S>& stages, const S* record, unsigned failed,
                               T* out) const {
    for (std::size_t k = 0; k < fields_.sensors.size(); ++k) {
      const Sensor& s = fields_.sensors[k];
      if (kind_of(s) != SensorKind::joint_qacc) continue;
      const int dof = tree().model.joints[static_cast<std::size_t>(s.object)].dof;
      for (int i = 0; i < s.dimension; ++i) {
        S mean(0);
        for (int stage = 0; stage < 4; ++stage) {
          mean += number<S>(kStageW[stage]) * record[stage * stages.stride + stages.a + dof + i];
        }
        put(mean, failed, out + (fields_.places[k] + i) * W);
      }
    }
  }
  // Into the lanes that have not failed.
  static void put(const S& value, unsigned failed, T* out) {
    for (int l = 0; l < W; ++l) {
      if (!(failed >> l & 1)) out[l] = lane(value, l);
    }
  }

  const Tree& tree() const { return *key_.tree; }
  Memory carved(std::byte* memory) const {
    Memory at;
    Arena arena = Arena::over(memory);
    at.carve(key_, arena);
    return at;
  }

  ObserverKey key_;
  SensorList sensors_, fields_;  // of key_.list
};

}  // namespace cycloid::inline rigid
