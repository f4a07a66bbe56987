#include "cycloid/geometry/broad_phase.h"

#include <tuple>

namespace cycloid::inline geometry {

BroadPhase make_broad_phase(std::span<const GeomKind> kind, std::vector<CandidatePair> pairs,
                            std::span<const int> body) {
  BroadPhase plan;
  plan.pairs = std::move(pairs);
  plan.sweep = plan.pairs.size() > kSweepRatio * kind.size();
  std::vector<std::tuple<int, int, int>> rows;  // lower geom, higher geom, pair
  std::vector<bool> swept(kind.size(), false);
  for (std::size_t k = 0; k < plan.pairs.size(); ++k) {
    const int g1 = plan.pairs[k].geom1, g2 = plan.pairs[k].geom2, number = static_cast<int>(k);
    const bool plane = kind[static_cast<std::size_t>(g1)] == GeomKind::plane;
    plan.with_plane.push_back(plane);
    if (plane) {
      plan.tested.push_back(number);
      continue;
    }
    rows.emplace_back(std::min(g1, g2), std::max(g1, g2), number);
    swept[static_cast<std::size_t>(g1)] = swept[static_cast<std::size_t>(g2)] = true;
  }
  std::sort(rows.begin(), rows.end());
  plan.first.assign(kind.size() + 1, 0);
  for (const auto& [lower, upper, number] : rows) {
    ++plan.first[static_cast<std::size_t>(lower) + 1];
    plan.other.push_back(upper);
    plan.pair.push_back(number);
  }
  std::partial_sum(plan.first.begin(), plan.first.end(), plan.first.begin());
  // A cover of the candidates: of a pair without an active geom, that of more candidates is it.
  std::vector<int> count(kind.size(), 0);
  for (const auto& [lower, upper, number] : rows) {
    ++count[static_cast<std::size_t>(lower)], ++count[static_cast<std::size_t>(upper)];
  }
  plan.active.assign(kind.size(), false);
  for (const auto& [lower, upper, number] : rows) {
    const auto a = static_cast<std::size_t>(lower), b = static_cast<std::size_t>(upper);
    if (!plan.active[a] && !plan.active[b]) plan.active[count[a] > count[b] ? a : b] = true;
  }
  for (std::size_t g = 0; g < kind.size(); ++g) {
    if (swept[g]) plan.swept.push_back(static_cast<int>(g));
  }
  if (body.empty() || rows.size() <= kFewPairs) return plan;
  plan.bodies = make_body_pairs(body, plan.pairs, plan.with_plane);
  const std::size_t couples = plan.bodies.couples.size();
  plan.by_bodies = couples * kBodyRatio <= rows.size() && couples <= kSweepRatio * kind.size();
  if (plan.by_bodies) plan.sweep = false;
  return plan;
}

}  // namespace cycloid::inline geometry
