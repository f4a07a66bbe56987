// Where observe.cpp finds the sensors of a robot in lanes: one function per instruction set, and
// others for those without a gradient (robot_float_isa.cpp, robot_double_isa.cpp).
#pragma once

#include <memory>

#include "cycloid/rigid/sense/sense.h"
#include "cycloid/system/senses.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline rigid {

struct ObserverKey {
  std::shared_ptr<const Tree> tree;
  std::shared_ptr<const ConstraintPlan> constraints;  // null: none act
  InputPlaces inputs;
  int input_size = 0;
  SensorList list;
};

// The parameters of a chunk, prepared, and the memory of an instant.
template <class S>
struct ObserverMemory {
  S *p, *quat_length;
  SenseSpace<S> space;

  void carve(const ObserverKey& key, Arena& arena) {
    arena.take(p, static_cast<std::size_t>(key.tree->parameters.size()));
    arena.take(quat_length, key.tree->quaternions.size());
    space.carve(*key.tree, key.constraints.get(), arena);
  }
  static std::size_t bytes(const ObserverKey& key) {
    Arena measure = Arena::measuring();
    ObserverMemory().carve(key, measure);
    return measure.used();
  }
  void read_parameters(const ObserverKey& key, const Scalar<S>* from) const {
    std::copy_n(reinterpret_cast<const S*>(from), key.tree->parameters.size(), p);
    prepare_parameters(*key.tree, p, quat_length);
  }
  Robot<S, S> robot(const ObserverKey& key) const {
    return {*key.tree, key.inputs, p, Implicit::nothing};
  }
};

// x (state), u (input), lanes of S side by side.
template <class S>
Instant<S> instant_of(const Model& m, const Scalar<S>* x, const Scalar<S>* u) {
  const S* row = reinterpret_cast<const S*>(x);
  return {row, row + m.nq, row + m.nq + m.nv, reinterpret_cast<const S*>(u)};
}

// The sensors of W environments side by side: number i of lane l is at [i W + l].
class ChunkObserver {
 public:
  virtual ~ChunkObserver() = default;
  virtual int lanes() const = 0;
  virtual std::size_t workspace() const = 0;  // bytes, aligned to kWorkspaceAlignment

  // x (state), u (input), p (parameters, as the user gives them), t [s]: writes out (list.size),
  // and notes (lanes) of the constraints' solve, where there is one.
  virtual void sense(const double* x, const double* u, const double* p, double t, double* out,
                     LaneNote* notes, std::byte* workspace) const = 0;
  // Writes x_bar (tangent), u_bar and p_bar.
  virtual void pullback(const double* x, const double* u, const double* p, const double* out_bar,
                        double* x_bar, double* u_bar, double* p_bar,
                        std::byte* workspace) const = 0;
};

}  // namespace cycloid::inline rigid

namespace cycloid::isa::portable {
std::unique_ptr<ChunkObserver> robot_observer(const ObserverKey& key);
void robot_senses(const ObserverKey& key, Senses<float>& out);
void robot_senses(const ObserverKey& key, Senses<double>& out);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
std::unique_ptr<ChunkObserver> robot_observer(const ObserverKey& key);
void robot_senses(const ObserverKey& key, Senses<float>& out);
void robot_senses(const ObserverKey& key, Senses<double>& out);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
std::unique_ptr<ChunkObserver> robot_observer(const ObserverKey& key);
void robot_senses(const ObserverKey& key, Senses<float>& out);
void robot_senses(const ObserverKey& key, Senses<double>& out);
}  // namespace cycloid::isa::v4
