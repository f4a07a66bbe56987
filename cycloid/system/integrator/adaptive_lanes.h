// SubstepLanes: W environments on their way through the substeps of one step, each at its own pace.
#pragma once

#include <algorithm>
#include <string>

#include "cycloid/math/pack.h"
#include "cycloid/system/integrator/scheme.h"
#include "cycloid/system/integrator/step_control.h"

namespace cycloid::inline system {

// How a lane stands; a number of S, since lanes differ.
inline constexpr int kUnderWay = 0, kArrived = 1, kTooMany = -1, kTooShort = -2, kNotFinite = -3;

// A lane's place between two substeps, from which the rest follows bit for bit:
//   [ x (n) | x_dot there (n) | time since the step began | proposed length | E₀ | length taken ]
constexpr int slot_numbers(int n) { return 2 * n + 4; }

// Lane l of `from`, with its tangents, to that of `to`.
template <class S>
CYCLOID_INLINE void copy_lane(const S& from, int l, S& to) {
  set_lane(to, l, lane(from, l));
}
template <class S, int N>
CYCLOID_INLINE void copy_lane(const Dual<S, N>& from, int l, Dual<S, N>& to) {
  copy_lane(from.value, l, to.value);
  for (int i = 0; i < N; ++i) copy_lane(from.tangent[i], l, to.tangent[i]);
}

StepTrouble explain_substeps(const char* method, int status, int most_substeps);

template <class Method, class Law, class S>
struct SubstepLanes {
  static std::size_t numbers(const LawShape<Law>& shape) {
    return static_cast<std::size_t>(5 * shape.tangents + Method::stage_numbers(shape) +
                                    LawShape<Law>::saved);
  }

  SubstepLanes(Scratch& scratch, const LawPoint<Law, S>& point) : at(point) {
    const auto take = [&](int m) { return LocalArray<S, kDynamic>(scratch, m).data(); };
    const int n = at.shape.tangents;
    x = take(n), f = take(n), x_new = take(n), e = take(n), x_before = take(n);
    stages = take(Method::stage_numbers(at.shape));
    saved = take(LawShape<Law>::saved);
    at.scratch = scratch;
  }

  [[gnu::noclone]] CYCLOID_NOINLINE void begin(const Tolerances& tolerances, const S* start) {
    const int n = at.shape.tangents;
    for (int i = 0; i < n; ++i) x[i] = start[i];
    law_x_dot(at, at.t, x, f, saved);
    h = first_length(tolerances, Method::kErrorOrder + 1, at, x, f, e, x_new, saved);
    Mask<S> finite = is_finite(h);
    for (int i = 0; i < n; ++i) finite = finite & is_finite(f[i]);
    elapsed = h_taken = count = tried = S(0);
    error_before = S(Scalar<S>(1e-4));
    status = select(finite, S(kUnderWay), S(kNotFinite));
    if constexpr (requires { set_lane(status, 0, Scalar<S>()); }) {  // duals have no such lanes
      for (int l = 0; at.ended && l < kLanes<S>; ++l) {
        if (at.ended[l]) set_lane(status, l, kArrived);
      }
    }
    retried = Mask<S>(false);
  }

  // Lanes that have not arrived and have taken fewer than `target` substeps.
  Mask<S> under_way(const S& target) const { return (status == S(kUnderWay)) & (count < target); }
  void stop(int why) { status = select(status == S(kUnderWay), S(why), status); }

  LawPoint<Law, S> substep(const S& length) const {
    LawPoint<Law, S> sub = at;
    sub.t = at.t + elapsed;
    sub.h = length;
    return sub;
  }

  // Stages, x_new and e of a substep of this length; returns the lanes in which it is solved. Like
  // begin never inlined, so that every repetition is the first one bit for bit, and compiled once.
  [[gnu::noclone]] CYCLOID_NOINLINE Mask<S> compute(const S& length) {
    return Method::step(substep(length), x, f, stages, x_new, e);
  }

