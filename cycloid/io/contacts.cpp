#include "cycloid/io/contacts.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "cycloid/base/error.h"
#include "cycloid/geometry/mixing.h"
#include "cycloid/io/fields.h"
#include "cycloid/io/messages.h"

namespace cycloid::inline io {
namespace {

GeomKind kind_of(int type) {
  switch (type) {
    case mjGEOM_PLANE: return GeomKind::plane;
    case mjGEOM_HFIELD: return GeomKind::hfield;
    case mjGEOM_MESH: return GeomKind::mesh;
    case mjGEOM_SPHERE: return GeomKind::sphere;
    case mjGEOM_CAPSULE: return GeomKind::capsule;
    case mjGEOM_ELLIPSOID: return GeomKind::ellipsoid;
    case mjGEOM_CYLINDER: return GeomKind::cylinder;
    default: return GeomKind::box;
  }
}

// Empty when the geom's shape is supported.
std::string_view unsupported_shape(const mjModel& m, int geom) {
  if (m.geom_plugin[geom] >= 0) return "a shape by a plugin";
  switch (m.geom_type[geom]) {
    case mjGEOM_PLANE:
    case mjGEOM_SPHERE:
    case mjGEOM_CAPSULE:
    case mjGEOM_ELLIPSOID:
    case mjGEOM_CYLINDER:
    case mjGEOM_HFIELD:
    case mjGEOM_MESH:
    case mjGEOM_BOX: return {};
    case mjGEOM_SDF: return "a signed distance field";
    default: return "a shape of this type";
  }
}

// Pairs without a collider of their own, which MuJoCo leaves to its convex pipeline.
bool is_convex_pair(int type1, int type2) {
  if (type1 == mjGEOM_PLANE || type2 == mjGEOM_PLANE) return false;
  for (const int type : {type1, type2}) {
    if (type == mjGEOM_HFIELD || type == mjGEOM_MESH) return true;
  }
  if (type1 == mjGEOM_ELLIPSOID || type2 == mjGEOM_ELLIPSOID) return true;
  const auto [low, high] = std::minmax(type1, type2);
  return (high == mjGEOM_CYLINDER && low != mjGEOM_SPHERE) ||
         (low == mjGEOM_CYLINDER && high == mjGEOM_BOX);
}

void judge_shapes(const mjModel& m, const CandidatePair& pair) {
  const int geoms[] = {pair.geom1, pair.geom2};
  for (int side = 0; side < 2; ++side) {
    const std::string_view shape = unsupported_shape(m, geoms[side]);
    if (shape.empty()) continue;
    const std::string other = element(m, "ngeom", geoms[1 - side]);
    refuse(element(m, "ngeom", geoms[side]), message(shape, " that can collide (with ", other, ")"),
           pair.explicit_pair >= 0
               ? "remove the contact pair or load with constraints=False"
               : "set its contype and conaffinity to 0 or load with constraints=False");
  }
}

void judge_convex(const mjModel& m, const CandidatePair& pair) {
  const int type1 = m.geom_type[pair.geom1], type2 = m.geom_type[pair.geom2];
  if (!is_convex_pair(type1, type2)) return;
  const std::string where =
      message(element(m, "ngeom", pair.geom1), " and ", element(m, "ngeom", pair.geom2));
  if (m.opt.disableflags & mjDSBL_NATIVECCD) {
    refuse(where, "convex collision without the flag nativeccd (by the older library libccd)",
           "enable the flag or load with constraints=False");
  }
  bool one_contact = false;  // whatever the flag says
  for (const int type : {type1, type2}) {
    one_contact =
        one_contact || type == mjGEOM_ELLIPSOID || type == mjGEOM_SPHERE || type == mjGEOM_HFIELD;
  }
  if (!one_contact && (m.opt.disableflags & mjDSBL_MULTICCD)) {
    refuse(where, "convex collision without the flag multiccd (one contact for faces on faces)",
           "enable the flag or load with constraints=False");
  }
}

SurfaceRank rank_of(const mjModel& m, int geom) {
  return {m.geom_priority[geom], m.geom_condim[geom], m.geom_solmix[geom]};
}

// The contact's dimension and gap, which the override leaves as they are.
int condim_of(const mjModel& m, const CandidatePair& p) {
  if (p.explicit_pair >= 0) return m.pair_dim[p.explicit_pair];
  return mixing(rank_of(m, p.geom1), rank_of(m, p.geom2)).condim;
}
double gap_of(const mjModel& m, const CandidatePair& p) {
  if (p.explicit_pair >= 0) return m.pair_gap[p.explicit_pair];
  return m.geom_gap[p.geom1] + m.geom_gap[p.geom2];
}

double adhesion_of(const mjModel& m, const CandidatePair& p) {
  if (p.explicit_pair >= 0) return m.pair_adhesion[p.explicit_pair];
  const int winner = mixing(rank_of(m, p.geom1), rank_of(m, p.geom2)).winner;
  if (winner != 0) return m.geom_adhesion[winner == 1 ? p.geom1 : p.geom2];
  return m.geom_adhesion[p.geom1] + m.geom_adhesion[p.geom2];
}

void judge_condim(const mjModel& m, const CandidatePair& pair) {
  const int dim = condim_of(m, pair);
  if (dim == 1 || dim == 3 || dim == 4 || dim == 6) return;
  const std::string where =
      pair.explicit_pair >= 0
          ? element(m, "npair", pair.explicit_pair)
          : message(element(m, "ngeom", pair.geom1), " and ", element(m, "ngeom", pair.geom2));
  throw ModelError(message(where, ": condim is ", dim, "; expected 1, 3, 4 or 6"));
}

// How many geoms have the same contype and conaffinity: those that move, and those that stand.
struct GeomCount {
  std::int64_t moving = 0, standing = 0;
};
using GeomCounts = std::map<std::pair<int, int>, GeomCount>;

// Pairs of such geoms of which one moves.
std::int64_t meetings(const GeomCounts& counts) {
  std::int64_t pairs = 0;
  for (auto one = counts.begin(); one != counts.end(); ++one) {
    const auto [type, affinity] = one->first;
    const auto [moving, standing] = one->second;
    if (type & affinity) pairs += moving * (moving - 1) / 2 + moving * standing;
    for (auto two = std::next(one); two != counts.end(); ++two) {
      if (!(type & two->first.second) && !(two->first.first & affinity)) continue;
      pairs += moving * (two->second.moving + two->second.standing) + standing * two->second.moving;
    }
  }
  return pairs;
}

// Pairs are kept and looked at one by one: more than these are a scene for another engine. Geoms of
// one body never meet.
void refuse_too_many(const mjModel& m) {
  constexpr std::int64_t kMostPairs = 330000;  // their contacts are numbered in float too
  std::int64_t moving = 0, all = 0;
  GeomCounts counts;
  std::map<int, GeomCounts> of_body;
  for (mjtSize i = 0; i < m.ngeom; ++i) {
    const std::pair<int, int> kind{m.geom_contype[i], m.geom_conaffinity[i]};
    if (kind.first == 0 && kind.second == 0) continue;
    const int body = m.body_weldid[m.geom_bodyid[i]];
    ++all;
    ++(body != 0 ? counts[kind].moving : counts[kind].standing);
    if (body == 0) continue;
    ++moving;
    ++of_body[body][kind].moving;
  }
  std::int64_t pairs = meetings(counts);
  for (const auto& [body, own] : of_body) pairs -= meetings(own);
  if (pairs <= kMostPairs) return;
  throw ModelError(message("the model has ", moving, " geoms that move and ", all - moving,
                           " that stand, which makes ", pairs, " pairs that may collide; at most ",
                           kMostPairs, " are supported: use contype and conaffinity to part them"));
}

std::string pair_name(const mjModel& m, mjtSize i) { return readable(m.names + m.name_pairadr[i]); }

Named<GivenPair> own_pair(const mjModel& m, mjtSize i) {
  Named<GivenPair> p;
  p.name = pair_name(m, i);
  p.geom1 = m.pair_geom1[i];
  p.geom2 = m.pair_geom2[i];
  p.condim = m.pair_dim[i];
  std::copy_n(m.pair_friction + 5 * i, 5, p.friction.begin());
  std::copy_n(m.pair_solref + mjNREF * i, mjNREF, p.soft.solref.begin());
  std::copy_n(m.pair_solimp + mjNIMP * i, mjNIMP, p.soft.solimp.begin());
  std::copy_n(m.pair_solreffriction + mjNREF * i, mjNREF, p.solref_friction.begin());
  p.margin = m.pair_margin[i];
  p.gap = m.pair_gap[i];
  p.adhesion = m.pair_adhesion[i];
  return p;
}

Named<GivenPair> overridden_pair(const mjModel& m, const CandidatePair& candidate) {
  Named<GivenPair> p;
  if (candidate.explicit_pair >= 0) p.name = pair_name(m, candidate.explicit_pair);
  p.geom1 = candidate.geom1;
  p.geom2 = candidate.geom2;
  p.condim = condim_of(m, candidate);
  std::copy_n(m.opt.o_friction, 5, p.friction.begin());
  std::copy_n(m.opt.o_solref, mjNREF, p.soft.solref.begin());
  std::copy_n(m.opt.o_solimp, mjNIMP, p.soft.solimp.begin());
  p.margin = m.opt.o_margin;
  p.gap = gap_of(m, candidate);
  p.adhesion = adhesion_of(m, candidate);
  return p;
}

}  // namespace

Exclusion exclusion(const mjModel& m, mjtSize i) {
  const auto signature = static_cast<unsigned>(m.exclude_signature[i]);
  return {static_cast<int>(signature >> 16), static_cast<int>(signature & 0xffff)};
}

std::vector<CandidatePair> colliding_pairs(const mjModel& m) {
  refuse_too_many(m);
  std::vector<GeomKind> kinds;
  for (mjtSize i = 0; i < m.ngeom; ++i) kinds.push_back(kind_of(m.geom_type[i]));
  std::vector<std::pair<int, int>> excluded, explicit_geoms;
  for (mjtSize i = 0; i < m.nexclude; ++i) {
    const Exclusion e = exclusion(m, i);
    excluded.emplace_back(e.body1, e.body2);
  }
  for (mjtSize i = 0; i < m.npair; ++i) {
    explicit_geoms.emplace_back(m.pair_geom1[i], m.pair_geom2[i]);
  }
  const auto per = [](const int* values, mjtSize count) {
    return std::span<const int>(values, static_cast<std::size_t>(count));
  };
  PairFilter filter;
  filter.kind = kinds;
  filter.body = per(m.geom_bodyid, m.ngeom);
  filter.contype = per(m.geom_contype, m.ngeom);
  filter.conaffinity = per(m.geom_conaffinity, m.ngeom);
  filter.body_weld = per(m.body_weldid, m.nbody);
  filter.body_parent = per(m.body_parentid, m.nbody);
  filter.body_dofs = per(m.body_dofnum, m.nbody);
  filter.excluded_bodies = excluded;
  filter.explicit_geoms = explicit_geoms;
  filter.filter_parent = !(m.opt.disableflags & mjDSBL_FILTERPARENT);
  filter.midphase = !(m.opt.disableflags & mjDSBL_MIDPHASE);
  return candidate_pairs(filter);
}

std::vector<bool> touching_geoms(const mjModel& m) {
  std::vector<bool> touches(static_cast<std::size_t>(m.ngeom), false);
  for (const CandidatePair& p : colliding_pairs(m)) {
    touches[static_cast<std::size_t>(p.geom1)] = touches[static_cast<std::size_t>(p.geom2)] = true;
  }
  return touches;
}

void refuse_unsupported_contacts(const mjModel& m) {
  const std::vector<CandidatePair> pairs = colliding_pairs(m);
  if (!pairs.empty() && (m.opt.enableflags & mjENBL_SPECULATIVE)) {
    refuse("options", "the flag speculative (contacts of shapes that their velocities bring close)",
           "disable it or load with constraints=False");
  }
  for (const CandidatePair& pair : pairs) {
    judge_shapes(m, pair);
    judge_convex(m, pair);
    judge_condim(m, pair);
  }
}

std::vector<Named<GivenPair>> contact_pairs(const mjModel& m, bool contacts_act) {
  std::vector<Named<GivenPair>> pairs;
  if (contacts_act && (m.opt.enableflags & mjENBL_OVERRIDE)) {
    for (const CandidatePair& p : colliding_pairs(m)) pairs.push_back(overridden_pair(m, p));
  } else {
    for (mjtSize i = 0; i < m.npair; ++i) pairs.push_back(own_pair(m, i));
  }
  return pairs;
}

}  // namespace cycloid::inline io
