// ChunkSenses: what is observed of a chunk of environments besides its states, in the lanes and the
// precision of a Stepper (stepper.h). Without a gradient.
//
//   begin(p)                              once: reads the chunk's parameters into the workspace
//   sense(x, u, t) -> numbers
// A step evaluates the laws of motion at one state or more on its way. `last_evaluation` finds the
// last of these again, from the step's record: there MuJoCo's derived fields stand after mj_step.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cycloid::inline system {

template <class T>
class ChunkSenses {
 public:
  virtual ~ChunkSenses() = default;
  virtual std::size_t workspace() const = 0;  // bytes, aligned to kWorkspaceAlignment

  // p: (parameters, W).
  virtual void begin(const T* p, std::byte* workspace) const = 0;
  // x (state, W), u (input, W), t [s]: writes out (Senses::size, W).
  virtual void sense(const T* x, const T* u, double t, T* out, std::byte* workspace) const = 0;
  // Of the step from x that left this record: writes the state (state, W), and returns its time
  // after x in steps, 0 or 1.
  virtual int last_evaluation(const T* x, const T* record, T* out, std::byte* workspace) const = 0;
};

// Numbers that are those of the state itself.
struct StateCopy {
  int place, from, count;  // in a row of numbers, in the state
};

// For the Steppers of a System: one environment, and lanes.
template <class T>
struct Senses {
  int size = 0;  // numbers of an environment
  std::vector<StateCopy> copies;
  std::shared_ptr<const ChunkSenses<T>> one, packed;
};

}  // namespace cycloid::inline system
