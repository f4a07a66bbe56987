// FieldLanes: a Field over the lanes of a stepper or an observer, with what it is given and gives.
//
// Lanes are the first columns of a whole number of registers (network/mlp_block.h). Columns that
// hold no lane, and on the way back lanes that are left out, are zeros, so that they add nothing to
// cotangents of weights even where they are not finite. Those cotangents are summed in T, and added
// to double by flush.
#pragma once

#include <algorithm>

#include "cycloid/learn/field.h"

namespace cycloid::inline learn {

// Numbers of T for the cotangents of a law's arrays, each behind the last.
template <class T>
struct ArraySums {
  explicit ArraySums(const std::vector<std::int64_t>& arrays) : sizes(arrays) {
    std::size_t numbers = 0;
    for (const std::int64_t n : arrays) numbers += static_cast<std::size_t>(n);
    values.assign(numbers, T(0));
    T* next = values.data();
    for (const std::int64_t n : arrays) pointers.push_back(next), next += n;
  }
  void clear() { std::fill(values.begin(), values.end(), T(0)); }
  // Adds to the arrays, and clears.
  void flush(double* const* bars) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      for (std::int64_t i = 0; i < sizes[k]; ++i) {
        bars[k][i] += static_cast<double>(pointers[k][i]);
      }
    }
    clear();
  }

  std::vector<std::int64_t> sizes;
  std::vector<T> values;
  std::vector<T*> pointers;
};

template <class T>
class FieldLanes {
 public:
  FieldLanes(const std::shared_ptr<const FieldPlan<T>>& plan, int lanes)
      : field(plan, block_columns<T>(lanes)),
        columns(field.columns()),
        x(room(plan->law.states())),
        x_bar(room(plan->law.states())),
        u(room(plan->law.inputs)),
        u_bar(room(plan->law.inputs)),
        sums(plan->arrays),
        law_(plan->law),
        lanes_(lanes) {}

  void begin(const StepParameters<T>& p) {
    weights = p.arrays, bars = p.arrays_bar, left_out = p.left_out;
    sums.clear();
  }
  // Brings x (states, lanes) and v (inputs, lanes) into columns.
  void take(const T* from_x, const T* from_v, bool way_back) {
    if (way_back) x_bar.clear(), u_bar.clear();
    rows(from_x, law_.states(), way_back, x.data());
    rows(from_v, law_.inputs, way_back, u.data());
  }
  // Adds what came back to lanes.
  void give(T* to_x, T* to_v) const {
    add(x_bar.data(), law_.states(), to_x);
    add(u_bar.data(), law_.inputs, to_v);
  }
  bool counts(int lane) const { return !(left_out && left_out[lane]); }

  Field<T> field;
  int columns;
  LaneArray<T> x, x_bar, u, u_bar;
  ArraySums<T> sums;
  const T* const* weights = nullptr;
  double* const* bars = nullptr;
  const bool* left_out = nullptr;

 private:
  std::size_t room(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(columns) + 64;
  }
  void rows(const T* from, int n, bool way_back, T* to) const {
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < columns; ++l) {
        const bool none = l >= lanes_ || (way_back && !counts(l));
        to[i * columns + l] = none ? T(0) : from[i * lanes_ + l];
      }
    }
  }
  void add(const T* from, int n, T* to) const {
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < lanes_; ++l) to[i * lanes_ + l] += from[i * columns + l];
    }
  }

  LearnedLaw law_;
  int lanes_;
};

}  // namespace cycloid::inline learn
