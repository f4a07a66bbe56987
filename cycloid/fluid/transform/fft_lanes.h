// fft_lanes: one fast Fourier transform in each lane, in place, of any length.
//
//   Z_k = Σ_j z_j exp(-2πi jk/n)                                             (1)
// by decimation in time, n = r_1 r_2 … r_m (CooleyTukey1965): the numbers lie in the order that
// FftAxis::order says, so that each stage works where they are; a stage of radix r joins r
// transforms of length l into one of length r l,
//   Z_{j+pl} = Σ_q ω_r^{pq} (ω_{rl}^{qj} Z^q_j),   ω_r = exp(-2πi/r)          (2)
// Radices 2, 3, 4, 5 are written out; other primes are summed directly. Lanes are transforms that
// do not know each other, so no number changes its lane. The inverse without its 1/n is (1) with
// real and imaginary part exchanged before and after.
#pragma once

#include "cycloid/fluid/transform/fft_axis.h"
#include "cycloid/math/pack.h"

namespace cycloid::inline fluid {

template <class S>
struct ComplexLane {
  S re, im;
};

template <class S>
CYCLOID_INLINE ComplexLane<S> operator+(const ComplexLane<S>& a, const ComplexLane<S>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class S>
CYCLOID_INLINE ComplexLane<S> operator-(const ComplexLane<S>& a, const ComplexLane<S>& b) {
  return {a.re - b.re, a.im - b.im};
}
// Times a number that all lanes share.
template <class S>
CYCLOID_INLINE ComplexLane<S> rotate(const ComplexLane<S>& a, Scalar<S> c, Scalar<S> s) {
  return {a.re * S(c) - a.im * S(s), a.re * S(s) + a.im * S(c)};
}
// Times -i.
template <class S>
CYCLOID_INLINE ComplexLane<S> turn(const ComplexLane<S>& a) {
  return {a.im, -a.re};
}

template <class S>
CYCLOID_INLINE void butterfly2(ComplexLane<S>* t) {
  const ComplexLane<S> a = t[0];
  t[0] = a + t[1], t[1] = a - t[1];
}
template <class S>
CYCLOID_INLINE void butterfly3(ComplexLane<S>* t) {
  using T = Scalar<S>;
  const S s60 = S(T(0.86602540378443864676));
  const ComplexLane<S> sum = t[1] + t[2], d = t[1] - t[2];
  const ComplexLane<S> m = {t[0].re - S(T(0.5)) * sum.re, t[0].im - S(T(0.5)) * sum.im};
  const ComplexLane<S> w = turn(ComplexLane<S>{s60 * d.re, s60 * d.im});
  t[0] = t[0] + sum, t[1] = m + w, t[2] = m - w;
}
template <class S>
CYCLOID_INLINE void butterfly4(ComplexLane<S>* t) {
  const ComplexLane<S> a = t[0] + t[2], b = t[0] - t[2], c = t[1] + t[3], d = turn(t[1] - t[3]);
  t[0] = a + c, t[1] = b + d, t[2] = a - c, t[3] = b - d;
}
template <class S>
CYCLOID_INLINE void butterfly5(ComplexLane<S>* t) {
  using T = Scalar<S>;
  const S c1 = S(T(0.30901699437494742410)), c2 = S(T(-0.80901699437494742410)),
          s1 = S(T(0.95105651629515357212)), s2 = S(T(0.58778525229247312917));
  const ComplexLane<S> a = t[1] + t[4], b = t[2] + t[3], c = t[1] - t[4], d = t[2] - t[3];
  const ComplexLane<S> m1 = {t[0].re + c1 * a.re + c2 * b.re, t[0].im + c1 * a.im + c2 * b.im};
  const ComplexLane<S> m2 = {t[0].re + c2 * a.re + c1 * b.re, t[0].im + c2 * a.im + c1 * b.im};
  const ComplexLane<S> w1 = turn(ComplexLane<S>{s1 * c.re + s2 * d.re, s1 * c.im + s2 * d.im});
  const ComplexLane<S> w2 = turn(ComplexLane<S>{s2 * c.re - s1 * d.re, s2 * c.im - s1 * d.im});
  t[0] = t[0] + a + b;
  t[1] = m1 + w1, t[4] = m1 - w1, t[2] = m2 + w2, t[3] = m2 - w2;
}

template <int R, class S>
CYCLOID_INLINE void butterfly(ComplexLane<S>* t) {
  if constexpr (R == 2) butterfly2(t);
  if constexpr (R == 3) butterfly3(t);
  if constexpr (R == 4) butterfly4(t);
  if constexpr (R == 5) butterfly5(t);
}

// A stage (2) of radix R on transforms of length l; w: FftAxis::twiddles of the stage.
template <int R, class S>
void fft_stage(ComplexLane<S>* z, int n, int l, const Scalar<S>* w) {
  ComplexLane<S> t[R];
  if (l == 1) {
    for (int b = 0; b < n; b += R) {
      for (int q = 0; q < R; ++q) t[q] = z[b + q];
      butterfly<R>(t);
      for (int q = 0; q < R; ++q) z[b + q] = t[q];
    }
    return;
  }
  for (int b = 0; b < n; b += R * l) {
    for (int j = 0; j < l; ++j) {
      ComplexLane<S>* const at = z + b + j;
      const Scalar<S>* const wj = w + 2 * (R - 1) * j;
      t[0] = at[0];
#pragma GCC unroll 8
      for (int q = 1; q < R; ++q) t[q] = rotate(at[q * l], wj[2 * q - 2], wj[2 * q - 1]);
      butterfly<R>(t);
#pragma GCC unroll 8
      for (int q = 0; q < R; ++q) at[q * l] = t[q];
    }
  }
}

// Of any radix r, by the sum itself; roots: ω_r^0 … ω_r^{r-1}; t: room for r.
template <class S>
void fft_stage_of(int r, ComplexLane<S>* z, int n, int l, const Scalar<S>* w,
                  const Scalar<S>* roots, ComplexLane<S>* t) {
  for (int b = 0; b < n; b += r * l) {
    for (int j = 0; j < l; ++j) {
      ComplexLane<S>* const at = z + b + j;
      t[0] = at[0];
      for (int q = 1; q < r; ++q) {
        const Scalar<S>* const wq = w + 2 * ((r - 1) * j + q - 1);
        t[q] = rotate(at[q * l], wq[0], wq[1]);
      }
      for (int p = 0; p < r; ++p) {
        ComplexLane<S> sum = t[0];
        for (int q = 1, m = p; q < r; ++q, m = m + p < r ? m + p : m + p - r) {
          sum = sum + rotate(t[q], roots[2 * m], roots[2 * m + 1]);
        }
        at[p * l] = sum;
      }
    }
  }
}

// (1) of z, which lies in the order of the axis; t: room for FftView::most numbers.
template <class S>
void fft_in_place(const FftView<Scalar<S>>& f, ComplexLane<S>* z, ComplexLane<S>* t) {
  int l = 1;
  const Scalar<S>* w = f.twiddles;
  for (int s = 0; s < f.stages; ++s) {
    const int r = f.radices[s];
    switch (r) {
      case 2: fft_stage<2>(z, f.n, l, w); break;
      case 3: fft_stage<3>(z, f.n, l, w); break;
      case 4: fft_stage<4>(z, f.n, l, w); break;
      case 5: fft_stage<5>(z, f.n, l, w); break;
      default: fft_stage_of(r, z, f.n, l, w, w + 2 * (r - 1) * l, t); break;
    }
    w += 2 * (r - 1) * l + 2 * r;
    l *= r;
  }
}

}  // namespace cycloid::inline fluid
