// Tests of field_pair.h and height_field.h.
#include "cycloid/geometry/convex/field_pair.h"

#include "cycloid/geometry/convex/hull_case_test.h"

namespace cycloid::test::field_pair_test {

struct Terrain {
  std::vector<double> data, tangents;
  HeightField field;
  Terrain() {
    FixedNumbers random(23);
    for (int i = 0; i < 5 * 6; ++i) data.push_back(0.3 * std::abs(random.next()));
    tangents.assign(data.size(), 0.0);
    field.rows = 5, field.columns = 6;
    const double size[4] = {1, 0.8, 0.5, 0.2};
    std::copy_n(size, 4, field.size);
    field.data = data.data(), field.tangent = tangents.data();
    field.radius = 1.5;
  }
};

TEST_CASE("prism: six corners over a triangle of the grid, that know their heights") {
  const Terrain t;
  CHECK(t.field.prisms() == 40);
  for (int i = 0; i < t.field.prisms(); ++i) {
    const Prism p(t.field, i);
    for (int k = 0; k < 3; ++k) {
      CHECK(p.point[3 * k + 2] == -0.2);
      CHECK(p.point[3 * (3 + k) + 2] == 0.5 * t.data[static_cast<std::size_t>(p.at[k])]);
      CHECK(p.point[3 * k] == p.point[3 * (3 + k)]);
    }
    // Triangles look outwards.
    Vec3<double> middle{};
    for (int k = 0; k < 6; ++k) middle += p.hull.corner<double>(k) * (1.0 / 6);
    for (int k = 0; k < 8; ++k) {
      const Vec3<double> corner = p.hull.corner<double>(p.hull.table->triangle[3 * k]);
      CHECK(dot(triangle_normal<double>(p.hull, k), corner - middle) > 0);
    }
  }
}

TEST_CASE("collide_field: a ball lies on a flat field as on a plane") {
  Terrain t;
  t.data.assign(t.data.size(), 0.5);
  const Pose<double> x1{identity_matrix<double, 3>(), {0, 0, 1}},
      x2{identity_matrix<double, 3>(), {0.13, 0.07, 1.25 + 0.09}};
  const double s1[3] = {1.5, 0, 0}, s2[3] = {0.1, 0, 0};
  Touch<double> out[kFieldTouches];
  double f[kFieldTouches], f2[kFieldTouches];
  collide_field(GeomKind::sphere, s1, x1, s2, x2, 0.0, t.field, nullptr, out, f, f2);
  double deepest = 0;
  for (int k = 0; k < kFieldTouches; ++k)
    deepest = f[k] >= 0 ? std::min(deepest, out[k].dist) : deepest;
  CHECK(std::abs(deepest + 0.01) < 1e-14);
}

TEST_CASE("collide_field: a ball sunk into a small cell of a large field leaves by its top") {
  FixedNumbers random(6);
  std::vector<double> data(280 * 240);
  for (double& h : data) h = std::abs(random.next());
  HeightField field;
  field.rows = 240, field.columns = 280;
  field.size[0] = 20.1, field.size[1] = 20, field.size[2] = 0.05, field.size[3] = 0.1;
  field.data = data.data(), field.radius = 28.4;
  const Pose<double> x1{identity_matrix<double, 3>(), {0, 0, 0}};
  const double s1[3] = {28.4, 0, 0}, s2[3] = {0.014, 0, 0};
  for (int trial = 0; trial < 30; ++trial) {
    const int number = 2 * (100 * 279 + 30 + 7 * trial) + trial % 2;
    const Prism prism(field, number);
    const Vec3<double> a = prism.hull.corner<double>(3), b = prism.hull.corner<double>(4),
                       c = prism.hull.corner<double>(5);
    const Vec3<double> n = direction(cross(b - a, c - a), Vec3<double>{}).u;
    const Pose<double> x2{identity_matrix<double, 3>(), (a + b + c) * (1.0 / 3) - n * 1e-4};
    Touch<double> out[kFieldTouches];
    double f[kFieldTouches], f2[kFieldTouches];
    collide_field(GeomKind::sphere, s1, x1, s2, x2, 0.0, field, nullptr, out, f, f2);
    int met = 0;
    for (int k = 0; k < kFieldTouches; ++k) {
      if (f[k] != number) continue;
      ++met;
      CHECK(std::abs(out[k].dist + 0.0141) < 1e-12);
      CHECK(dot(out[k].normal, n) > 1 - 1e-12);
    }
    CHECK(met == 1);
  }
}

TEST_CASE("collide_field: pullback equals dual numbers for poses, sizes, heights and points") {
  Terrain t;
  TestHull prism(prism_parts(5), prism_points(5, 0.25, 0.2));
  FixedNumbers random(29);
  for (const GeomKind k2 : {GeomKind::sphere, GeomKind::capsule, GeomKind::ellipsoid,
                            GeomKind::cylinder, GeomKind::box, GeomKind::mesh}) {
    int checked = 0;
    const bool mesh = k2 == GeomKind::mesh;
    const Hull* hull = mesh ? &prism.hull : nullptr;
    for (int trial = 0; trial < 40; ++trial) {
      const Pose<double> x1 = random_pose(random, 0.2);
      Pose<double> x2 = random_pose(random, 0);
      x2.p = x1.p + x1.R * Vec3<double>{0.4 * random.next(), 0.3 * random.next(),
                                        0.25 + 0.1 * random.next()};
      const Vec3<double> v1 = random_vector(random), w1 = random_vector(random),
                         v2 = random_vector(random), w2 = random_vector(random);
      for (double& x : t.tangents) x = random.next();
      for (double& x : prism.tangents) x = random.next();
      const double s1[3] = {1.5, 0, 0}, s2[3] = {mesh ? prism.hull.radius : 0.12, 0.1, 0.15};
      double t2[3];
      D d1[3] = {D(1.5), D(0.0), D(0.0)}, d2[3];
      for (int i = 0; i < 3; ++i) {
        t2[i] = random.next();
        d2[i] = D(s2[i]);
        if (i < size_numbers(k2)) d2[i].tangent[0] = t2[i];
      }
      Touch<D> out[kFieldTouches];
      D feature[kFieldTouches], feature2[kFieldTouches];
      collide_field(k2, static_cast<const D*>(d1), moving(x1, v1, w1), static_cast<const D*>(d2),
                    moving(x2, v2, w2), D(0.01), t.field, hull, out, feature, feature2);
      if (feature[0].value < 0) continue;
      ++checked;
      DotTest dots;
      TouchBar<double> bar[kFieldTouches];
      take_touches(random, out, feature, kFieldTouches, bar, dots);
      double f[kFieldTouches], f2[kFieldTouches];
      Touch<double> plain[kFieldTouches];
      collide_field(k2, s1, x1, s2, x2, 0.01, t.field, hull, plain, f, f2);
      PoseBar<double> x1_bar{}, x2_bar{};
      double s1_bar[3] = {}, s2_bar[3] = {};
      std::vector<double> data_bar(t.data.size(), 0.0), points_bar(prism.points.size(), 0.0);
      collide_field_pullback(k2, s1, x1, s2, x2, t.field, hull, static_cast<const double*>(f),
                             static_cast<const double*>(f2),
                             static_cast<const TouchBar<double>*>(bar), x1_bar, x2_bar, s1_bar,
                             s2_bar, {data_bar.data(), nullptr}, {points_bar.data(), nullptr},
                             nullptr, static_cast<const Touch<double>*>(plain));
      dots.in(x1_bar.force, v1), dots.in(x1_bar.torque, w1);
      dots.in(x2_bar.force, v2), dots.in(x2_bar.torque, w2);
      for (int i = 0; i < size_numbers(k2); ++i) dots.in(s2_bar[i], t2[i]);
      for (std::size_t i = 0; i < data_bar.size(); ++i) dots.in(data_bar[i], t.tangents[i]);
      for (std::size_t i = 0; i < points_bar.size(); ++i) dots.in(points_bar[i], prism.tangents[i]);
      CHECK_MESSAGE(dots.error() < 1e-9, "kind ", static_cast<int>(k2), ": ", dots.error());
    }
    CHECK(checked > 10);
  }
  mark_operator_tested("collide_field");
}

}  // namespace cycloid::test::field_pair_test
