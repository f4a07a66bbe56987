// Broad phase of a chunk: which candidate pairs come near each other in any of its lanes.
//
// The list of candidates is fixed (pair_filter.h), so the answer is a selection from it, in its
// order: every pair that is near in some lane (bounding.h), and no other. Short lists are tested
// pair by pair. Where bodies have several geoms, pairs of bodies are tested first (body_balls.h).
// Other long lists (kSweepRatio pairs per geom and more) go through a sweep first:
//   1. each geom's box: over all lanes, its bounding sphere widened by its reach;
//   2. the geoms are ordered along the axis on which their boxes are spread most;
//   3. boxes that overlap, one of them active, and form a candidate, are tested.
// Of the two geoms of a candidate one at least is active; those that only meet active ones, as
// geoms that stand still do, are not looked at among themselves.
// reach: for every pair, reach[geom 1] + reach[geom 2] is at least its margin. Pairs
// with a plane are always tested. A lane whose numbers are not finite is near nothing.
//
// Nothing is allocated: the scratch lies in memory that is given. The result does not depend on
// what an earlier call left there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "cycloid/base/array_items.h"
#include "cycloid/base/bits.h"
#include "cycloid/base/device_stage.h"
#include "cycloid/geometry/body_balls.h"

namespace cycloid::inline geometry {

inline constexpr std::size_t kSweepRatio = 16;
inline constexpr std::size_t kBodyRatio = 4;  // pairs of geoms per pair of bodies, and more
inline constexpr std::size_t kFewPairs = 128;

// Fixed with the model.
struct BroadPhase {
  std::vector<CandidatePair> pairs;
  std::vector<char> with_plane;  // per pair
  std::vector<int> swept;        // geoms that a sweep looks at
  std::vector<char> active;      // per geom
  std::vector<int> tested;       // pairs that it leaves out: those with a plane
  std::vector<int> first;        // per geom: where its rows of `other` and `pair` begin
  std::vector<int> other, pair;  // geoms of higher id it may touch, ascending; which pair
  BodyPairs bodies;              // where `by_bodies`
  bool sweep = false, by_bodies = false;

  CYCLOID_HD bool selects() const { return sweep || by_bodies; }
};

// body: of each geom; empty: each has its own.
BroadPhase make_broad_phase(std::span<const GeomKind> kind, std::vector<CandidatePair> pairs,
                            std::span<const int> body = {});

// What a selection writes; one per thread. Empty for a plan that tests pair by pair.
template <class S>
struct BroadPhaseScratch {
  using T = Scalar<S>;
  BodyBall<S>* balls;        // per body
  T *low, *high;             // per geom and axis
  int* order;                // of the swept geoms; kept from one call to the next
  int* active;               // those of them that are active, in that order
  std::uint32_t* near_bits;  // one per pair, 0 between calls

  CYCLOID_HD static std::size_t words(const BroadPhase& plan) {
    return (plan.pairs.size() + 31) / 32;
  }
  void carve(const BroadPhase& plan, Arena& arena) {
    if (plan.selects()) arena.take(near_bits, words(plan));
    if (plan.by_bodies) arena.take(balls, static_cast<std::size_t>(plan.bodies.bodies()));
    if (!plan.sweep) return;
    const std::size_t numbers = 3 * (plan.first.size() - 1);
    arena.take(low, numbers);
    arena.take(high, numbers);
    arena.take(order, plan.swept.size());
    arena.take(active, plan.swept.size());
  }
  // To be called once, before the first selection.
  CYCLOID_HD void begin(const BroadPhase& plan) const {
    if (plan.selects()) fill_items(near_bits, words(plan), 0u);
    if (plan.sweep) copy_items(plan.swept.data(), plan.swept.size(), order);
  }
};

template <class S, class Margin>
CYCLOID_INLINE bool pair_near(const BroadPhase& plan, std::size_t k, const Pose<S>* pose,
                              const S* radius, const Margin& margin) {
  const CandidatePair& p = plan.pairs[k];
  return any(spheres_near(plan.with_plane[k] != 0, pose[p.geom1], radius[p.geom1], pose[p.geom2],
                          radius[p.geom2], S(margin(k))));
}

// The smallest of all lanes, those left out that are not finite. By halves, for the compiler.
template <class S>
CYCLOID_INLINE Scalar<S> lowest_lane(const S& x) {
  using T = Scalar<S>;
  T v[kLanes<S>];
  store(v, select(is_finite(x), x, S(std::numeric_limits<T>::infinity())));
  for (int half = kLanes<S> / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) v[i] = v[i + half] < v[i] ? v[i + half] : v[i];
  }
  return v[0];
}

// 1. Boxes of all lanes.
template <class S>
CYCLOID_HD void sweep_boxes(const BroadPhase& plan, const Pose<S>* pose, const S* radius,
                            const Scalar<S>* reach, const BroadPhaseScratch<S>& scratch) {
  using T = Scalar<S>;
  constexpr T wide = 1 + 16 * std::numeric_limits<T>::epsilon();
  for (const int g : plan.swept) {
    for (int i = 0; i < 3; ++i) {
      const S extent = (radius[g] + S(reach[g])) * S(wide);
      const std::size_t at = 3 * static_cast<std::size_t>(g) + static_cast<std::size_t>(i);
      scratch.low[at] = lowest_lane(pose[g].p[i] - extent);
      scratch.high[at] = -lowest_lane(-(pose[g].p[i] + extent));
    }
  }
}

