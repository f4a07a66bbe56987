// Where robot_observables.cpp finds the sensors of a robot in lanes: a function per instruction set
// and type of number (robot_float_isa.cpp, robot_double_isa.cpp).
#pragma once

#include <memory>

#include "cycloid/rigid/sense/sense.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline rigid {

struct ObserverKey {
  std::shared_ptr<const Tree> tree;
  std::shared_ptr<const ConstraintPlan> constraints;  // null: none act
  InputPlaces inputs;
  int input_size = 0;
  SensorList list;
};

// The parameters of a chunk, prepared, their cotangents (those of quaternions in tangents), and the
// memory of an instant.
template <class S>
struct ObserverMemory {
  S *p, *quat_length, *p_bar;
  LaneNote* notes;  // (lanes)
  SenseSpace<S> space;

  void carve(const ObserverKey& key, Arena& arena) {
    arena.take(p, static_cast<std::size_t>(key.tree->parameters.lane_size()));
    arena.take(quat_length, key.tree->quaternions.size());
    arena.take(p_bar, static_cast<std::size_t>(key.tree->parameters.lane_size()));
    arena.take(notes, static_cast<std::size_t>(kLanes<S>));
    space.carve(*key.tree, key.constraints.get(), arena, key.list.solids.get(),
                &key.tree->source.meshes);
  }
  static std::size_t bytes(const ObserverKey& key) {
    Arena measure = Arena::measuring();
    ObserverMemory().carve(key, measure);
    return measure.used();
  }
  void read_parameters(const ObserverKey& key, const Scalar<S>* from) const {
    std::copy_n(reinterpret_cast<const S*>(from), key.tree->parameters.lane_size(), p);
    prepare_parameters(*key.tree, p, quat_length);
  }
  Robot<S, S> robot(const ObserverKey& key) const {
    return {*key.tree, key.inputs, p, Implicit::nothing};
  }
};

// x (state), u (input), lanes of S side by side.
template <class S>
Instant<S> instant_of(const ModelView& m, const Scalar<S>* x, const Scalar<S>* u) {
  const S* row = reinterpret_cast<const S*>(x);
  return {row, row + m.nq, row + m.nq + m.nv, reinterpret_cast<const S*>(u)};
}

// Who observes, in each form that a robot steps in. With a gradient: packed64.
struct RobotObservers {
  std::shared_ptr<const ChunkObserver<float>> one32, packed32;
  std::shared_ptr<const ChunkObserver<double>> one64;
  std::shared_ptr<const DifferentiableObserver> packed64;
};

}  // namespace cycloid::inline rigid

namespace cycloid::isa::portable {
void robot_observers32(const ObserverKey& key, RobotObservers& out);
void robot_observers64(const ObserverKey& key, RobotObservers& out);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
void robot_observers32(const ObserverKey& key, RobotObservers& out);
void robot_observers64(const ObserverKey& key, RobotObservers& out);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
void robot_observers32(const ObserverKey& key, RobotObservers& out);
void robot_observers64(const ObserverKey& key, RobotObservers& out);
}  // namespace cycloid::isa::v4
