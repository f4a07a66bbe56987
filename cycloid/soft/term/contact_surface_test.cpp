#include "cycloid/soft/term/contact_surface.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cycloid/soft/term/pair_distance.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using test::Numbers;

// A sheet of n x n squares, crumpled.
struct Sheet {
  explicit Sheet(int n, double crumple) {
    FixedNumbers random(8);
    for (int i = 0; i <= n; ++i) {
      for (int j = 0; j <= n; ++j) {
        vertices.insert(vertices.end(), {i / double(n), j / double(n), 0});
        for (int k = 3; k > 0; --k)
          vertices[vertices.size() - std::size_t(k)] += crumple * random.next();
        if (i == n || j == n) continue;
        const int a = i * (n + 1) + j, b = a + n + 1;
        triangles.insert(triangles.end(), {a, b, b + 1, a, b + 1, a + 1});
      }
    }
  }
  Numbers vertices;
  std::vector<int> triangles;
};

Vec3<double> point(const Numbers& y, int v) {
  const std::size_t i = 3 * static_cast<std::size_t>(v);
  return {y[i], y[i + 1], y[i + 2]};
}

double distance(PairKind kind, const ContactPairs::Pair& pair, const Numbers& y) {
  const bool three = kind == PairKind::point_edge;
  Vec3<double> x[4];
  for (std::size_t a = 0; a < (three ? 3u : 4u); ++a) x[a] = point(y, pair[a]);
  return three                         ? point_edge_distance(x).d
         : kind == PairKind::edge_edge ? edge_edge_distance(x).d
                                       : point_triangle_distance(x).d;
}

bool shares(const ContactPairs::Pair& p, std::size_t first) {
  for (std::size_t a = 0; a < first; ++a) {
    for (std::size_t b = first; b < 4; ++b) {
      if (p[a] == p[b]) return true;
    }
  }
  return false;
}

constexpr PairKind kFaces = PairKind::point_triangle, kEdges = PairKind::edge_edge;

// Every pair, by all against all.
ContactPairs all_pairs(const ContactSurface& s, const Numbers& y, double reach) {
  ContactPairs out;
  for (const int v : s.points) {
    for (std::size_t t = 0; t < s.triangles.size(); t += 3) {
      const ContactPairs::Pair p = {v, s.triangles[t], s.triangles[t + 1], s.triangles[t + 2]};
      if (!shares(p, 1) && distance(kFaces, p, y) < reach) out.of[0].push_back(p);
    }
  }
  for (std::size_t e = 0; e < s.edges.size(); e += 2) {
    for (std::size_t g = e + 2; g < s.edges.size(); g += 2) {
      const ContactPairs::Pair p = {s.edges[e], s.edges[e + 1], s.edges[g], s.edges[g + 1]};
      if (!shares(p, 2) && distance(kEdges, p, y) < reach) out.of[1].push_back(p);
    }
  }
  for (auto& own : out.of) std::sort(own.begin(), own.end());
  return out;
}

}  // namespace

TEST_CASE("contact surface: the pairs are those of all against all, by any threads") {
  const Sheet flat(7, 0), crumpled(7, 0.08);
  const ContactSurface s(flat.vertices, flat.triangles);
  const ContactPairs expected = all_pairs(s, crumpled.vertices, 0.06);
  CHECK(expected[kFaces].size() > 10);
  CHECK(expected[kEdges].size() > 10);
  CHECK(s.near(crumpled.vertices.data(), 0.06, 1) == expected);
  CHECK(s.near(crumpled.vertices.data(), 0.06, 2) == expected);
  CHECK(expected.includes(s.near(crumpled.vertices.data(), 0.03, 1)));
  double least = 0.06;
  for (const PairKind kind : {kFaces, kEdges}) {
    for (const auto& p : expected[kind]) {
      least = std::min(least, distance(kind, p, crumpled.vertices));
    }
  }
  CHECK(s.nearest(crumpled.vertices.data(), 0.06).distance == least);
  CHECK(!s.nearest(flat.vertices.data(), 0.01).found);
}

