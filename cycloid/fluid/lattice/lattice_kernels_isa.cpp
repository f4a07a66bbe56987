#include "cycloid/fluid/lattice/lattice_kernels.h"

#include <algorithm>

#include "cycloid/math/dual.h"
#include "cycloid/math/pack.h"
#include "cycloid/math/stream_store.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

constexpr std::uintptr_t kAhead = 512;        // bytes that are fetched ahead of their use
constexpr std::ptrdiff_t kCached = 16 << 20;  // bytes of two rows that a cache may keep
constexpr int kSummed = 8;                    // packs that are summed in their own precision

template <class T, class L>
struct Nodes {
  using S = Pack<T, kNativeLanes<T>>;
  static constexpr int Q = L::kDirections, W = kNativeLanes<T>;
  using View = LatticeView<T>;
  // What a run sends or receives along one direction, from [W] on, with room for a turn of its
  // lines. Rows a multiple of 4 KiB apart would share lines of the cache.
  using Run = T[LatticeRuns<T>::kMost + 3 * W];

  // W numbers, of which the first `count` are there; the others are zero.
  static CYCLOID_INLINE S take(const T* from, std::ptrdiff_t count) {
    if (count >= W) return S::load(from);
    T some[W] = {};
    copy_items(from, count, some);
    return S::load(some);
  }
  static CYCLOID_INLINE void put(const S& x, std::ptrdiff_t count, T* to) {
    if (count >= W) return x.store(to);
    T some[W];
    x.store(some);
    copy_items(some, count, to);
  }
  static CYCLOID_INLINE int wrapped(int k, int n) { return k < 0 ? k + n : k >= n ? k - n : k; }

  // Calls visit(k, to, count) for the pieces of a run: its numbers k … k + count along c come to
  // the nodes `to` …; k is where a number stands after its line was turned.
  template <class Visit>
  static CYCLOID_INLINE void for_pieces(const View& v, std::ptrdiff_t run, const int* c,
                                        Visit&& visit) {
    const int* const n = v.runs.n;
    const std::ptrdiff_t first = v.runs.first(run), line = first / n[2];
    const int length = v.runs.length(run);
    int p0 = static_cast<int>(line / n[1]), p1 = static_cast<int>(line % n[1]);
    const auto place = [&](int q1) {
      return (std::ptrdiff_t(wrapped(p0 + c[0], n[0])) * n[1] + q1) * n[2];
    };
    if (!v.runs.whole_lines()) {
      const std::ptrdiff_t to = place(wrapped(p1 + c[1], n[1]));
      const int begin = static_cast<int>(first % n[2]) + c[2];
      const int low = begin < 0 ? 1 : 0, high = begin + length > n[2] ? 1 : 0;
      if (low) visit(c[2], to + n[2] - 1, 1);
      visit(c[2] + low, to + begin + low, length - low - high);
      if (high) visit(c[2] + length - 1, to, 1);
      return;
    }
    for (int done = 0; done < length;) {
      const int q1 = wrapped(p1 + c[1], n[1]);
      const int lines = std::min({(length - done) / n[2], n[1] - p1, n[1] - q1});
      visit(done, place(q1), lines * n[2]);
      done += lines * n[2], p1 += lines;
      if (p1 == n[1]) p1 = 0, ++p0;
    }
  }
  // Numbers that stand one place after (before) their node's: those that left their line at its
  // end enter it at its beginning, and back.
  static CYCLOID_INLINE void turn(const View& v, int length, int c, T* sent) {
    if (c == 0 || !v.runs.whole_lines()) return;
    const int n = v.runs.n[2];
    if (c > 0)
      for (int k = 0; k < length; k += n) sent[k] = sent[k + n];
    else
      for (int k = length; k > 0; k -= n) sent[k - 1] = sent[k - n - 1];
  }
  static CYCLOID_INLINE void turn_back(const View& v, int length, int c, T* received) {
    if (c == 0 || !v.runs.whole_lines()) return;
    const int n = v.runs.n[2];
    if (c > 0)
      for (int k = length; k > 0; k -= n) received[k] = received[k - n];
    else
      for (int k = 0; k < length; k += n) received[k - 1] = received[k + n - 1];
  }
  // (1) of what a run sends along i.
  static CYCLOID_INLINE void send(const View& v, std::ptrdiff_t run, int i, bool streams, T* sent,
                                  T* X) {
    turn(v, v.runs.length(run), L::c[i][2], sent);
    for_pieces(v, run, L::c[i], [&](int k, std::ptrdiff_t to, int count) {
      if (streams) stream_copy(sent + k, count, X + i * v.nodes + to);
      else copy_items(sent + k, count, X + i * v.nodes + to);
    });
  }
  static LatticeRates<S> spread(const LatticeRates<T>& r) {
    return {S(r.shear), S(r.bulk), S(r.odd), S(r.even)};
  }

