#include "cycloid/math/pack_test_isa.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cycloid/math/pack.h"

CYCLOID_PACK_ENTRIES(CYCLOID_ISA)

namespace cycloid::isa::CYCLOID_ISA {
namespace {

// Compares packs of one type with the same operations on scalars, bit for bit.
template <class T, int N>
struct PackCheck {
  using S = Pack<T, N>;
  using Limits = std::numeric_limits<T>;
  std::string failures;
  T a[N + 1], b[N + 1], c[N + 1];  // one more, so that unaligned addresses can be taken

  void expect(bool right, const std::string& what) {
    if (!right)
      failures += what + " of " + std::to_string(N) + (sizeof(T) == 4 ? " floats\n" : " doubles\n");
  }
  static bool same(T x, T y) {
    return (x == y && std::signbit(x) == std::signbit(y)) || (x != x && y != y);
  }
  template <class F>
  void expect_lanes(S got, const std::string& what, F scalar) {
    bool right = true;
    for (int i = 0; i < N; ++i) right &= same(got[i], scalar(a[i], b[i]));
    expect(right, what);
  }
  template <class F>
  void expect_mask(PackMask<T, N> got, const std::string& what, F scalar) {
    bool right = true, some = false, every = true;
    for (int i = 0; i < N; ++i) {
      const bool expected = scalar(a[i], b[i]);
      right &= got[i] == expected;
      some |= expected;
      every &= expected;
    }
    expect(right, what);
    expect(any(got) == some, "any " + what);
    expect(all(got) == every, "all " + what);
  }

  void run() {
    const T values[] = {T(0),
                        -T(0),
                        T(1),
                        T(-1),
                        T(2.5),
                        T(-2.5),
                        T(3.5),
                        T(1e10),
                        Limits::denorm_min(),
                        Limits::max(),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        T(7)};
    constexpr int kValues = sizeof values / sizeof values[0];
    for (int shift = 0; shift < kValues; ++shift) {
      for (int first = 0; first < kValues; ++first) {
        for (int i = 0; i < N + 1; ++i) {
          a[i] = values[(i + first) % kValues];
          b[i] = values[(i + first + shift) % kValues];
          c[i] = T(i % 5 + 1);
        }
        arithmetic();
        comparisons();
        selections();
      }
    }
    memory();
    masks();
    conversions();
  }

  void arithmetic() {
    const S x = load<S>(a), y = load<S>(b);
    expect_lanes(x + y, "+", [](T u, T v) { return u + v; });
    expect_lanes(x - y, "-", [](T u, T v) { return u - v; });
    expect_lanes(x * y, "*", [](T u, T v) { return u * v; });
    expect_lanes(x / y, "/", [](T u, T v) { return u / v; });
    expect_lanes(-x, "negation", [](T u, T) { return -u; });
    expect_lanes(+x, "unary +", [](T u, T) { return u; });
    expect_lanes(T(3) - x, "scalar -", [](T u, T) { return 3 - u; });
    expect_lanes(x * T(3), "* scalar", [](T u, T) { return u * 3; });
    expect_lanes(2 / x, "integer /", [](T u, T) { return 2 / u; });
    expect_lanes(x - S(0.5), "- S(double)", [](T u, T) { return u - T(0.5); });
    S z = x;
    z += y;
    z *= T(2);
    z -= x;
    z /= y;
    expect_lanes(z, "compound assignment", [](T u, T v) {
      volatile T sum = u + v;  // no contraction: the pack has none either, 2 is a power of two
      return (sum * 2 - u) / v;
    });
  }

  void comparisons() {
    const S x = load<S>(a), y = load<S>(b);
    expect_mask(x < y, "<", [](T u, T v) { return u < v; });
    expect_mask(x <= y, "<=", [](T u, T v) { return u <= v; });
    expect_mask(x > y, ">", [](T u, T v) { return u > v; });
    expect_mask(x >= y, ">=", [](T u, T v) { return u >= v; });
    expect_mask(x == y, "==", [](T u, T v) { return u == v; });
    expect_mask(x != y, "!=", [](T u, T v) { return u != v; });
    expect_mask(x > 0, "> integer", [](T u, T) { return u > 0; });
    expect_mask((x < y) & (x > 0), "&", [](T u, T v) { return u < v && u > 0; });
    expect_mask((x < y) | (x > 0), "|", [](T u, T v) { return u < v || u > 0; });
    expect_mask((x < y) ^ (x > 0), "^", [](T u, T v) { return (u < v) != (u > 0); });
    expect_mask(!(x < y), "!", [](T u, T v) { return !(u < v); });
    expect_mask(is_finite(x), "is_finite", [](T u, T) { return is_finite(u); });
  }

