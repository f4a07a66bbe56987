// Tests of convex_feature.h: forms, support points and their derivative.
#include "cycloid/geometry/convex/convex_feature.h"

#include "cycloid/geometry/convex/support.h"
#include "cycloid/geometry/pair/branching_case_test.h"

namespace cycloid::test::convex_feature_test {

using V = Vec3<double>;

constexpr GeomKind kKinds[] = {GeomKind::sphere, GeomKind::capsule, GeomKind::ellipsoid,
                               GeomKind::cylinder, GeomKind::box};

int codes_of(GeomKind kind) {
  return kind == GeomKind::box        ? kFeatureCodes
         : kind == GeomKind::cylinder ? 5
         : kind == GeomKind::capsule  ? 3
                                      : 1;
}

TEST_CASE(
    "shape_feature: some pointed feature of a shape has its support point, none goes beyond") {
  FixedNumbers random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const GeomPair<double> g = pair_of(random_placement(random, 0, 1));
    const V m = normalise(load_vec3(random.vector(3).data()));
    for (const GeomKind kind : kKinds) {
      const double furthest = dot(m, support_point({kind, g.x1, g.size1}, m) - g.x1.p);
      double best = -1;
      for (int code = 0; code < codes_of(kind); ++code) {
        const ShapeFeature<double> f = shape_feature(kind, g.x1, g.size1, code);
        const double along = dot(m, feature_point(f, g.x1, g.size1, m).x);
        CHECK(along <= furthest + 1e-15);
        best = std::max(best, along);
      }
      CHECK(std::abs(best - furthest) < 1e-15);
    }
  }
}

TEST_CASE("apply_curvature: the derivative of the support point, against dual numbers") {
  using D = Dual<double, 1>;
  FixedNumbers random(9);
  const GeomPair<double> g = pair_of(random_placement(random, 0, 1));
  Pose<D> x;
  for (int i = 0; i < 9; ++i) x.R.e[i] = D(g.x1.R.e[i]);
  const Vec3<D> size{D(g.size1.x), D(g.size1.y), D(g.size1.z)};
  const V m = normalise(V{0.3, -0.5, 0.7}), y{0.2, 0.9, -0.4};
  Vec3<D> m_dual{D(m.x), D(m.y), D(m.z)};
  for (int i = 0; i < 3; ++i) m_dual[i].tangent[0] = y[i];
  for (const auto& [kind, code] :
       {std::pair(GeomKind::ellipsoid, 0), std::pair(GeomKind::cylinder, kUpperRim)}) {
    const auto f = shape_feature(kind, g.x1, g.size1, code);
    const V ky = apply_curvature(f, g.x1, g.size1, feature_point(f, g.x1, g.size1, m), y);
    const auto moved = feature_point(shape_feature(kind, x, size, code), x, size, m_dual).x;
    for (int i = 0; i < 3; ++i) CHECK(std::abs(moved[i].tangent[0] - ky[i]) < 1e-14);
    CHECK(dot(ky, ky) > 1e-4);
  }
}

}  // namespace cycloid::test::convex_feature_test
