// ContactPlan: which geoms may touch and what is fixed about it, decided once from the model.
//
// A pair's contact numbers are those of its geoms, mixed (geometry/mixing.h), or those that the
// model names for the pair: these are constants. Candidates are in MuJoCo's order (pair_filter.h).
//
// A pair is collided about the origin of one kinematic tree, so that float keeps its digits far
// from the world's origin: that of the second body's tree, or the first's where the second stands
// still. `reference` is the body whose origin it is. Where only one tree touches anything, geoms
// that stand still are placed about its origin from the start.
//
// A lane has room for `slots` contacts: as many as the pairs can have, but not more than
// kMostContacts. A lane with more keeps the first of them and is reported (contact_slots.h).
#pragma once

#include "cycloid/geometry/broad_phase.h"
#include "cycloid/geometry/mixing.h"
#include "cycloid/rigid/contact/solid_shape.h"
#include "cycloid/rigid/solver/constraint_problem.h"
#include "cycloid/rigid/tree/tree_view.h"

namespace cycloid::inline rigid {

struct Tree;

inline constexpr int kMostContacts = 256;          // of one environment
inline constexpr int kMostHints = 4096;            // pairs; others are searched without
inline constexpr std::size_t kMostWaiting = 4096;  // pairs whose cotangents have memory to wait

// A geom that some pair looks at.
struct TouchingGeom {
  int geom = 0, body = 0;  // in the model
  GeomKind kind = GeomKind::sphere;
  bool turns = true;        // some pair looks at its axes,
  bool whole_frame = true;  // at all three of them
  bool moves = true;        // its body is part of a kinematic tree,
  bool fixed = false;       // or stands still for good: not on a mocap body either
  GeomPlaces at;
  SurfaceRank rank;
  int data = -1, array = -1;  // its mesh or height field; which array of parameters that is
};

struct ContactPair {
  int geom1 = 0, geom2 = 0;  // places in ContactPlan::geoms
  int body1 = 0, body2 = 0;
  int given = -1;  // the model's pair that has the numbers, or -1: the geoms have
  Mixing mix;
  int condim = 3;
  int touches = 1;  // at most
  int reference = 0;
  bool moves1 = false, moves2 = true;  // the body is part of a kinematic tree
  bool one_origin = true;              // both bodies have the same
  double weight = 0;                   // A of reference.h [1/kg]
  int hint = -1;                       // of meshes: which hints are its, or -1: none
};

struct ContactPlan {
  // `dofs` is read and not kept.
  ContactPlan(const Tree& tree, const DofBlocks& dofs, int most = kMostContacts);

  std::vector<TouchingGeom> geoms;
  std::vector<HullTable> hulls;  // of the model's meshes
  std::vector<int> corners_at;   // (meshes) where a hull's corners are among all
  int corners = 0, hints = 0;    // of all hulls; pairs with hints (geometry/convex/convex_find.h)
  bool solids = false;           // some geom is a mesh or a height field
  std::vector<ContactPair> pairs;
  std::vector<int> given;  // pairs that have numbers of their own
  BroadPhase broad;

  int slots = 0;           // most contacts of a lane
  int origin_body = 0;     // of the first tree that touches anything; the broad phase is about it
  int touches = 0;         // sum over all pairs
  int most_rows = 0;       // largest condim
  bool two_trees = false;  // some pair has two bodies that move in different trees
  bool one_tree = true;    // all that moves and touches is one tree: everything is about its origin
  // Cotangents of pairs' numbers may wait, each for itself (contact_space.h): there is memory.
  bool waits = false;

  int dof_words = 0, block_words = 0;
  std::vector<std::uint64_t> moves;   // (bodies, dof_words) the dofs that move a body
  std::vector<std::uint64_t> blocks;  // (pairs, block_words) those that move one against the other
  std::vector<int> dof_at;            // (padded size) the dof at each place, or -1
  static constexpr int kPlacesAtOnce = 16;
  int moves_stride = 0;               // the padded size, and up to a multiple of that
  std::vector<unsigned> moves_place;  // (bodies, stride) ~0 where that place moves the body

  // What the constraint problem has to hold.
  ConstraintCapacity capacity() const { return {0, slots, slots * most_rows}; }
  CYCLOID_HD const std::uint64_t* moving(int body) const { return moves.data() + body * dof_words; }
  CYCLOID_HD const unsigned* moving_places(int body) const {
    return moves_place.data() + body * moves_stride;
  }
  // As BlockSet, whose members are not to be changed.
  CYCLOID_HD BlockSet moved_blocks(int pair) const {
    return {const_cast<std::uint64_t*>(blocks.data()) + pair * block_words, block_words};
  }
};

}  // namespace cycloid::inline rigid