// 2. The axis with the largest variance of the boxes' centres.
template <class S>
CYCLOID_HD int sweep_axis(const BroadPhase& plan, const BroadPhaseScratch<S>& scratch) {
  double spread[3];
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0, squares = 0, count = 0;
    for (const int g : plan.swept) {
      const std::size_t at = 3 * static_cast<std::size_t>(g) + i;
      const double centre = 0.5 * (double(scratch.low[at]) + double(scratch.high[at]));
      if (!(std::abs(centre) < std::numeric_limits<double>::max())) continue;
      sum += centre, squares += centre * centre, count += 1;
    }
    spread[i] = count > 0 ? squares / count - (sum / count) * (sum / count) : 0;
  }
  return static_cast<int>(std::max_element(spread, spread + 3) - spread);
}

// Insertion sort: from one step to the next the order hardly changes.
template <class S>
CYCLOID_HD void sweep_order(const BroadPhase& plan, int axis, const BroadPhaseScratch<S>& scratch) {
  const auto low = [&](int g) { return scratch.low[3 * g + axis]; };
  int* const order = scratch.order;
  for (std::size_t i = 1; i < plan.swept.size(); ++i) {
    const int g = order[i];
    std::size_t j = i;
    for (; j > 0 && low(g) < low(order[j - 1]); --j) order[j] = order[j - 1];
    order[j] = g;
  }
}

template <class S>
CYCLOID_HD bool boxes_overlap(const BroadPhaseScratch<S>& scratch, int a, int b, int axis) {
  const Scalar<S>*low = scratch.low, *high = scratch.high;
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  return low[3 * a + i] <= high[3 * b + i] && low[3 * b + i] <= high[3 * a + i] &&
         low[3 * a + j] <= high[3 * b + j] && low[3 * b + j] <= high[3 * a + j];
}

// Calls `test` with the candidates of two geoms, if there are any.
template <class Test>
CYCLOID_HD void test_candidates(const BroadPhase& plan, int a, int b, const Test& test) {
  const int lower = std::min(a, b), upper = std::max(a, b);
  const auto end = plan.other.begin() + plan.first[static_cast<std::size_t>(lower) + 1];
  auto at = plan.other.begin() + plan.first[static_cast<std::size_t>(lower)];
  at = std::lower_bound(at, end, upper);
  for (; at != end && *at == upper; ++at) {
    test(static_cast<std::size_t>(plan.pair[static_cast<std::size_t>(at - plan.other.begin())]));
  }
}

// 3. Calls `test` with each candidate whose boxes overlap. An active geom looks at all that begin
// after it, any other at those of them that are active.
template <class S, class Test>
CYCLOID_HD void sweep_pairs(const BroadPhase& plan, int axis, const BroadPhaseScratch<S>& scratch,
                            Test test) {
  const int *const order = scratch.order, *const active = scratch.active;
  const Scalar<S>*low = scratch.low, *high = scratch.high;
  std::size_t actives = 0, passed = 0;
  for (std::size_t i = 0; i < plan.swept.size(); ++i) {
    if (plan.active[static_cast<std::size_t>(order[i])]) scratch.active[actives++] = order[i];
  }
  const auto look = [&](int a, const int* others, std::size_t from, std::size_t count) {
    for (std::size_t j = from; j < count; ++j) {
      const int b = others[j];
      if (!(low[3 * b + axis] <= high[3 * a + axis])) break;
      if (boxes_overlap(scratch, a, b, axis)) test_candidates(plan, a, b, test);
    }
  };
  for (std::size_t i = 0; i < plan.swept.size(); ++i) {
    const int a = order[i];
    if (plan.active[static_cast<std::size_t>(a)]) {
      ++passed;
      look(a, order, i + 1, plan.swept.size());
    } else {
      look(a, active, passed, actives);
    }
  }
}

// Writes the pairs that are near, ascending, to `near` (it has room for all); returns their number.
// Per geom: pose, radius, reach; margin(k): of pair k, with the gap; asked for pairs that are
// tested only.
template <class S, class Margin>
CYCLOID_STAGE int find_near_pairs(const BroadPhase& plan, const Pose<S>* pose, const S* radius,
                                  const Margin& margin, const Scalar<S>* reach,
                                  const BroadPhaseScratch<S>& scratch, int* near) {
  int count = 0;
  if (!plan.selects()) {
    for (std::size_t k = 0; k < plan.pairs.size(); ++k) {
      if (pair_near(plan, k, pose, radius, margin)) near[count++] = static_cast<int>(k);
    }
    return count;
  }
  const auto test = [&](std::size_t k) {
    const bool is_near = pair_near(plan, k, pose, radius, margin);
    scratch.near_bits[k / 32] |= std::uint32_t(is_near) << (k % 32);
  };
  if (plan.by_bodies) {
    for_each_body_pair(plan.bodies, pose, radius, reach, scratch.balls, test);
  } else {
    sweep_boxes(plan, pose, radius, reach, scratch);
    const int axis = sweep_axis(plan, scratch);
    sweep_order(plan, axis, scratch);
    sweep_pairs(plan, axis, scratch, test);
  }
  for (const int k : plan.tested) test(static_cast<std::size_t>(k));
  for (std::size_t word = 0; word < scratch.words(plan); ++word) {
    for (std::uint32_t& bits = scratch.near_bits[word]; bits != 0; bits &= bits - 1) {
      near[count++] = static_cast<int>(32 * word) + lowest_bit(bits);
    }
  }
  return count;
}

}  // namespace cycloid::inline geometry
