// States at given times inside a step of Adaptive, from the dense output of its substeps.
//
// A sample at time t_s lies in one substep of its lane, i, and is the Method's x(θ) there:
//   θ = (t_s - t - Σ_{j<i} h_j) / h_i                       (1)
// A sample at the end of the step is x⁺. All are taken in one pass, as the substeps go by, and
// pulled back in one pass, into the cotangents of the stages before the substep itself is.
//
// The gradient holds t_s, and h_0 … h_{M-2} as that of the step does. The step's beginning t moves
// with its number and length (law_stepper.h), the last substep with the step's length:
//   t̄ -= θ̄ / h_i,  h̄_i -= θ θ̄ / h_i                         (2)
#pragma once

#include "cycloid/system/integrator/adaptive_lanes.h"

namespace cycloid::inline system {

// Each lane's place among the samples of a step: it may go from the first to the last, or back.
template <class S>
class SampleCursor {
 public:
  using T = Scalar<S>;

  SampleCursor(std::span<const double> offsets, bool from_the_end) : offsets_(offsets) {
    std::fill_n(at_, kLanes<S>, from_the_end ? std::ssize(offsets) - 1 : 0);
  }

  // Offsets of the samples at hand; infinite behind either end.
  S offset() const {
    S s(0);
    for (int l = 0; l < kLanes<S>; ++l) {
      constexpr T infinity = std::numeric_limits<T>::infinity();
      copy_lane(S(at_[l] < 0                       ? -infinity
                  : at_[l] >= std::ssize(offsets_) ? infinity
                                                   : static_cast<T>(offsets_[at(l)])),
                l, s);
    }
    return s;
  }

  // In the lanes `here`: numbers of the states out to those of their samples; and on.
  void put(const Mask<S>& here, int n, const S* out, S* states) {
    for_lanes(here, [&](int l, std::size_t sample) {
      for (int i = 0; i < n; ++i) {
        S& to = states[sample * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
        copy_lane(out[i], l, to);
      }
      ++at_[l];
    });
  }
  // Likewise from the cotangents of the samples, zero in other lanes; and back.
  void get(const Mask<S>& here, int n, const S* bar, S* out) {
    set_zero(out, n);
    for_lanes(here, [&](int l, std::size_t sample) {
      for (int i = 0; i < n; ++i) {
        const S& from = bar[sample * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)];
        copy_lane(from, l, out[i]);
      }
      --at_[l];
    });
  }

 private:
  std::size_t at(int l) const { return static_cast<std::size_t>(at_[l]); }
  template <class Use>
  void for_lanes(const Mask<S>& here, Use&& use) {
    const S yes = select(here, S(1), S(0));
    for (int l = 0; l < kLanes<S>; ++l) {
      if (lane(primal(yes), l) != T(0)) use(l, at(l));
    }
  }

  std::span<const double> offsets_;
  std::ptrdiff_t at_[kLanes<S>];
};

// (1), from the beginning of the step at `t` and of the substep; held where there is no sample.
template <class S>
CYCLOID_INLINE S sample_theta(const Mask<S>& here, const S& offset, const S& began, const S& h) {
  const S theta = (offset - began) / h;
  return select(here, select(theta > S(1), S(1), theta), S(0));
}

// t_s is held, t is not: for dual numbers.
template <class S>
CYCLOID_INLINE S sample_offset(const SampleCursor<S>& cursor, const S& t) {
  return cursor.offset() + (held(t) - t);
}

// After an attempt: the samples that its substeps have passed. `out` is memory, n numbers.
template <class Method, class Law, class S>
void take_samples(const SubstepLanes<Method, Law, S>& lanes, SampleCursor<S>& cursor, S* states,
                  S* out) {
  const int n = lanes.at.shape.tangents;
  for (;;) {
    const S offset = sample_offset(cursor, lanes.at.t);
    const Mask<S> passed = (offset <= lanes.elapsed) | (lanes.status == S(kArrived));
    const Mask<S> here = lanes.accepted & is_finite(offset) & passed;
    if (!any(here)) return;
    const S theta = sample_theta(here, offset, lanes.began, lanes.h_taken);
    LawPoint<Law, S> sub = lanes.at;
    sub.t = lanes.at.t + lanes.began;
    sub.h = lanes.h_taken;
    Method::sample(sub, lanes.x_before, lanes.stages, theta, out);
    if constexpr (RealScalar<S>) {
      for (int i = 0; i < n; ++i) out[i] = select(theta == S(1), lanes.x[i], out[i]);
    }
    cursor.put(here, n, out, states);
  }
}

// The lanes stand before the substep `sub`, which those in `has` take; their stages are made. Adds
// to the stages' cotangents k_bar and to the others, t_bar being that of the step; returns whether
// there was a sample. `out_bar` is memory, n numbers.
template <class Method, class Law, class S>
bool pull_samples(const SubstepLanes<Method, Law, S>& lanes, const LawPoint<Law, S>& sub,
                  const Mask<S>& has, SampleCursor<S>& cursor, const S* bar, S* out_bar, S* k_bar,
                  S& t_bar, LawPointBar<S>& sub_bar, S* x_bar) {
  const int n = lanes.at.shape.tangents;
  for (bool some = false;; some = true) {
    const S offset = cursor.offset();
    const Mask<S> here = has & (offset > lanes.elapsed);
    if (!any(here)) return some;
    const S theta = sample_theta(here, offset, lanes.elapsed, sub.h);
    cursor.get(here, n, bar, out_bar);
    S theta_bar(0);
    Method::sample_pullback(sub, lanes.x, lanes.stages, theta, out_bar, k_bar, sub_bar, x_bar,
                            theta_bar);
    const S offset_bar = select(here, theta_bar / sub.h, S(0));
    t_bar -= offset_bar;  // (2)
    sub_bar.h -= theta * offset_bar;
  }
}

}  // namespace cycloid::inline system