  // One substep in the lanes that are under way; never inlined either.
  [[gnu::noclone]] CYCLOID_NOINLINE void attempt(const Tolerances& tolerances, const S& target) {
    using T = Scalar<S>;
    const int n = at.shape.tangents;
    const Mask<S> active = under_way(target);
    began = elapsed;
    tried = select(active, tried + S(1), tried);
    const S remaining = at.h - elapsed;
    const Mask<S> last = S(T(1.01)) * h >= remaining;
    h_taken = select(active, select(last, remaining, h), S(0));
    const Mask<S> solved = compute(h_taken);
    S error = scaled_norm(tolerances, n, e, x, x_new);
    error = select(solved, error, S(std::numeric_limits<T>::infinity()));
    accepted = active & (error <= S(1));
    const S* f_new = Method::end_derivative(n, stages);
    for (int i = 0; i < n; ++i) {
      x_before[i] = x[i];
      x[i] = select(accepted, x_new[i], x[i]);
      f[i] = select(accepted, f_new[i], f[i]);
    }
    const S length = held(h_taken);
    const S next = length * length_factor(Method::kErrorOrder + 1, error, error_before, accepted);
    // A substep that was tried before is not followed by a longer one.
    h = select(active, select(accepted & retried, min(next, length), next), h);
    retried = (retried & !active) | (active & !accepted);
    error_before = select(accepted, max(error, S(T(1e-4))), error_before);
    elapsed = select(accepted, elapsed + length, elapsed);
    count = select(accepted, count + S(1), count);
    const S shortest = S(8 * std::numeric_limits<T>::epsilon()) * abs(held(at.h));
    status = select(active & !accepted & (h <= shortest), S(kTooShort), status);
    status = select(accepted & last, S(kArrived), status);
  }

  // A substep of this length, or of what remains if that is less, whatever its error.
  CYCLOID_NOINLINE void take(const S& length) {
    const int n = at.shape.tangents;
    const S remaining = at.h - elapsed;
    const Mask<S> last = length >= remaining;
    began = elapsed;
    h_taken = select(last, remaining, length);
    accepted = compute(h_taken) & (status == S(kUnderWay));
    const S* f_new = Method::end_derivative(n, stages);
    for (int i = 0; i < n; ++i) {
      x_before[i] = x[i];
      x[i] = x_new[i];
      f[i] = f_new[i];
    }
    elapsed = elapsed + held(h_taken);
    count = count + S(1);
    tried = tried + S(1);
    status = select(accepted, select(last, S(kArrived), status), S(kTooShort));
  }

  void store(S* slot) const {
    const int n = at.shape.tangents;
    for (int i = 0; i < n; ++i) slot[i] = x[i], slot[n + i] = f[i];
    slot[2 * n] = elapsed;
    slot[2 * n + 1] = h;
    slot[2 * n + 2] = error_before;
    slot[2 * n + 3] = h_taken;
  }

  // Continues from there, with `taken` substeps behind.
  void load(const S* slot, int taken) {
    const int n = at.shape.tangents;
    for (int i = 0; i < n; ++i) x[i] = slot[i], f[i] = slot[n + i];
    elapsed = slot[2 * n];
    h = slot[2 * n + 1];
    error_before = slot[2 * n + 2];
    h_taken = slot[2 * n + 3];
    count = S(taken);
    status = S(kUnderWay);
    retried = Mask<S>(false);
  }

  // In lanes that have just taken a substep: its length to the slot before, if that is its own, and
  // the place reached to the slot of every stride-th substep since `first`.
  void store_accepted(S* slots, int first, int stride, int kept) const {
    using T = Scalar<S>;
    const int n = at.shape.tangents, size = slot_numbers(n);
    const S yes = select(accepted, S(1), S(0));
    for (int l = 0; l < kLanes<S>; ++l) {
      if (lane(primal(yes), l) == T(0)) continue;
      const int place = static_cast<int>(lane(primal(count), l)) - first;
      if (stride == 1) copy_lane(h_taken, l, slots[(place - 1) * size + 2 * n + 3]);
      if (place % stride != 0 || place / stride >= kept) continue;
      S* slot = slots + place / stride * size;
      for (int i = 0; i < n; ++i) {
        copy_lane(x[i], l, slot[i]);
        copy_lane(f[i], l, slot[n + i]);
      }
      copy_lane(elapsed, l, slot[2 * n]);
      copy_lane(h, l, slot[2 * n + 1]);
      copy_lane(error_before, l, slot[2 * n + 2]);
    }
  }

  LawPoint<Law, S> at;  // the step; its scratch is what this struct leaves
  S *x, *f;             // state and x_dot of the lanes
  S *x_new, *e, *x_before, *stages, *saved;
  S elapsed, h, error_before, h_taken, count, status;
  S began;  // `elapsed` before the attempt
  S tried;  // attempts since begin
  Mask<S> retried = Mask<S>(false), accepted = Mask<S>(false);
};

}  // namespace cycloid::inline system
