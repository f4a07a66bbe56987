// Tests of solid_shape.h: the table of pairs with meshes and height fields.
#include "cycloid/rigid/contact/solid_shape.h"

#include "cycloid/geometry/convex/hull_case_test.h"
#include "cycloid/rigid/contact/narrow_phase.h"

namespace cycloid::test::solid_shape_test {

// A mesh and a height field of a model.
struct Solids {
  Mesh mesh;
  HeightData data;
  HullTable table;
  SolidShape hull, field;

  Solids() {
    const HullParts parts = prism_parts(6);
    mesh.vertex = prism_points(6, 0.3, 0.2);
    mesh.corners = parts.corners, mesh.triangles = parts.triangles;
    mesh.polygons = parts.polygons.member;
    mesh.polygon_end.assign(parts.polygons.first.begin() + 1, parts.polygons.first.end());
    const HullTable own = make_hull(parts);
    mesh.neighbours = own.neighbours.member;
    mesh.neighbour_end.assign(own.neighbours.first.begin() + 1, own.neighbours.first.end());
    mesh.seeds = parts.seed;
    table = make_hull(hull_parts(mesh));
    data.rows = 4, data.columns = 5, data.size = {1, 0.8, 0.4, 0.1};
    FixedNumbers random(31);
    for (int i = 0; i < 20; ++i) data.data.push_back(0.4 * std::abs(random.next()));
  }
  template <class T>
  void set(const SolidArrays<T>& arrays) {
    hull = solid_mesh(mesh, table, 0, arrays);
    field = solid_field(data, 1, arrays);
  }
  PairSolids of(GeomKind k1, GeomKind k2) const {
    const auto one = [&](GeomKind k) {
      return k == GeomKind::mesh ? &hull : k == GeomKind::hfield ? &field : nullptr;
    };
    return {one(k1), one(k2), true};
  }
};

TEST_CASE("solid_mesh, solid_field: numbers of the run, of the model where there are none") {
  Solids s;
  s.set(SolidArrays<double>{});
  CHECK(s.hull.hull.points == s.mesh.vertex.data());
  CHECK(std::abs(s.hull.radius - std::hypot(0.3, 0.2)) < 1e-15);
  CHECK(s.field.field.data == s.data.data.data());
  CHECK(s.field.radius > std::hypot(1.0, 0.8));
  const std::vector<float> vertex(s.mesh.vertex.begin(), s.mesh.vertex.end()),
      heights(s.data.data.begin(), s.data.data.end());
  const float* arrays[2] = {vertex.data(), heights.data()};
  s.set(SolidArrays<float>{arrays});
  CHECK(s.hull.hull.single == vertex.data());
  CHECK(s.field.field.single == heights.data());
  CHECK(s.hull.hull.corner<double>(3).y == double(vertex[10]));
}

TEST_CASE("collide: pairs with solids, and their pullback, by the functions of room geometry") {
  Solids s;
  std::vector<double> vertex_bar(s.mesh.vertex.size()), data_bar(s.data.data.size());
  const double* arrays[2] = {s.mesh.vertex.data(), s.data.data.data()};
  double* bars[2] = {vertex_bar.data(), data_bar.data()};
  s.set(SolidArrays<double>{arrays, bars});
  const Pose<double> ground{identity_matrix<double, 3>(), {0.02, 0.01, 0}};
  int pairs = 0;
  for (int i = 0; i < kGeomKinds; ++i) {
    for (int j = i; j < kGeomKinds; ++j) {
      const GeomKind k1 = static_cast<GeomKind>(i), k2 = static_cast<GeomKind>(j);
      const bool grounds = j <= static_cast<int>(GeomKind::hfield);
      if ((!is_solid(k1) && !is_solid(k2)) || grounds) continue;
      ++pairs;
      const PairSolids solids = s.of(k1, k2);
      const double z = i <= 1 ? 0.25 : 0.35;
      Pose<double> above{identity_matrix<double, 3>(), {0.1, 0.05, z}};
      const double s1[3] = {solids.one ? solids.one->radius : 0.2, 0.2, 0.2},
                   s2[3] = {solids.two ? solids.two->radius : 0.2, 0.2, 0.2};
      Touch<double> out[kMostTouches], again[kMostTouches];
      double feature[2 * kMostTouches];
      collide(k1, k2, s1, ground, s2, above, 0.1, out, feature, solids);
      REQUIRE(feature[0] >= 0);
      collide_again(k1, k2, s1, ground, s2, above, 0.1, static_cast<const double*>(feature), again,
                    solids);
      TouchBar<double> bar[kMostTouches];
      double force = 0;
      for (int k = 0; k < most_touches(k1, k2); ++k) {
        bar[k] = {1, {}, {}, {}};
        if (feature[k] < 0) continue;
        CHECK(again[k].dist == out[k].dist);
        force += out[k].normal.z;
      }
      std::fill(vertex_bar.begin(), vertex_bar.end(), 0.0);
      std::fill(data_bar.begin(), data_bar.end(), 0.0);
      PoseBar<double> x1_bar{}, x2_bar{};
      double s1_bar[3] = {}, s2_bar[3] = {};
      collide_pullback(k1, k2, s1, ground, s2, above, static_cast<const double*>(feature),
                       static_cast<const Touch<double>*>(out),
                       static_cast<const TouchBar<double>*>(bar), x1_bar, x2_bar, s1_bar, s2_bar,
                       solids);
      // Lifting the second geom opens each contact by its normal's z.
      CHECK(std::abs(x2_bar.force.z - force) < 1e-12);
      CHECK(std::abs(x1_bar.force.z + force) < 1e-12);
      double points = 0, heights = 0;
      for (std::size_t k = 2; k < vertex_bar.size(); k += 3) points += vertex_bar[k];
      for (const double h : data_bar) heights += h;
      // So does lifting all points of a mesh; of two, they are the same array.
      if (k2 == GeomKind::mesh && k1 != k2) CHECK(std::abs(points - force) < 1e-12);
      if (k1 == GeomKind::mesh) CHECK(std::abs(points) < 1e-12);
      if (k1 == GeomKind::hfield) CHECK(heights < 0);
    }
  }
  CHECK(pairs == 13);
  mark_operator_tested("collide_solids");
}

}  // namespace cycloid::test::solid_shape_test