  void selections() {
    const S x = load<S>(a), y = load<S>(b);
    expect_lanes(select(x < y, x, y), "select", [](T u, T v) { return u < v ? u : v; });
    expect_lanes(select(x < y, x, T(1)), "select scalar", [](T u, T v) { return u < v ? u : 1; });
    expect_lanes(min(x, y), "min", [](T u, T v) { return min(u, v); });
    expect_lanes(max(x, y), "max", [](T u, T v) { return max(u, v); });
    expect_lanes(positive_part(x), "positive_part", [](T u, T) { return positive_part(u); });
    expect_lanes(unit_step(x), "unit_step", [](T u, T) { return unit_step(u); });
    expect_lanes(abs(x), "abs", [](T u, T) { return abs(u); });
    expect_lanes(copysign(x, y), "copysign", [](T u, T v) { return copysign(u, v); });
    expect_lanes(floor(x), "floor", [](T u, T) { return floor(u); });
    expect_lanes(round_nearest(x), "round_nearest", [](T u, T) { return round_nearest(u); });
    expect_lanes(sqrt(x), "sqrt", [](T u, T) { return sqrt(u); });
  }

  void memory() {
    S x = load<S>(c + 1);  // one element off any alignment
    bool right = true;
    for (int i = 0; i < N; ++i) right &= x[i] == c[i + 1] && lane(x, i) == c[i + 1];
    expect(right, "load");
    T out[N + 2] = {};
    store(out + 1, x);
    right = out[0] == 0 && out[N + 1] == 0;
    for (int i = 0; i < N; ++i) right &= out[i + 1] == c[i + 1];
    expect(right, "store");
    alignas(S) T aligned[N];
    x.store_aligned(aligned);
    const S y = S::load_aligned(aligned);
    expect(all(x == y), "load_aligned");
    for (int j = 0; j < N; ++j) {
      S z = x;
      set_lane(z, j, T(-4));
      right = true;
      for (int i = 0; i < N; ++i) right &= z[i] == (i == j ? T(-4) : x[i]);
      expect(right, "set_lane");
    }
    expect(all(S(T(1.5)) == S::load(std::vector<T>(N, T(1.5)).data())), "broadcast");
  }

  void masks() {
    expect(all(Mask<S>(true)) && !any(Mask<S>(false)), "constant mask");
    for (int j = 0; j < N; ++j) {
      Mask<S> one(false), all_but_one(true);
      one.set(j, true);
      all_but_one.set(j, false);
      bool right = any(one) && !all(one) && any(all_but_one) && !all(all_but_one);
      for (int i = 0; i < N; ++i) right &= one[i] == (i == j) && all_but_one[i] != (i == j);
      right &= all(one ^ all_but_one) && !any(one & all_but_one) && all(one | all_but_one);
      Mask<S> both = one;
      both |= all_but_one;
      right &= all(both);
      both &= one;
      right &= any(both) && both[j];
      expect(right, "mask of one lane");
    }
  }

  void conversions() {
    using U = std::conditional_t<sizeof(T) == 4, double, float>;
    S x;
    for (int i = 0; i < N; ++i) x.set(i, T(1) / T(3 + i));
    const Pack<U, N> y = convert<U>(x);
    bool right = true;
    for (int i = 0; i < N; ++i) right &= y[i] == U(x[i]);
    expect(right, "convert");
    double sums[N];
    for (int i = 0; i < N; ++i) sums[i] = i;
    widen_add(sums, x);
    right = true;
    for (int i = 0; i < N; ++i) right &= sums[i] == i + double(x[i]);
    expect(right, "widen_add");
    const Pack<T, 2 * N> twice = join(x, S(2) * x);
    const S low = half<0>(twice), high = half<1>(twice);
    expect(all(low == x) && all(high == S(2) * x), "join and half");
    T lanes[N];
    store(lanes, x);
    for (int h = N / 2; h > 0; h /= 2) {
      for (int i = 0; i < h; ++i) lanes[i] += lanes[i + h];
    }
    expect(sum_lanes(x) == lanes[0], "sum_lanes");
  }
};

template <class T, int N>
std::string failures_of() {
  PackCheck<T, N> check;
  check.run();
  return check.failures;
}

}  // namespace

// Half a register, one, and four.
std::string pack_failures() {
  constexpr int kFloats = kNativeLanes<float>, kDoubles = kNativeLanes<double>;
  return failures_of<float, kFloats / 2>() + failures_of<float, kFloats>() +
         failures_of<float, 4 * kFloats>() + failures_of<double, std::max(2, kDoubles / 2)>() +
         failures_of<double, kDoubles>() + failures_of<double, 4 * kDoubles>();
}

int register_bytes() {
  static_assert(Pack<float, kNativeLanes<float>>::kRegisters == 1);
  static_assert(Pack<float, 2 * kNativeLanes<float>>::kRegisters == 2);
  static_assert(sizeof(Pack<double, 16>) == 128 && sizeof(Pack<float, 16>) == 64);
  return kRegisterBytes;
}

}  // namespace cycloid::isa::CYCLOID_ISA
