#include "cycloid/geometry/pair_filter.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace cycloid::inline geometry {
namespace {

using Ids = std::pair<int, int>;

Ids ascending(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

int at(std::span<const int> v, int i) { return v[static_cast<std::size_t>(i)]; }

GeomKind kind_of(const PairFilter& f, int geom) { return f.kind[static_cast<std::size_t>(geom)]; }

bool collider_exists(const PairFilter& f, int g1, int g2) {
  const auto is_ground = [&](int g) {
    return kind_of(f, g) == GeomKind::plane || kind_of(f, g) == GeomKind::hfield;
  };
  return !is_ground(g1) || !is_ground(g2);
}

// Two geoms in the order of their kinds, the given order at a tie.
Ids by_kind(const PairFilter& f, int g1, int g2) {
  return kind_of(f, g1) > kind_of(f, g2) ? Ids{g2, g1} : Ids{g1, g2};
}

// Rules 1 and 2.
bool bodies_can_touch(const PairFilter& f, int b1, int b2) {
  const int w1 = at(f.body_weld, b1), w2 = at(f.body_weld, b2);
  if (w1 == w2) return false;
  if (at(f.body_dofs, w1) == 0 && at(f.body_dofs, w2) == 0) return false;
  if (!f.filter_parent || w1 == 0 || w2 == 0) return true;
  return w1 != at(f.body_weld, at(f.body_parent, w2)) &&
         w2 != at(f.body_weld, at(f.body_parent, w1));
}

// A candidate with its place in the order: bodies, explicit first, then two ids.
struct Placed {
  Ids bodies;
  bool implicit;
  Ids key;
  CandidatePair pair;
  auto place() const { return std::tie(bodies, implicit, key); }
};

void add_explicit(const PairFilter& f, std::vector<Placed>& out) {
  for (std::size_t k = 0; k < f.explicit_geoms.size(); ++k) {
    const auto [g1, g2] = f.explicit_geoms[k];
    if (!collider_exists(f, g1, g2)) continue;
    const Ids pair = by_kind(f, g1, g2), bodies = ascending(at(f.body, g1), at(f.body, g2));
    const int number = static_cast<int>(k);
    out.push_back({bodies, false, {number, 0}, {pair.first, pair.second, number}});
  }
}

void add_bodies(const PairFilter& f, Ids bodies, const std::vector<std::vector<int>>& geoms,
                const std::set<Ids>& named, std::vector<Placed>& out) {
  const std::vector<int>& first = geoms[static_cast<std::size_t>(bodies.first)];
  const std::vector<int>& second = geoms[static_cast<std::size_t>(bodies.second)];
  const bool sorted_by_contact = f.midphase && first.size() * second.size() > 1;
  for (const int g1 : first) {
    for (const int g2 : second) {
      const bool meet = (at(f.contype, g1) & at(f.conaffinity, g2)) != 0 ||
                        (at(f.contype, g2) & at(f.conaffinity, g1)) != 0;
      if (!meet || !collider_exists(f, g1, g2) || named.contains(ascending(g1, g2))) continue;
      const Ids pair = by_kind(f, g1, g2);
      const Ids key = sorted_by_contact ? pair : Ids{g1, g2};
      out.push_back({bodies, true, key, {pair.first, pair.second, -1}});
    }
  }
}

}  // namespace

std::vector<CandidatePair> candidate_pairs(const PairFilter& f) {
  std::set<Ids> excluded, named;
  for (const auto& [a, b] : f.excluded_bodies) excluded.insert(ascending(a, b));
  for (const auto& [a, b] : f.explicit_geoms) named.insert(ascending(a, b));
  const int bodies = static_cast<int>(f.body_weld.size());
  std::vector<std::vector<int>> geoms(f.body_weld.size());
  for (std::size_t g = 0; g < f.body.size(); ++g) {
    geoms[static_cast<std::size_t>(f.body[g])].push_back(static_cast<int>(g));
  }

  std::vector<Placed> found;
  add_explicit(f, found);
  for (int b1 = 0; b1 < bodies; ++b1) {
    for (int b2 = b1 + 1; b2 < bodies; ++b2) {
      if (!bodies_can_touch(f, b1, b2) || excluded.contains({b1, b2})) continue;
      add_bodies(f, {b1, b2}, geoms, named, found);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Placed& a, const Placed& b) { return a.place() < b.place(); });
  std::vector<CandidatePair> pairs;
  for (const Placed& p : found) pairs.push_back(p.pair);
  return pairs;
}

}  // namespace cycloid::inline geometry
