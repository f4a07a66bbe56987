#include "cycloid/geometry/body_balls.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace cycloid::inline geometry {

BodyPairs make_body_pairs(std::span<const int> body, std::span<const CandidatePair> pairs,
                          const std::vector<char>& left_out) {
  std::map<int, std::set<int>> geoms;                      // of a body
  std::map<std::pair<int, int>, std::vector<int>> joined;  // pairs of two bodies
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (left_out[k]) continue;
    const int one = body[static_cast<std::size_t>(pairs[k].geom1)],
              two = body[static_cast<std::size_t>(pairs[k].geom2)];
    geoms[one].insert(pairs[k].geom1), geoms[two].insert(pairs[k].geom2);
    joined[{std::min(one, two), std::max(one, two)}].push_back(static_cast<int>(k));
  }
  BodyPairs plan;
  plan.first.push_back(0);
  std::map<int, int> place;
  for (const auto& [number, of_body] : geoms) {
    place[number] = plan.bodies();
    plan.geom.insert(plan.geom.end(), of_body.begin(), of_body.end());
    plan.first.push_back(static_cast<int>(plan.geom.size()));
  }
  for (const auto& [bodies, of_both] : joined) {
    const int first = static_cast<int>(plan.pair.size());
    plan.pair.insert(plan.pair.end(), of_both.begin(), of_both.end());
    plan.couples.push_back(
        {place[bodies.first], place[bodies.second], first, static_cast<int>(plan.pair.size())});
  }
  return plan;
}

}  // namespace cycloid::inline geometry
