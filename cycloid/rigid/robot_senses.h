// RobotSenses: the sensors and fields of sense.h in the lanes of one scalar S, as ChunkSenses.
#pragma once

#include "cycloid/rigid/rk4_step.h"
#include "cycloid/rigid/robot_observers.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

template <class S>
class RobotSenses final : public ChunkSenses<Scalar<S>> {
 public:
  using T = Scalar<S>;

  explicit RobotSenses(const ObserverKey& key) : key_(key) {}

  std::size_t workspace() const override { return Layout().carve(*this, nullptr); }

  void begin(const T* p, std::byte* memory) const override {
    const Layout at = layout(memory);
    std::copy_n(reinterpret_cast<const S*>(p), tree().parameters.size(), at.p);
    prepare_parameters(tree(), at.p, at.quat_length);
  }

  void sense(const T* x, const T* u, double t, T* out, std::byte* memory) const override {
    Layout at = layout(memory);
    if (key_.constraints) at.space.constraints.contacts.begin(key_.constraints->contacts);
    const StepShape n(tree());
    const S* row = reinterpret_cast<const S*>(x);
    cycloid::sense(robot(at), key_.list,
                   Instant<S>{row, row + n.nq, row + n.nq + n.nv, reinterpret_cast<const S*>(u)},
                   S(static_cast<T>(t)), at.space, reinterpret_cast<S*>(out));
  }

  int last_evaluation(const T* x, const T* record, T* out, std::byte* memory) const override {
    Layout at = layout(memory);
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
      for (int i = 0; i < 4; ++i) rk4_stage_state(robot(at), before, i, own, stages);
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
  struct Layout {
    S *p, *quat_length;
    SenseSpace<S> space;

    std::size_t carve(const RobotSenses& o, std::byte* memory) {
      const std::size_t n = static_cast<std::size_t>(o.tree().parameters.size()),
                        all = n + o.tree().quaternions.size();
      p = reinterpret_cast<S*>(memory);
      quat_length = memory ? p + n : nullptr;
      const std::size_t used =
          (all * sizeof(S) + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
      return used +
             space.carve(o.tree(), o.key_.constraints.get(), memory ? memory + used : nullptr);
    }
  };

  const Tree& tree() const { return *key_.tree; }
  Layout layout(std::byte* memory) const {
    Layout at;
    at.carve(*this, memory);
    return at;
  }
  Robot<S, S> robot(const Layout& at) const {
    return {tree(), key_.inputs, at.p, Implicit::nothing};
  }

  ObserverKey key_;
};

}  // namespace cycloid::inline rigid
