// Numbers that a stepper or an observer may read as lanes, zeros at first.
#pragma once

#include <algorithm>

#include "cycloid/system/stepper.h"

namespace cycloid::inline couple {

template <class T>
class LaneArray {
 public:
  explicit LaneArray(std::size_t n) : memory_(n * sizeof(T)), size_(n) { clear(); }
  T* data() const { return reinterpret_cast<T*>(LaneWorkspace::memory(memory_)); }
  void clear() const { std::fill_n(data(), size_, T(0)); }

 private:
  LaneWorkspace memory_;
  std::size_t size_;
};

}  // namespace cycloid::inline couple
