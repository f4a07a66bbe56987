// Wide<T>: a register of neighbours in an array, for loops over the numbers of one environment.
//
// Numbers that such a loop does not run over are the same for all its lanes (`widen`). Arrays are
// padded to whole registers, or their last ones are stored one by one (`store_some`).
#pragma once

#include "cycloid/math/pack.h"

namespace cycloid::inline rigid {

template <BuiltinScalar T>
using Wide = Pack<T, kNativeLanes<T>>;

// n, rounded up to whole registers.
template <BuiltinScalar T>
constexpr int padded_to_wide(int n) {
  return (n + kNativeLanes<T> - 1) / kNativeLanes<T> * kNativeLanes<T>;
}

// The first n numbers.
template <BuiltinScalar T>
CYCLOID_INLINE void store_some(const Wide<T>& x, int n, T* to) {
  if (n >= kNativeLanes<T>) return x.store(to);
  for (int i = 0; i < n; ++i) to[i] = x[i];
}

// A struct of nothing but numbers, with each of them in all lanes of an X.
template <class S, class X, class A, class B>
CYCLOID_INLINE void widen(const A& from, B& to) {
  static_assert(sizeof(A) / sizeof(S) == sizeof(B) / sizeof(X));
  for (std::size_t i = 0; i < sizeof(A) / sizeof(S); ++i) {
    reinterpret_cast<X*>(&to)[i] = X(reinterpret_cast<const S*>(&from)[i]);
  }
}

}  // namespace cycloid::inline rigid
