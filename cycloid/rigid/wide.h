// Wide<S>: what a loop over the numbers of one environment works in.
//
// A builtin scalar is one environment: its loops take as many neighbours of an array at once as a
// register holds. A pack already has an environment in each lane: its loops go number by number.
// Numbers that such a loop does not run over are the same for all its lanes (`widen`).
#pragma once

#include "cycloid/math/pack.h"

namespace cycloid::inline rigid {

template <class S>
struct WideScalar {
  using type = S;
};
template <BuiltinScalar T>
struct WideScalar<T> {
  using type = Pack<T, kNativeLanes<T>>;
};
template <class S>
using Wide = typename WideScalar<S>::type;

// How many S are in an X, which is S or Wide<S>.
template <class X, class S>
inline constexpr int kPer = static_cast<int>(sizeof(X) / sizeof(S));

// n, rounded up to whole X.
template <class X, class S>
constexpr int padded_to(int n) {
  return (n + kPer<X, S> - 1) / kPer<X, S> * kPer<X, S>;
}

template <class X, class S>
CYCLOID_INLINE X load_wide(const S* from) {
  if constexpr (std::is_same_v<X, S>) {
    return *from;
  } else {
    return X::load(from);
  }
}
template <class X, class S>
CYCLOID_INLINE void store_wide(const X& x, S* to) {
  if constexpr (std::is_same_v<X, S>) {
    *to = x;
  } else {
    x.store(to);
  }
}

// The first n of them; what is missing is zero.
template <class X, class S>
CYCLOID_INLINE X load_some(const S* from, int n) {
  if (n >= kPer<X, S>) return load_wide<X>(from);
  S all[kPer<X, S>] = {};
  for (int i = 0; i < n; ++i) all[i] = from[i];
  return load_wide<X>(static_cast<const S*>(all));
}
template <class X, class S>
CYCLOID_INLINE void store_some(const X& x, int n, S* to) {
  if (n >= kPer<X, S>) return store_wide(x, to);
  S all[kPer<X, S>];
  store_wide(x, static_cast<S*>(all));
  for (int i = 0; i < n; ++i) to[i] = all[i];
}

// A struct of nothing but numbers, with each of them in all lanes.
template <class S, class X, class A, class B>
CYCLOID_INLINE void widen(const A& from, B& to) {
  static_assert(sizeof(A) / sizeof(S) == sizeof(B) / sizeof(X));
  for (std::size_t i = 0; i < sizeof(A) / sizeof(S); ++i) {
    reinterpret_cast<X*>(&to)[i] = X(reinterpret_cast<const S*>(&from)[i]);
  }
}

}  // namespace cycloid::inline rigid
