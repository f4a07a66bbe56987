// Which pairs of geoms can touch: decided once, from the model's structure.
//
// As MuJoCo has it, two geoms are a candidate if there is a collider for their kinds (all but two
// of planes and height fields) and either the model names them as an explicit pair, or all of the
// following hold:
//   1. their bodies are not welded together (body_weld: the nearest body up the tree, itself
//      included, that has a joint or is a mocap body; else the world, 0), and one of the welded
//      groups has a degree of freedom;
//   2. neither group is the parent of the other, unless one is the world's or the filter is off;
//   3. the pair of bodies is not excluded;
//   4. contype of one meets conaffinity of the other, bit by bit.
//
// Order, MuJoCo's order of contacts: by the pair of bodies (lower id first), explicit pairs before
// the others. Then by geoms: those of the lower body first; but by geoms as they stand in the
// contact, where one of the bodies has several geoms and MuJoCo's midphase is on.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "cycloid/geometry/shape.h"

namespace cycloid::inline geometry {

// Two geoms in the order of their kinds; `explicit_pair` is its place among the model's, or -1.
struct CandidatePair {
  int geom1 = 0, geom2 = 0, explicit_pair = -1;
  bool operator==(const CandidatePair&) const = default;
};

struct PairFilter {
  // Per geom; a body's geoms follow one another.
  std::span<const GeomKind> kind;
  std::span<const int> body, contype, conaffinity;
  // Per body; `dofs` are its own.
  std::span<const int> body_weld, body_parent, body_dofs;
  // Pairs of bodies that do not touch; pairs of geoms that do, whatever else is said.
  std::span<const std::pair<int, int>> excluded_bodies, explicit_geoms;
  bool filter_parent = true;
  bool midphase = true;
};

std::vector<CandidatePair> candidate_pairs(const PairFilter& filter);

}  // namespace cycloid::inline geometry
