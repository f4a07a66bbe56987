// RobotObserver: the sensors of sense.h in the lanes of one scalar S.
#pragma once

#include "cycloid/rigid/sense/robot_observers.h"
#include "cycloid/rigid/sense/sense_pullback.h"

namespace cycloid::inline rigid {

template <class S>
class RobotObserver final : public ChunkObserver {
 public:
  explicit RobotObserver(const ObserverKey& key) : key_(key) {}

  int lanes() const override { return kLanes<S>; }
  std::size_t workspace() const override { return Memory::bytes(key_); }

  void sense(const double* x, const double* u, const double* p, double t, double* out,
             LaneNote* notes, std::byte* memory) const override {
    Memory at = begin(p, memory);
    at.space.notes = notes;
    std::fill_n(notes, lanes(), LaneNote{});
    cycloid::sense(at.robot(key_), key_.list, instant_of<S>(tree().model, x, u), S(t), at.space,
                   reinterpret_cast<S*>(out));
  }

  void pullback(const double* x, const double* u, const double* p, const double* out_bar,
                double* x_bar, double* u_bar, double* p_bar, std::byte* memory) const override {
    Memory at = begin(p, memory);
    const int nv = tree().model.nv, parameters = tree().parameters.size();
    S *q_bar = reinterpret_cast<S*>(x_bar), *own = reinterpret_cast<S*>(p_bar);
    set_zero(q_bar, 2 * nv + tree().model.na);
    set_zero(reinterpret_cast<S*>(u_bar), key_.input_size);
    set_zero(own, parameters);
    S h_bar(0);
    sense_pullback(
        at.robot(key_), key_.list, instant_of<S>(tree().model, x, u), at.space,
        reinterpret_cast<const S*>(out_bar),
        InstantBars<S>{q_bar, q_bar + nv, q_bar + 2 * nv, reinterpret_cast<S*>(u_bar), own, h_bar});
    own[tree().options.timestep] += h_bar;
    const S* length = at.quat_length;
    for (const int q : tree().quaternions) {  // three tangent numbers become four
      const Quat<S> bar = ambient_from_tangent_cotangent(load_quat(at.p + q), load_vec3(own + q));
      store(own + q, bar * (S(1) / *length++));
    }
  }

 private:
  using Memory = ObserverMemory<S>;

  const Tree& tree() const { return *key_.tree; }

  Memory begin(const double* p, std::byte* memory) const {
    Memory at;
    Arena arena = Arena::over(memory);
    at.carve(key_, arena);
    at.read_parameters(key_, p);
    if (key_.constraints) at.space.constraints.contacts.begin(key_.constraints->contacts);
    return at;
  }

  ObserverKey key_;
};

}  // namespace cycloid::inline rigid
