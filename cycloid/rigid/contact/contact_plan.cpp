#include "cycloid/rigid/contact/contact_plan.h"

#include <algorithm>

#include "cycloid/rigid/contact/model_pairs.h"
#include "cycloid/rigid/contact/narrow_phase.h"
#include "cycloid/rigid/tree/tree.h"

namespace cycloid::inline rigid {
namespace {

int array_of(const Tree& tree, const Geom& g) {
  const std::size_t data = static_cast<std::size_t>(g.data);
  if (g.shape == Shape::mesh) return tree.mesh_arrays[data];
  return g.shape == Shape::hfield ? tree.field_arrays[data] : -1;
}

// The geoms of `pairs`, which from then on name them by their places.
std::vector<TouchingGeom> touching_geoms(const Tree& tree, std::vector<CandidatePair>& pairs) {
  const ModelView& m = tree.model;
  std::vector<int> place(m.geoms.size(), -1);
  for (const CandidatePair& p : pairs) {
    place[static_cast<std::size_t>(p.geom1)] = place[static_cast<std::size_t>(p.geom2)] = 0;
  }
  std::vector<TouchingGeom> geoms;
  for (std::size_t i = 0; i < m.geoms.size(); ++i) {
    if (place[i] < 0) continue;
    const Geom& g = m.geoms[i];
    place[i] = static_cast<int>(geoms.size());
    const GeomKind kind = kind_of(g);
    const bool drives = tree.geoms[i].surface >= 0;
    const bool whole = drives || kind == GeomKind::ellipsoid || kind == GeomKind::cylinder ||
                       kind == GeomKind::box || is_solid(kind);
    bool moves = m.bodies[static_cast<std::size_t>(g.body)].tree >= 0, fixed = !moves;
    for (int b = g.body; b > 0; b = m.bodies[static_cast<std::size_t>(b)].parent) {
      fixed = fixed && m.bodies[static_cast<std::size_t>(b)].mocap < 0;
    }
    geoms.push_back({static_cast<int>(i),
                     g.body,
                     kind,
                     drives || kind != GeomKind::sphere,
                     whole,
                     moves,
                     fixed,
                     tree.geoms[i],
                     {g.priority, g.condim, g.solmix},
                     g.data,
                     array_of(tree, g)});
  }
  for (CandidatePair& p : pairs) {
    p.geom1 = place[static_cast<std::size_t>(p.geom1)];
    p.geom2 = place[static_cast<std::size_t>(p.geom2)];
    TouchingGeom &a = geoms[static_cast<std::size_t>(p.geom1)],
                 &b = geoms[static_cast<std::size_t>(p.geom2)];
    if (is_searched(a.kind, b.kind)) a.turns = a.whole_frame = b.turns = b.whole_frame = true;
  }
  return geoms;
}

ContactPair make_pair(const ModelView& m, const std::vector<TouchingGeom>& geoms,
                      const CandidatePair& c) {
  const TouchingGeom &a = geoms[static_cast<std::size_t>(c.geom1)],
                     &b = geoms[static_cast<std::size_t>(c.geom2)];
  const Body &body1 = m.bodies[static_cast<std::size_t>(a.body)],
             &body2 = m.bodies[static_cast<std::size_t>(b.body)];
  ContactPair p;
  p.geom1 = c.geom1, p.geom2 = c.geom2;
  p.body1 = a.body, p.body2 = b.body;
  p.given = c.explicit_pair;
  p.mix = mixing(a.rank, b.rank);
  p.condim = p.given < 0 ? p.mix.condim : m.pairs[static_cast<std::size_t>(c.explicit_pair)].condim;
  p.touches = most_touches(a.kind, b.kind);
  p.moves1 = body1.tree >= 0, p.moves2 = body2.tree >= 0;
  p.reference = p.moves2 ? p.body2 : p.body1;
  p.one_origin = body1.tree == body2.tree;
  p.weight = body1.inverse_weight[0] + body2.inverse_weight[0];
  return p;
}

}  // namespace

ContactPlan::ContactPlan(const Tree& tree, const DofBlocks& dofs, int most) {
  const ModelView& m = tree.model;
  dof_words = words_for(m.nv);
  block_words = dofs.words;
  dof_at.assign(static_cast<std::size_t>(dofs.size()), -1);
  for (int k = 0; k < m.nv; ++k) {
    dof_at[static_cast<std::size_t>(dofs.place[static_cast<std::size_t>(k)])] = k;
  }
  const auto last_dof = [&](int body) {
    const Body* b = &m.bodies[static_cast<std::size_t>(body)];
    while (b->dofs == 0 && b != m.bodies.data()) b = &m.bodies[static_cast<std::size_t>(b->parent)];
    return b->dofs > 0 ? b->first_dof + b->dofs - 1 : -1;
  };
  moves.assign(m.bodies.size() * static_cast<std::size_t>(dof_words), 0);
  moves_stride = (dofs.size() + kPlacesAtOnce - 1) / kPlacesAtOnce * kPlacesAtOnce;
  moves_place.assign(m.bodies.size() * static_cast<std::size_t>(moves_stride), 0);
  for (std::size_t b = 0; b < m.bodies.size(); ++b) {
    const BlockSet set{moves.data() + b * static_cast<std::size_t>(dof_words), dof_words};
    for (int k = last_dof(static_cast<int>(b)); k >= 0;
         k = tree.parent_dof[static_cast<std::size_t>(k)]) {
      set.insert(k);
      moves_place[b * static_cast<std::size_t>(moves_stride) +
                  static_cast<std::size_t>(dofs.place[static_cast<std::size_t>(k)])] = ~0u;
    }
  }

  std::vector<CandidatePair> candidates;
  if (m.options.acting.constraints && m.options.acting.contacts)
    candidates = model_pairs(tree.source);
  geoms = touching_geoms(tree, candidates);
  const std::vector<Mesh>& meshes = tree.source.meshes;
  hulls.resize(meshes.size());
  for (const TouchingGeom& g : geoms) {
    solids = solids || is_solid(g.kind);
    if (g.kind != GeomKind::mesh) continue;
    HullTable& hull = hulls[static_cast<std::size_t>(g.data)];
    if (!hull.vertex.empty()) continue;
    const Mesh& mesh = meshes[static_cast<std::size_t>(g.data)];
    hull = make_hull(hull_parts(mesh));
    keep_normals(mesh.vertex.data(), mesh.polygon_normal, hull);
    find_starts(mesh.vertex.data(), hull);
  }
  for (const HullTable& hull : hulls) {
    corners_at.push_back(corners);
    corners += hull.corners();
  }
  for (const CandidatePair& c : candidates) {
    ContactPair p = make_pair(m, geoms, c);
    const GeomKind first = geoms[static_cast<std::size_t>(p.geom1)].kind,
                   second = geoms[static_cast<std::size_t>(p.geom2)].kind;
    const bool searched =
        second == GeomKind::mesh && first != GeomKind::plane && first != GeomKind::hfield;
    if (searched && hints < kMostHints) p.hint = hints++;
    if (p.given >= 0) given.push_back(static_cast<int>(pairs.size()));
    const auto tree_of = [&](int body) { return m.bodies[static_cast<std::size_t>(body)].tree; };
    one_tree = one_tree && (origin_body == 0 || tree_of(origin_body) == tree_of(p.reference));
    if (origin_body == 0 || p.reference < origin_body) origin_body = p.reference;
    touches += p.touches;
    most_rows = std::max(most_rows, p.condim);
    two_trees = two_trees || (p.moves1 && p.moves2 && !p.one_origin);
    one_tree = one_tree && !two_trees;
    blocks.resize(blocks.size() + static_cast<std::size_t>(block_words), 0);
    dofs.add_chain_difference(last_dof(p.body1), last_dof(p.body2),
                              moved_blocks(static_cast<int>(pairs.size())));
    pairs.push_back(p);
  }
  slots = std::min(touches, most);
  waits = pairs.size() <= kMostWaiting;
  std::vector<GeomKind> kinds;
  std::vector<int> bodies;
  for (const TouchingGeom& g : geoms) kinds.push_back(g.kind), bodies.push_back(g.body);
  broad = make_broad_phase(kinds, std::move(candidates), bodies);
}

}  // namespace cycloid::inline rigid
