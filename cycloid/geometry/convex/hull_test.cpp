// Tests of hull.h: climbing, features, and what is no hull.
#include "cycloid/geometry/convex/hull.h"

#include "cycloid/base/error.h"
#include "cycloid/geometry/convex/hull_case_test.h"

namespace cycloid::test::hull_test {

TEST_CASE("hull: climbing ends where a search through all corners does, from wherever it starts") {
  const TestHull prism(prism_parts(24), prism_points(24, 0.4, 0.3));
  FixedNumbers random(3);
  for (int trial = 0; trial < 400; ++trial) {
    const Vec3<double> m = random_vector(random);
    double most = -1;
    for (int c = 0; c < prism.table.corners(); ++c) {
      most = std::max(most, dot(m, prism.hull.corner<double>(c)));
    }
    for (const int last : {-1, 7, 40}) {
      const int found = prism.hull.furthest(m, last);
      CHECK(std::abs(dot(m, prism.hull.corner<double>(found)) - most) < 1e-15);
    }
  }
}

TEST_CASE("hull: codes name every corner, edge and triangle once") {
  const HullTable t = make_hull(prism_parts(6));
  CHECK(t.corners() == 12);
  CHECK(t.triangles() == 20);
  std::set<std::set<int>> pieces[3];
  for (int code = 0; code < t.codes(); ++code) {
    const HullPiece p = hull_piece(t, code);
    const int n = static_cast<int>(p.kind) + 1;
    pieces[n - 1].insert(std::set<int>(p.at, p.at + n));
    if (n == 2) CHECK(find_edge(t, p.at[0], p.at[1]) == code);
    if (n == 3) CHECK(triangle_code(t, p.triangle) == code);
  }
  CHECK(pieces[0].size() == 12);
  CHECK(pieces[1].size() == 30);  // Euler
  CHECK(pieces[2].size() == 20);
  CHECK(find_edge(t, 1, 4) == -1);
}

TEST_CASE("hull: polygon_normal looks outwards, and its cotangent is that of dual numbers") {
  TestHull prism(prism_parts(5), prism_points(5, 0.4, 0.3));
  FixedNumbers random(5);
  for (double& x : prism.points) x += 0.02 * random.next();
  for (double& x : prism.tangents) x = random.next();
  for (int polygon = 0; polygon < 7; ++polygon) {
    const Direction<D> n = polygon_normal<D>(prism.hull, polygon);
    Vec3<double> middle{};
    for (const int c : prism.table.polygons.of(polygon)) middle += prism.hull.corner<double>(c);
    CHECK(n.u.x.value * middle.x + n.u.y.value * middle.y + n.u.z.value * middle.z > 0);
    const Vec3<double> bar = random_vector(random);
    std::vector<double> points_bar(prism.points.size(), 0.0);
    polygon_normal_bar(prism.hull, polygon, bar, HullBar{points_bar.data(), nullptr});
    DotTest dots;
    for (int i = 0; i < 3; ++i) dots.out(bar[i], n.u[i].tangent[0]);
    for (std::size_t i = 0; i < points_bar.size(); ++i) dots.in(points_bar[i], prism.tangents[i]);
    CHECK(dots.error() < 1e-13);
    CHECK(std::abs(dots.forward) > 1e-3);
  }
}

TEST_CASE("hull: kept normals are given back at their points, and turn with them elsewhere") {
  TestHull prism(prism_parts(5), prism_points(5, 0.4, 0.3));
  FixedNumbers random(8);
  std::vector<double> normals;
  for (int polygon = 0; polygon < 7; ++polygon) {
    const Vec3<double> n =
        direction(newell_normal<double>(prism.hull, polygon).u + random_vector(random) * 1e-6,
                  Vec3<double>{})
            .u;
    normals.insert(normals.end(), {n.x, n.y, n.z});
  }
  normals[0] = -normals[0], normals[1] = -normals[1];  // no normal of its polygon
  keep_normals(prism.points.data(), normals, prism.table);
  for (int polygon = 0; polygon < 7; ++polygon) {
    const Vec3<double> n = polygon_normal<double>(prism.hull, polygon).u;
    for (int k = 0; k < 3; ++k) {
      const double kept = normals[static_cast<std::size_t>(3 * polygon + k)];
      if (polygon > 0) CHECK(std::abs(n[k] - kept) < 1e-15);
    }
  }
  const Vec3<double> own = newell_normal<double>(prism.hull, 0).u;
  CHECK(dot(polygon_normal<double>(prism.hull, 0).u, own) > 1 - 1e-14);
  for (double& x : prism.points) x += 0.02 * random.next();
  for (double& x : prism.tangents) x = random.next();
  for (int polygon = 0; polygon < 7; ++polygon) {
    const Direction<D> n = polygon_normal<D>(prism.hull, polygon);
    const Vec3<double> bar = random_vector(random);
    std::vector<double> points_bar(prism.points.size(), 0.0);
    polygon_normal_bar(prism.hull, polygon, bar, HullBar{points_bar.data(), nullptr});
    DotTest dots;
    for (int i = 0; i < 3; ++i) dots.out(bar[i], n.u[i].tangent[0]);
    for (std::size_t i = 0; i < points_bar.size(); ++i) dots.in(points_bar[i], prism.tangents[i]);
    CHECK(dots.error() < 1e-13);
  }
}

TEST_CASE("hull: packed corners are those of the mesh, and climbing finds the same") {
  const int n = 40;
  TestHull prism(prism_parts(n), prism_points(n, 0.4, 0.3));
  std::vector<double> packed;
  for (int c = 0; c < 2 * n; ++c) {
    const Vec3<double> v = prism.hull.corner<double>(c);
    packed.insert(packed.end(), {v.x, v.y, v.z});
  }
  Hull again = prism.hull;
  again.packed = packed.data();
  find_starts(prism.points.data(), prism.table);
  CHECK(prism.table.start.size() == kStarts);
  FixedNumbers random(12);
  for (int trial = 0; trial < 50; ++trial) {
    const Vec3<double> m = random_vector(random);
    const int found = prism.hull.furthest(m, -1);
    CHECK(again.furthest(m, -1) == found);
    CHECK(again.furthest(m, trial) == found);
    for (int c = 0; c < 2 * n; ++c) {
      CHECK(dot(m, again.corner<double>(c)) <= dot(m, again.corner<double>(found)));
    }
  }
}

TEST_CASE("hull: parts that are no closed surface, or too many, are refused") {
  HullParts open = prism_parts(4);
  open.triangles.resize(open.triangles.size() - 3);
  CHECK_THROWS_AS(make_hull(open), ModelError);
  HullParts foreign = prism_parts(4);
  foreign.triangles[0] = 77;
  CHECK_THROWS_AS(make_hull(foreign), ModelError);
  HullParts many;
  many.corners.assign(kMostCorners + 1, 0);
  CHECK_THROWS_AS(make_hull(many), ModelError);
}

}  // namespace cycloid::test::hull_test
