// Tests of pair_filter.h against the pairs that MuJoCo collides.
#include "cycloid/geometry/pair_filter.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cycloid::test::pair_filter_test {

using Pairs = std::vector<std::pair<int, int>>;

struct FilterCase {
  std::vector<int> kind, body, contype, conaffinity, weld, parent, dofs;
  Pairs excluded, named;
  bool filter_parent, midphase;
  Pairs expected;  // geoms of MuJoCo's contacts, in order

  std::vector<CandidatePair> find() const {
    std::vector<GeomKind> kinds;
    // 0 a plane, 1 … 5 sphere, capsule, ellipsoid, cylinder, box: without height fields.
    for (const int k : kind) kinds.push_back(static_cast<GeomKind>(k == 0 ? 0 : k + 1));
    return candidate_pairs({kinds, body, contype, conaffinity, weld, parent, dofs, excluded, named,
                            filter_parent, midphase});
  }
};

// Random trees of MuJoCo 4.0.0 with mocap and welded bodies, excludes and explicit pairs, and
// margins so large that every pair touches.
const std::vector<FilterCase> kMujocoCases = {
    {{5, 1, 1, 1, 4, 4, 1, 3, 4, 4},
     {0, 0, 2, 2, 2, 3, 4, 5, 5, 5},
     {1, 1, 1, 1, 1, 2, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, 3, 1, 1, 1, 1},
     {0, 1, 2, 3, 4, 0},
     {0, 0, 1, 2, 3, 0},
     {0, 1, 1, 1, 1, 0},
     {{1, 4}},
     {{2, 6}, {5, 6}},
     true,
     false,
     {{2, 0}, {3, 0}, {4, 0}, {1, 2}, {1, 3}, {1, 4}, {5, 0}, {1, 5}, {6, 0}, {1, 6},
      {2, 6}, {3, 6}, {6, 4}, {2, 7}, {2, 8}, {2, 9}, {3, 7}, {3, 8}, {3, 9}, {7, 4},
      {4, 8}, {4, 9}, {6, 5}, {7, 5}, {5, 8}, {5, 9}, {6, 7}, {6, 8}, {6, 9}}},
    {{2, 4, 1, 3, 2, 2},
     {0, 0, 2, 3, 3, 3},
     {2, 1, 2, 3, 2, 3},
     {1, 1, 2, 2, 2, 1},
     {0, 1, 2, 3},
     {0, 0, 0, 2},
     {0, 0, 1, 1},
     {{1, 2}},
     {{0, 5}, {0, 4}, {2, 5}},
     false,
     true,
     {{2, 0}, {0, 5}, {0, 4}, {0, 3}, {3, 1}, {5, 1}, {2, 5}, {2, 3}, {2, 4}}},
    {{1, 1, 2, 4, 2, 3, 1, 3, 1, 1, 4, 1, 2, 1},
     {0, 0, 1, 1, 1, 2, 3, 5, 5, 5, 6, 7, 7, 8},
     {3, 1, 3, 2, 3, 0, 2, 2, 3, 0, 1, 1, 1, 0},
     {0, 1, 1, 3, 2, 0, 2, 0, 2, 3, 0, 1, 0, 3},
     {0, 0, 0, 0, 0, 5, 0, 0, 0, 0},
     {0, 0, 1, 2, 3, 3, 1, 6, 6, 8},
     {0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
     {{1, 2}, {5, 9}},
     {{1, 12}, {0, 13}},
     true,
     true,
     {{0, 8}, {0, 9},  {1, 8},  {1, 9},  {1, 12}, {0, 13}, {4, 7}, {7, 3},
      {8, 2}, {8, 3},  {8, 4},  {9, 2},  {9, 3},  {9, 4},  {6, 7}, {6, 8},
      {6, 9}, {9, 10}, {8, 11}, {9, 11}, {9, 12}, {8, 13}, {13, 7}}},
    {{1, 1, 1, 5, 1, 1, 5, 2, 2, 3, 3, 3},
     {1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 6, 6},
     {0, 1, 1, 0, 1, 1, 1, 3, 1, 1, 1, 3},
     {2, 3, 1, 2, 1, 1, 1, 0, 1, 1, 1, 3},
     {0, 1, 2, 2, 2, 5, 6},
     {0, 0, 0, 2, 3, 3, 5},
     {0, 0, 1, 0, 0, 1, 1},
     {{1, 6}, {2, 4}},
     {{4, 7}},
     true,
     false,
     {{1, 4},  {2, 4},  {1, 5},  {1, 6},  {2, 5},  {2, 6},  {0, 7},  {1, 7},  {1, 8},
      {1, 9},  {2, 7},  {2, 8},  {2, 9},  {4, 7},  {11, 3}, {4, 10}, {4, 11}, {5, 10},
      {5, 11}, {10, 6}, {11, 6}, {7, 10}, {7, 11}, {8, 10}, {8, 11}, {9, 10}, {9, 11}}},
    {{1, 1, 4, 1, 1, 1, 1, 1},
     {1, 1, 2, 3, 3, 3, 4, 4},
     {1, 2, 0, 2, 3, 2, 1, 2},
     {1, 2, 3, 1, 2, 3, 1, 0},
     {0, 0, 2, 3, 4, 4, 6},
     {0, 0, 1, 2, 1, 4, 0},
     {0, 0, 1, 1, 1, 0, 0},
     {{3, 4}, {4, 5}},
     {{2, 7}, {4, 6}},
     true,
     true,
     {{0, 2},
      {1, 2},
      {0, 3},
      {0, 4},
      {0, 5},
      {1, 3},
      {1, 4},
      {1, 5},
      {0, 6},
      {1, 7},
      {7, 2},
      {6, 2},
      {4, 6}}},
    {{3, 5, 4, 1, 1, 1, 1, 1, 2, 1, 2, 1, 1},
     {0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 7},
     {2, 0, 1, 0, 1, 1, 1, 1, 1, 0, 2, 1, 1},
     {2, 0, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1},
     {0, 1, 2, 2, 2, 5, 6, 7},
     {0, 0, 1, 2, 2, 4, 0, 6},
     {0, 1, 1, 0, 0, 1, 6, 1},
     {{3, 4}, {4, 7}},
     {{5, 7}, {9, 10}},
     false,
     true,
     {{9, 0},  {10, 0}, {3, 2},  {4, 2},  {5, 2},  {6, 2},  {7, 2},   {8, 2},
      {9, 2},  {10, 2}, {11, 2}, {12, 2}, {3, 11}, {4, 10}, {4, 11},  {3, 12},
      {4, 12}, {5, 7},  {5, 10}, {5, 11}, {6, 10}, {6, 11}, {5, 12},  {6, 12},
      {9, 10}, {7, 10}, {7, 11}, {8, 10}, {9, 11}, {11, 8}, {11, 12}, {12, 10}}},
    {{1, 4, 1, 5, 4, 5, 5, 1, 1, 1, 1, 1},
     {0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4},
     {1, 1, 1, 1, 1, 2, 1, 0, 1, 2, 1, 0},
     {1, 1, 1, 1, 1, 1, 1, 3, 2, 0, 1, 3},
     {0, 1, 0, 0, 4},
     {0, 0, 0, 0, 3},
     {0, 1, 0, 0, 1},
     {{2, 3}},
     {{0, 3}, {0, 4}, {2, 7}},
     true,
     false,
     {{0, 3},  {0, 4},  {0, 2},  {2, 1},  {1, 3},  {1, 4},  {0, 10}, {0, 11}, {10, 1},
      {11, 1}, {2, 7},  {2, 5},  {2, 6},  {3, 5},  {3, 6},  {7, 3},  {4, 5},  {4, 6},
      {7, 4},  {2, 8},  {8, 3},  {8, 4},  {2, 10}, {2, 11}, {10, 3}, {11, 3}, {10, 4},
      {11, 4}, {10, 5}, {11, 5}, {10, 6}, {11, 6}, {7, 10}, {8, 10}, {8, 11}, {9, 11}}},
    {{4, 5, 1, 1, 4, 5, 1, 5, 1, 5, 5},
     {0, 0, 1, 1, 3, 3, 3, 4, 5, 6, 10},
     {3, 1, 0, 1, 1, 0, 1, 1, 0, 3, 1},
     {1, 1, 2, 1, 1, 0, 1, 1, 1, 2, 1},
     {0, 0, 2, 3, 3, 5, 6, 3, 8, 9, 10},
     {0, 0, 0, 0, 3, 4, 5, 4, 7, 3, 9},
     {0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1},
     {},
     {{1, 9}, {0, 10}, {2, 6}},
     true,
     true,
     {{0, 4},  {4, 1},  {6, 0},  {6, 1},  {0, 7}, {1, 7},  {8, 0},  {8, 1}, {1, 9}, {0, 9},
      {0, 10}, {1, 10}, {2, 6},  {3, 4},  {3, 6}, {3, 7},  {3, 8},  {2, 9}, {3, 9}, {3, 10},
      {4, 9},  {6, 9},  {4, 10}, {6, 10}, {7, 9}, {7, 10}, {8, 10}, {9, 10}}},
    {{1, 3, 1, 3, 1, 1, 2},
     {1, 2, 2, 2, 4, 4, 4},
     {1, 1, 1, 2, 1, 1, 0},
     {1, 1, 1, 1, 1, 1, 0},
     {0, 0, 2, 2, 4, 5},
     {0, 0, 1, 2, 0, 0},
     {0, 0, 1, 0, 0, 0},
     {{1, 3}, {1, 5}},
     {{1, 4}},
     true,
     true,
     {{0, 1}, {0, 2}, {0, 3}, {4, 1}, {2, 4}, {2, 5}, {4, 3}, {5, 1}, {5, 3}}},
    {{1, 4, 3, 5, 1, 1, 4, 1},
     {1, 1, 2, 2, 2, 3, 3, 3},
     {3, 1, 2, 1, 3, 1, 3, 1},
     {3, 1, 3, 1, 1, 1, 2, 1},
     {0, 1, 0, 3},
     {0, 0, 0, 2},
     {0, 0, 0, 1},
     {{1, 2}, {1, 3}},
     {{4, 3}, {2, 5}, {6, 5}},
     false,
     false,
     {{4, 3}, {5, 2}, {2, 6}, {7, 2}, {5, 3}, {6, 3}, {7, 3}, {4, 5}, {4, 6}, {4, 7}, {5, 6}}},
};

TEST_CASE("candidate_pairs: MuJoCo's pairs in MuJoCo's order") {
  for (std::size_t k = 0; k < kMujocoCases.size(); ++k) {
    Pairs found;
    for (const CandidatePair& p : kMujocoCases[k].find()) found.emplace_back(p.geom1, p.geom2);
    CHECK_MESSAGE(found == kMujocoCases[k].expected, "model ", k);
  }
}

// The world with a plane (geom 0); bodies 1 and 2 with a sphere each, 2 a child of 1.
FilterCase chain() {
  return {{0, 1, 1}, {0, 1, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 2}, {0, 0, 1},
          {0, 6, 1}, {},        {},        true,      true,      {}};
}

TEST_CASE("candidate_pairs: a child does not touch its parent, unless the filter is off") {
  FilterCase c = chain();
  CHECK(c.find() == std::vector<CandidatePair>{{0, 1, -1}, {0, 2, -1}});
  c.filter_parent = false;
  CHECK(c.find() == std::vector<CandidatePair>{{0, 1, -1}, {0, 2, -1}, {1, 2, -1}});
}

TEST_CASE(
    "candidate_pairs: an explicit pair overrides parents, masks and exclusions, and comes once") {
  FilterCase c = chain();
  c.named = {{2, 1}};
  c.contype = c.conaffinity = {0, 0, 0};
  c.excluded = {{1, 2}};
  CHECK(c.find() == std::vector<CandidatePair>{{2, 1, 0}});
  c = chain();
  c.named = {{1, 0}};
  CHECK(c.find() == std::vector<CandidatePair>{{0, 1, 0}, {0, 2, -1}});
}

TEST_CASE("candidate_pairs: bodies without a degree of freedom do not touch each other") {
  FilterCase c = chain();
  c.dofs = {0, 0, 0};  // two mocap bodies over a floor
  c.parent = {0, 0, 0};
  CHECK(c.find().empty());
}

TEST_CASE("candidate_pairs: two planes are no pair, not even an explicit one") {
  FilterCase c = chain();
  c.kind = {0, 0, 1};
  c.named = {{0, 1}};
  CHECK(c.find() == std::vector<CandidatePair>{{0, 2, -1}});
}

}  // namespace cycloid::test::pair_filter_test
