// ChunkSenses: what is observed of a chunk of environments besides its states, in the lanes and the
// precision of a Stepper (stepper.h). Without a gradient.
//
//   begin(p)                              once: reads the chunk's parameters into the workspace
//   sense(x, u, t) -> numbers
//   sense_behind(step) -> numbers         as mjData has them after the step
// A step evaluates the laws of motion at one state or more on its way. MuJoCo's sensors stay at the
// first of these, the state before the step, and derived fields at the last, which is found again
// from the step's record.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace cycloid::inline system {

// A step that has been taken.
template <class T>
struct SensedStep {
  const T *x, *u;  // (state, W) before it, (input, W)
  double t;        // of x [s]
  const T* record;
  unsigned failed;  // bits of the lanes that stand still at x; the record says nothing about them
};

template <class T>
class ChunkSenses {
 public:
  virtual ~ChunkSenses() = default;
  virtual std::size_t workspace() const = 0;  // bytes, aligned to kWorkspaceAlignment

  // p: (parameters, W).
  virtual void begin(const T* p, std::byte* workspace) const = 0;
  // x (state, W), u (input, W), t [s]: writes out (Senses::size, W).
  virtual void sense(const T* x, const T* u, double t, T* out, std::byte* workspace) const = 0;
  // Writes out likewise. Lanes that failed are observed where they stand.
  virtual void sense_behind(const SensedStep<T>& step, T* out, std::byte* workspace) const = 0;
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
