#include "cycloid/rigid/contact/model_pairs.h"

#include <algorithm>

namespace cycloid::inline rigid {

GeomKind kind_of(const Geom& g) {
  return g.shape == Shape::other ? GeomKind::box : static_cast<GeomKind>(g.shape);
}

// Whether the model has the shape of a geom.
static bool can_touch(const Model& m, int geom) {
  const Geom& g = m.geoms[static_cast<std::size_t>(geom)];
  const std::size_t data = static_cast<std::size_t>(g.data);
  if (g.shape == Shape::mesh) return data < m.meshes.size() && !m.meshes[data].corners.empty();
  if (g.shape == Shape::hfield) {
    return data < m.height_fields.size() && !m.height_fields[data].data.empty();
  }
  return g.shape != Shape::other;
}

std::vector<CandidatePair> model_pairs(const Model& m) {
  std::vector<GeomKind> kind;
  std::vector<int> body, contype, conaffinity, weld, parent, dofs;
  for (const Geom& g : m.geoms) {
    const bool shaped = can_touch(m, static_cast<int>(kind.size()));
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
  const auto other = [&](int g) { return !can_touch(m, g); };
  std::erase_if(pairs, [&](const CandidatePair& p) { return other(p.geom1) || other(p.geom2); });
  return pairs;
}

}  // namespace cycloid::inline rigid
