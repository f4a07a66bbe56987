#include "cycloid/fluid/lattice/lattice_kernels.h"

#include <algorithm>

#include "cycloid/math/dual.h"
#include "cycloid/math/pack.h"
#include "cycloid/math/stream_store.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr std::uintptr_t kAhead = 512;        // bytes that are fetched ahead of their use
constexpr std::ptrdiff_t kCached = 16 << 20;  // bytes of two rows that a cache may keep

template <class T, class L>
struct Nodes {
  using S = Pack<T, kNativeLanes<T>>;
  static constexpr int Q = L::kDirections, W = kNativeLanes<T>;
  static_assert(kLatticeBlock % W == 0);
  static constexpr int kRun = 4096 / sizeof(T);  // nodes whose results are written together
  using View = LatticeView<T>;

  // W numbers from m on, of which the first `count` are there.
  static CYCLOID_INLINE S take(const T* from, std::ptrdiff_t count) {
    if (count >= W) return S::load(from);
    T some[W] = {};
    std::copy_n(from, count, some);
    return S::load(some);
  }
  // Place m of the ring, its N behind and before it too.
  static CYCLOID_INLINE std::ptrdiff_t around(std::ptrdiff_t m, std::ptrdiff_t N) {
    return m < 0 ? m + N : m >= N ? m - N : m;
  }
  static CYCLOID_INLINE void put(const S& x, std::ptrdiff_t m, std::ptrdiff_t count,
                                 std::ptrdiff_t N, T* ring) {
    const std::ptrdiff_t first = around(m, N);
    if (count >= W && first + W <= N) return x.store(ring + first);
    T some[W];
    x.store(some);
    for (std::ptrdiff_t k = 0; k < std::min<std::ptrdiff_t>(count, W); ++k) {
      ring[around(m + k, N)] = some[k];
    }
  }
  static CYCLOID_INLINE S get(const T* ring, std::ptrdiff_t m, std::ptrdiff_t count,
                              std::ptrdiff_t N) {
    const std::ptrdiff_t first = around(m, N);
    if (count >= W && first + W <= N) return S::load(ring + first);
    T some[W] = {};
    for (std::ptrdiff_t k = 0; k < std::min<std::ptrdiff_t>(count, W); ++k) {
      some[k] = ring[around(m + k, N)];
    }
    return S::load(some);
  }
  static LatticeRates<S> spread(const LatticeRates<T>& r) {
    return {S(r.shear), S(r.bulk), S(r.odd), S(r.even)};
  }

