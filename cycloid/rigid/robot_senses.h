// RobotSenses: the sensors and fields of sense.h in the lanes of one scalar S, as ChunkSenses.
#pragma once

#include "cycloid/rigid/rk4_step.h"
#include "cycloid/rigid/robot_observers.h"

namespace cycloid::inline rigid {

template <class S>
class RobotSenses final : public ChunkSenses<Scalar<S>> {
 public:
  using T = Scalar<S>;

  explicit RobotSenses(const ObserverKey& key) : key_(key) {}

  std::size_t workspace() const override { return Memory().carve(key_, nullptr); }

  void begin(const T* p, std::byte* memory) const override {
    carved(memory).read_parameters(key_, p);
  }

  void sense(const T* x, const T* u, double t, T* out, std::byte* memory) const override {
    Memory at = carved(memory);
    if (key_.constraints) at.space.constraints.contacts.begin(key_.constraints->contacts);
    cycloid::sense(at.robot(key_), key_.list, instant_of<S>(tree().model, x, u),
                   S(static_cast<T>(t)), at.space, reinterpret_cast<S*>(out));
  }

  int last_evaluation(const T* x, const T* record, T* out, std::byte* memory) const override {
    Memory at = carved(memory);
    const StepShape n(tree());
    const int numbers = n.nq + n.nv + n.na;
    const S *before = reinterpret_cast<const S*>(x), *own = reinterpret_cast<const S*>(record);
    S* const state = reinterpret_cast<S*>(out);
    if (tree().model.options.integrator != RigidIntegrator::rk4) {
      std::copy_n(before, numbers, state);
      return 0;
    }
    const auto find = [&](const auto& dynamics) {
      const Rk4Stages<S> stages(tree(), at.space.work, n, dynamics);
      for (int i = 0; i < 4; ++i) rk4_stage_state(at.robot(key_), before, i, own, stages);
      std::copy_n(stages.state, numbers, state);
    };
    if (key_.constraints) {
      find(ConstrainedDynamics<S>{*key_.constraints, at.space.constraints, false});
    } else {
      find(SmoothDynamics{});
    }
    return 1;
  }

 private:
  using Memory = ObserverMemory<S>;

  const Tree& tree() const { return *key_.tree; }
  Memory carved(std::byte* memory) const {
    Memory at;
    at.carve(key_, memory);
    return at;
  }

  ObserverKey key_;
};

}  // namespace cycloid::inline rigid
