// RobotObserver: the sensors of sense.h in the lanes of one scalar S, with their pullback.
#pragma once

#include "cycloid/rigid/sense/robot_senses.h"
#include "cycloid/rigid/sense/sense_pullback.h"

namespace cycloid::inline rigid {

template <class S>
class RobotObserver final : public RobotSenses<S, DifferentiableObserver> {
  using Base = RobotSenses<S, DifferentiableObserver>;
  using typename Base::Memory;

 public:
  using Base::Base;

  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    Base::begin(p, workspace);
    set_zero(this->carved(workspace).p_bar, parameters());
  }

  void pullback(const ObservedPoint<double>& point, const double* values_bar, double* x_bar,
                double* u_bar, StepWorkspace& workspace) const override {
    Memory at = this->carved(workspace);
    const ObserverKey& key = this->key_;
    if (key.constraints) at.space.constraints.contacts.begin(key.constraints->contacts);
    const int nv = this->tree().model.nv;
    S *q_bar = reinterpret_cast<S*>(x_bar), *own = at.p_bar;
    S h_bar(0);
    sense_pullback(
        at.robot(key), key.list, instant_of<S>(this->tree().model, point.x, point.u), at.space,
        reinterpret_cast<const S*>(values_bar),
        InstantBars<S>{q_bar, q_bar + nv, q_bar + 2 * nv, reinterpret_cast<S*>(u_bar), own, h_bar});
    own[this->tree().options.timestep] += h_bar;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    S* const own = reinterpret_cast<S*>(p_bar);
    const Memory at = this->carved(workspace);
    std::copy_n(at.p_bar, parameters(), own);
    const S* length = at.quat_length;
    for (const int q : this->tree().quaternions) {  // three tangent numbers become four
      const Quat<S> bar = ambient_from_tangent_cotangent(load_quat(at.p + q), load_vec3(own + q));
      store(own + q, bar * (S(1) / *length++));
    }
  }

 private:
  int parameters() const { return this->tree().parameters.lane_size(); }
};

}  // namespace cycloid::inline rigid