  // Lines that will be read soon; more streams than the processor follows by itself.
  static CYCLOID_INLINE void fetch(const T* from) {
    __builtin_prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + kAhead));
  }
  // count numbers to places m … of the ring.
  static CYCLOID_INLINE void put_run(const T* from, std::ptrdiff_t m, std::ptrdiff_t count,
                                     std::ptrdiff_t N, bool streams, T* ring) {
    const std::ptrdiff_t first = around(m, N), before_end = std::min(count, N - first);
    const auto copy = [&](const T* part, std::ptrdiff_t n, T* to) {
      if (streams) stream_copy(part, n, to);
      else std::copy_n(part, n, to);
    };
    copy(from, before_end, ring + first);
    copy(from + before_end, count - before_end, ring);
  }

  template <bool kOneRate>
  static bool push_of(const View& v, const T* x, std::ptrdiff_t begin, std::ptrdiff_t end, T* X) {
    const LatticeRates<S> rates = spread(v.rates);
    const S force[3] = {S(v.force[0]), S(v.force[1]), S(v.force[2])}, sound(T(1) / T(3));
    const std::ptrdiff_t N = v.nodes;
    const bool streams = 2 * Q * N * std::ptrdiff_t(sizeof(T)) > kCached;
    alignas(64)
        T run[Q][kRun + W];  // rows a multiple of 4 KiB apart would share lines of the cache
    bool slow = true;
    for (std::ptrdiff_t from = begin; from < end; from += kRun) {
      const std::ptrdiff_t count = std::min<std::ptrdiff_t>(kRun, end - from);
      for (std::ptrdiff_t m = from; m < from + count; m += W) {
        S g[Q];
        for (int i = 0; i < Q; ++i) {
          g[i] = take(x + i * N + m, N - m);
          fetch(x + i * N + m);
        }
        const S uu = collide<L, kOneRate>(rates, force, g);
        slow = slow & all(uu < sound);
        for (int i = 0; i < Q; ++i) g[i].store(run[i] + (m - from));
      }
      for (int i = 0; i < Q; ++i) {
        put_run(run[i], from + v.offset[i], count, N, streams, X + i * N);  // (1)
      }
    }
    stream_fence();
    return slow;
  }
  static bool push(const View& v, const T* x, std::ptrdiff_t begin, std::ptrdiff_t end, T* X) {
    return v.one_rate ? push_of<true>(v, x, begin, end, X) : push_of<false>(v, x, begin, end, X);
  }

  template <bool kOneRate>
  static void pullback_of(const View& v, const T* x, const T* X_bar,
                          const LatticePatches<T>& patches, std::ptrdiff_t begin,
                          std::ptrdiff_t end, T* x_bar, double* sums) {
    const LatticeRates<S> rates = spread(v.rates);
    const S force[3] = {S(v.force[0]), S(v.force[1]), S(v.force[2])};
    const std::ptrdiff_t N = v.nodes;
    alignas(64) T block[Q][kLatticeBlock];
    for (std::ptrdiff_t from = begin; from < end; from += kLatticeBlock) {
      for (int part = 0; part < kLatticeBlock; part += W) {
        for (int i = 0; i < Q; ++i) {
          const std::ptrdiff_t m = from + part + v.offset[i];
          get(X_bar + i * N, m, N - from - part, N).store(block[i] + part);
          fetch(X_bar + i * N + m);
        }
      }
      const std::ptrdiff_t number = from / kLatticeBlock;
      for (int p = patches.first ? patches.first[number] : 0,
               last = patches.first ? patches.first[number + 1] : 0;
           p < last; ++p) {
        const LatticePatch<T>& one = patches.all[p];
        T& bar = block[one.direction][one.node];
        bar = one.clears ? T(0) : bar + one.coefficient * X_bar[one.from];
      }
      LatticeRates<S> rates_bar{S(0), S(0), S(0), S(0)};
      S force_bar[3] = {S(0), S(0), S(0)};
      for (std::ptrdiff_t m = from; m < std::min(from + kLatticeBlock, N); m += W) {
        S g[Q], bar[Q], g_bar[Q];
        for (int i = 0; i < Q; ++i) {
          g[i] = take(x + i * N + m, N - m);
          bar[i] = S::load(block[i] + (m - from));
          g_bar[i] = take(x_bar + i * N + m, N - m);
          fetch(x + i * N + m), fetch(x_bar + i * N + m);
        }
        collide_pullback<L, kOneRate>(rates, force, g, bar, rates_bar, force_bar, g_bar);  // (2)
        for (int i = 0; i < Q; ++i) put(g_bar[i], m, N - m, N, x_bar + i * N);
      }
      for (int k = 0; k < W; ++k) {
        const T all[7] = {rates_bar.shear[k], rates_bar.bulk[k], rates_bar.odd[k],
                          rates_bar.even[k],  force_bar[0][k],   force_bar[1][k],
                          force_bar[2][k]};
        for (int s = 0; s < 7; ++s) sums[s] += static_cast<double>(all[s]);
      }
    }
  }
  static void push_pullback(const View& v, const T* x, const T* X_bar,
                            const LatticePatches<T>& patches, std::ptrdiff_t begin,
                            std::ptrdiff_t end, T* x_bar, double* sums) {
    if (v.one_rate) pullback_of<true>(v, x, X_bar, patches, begin, end, x_bar, sums);
    else pullback_of<false>(v, x, X_bar, patches, begin, end, x_bar, sums);
  }

  template <bool kOneRate>
  static void pushforward_of(const View& v, const T* x, const T* x_tan, const T* tangents,
                             std::ptrdiff_t begin, std::ptrdiff_t end, T* X, T* X_tan) {
    using D = Dual<S, 1>;
    const auto dual = [](const S& value, const S& tangent) {
      D d(value);
      d.tangent[0] = tangent;
      return d;
    };
    const LatticeRates<D> rates{
        dual(S(v.rates.shear), S(tangents[0])), dual(S(v.rates.bulk), S(tangents[1])),
        dual(S(v.rates.odd), S(tangents[2])), dual(S(v.rates.even), S(tangents[3]))};
    D force[3];
    for (int a = 0; a < 3; ++a) force[a] = dual(S(v.force[a]), S(tangents[4 + a]));
    const std::ptrdiff_t N = v.nodes;
    for (std::ptrdiff_t m = begin; m < end; m += W) {
      D g[Q];
      for (int i = 0; i < Q; ++i) {
        g[i] = dual(take(x + i * N + m, N - m), x_tan ? take(x_tan + i * N + m, N - m) : S(0));
      }
      collide<L, kOneRate>(rates, force, g);
      for (int i = 0; i < Q; ++i) {
        put(g[i].value, m + v.offset[i], N - m, N, X + i * N);
        put(g[i].tangent[0], m + v.offset[i], N - m, N, X_tan + i * N);
      }
    }
  }
  static void push_pushforward(const View& v, const T* x, const T* x_tan, const T* tangents,
                               std::ptrdiff_t begin, std::ptrdiff_t end, T* X, T* X_tan) {
    if (v.one_rate) pushforward_of<true>(v, x, x_tan, tangents, begin, end, X, X_tan);
    else pushforward_of<false>(v, x, x_tan, tangents, begin, end, X, X_tan);
  }

  static void collide_node(const View& v, const T* x, std::ptrdiff_t node, T* out) {
    for (int i = 0; i < Q; ++i) out[i] = x[i * v.nodes + node];
    if (v.one_rate) collide<L, true>(v.rates, v.force, out);
    else collide<L, false>(v.rates, v.force, out);
  }

  static constexpr LatticeKernels<T> all_of() {
    LatticeKernels<T> k{};
    k.push = push, k.push_pullback = push_pullback;
    k.push_pushforward = push_pushforward, k.collide_node = collide_node;
    return k;
  }
};

template <class T>
constexpr LatticeKernels<T> kPlane = Nodes<T, D2Q9>::all_of();
template <class T>
constexpr LatticeKernels<T> kSpace = Nodes<T, D3Q19>::all_of();

}  // namespace

const LatticeKernels<float>& lattice_kernels_float(int dimensions) {
  return dimensions == 2 ? kPlane<float> : kSpace<float>;
}
const LatticeKernels<double>& lattice_kernels_double(int dimensions) {
  return dimensions == 2 ? kPlane<double> : kSpace<double>;
}

}  // namespace cycloid::isa::CYCLOID_ISA
