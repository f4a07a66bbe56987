#include "cycloid/rigid/contact/model_pairs.h"

#include <algorithm>

namespace cycloid::inline rigid {

GeomKind kind_of(const Geom& g) {
  return g.shape == Shape::other ? GeomKind::box : static_cast<GeomKind>(g.shape);
}

std::vector<CandidatePair> model_pairs(const Model& m) {
  std::vector<GeomKind> kind;
  std::vector<int> body, contype, conaffinity, weld, parent, dofs;
  for (const Geom& g : m.geoms) {
    const bool shaped = g.shape != Shape::other;
    kind.push_back(kind_of(g));
    body.push_back(g.body);
    contype.push_back(shaped ? g.contype : 0);
    conaffinity.push_back(shaped ? g.conaffinity : 0);
  }
  for (const Body& b : m.bodies) {
    weld.push_back(b.welded);
    parent.push_back(b.parent);
    dofs.push_back(b.dofs);
  }
  std::vector<std::pair<int, int>> excluded, named;
  for (const Exclusion& e : m.exclusions) excluded.emplace_back(e.body1, e.body2);
  for (const GivenPair& p : m.pairs) named.emplace_back(p.geom1, p.geom2);
  std::vector<CandidatePair> pairs =
      candidate_pairs({kind, body, contype, conaffinity, weld, parent, dofs, excluded, named,
                       m.options.acting.parent_filter, m.options.acting.midphase});
  const auto other = [&](int g) {
    return m.geoms[static_cast<std::size_t>(g)].shape == Shape::other;
  };
  std::erase_if(pairs, [&](const CandidatePair& p) { return other(p.geom1) || other(p.geom2); });
  return pairs;
}

}  // namespace cycloid::inline rigid