TEST_CASE(
    "contact surface: the free part of a step crosses nothing, and is most of what could be") {
  // A triangle above another, which comes down: they touch after half of the way.
  const Numbers at = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 0.2, 0.5, 1.2, 0.3, 0.7, 0.3, 1.2, 0.9};
  const ContactSurface two(at, {0, 1, 2, 3, 4, 5});
  Numbers down(at.size(), 0.0);
  for (std::size_t i = 11; i < down.size(); i += 3) down[i] = -1;
  const double part = two.free_part(at.data(), down.data(), 0, 1);
  CHECK(part < 0.5);
  CHECK(part > 0.4);
  for (double& d : down) d *= 0.3;
  CHECK(two.free_part(at.data(), down.data(), 0, 1) == 1);
  // Random steps of a crumpled sheet: on the way no pair comes to touch.
  const Sheet flat(5, 0);
  const ContactSurface s(flat.vertices, flat.triangles);
  FixedNumbers random(5);
  Numbers y = flat.vertices;
  int cut = 0;
  for (int k = 0; k < 30; ++k) {
    const double before = s.nearest(y.data(), 10).distance;
    Numbers d(y.size());
    for (double& each : d) each = 0.3 * random.next();
    const double t = s.free_part(y.data(), d.data(), 0, 2);
    CHECK(t == s.free_part(y.data(), d.data(), 0, 1));
    cut += t < 1;
    for (int j = 1; j <= 20; ++j) {
      Numbers on = y;
      for (std::size_t i = 0; i < y.size(); ++i) on[i] += 0.05 * j * t * d[i];
      CHECK(s.first_crossing(on.data()).edge < 0);
      CHECK(s.nearest(on.data(), 10).distance > 0.05 * before);
    }
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += 0.5 * t * d[i];
  }
  CHECK(cut > 10);
}

TEST_CASE("contact surface: a rod meets itself but where it is near along itself") {
  FixedNumbers random(8);
  Numbers rest, y;
  for (int k = 0; k < 40; ++k) {
    rest.insert(rest.end(), {0.1 * k, 0, 0});
    for (int i = 0; i < 3; ++i) y.push_back(0.3 * random.next());
  }
  const ContactSurface s(rest, 0.35);  // four segments of 0.1 lie between
  ContactPairs expected;
  for (int p = 0; p < 40; ++p) {
    for (int e = 0; e < 39; ++e) {
      const ContactPairs::Pair three = {p, e, e + 1, -1};
      if ((e >= p + 4 || p >= e + 5) && distance(PairKind::point_edge, three, y) < 0.2) {
        expected.of[2].push_back(three);
      }
      const ContactPairs::Pair four = {p, p + 1, e, e + 1};
      if (p < 39 && e >= p + 5 && distance(kEdges, four, y) < 0.2) {
        expected.of[1].push_back(four);
      }
    }
  }
  CHECK(expected.of[1].size() > 10);
  CHECK(expected.of[2].size() > 10);
  CHECK(s.near(y.data(), 0.2, 1) == expected);
  // The free part of a step keeps the thickness.
  const double before = s.nearest(y.data(), 10).distance, thickness = 0.5 * before;
  Numbers d;
  for (std::size_t i = 0; i < y.size(); ++i) d.push_back(0.4 * random.next());
  const double t = s.free_part(y.data(), d.data(), thickness, 2);
  CHECK(t < 1);
  CHECK(t > 0);
  for (int j = 1; j <= 20; ++j) {
    Numbers on = y;
    for (std::size_t i = 0; i < y.size(); ++i) on[i] += 0.05 * j * t * d[i];
    CHECK(s.nearest(on.data(), 10).distance > thickness);
  }
}

TEST_CASE("contact surface: an edge through a triangle is found and named") {
  const Numbers apart = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 0.2, 0.1, 0.3, 0.3, 0.5, 1, 1, 0.5};
  const ContactSurface s(apart, {0, 1, 2, 3, 4, 5});
  CHECK(s.first_crossing(apart.data()).edge < 0);
  Numbers through = apart;
  through[11] = -0.1;
  const auto c = s.first_crossing(through.data());
  REQUIRE(c.edge >= 0);
  CHECK(s.name_of(c) == "edge 3-4 and triangle 0-1-2");
}

}  // namespace cycloid