  // Lines that will be read soon; more streams than the processor follows by itself.
  static CYCLOID_INLINE void fetch(const T* from) {
    __builtin_prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + kAhead));
  }
  template <bool kOneRate>
  static bool push_of(const View& v, const T* x, std::ptrdiff_t begin, std::ptrdiff_t end, T* X) {
    const LatticeRates<S> rates = spread(v.rates);
    const S force[3] = {S(v.force[0]), S(v.force[1]), S(v.force[2])}, sound(T(1) / T(3));
    const std::ptrdiff_t N = v.nodes;
    const bool streams = 2 * Q * N * std::ptrdiff_t(sizeof(T)) > kCached;
    alignas(64) Run sent[Q];
    bool slow = true;
    for (std::ptrdiff_t run = begin; run < end; ++run) {
      const std::ptrdiff_t first = v.runs.first(run), last = first + v.runs.length(run);
      for (std::ptrdiff_t m = first; m < last; m += W) {
        S g[Q];
        for (int i = 0; i < Q; ++i) {
          g[i] = take(x + i * N + m, N - m);
          fetch(x + i * N + m);
        }
        const S uu = collide<L, kOneRate>(rates, force, g);
        slow = slow & all(uu < sound);
        for (int i = 0; i < Q; ++i) g[i].store(sent[i] + W + L::c[i][2] + (m - first));
      }
      for (int i = 0; i < Q; ++i) send(v, run, i, streams, sent[i] + W, X);  // (1)
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
    alignas(64) Run received[Q];
    for (std::ptrdiff_t run = begin; run < end; ++run) {
      const std::ptrdiff_t first = v.runs.first(run);
      const int length = v.runs.length(run);
      for (int i = 0; i < Q; ++i) {
        T* const row = received[i] + W;
        for_pieces(v, run, L::c[i], [&](int k, std::ptrdiff_t to, int count) {
          copy_items(X_bar + i * N + to, count, row + k);
        });
        turn_back(v, length, L::c[i][2], row);
      }
      for (int p = patches.first ? patches.first[run] : 0,
               last = patches.first ? patches.first[run + 1] : 0;
           p < last; ++p) {
        const LatticePatch<T>& one = patches.all[p];
        T& bar = received[one.direction][W + L::c[one.direction][2] + one.node];
        bar = one.clears ? T(0) : bar + one.coefficient * X_bar[one.from];
      }
      LatticeRates<S> rates_bar{S(0), S(0), S(0), S(0)};
      S force_bar[3] = {S(0), S(0), S(0)};
      for (int k = 0; k < length; k += W) {
        S g[Q], bar[Q], g_bar[Q];
        for (int i = 0; i < Q; ++i) {
          const std::ptrdiff_t place = i * N + first + k;
          g[i] = take(x + place, length - k);
          bar[i] = take(received[i] + W + L::c[i][2] + k, length - k);
          g_bar[i] = take(x_bar + place, length - k);
          fetch(x + place), fetch(x_bar + place);
        }
        collide_pullback<L, kOneRate>(rates, force, g, bar, rates_bar, force_bar, g_bar);  // (2)
        for (int i = 0; i < Q; ++i) put(g_bar[i], length - k, x_bar + i * N + first + k);
        if ((k / W + 1) % kSummed == 0 || k + W >= length) add_sums(rates_bar, force_bar, sums);
      }
    }
  }
  // Adds all lanes to the sums in double, and clears them.
  static CYCLOID_INLINE void add_sums(LatticeRates<S>& rates_bar, S* force_bar, double* sums) {
    S* const all[7] = {&rates_bar.shear, &rates_bar.bulk, &rates_bar.odd, &rates_bar.even,
                       force_bar,        force_bar + 1,   force_bar + 2};
    for (int s = 0; s < 7; ++s) {
      for (int k = 0; k < W; ++k) sums[s] += static_cast<double>((*all[s])[k]);
      *all[s] = S(0);
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
    alignas(64) Run sent[Q], sent_tan[Q];
    for (std::ptrdiff_t run = begin; run < end; ++run) {
      const std::ptrdiff_t first = v.runs.first(run), last = first + v.runs.length(run);
      for (std::ptrdiff_t m = first; m < last; m += W) {
        D g[Q];
        for (int i = 0; i < Q; ++i) {
          g[i] = dual(take(x + i * N + m, N - m), x_tan ? take(x_tan + i * N + m, N - m) : S(0));
        }
        collide<L, kOneRate>(rates, force, g);
        for (int i = 0; i < Q; ++i) {
          const std::ptrdiff_t k = W + L::c[i][2] + (m - first);
          g[i].value.store(sent[i] + k), g[i].tangent[0].store(sent_tan[i] + k);
        }
      }
      for (int i = 0; i < Q; ++i) {
        send(v, run, i, false, sent[i] + W, X), send(v, run, i, false, sent_tan[i] + W, X_tan);
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
