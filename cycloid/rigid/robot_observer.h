// RobotObserver: the sensors of sense.h in the lanes of one scalar S.
#pragma once

#include "cycloid/rigid/robot_observers.h"
#include "cycloid/rigid/sense_pullback.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

template <class S>
class RobotObserver final : public ChunkObserver {
 public:
  explicit RobotObserver(const ObserverKey& key) : key_(key) {}

  int lanes() const override { return kLanes<S>; }
  std::size_t workspace() const override { return Layout().carve(*this, nullptr); }

  void sense(const double* x, const double* u, const double* p, double t, double* out,
             std::byte* memory) const override {
    Layout at = layout(memory);
    const Robot<S, S> r = robot(p, at);
    cycloid::sense(r, key_.list, instant(x, u), S(t), at.space, reinterpret_cast<S*>(out));
  }

  void pullback(const double* x, const double* u, const double* p, const double* out_bar,
                double* x_bar, double* u_bar, double* p_bar, std::byte* memory) const override {
    Layout at = layout(memory);
    const Robot<S, S> r = robot(p, at);
    const int nv = tree().model.nv, parameters = tree().parameters.size();
    S *q_bar = reinterpret_cast<S*>(x_bar), *own = reinterpret_cast<S*>(p_bar);
    set_zero(q_bar, 2 * nv + tree().model.na);
    set_zero(reinterpret_cast<S*>(u_bar), key_.input_size);
    set_zero(own, parameters);
    S h_bar(0);
    sense_pullback(
        r, key_.list, instant(x, u), at.space, reinterpret_cast<const S*>(out_bar),
        InstantBars<S>{q_bar, q_bar + nv, q_bar + 2 * nv, reinterpret_cast<S*>(u_bar), own, h_bar});
    own[tree().options.timestep] += h_bar;
    const S* length = at.quat_length;
    for (const int q : tree().quaternions) {  // three tangent numbers become four
      const Quat<S> bar = ambient_from_tangent_cotangent(load_quat(at.p + q), load_vec3(own + q));
      store(own + q, bar * (S(1) / *length++));
    }
  }

 private:
  struct Layout {
    S *p, *quat_length;
    SenseSpace<S> space;

    std::size_t carve(const RobotObserver& o, std::byte* memory) {
      std::size_t used = 0;
      const auto take = [&](S*& array, std::size_t n) {
        array = memory ? reinterpret_cast<S*>(memory + used) : nullptr;
        used += n * sizeof(S);
      };
      take(p, static_cast<std::size_t>(o.tree().parameters.size()));
      take(quat_length, o.tree().quaternions.size());
      return used +
             space.carve(o.tree(), o.key_.constraints.get(), memory ? memory + used : nullptr);
    }
  };

  const Tree& tree() const { return *key_.tree; }

  Layout layout(std::byte* memory) const {
    Layout at;
    at.carve(*this, memory);
    if (key_.constraints) at.space.constraints.contacts.begin(key_.constraints->contacts);
    return at;
  }

  Robot<S, S> robot(const double* p, const Layout& at) const {
    for (int i = 0; i < tree().parameters.size(); ++i) at.p[i] = reinterpret_cast<const S*>(p)[i];
    prepare_parameters(tree(), at.p, at.quat_length);
    return {tree(), key_.inputs, at.p, Implicit::nothing};
  }
  Instant<S> instant(const double* x, const double* u) const {
    const S* row = reinterpret_cast<const S*>(x);
    const Model& m = tree().model;
    return {row, row + m.nq, row + m.nq + m.nv, reinterpret_cast<const S*>(u)};
  }

  ObserverKey key_;
};

}  // namespace cycloid::inline rigid
