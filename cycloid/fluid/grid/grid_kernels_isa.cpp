#include "cycloid/fluid/grid/grid_kernels.h"

// Rows of different arrays, or of one array that is only read: the compiler may take several faces
// at once.
#define CYCLOID_INDEPENDENT _Pragma("GCC ivdep")

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class T>
struct Rows {
  using View = GridView<T>;

  static void rate(const View& v, int a, std::ptrdiff_t m, int count, T* out) {
    const T* const u = v.u[a] + m;
    const std::ptrdiff_t sa = v.stride[a];
    {
      const T quarter = T(0.25) * v.over_h[a], nu = v.viscosity * v.over_h[a] * v.over_h[a];
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) {
        const T up = u[i] + u[i + sa], down = u[i - sa] + u[i];
        out[i] = quarter * (down * down - up * up) + nu * (up + down - 4 * u[i]);  // (1) (3)
      }
    }
    for (int b = v.first; b < 3; ++b) {
      if (b == a) continue;
      const T* const w = v.u[b] + m;
      const std::ptrdiff_t sb = v.stride[b];
      const T quarter = T(0.25) * v.over_h[b], nu = v.viscosity * v.over_h[b] * v.over_h[b];
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) {
        const T up = u[i] + u[i + sb], down = u[i - sb] + u[i];
        out[i] += quarter * (down * (w[i - sa] + w[i]) - up * (w[i + sb - sa] + w[i + sb])) +
                  nu * (up + down - 4 * u[i]);  // (2) (3)
      }
    }
  }

  static void rate_pullback(const View& v, const T* const* g_of, int a, std::ptrdiff_t m, int count,
                            T* u_bar) {
    const T *const u = v.u[a] + m, *const g = g_of[a] + m;
    T* const to = u_bar + m;
    const std::ptrdiff_t sa = v.stride[a];
    {
      const T half = T(0.5) * v.over_h[a], nu = v.viscosity * v.over_h[a] * v.over_h[a];
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) {
        to[i] += half * ((g[i + sa] - g[i]) * (u[i] + u[i + sa]) +
                         (g[i] - g[i - sa]) * (u[i - sa] + u[i])) +  // (4)
                 nu * (g[i + sa] - 2 * g[i] + g[i - sa]);            // (6)
      }
    }
    const T ha = v.over_h[a];
    for (int b = v.first; b < 3; ++b) {
      if (b == a) continue;
      const T *const w = v.u[b] + m, *const k = g_of[b] + m;
      const std::ptrdiff_t sb = v.stride[b];
      const T hb = v.over_h[b], nu = v.viscosity * hb * hb;
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) {
        const T low = hb * (g[i] - g[i - sb]) + ha * (k[i] - k[i - sa]),
                high = hb * (g[i + sb] - g[i]) + ha * (k[i + sb] - k[i + sb - sa]);  // (5)
        to[i] += T(0.25) * (low * (w[i - sa] + w[i]) + high * (w[i + sb - sa] + w[i + sb])) +
                 nu * (g[i + sb] - 2 * g[i] + g[i - sb]);  // (6)
      }
    }
  }

  static double rate_viscosity_pullback(const View& v, const T* g_of, int a, std::ptrdiff_t m,
                                        int count) {
    const T *const u = v.u[a] + m, *const g = g_of + m;
    double sum = 0;
    for (int b = v.first; b < 3; ++b) {
      const std::ptrdiff_t sb = v.stride[b];
      const T scale = v.over_h[b] * v.over_h[b];
      double of_axis = 0;
      for (int i = 0; i < count; ++i) {
        of_axis += static_cast<double>(g[i] * scale * (u[i + sb] - 2 * u[i] + u[i - sb]));  // (7)
      }
      sum += of_axis;
    }
    return sum;
  }

  static void rate_pushforward(const View& v, const T* const* tan, T viscosity_tan, int a,
                               std::ptrdiff_t m, int count, T* out) {
    const T *const u = v.u[a] + m, *const d = tan[a] + m;
    const std::ptrdiff_t sa = v.stride[a];
    for (int i = 0; i < count; ++i) out[i] = 0;
    for (int b = v.first; b < 3; ++b) {
      const std::ptrdiff_t sb = v.stride[b];
      const T quarter = T(0.25) * v.over_h[b], scale = v.over_h[b] * v.over_h[b];
      // At b = a the product (2) becomes the square (1), one cell further up.
      const T *const w = v.u[b] + m + (b == a ? sa : 0), *const e = tan[b] + m + (b == a ? sa : 0);
      const std::ptrdiff_t below = b == a ? -2 * sa : -sa, above = b == a ? -sa : sb - sa,
                           here = b == a ? -sa : 0, high = b == a ? 0 : sb;
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) {
        const T up = u[i] + u[i + sb], down = u[i - sb] + u[i];
        const T d_up = d[i] + d[i + sb], d_down = d[i - sb] + d[i];
        const T w_low = w[i + below] + w[i + here], w_high = w[i + above] + w[i + high];
        const T e_low = e[i + below] + e[i + here], e_high = e[i + above] + e[i + high];
        out[i] += quarter * (d_down * w_low + down * e_low - d_up * w_high - up * e_high) +
                  scale * (v.viscosity * (d_up + d_down - 4 * d[i]) +
                           viscosity_tan * (up + down - 4 * u[i]));
      }
    }
  }

  static void combine(const StageRule<T>& rule, T force, const T* u0, const T* u, const T* r,
                      const T* D, const T* w, int count, T* to) {
    if (!D) {
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) {
        to[i] = rule.alpha * u0[i] + rule.beta * (u[i] + rule.dt * (r[i] + force));
      }
      return;
    }
    CYCLOID_INDEPENDENT
    for (int i = 0; i < count; ++i) {
      const T y = u[i] + rule.dt * (r[i] + force);
      to[i] = rule.alpha * u0[i] + rule.beta * (D[i] * y + (1 - D[i]) * w[i]);
    }
  }

  static void divergence(const View& v, std::ptrdiff_t m, int count, T* out) {
    for (int i = 0; i < count; ++i) out[i] = 0;
    for (int a = v.first; a < 3; ++a) {
      const T* const u = v.u[a] + m;
      const std::ptrdiff_t sa = v.stride[a];
      const T over = v.over_h[a];
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) out[i] += over * (u[i + sa] - u[i]);
    }
  }

  static void subtract_gradient(const View& v, const T* q_of, const T* D, int a, std::ptrdiff_t m,
                                int count, T* to_of) {
    const T* const q = q_of + m;
    T* const to = to_of + m;
    const std::ptrdiff_t sa = v.stride[a];
    const T over = v.over_h[a];
    if (!D) {
      CYCLOID_INDEPENDENT
      for (int i = 0; i < count; ++i) to[i] -= over * (q[i] - q[i - sa]);
      return;
    }
    CYCLOID_INDEPENDENT
    for (int i = 0; i < count; ++i) to[i] -= D[m + i] * over * (q[i] - q[i - sa]);
  }

  static constexpr GridKernels<T> all() {
    GridKernels<T> k{};
    k.rate = rate, k.rate_pullback = rate_pullback;
    k.rate_viscosity_pullback = rate_viscosity_pullback, k.rate_pushforward = rate_pushforward;
    k.combine = combine, k.divergence = divergence, k.subtract_gradient = subtract_gradient;
    return k;
  }
};

constexpr GridKernels<float> kFloat = Rows<float>::all();
constexpr GridKernels<double> kDouble = Rows<double>::all();

}  // namespace

const GridKernels<float>& grid_kernels_float() { return kFloat; }
const GridKernels<double>& grid_kernels_double() { return kDouble; }

}  // namespace cycloid::isa::CYCLOID_ISA
