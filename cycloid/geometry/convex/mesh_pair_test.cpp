// Tests of mesh_pair.h, mesh_manifold.h and flat_contact.h.
#include "cycloid/geometry/convex/mesh_pair.h"

#include "cycloid/geometry/convex/hull_case_test.h"
#include "cycloid/geometry/pair/box_box.h"

namespace cycloid::test::mesh_pair_test {

constexpr GeomKind kOthers[] = {GeomKind::sphere,   GeomKind::capsule, GeomKind::ellipsoid,
                                GeomKind::cylinder, GeomKind::box,     GeomKind::mesh};

// A placement in which the geoms nearly touch: any orientation, or faces along each other but for a
// little.
struct Placement {
  Pose<double> x1, x2;
  Vec3<double> size1;
};

Placement random_placement(FixedNumbers& random, int trial) {
  Placement at{random_pose(random, 0.5), {}, {0.2, 0.25, 0.15}};
  at.x2 = random_pose(random, 0);
  if (trial % 3 > 0) {
    const double little = trial % 3 == 1 ? 0.01 : 1e-12;
    const Mat3<double> tilt =
        unit_rotation({1, little * random.next(), little * random.next(), little * random.next()});
    const int turn = trial / 3 % 3;
    for (int k = 0; k < 3; ++k) {
      const Vec3<double> moved = tilt * axis(at.x1, (k + turn) % 3);
      for (int i = 0; i < 3; ++i) at.x2.R(i, k) = moved[i];
    }
  }
  const Vec3<double> to = trial % 3 > 0 ? axis(at.x1, 2) + axis(at.x1, 0) * (0.3 * random.next())
                                        : random_vector(random);
  at.x2.p = at.x1.p + to * (0.7 * std::abs(random.next()) / std::sqrt(dot(to, to)));
  return at;
}

TEST_CASE("collide_mesh: pullback equals dual numbers for poses, sizes and points") {
  TestHull one(prism_parts(6), prism_points(6, 0.3, 0.2)),
      two(prism_parts(5), prism_points(5, 0.25, 0.3));
  FixedNumbers random(11);
  for (const GeomKind k1 : kOthers) {
    const bool mesh = k1 == GeomKind::mesh;
    std::map<int, int> met;  // kinds of contacts
    int checked = 0;
    for (int trial = 0; trial < 1500; ++trial) {
      const Placement at = random_placement(random, trial);
      const Vec3<double> v1 = random_vector(random), w1 = random_vector(random),
                         v2 = random_vector(random), w2 = random_vector(random);
      const PairHulls hulls{mesh ? &one.hull : nullptr, &two.hull};
      double s1[3] = {mesh ? one.hull.radius : at.size1.x, at.size1.y, at.size1.z},
             s2[3] = {two.hull.radius, 0, 0}, t1[3];
      D d1[3], d2[3] = {D(s2[0]), D(0.0), D(0.0)};
      for (int i = 0; i < 3; ++i) {
        t1[i] = random.next();
        d1[i] = D(s1[i]);
        if (i < size_numbers(k1)) d1[i].tangent[0] = t1[i];
      }
      for (double& x : one.tangents) x = random.next();
      for (double& x : two.tangents) x = random.next();
      Touch<D> out[kMeshTouches];
      D feature[kMeshTouches], feature2[kMeshTouches];
      collide_mesh(k1, GeomKind::mesh, d1, moving(at.x1, v1, w1), d2, moving(at.x2, v2, w2),
                   D(0.05), hulls, out, feature, feature2);
      const int places = mesh_touches(k1, GeomKind::mesh);
      double f[kMeshTouches], f2[kMeshTouches];
      bool any_met = false, rare = false;
      for (int k = 0; k < places; ++k) {
        f[k] = feature[k].value, f2[k] = feature2[k].value;
        const std::int64_t code = take_code(f[k], f2[k], 0);
        if (code < 0) continue;
        any_met = true;
        const MeshContact c = decode_mesh(code, k1, GeomKind::mesh, hulls.one, hulls.two);
        CHECK(encode(c, k1, GeomKind::mesh, hulls.one, hulls.two) == code);
        CHECK(code < kCodeHalf * kCodeHalf);
        int kind = 1000 * static_cast<int>(c.kind);
        if (c.kind == MeshContactKind::closest) {
          kind += 10 * static_cast<int>(feature_form(k1, c.closest.code1, hulls.one)) +
                  static_cast<int>(feature_form(GeomKind::mesh, c.closest.code2, hulls.two));
        } else {
          kind += c.kind == MeshContactKind::faces
                      ? static_cast<int>(c.faces.corner)
                      : 10 * c.edge.on_second + static_cast<int>(c.edge.end);
        }
        rare = ++met[kind] < 6 || rare;
      }
      if (!any_met || !rare) continue;
      ++checked;
      DotTest dots;
      TouchBar<double> bar[kMeshTouches];
      take_touches(random, out, feature, places, bar, dots);
      PoseBar<double> x1_bar{}, x2_bar{};
      double s1_bar[3] = {}, s2_bar[3] = {};
      std::vector<double> one_bar(one.points.size(), 0.0), two_bar(two.points.size(), 0.0);
      Touch<double> plain[kMeshTouches];
      double g[kMeshTouches], g2[kMeshTouches];
      collide_mesh(k1, GeomKind::mesh, s1, at.x1, s2, at.x2, 0.05, hulls, plain, g, g2);
      collide_mesh_pullback(k1, GeomKind::mesh, s1, at.x1, s2, at.x2, hulls,
                            static_cast<const double*>(f), static_cast<const double*>(f2),
                            static_cast<const TouchBar<double>*>(bar), x1_bar, x2_bar, s1_bar,
                            s2_bar, {{one_bar.data(), nullptr}, {two_bar.data(), nullptr}, nullptr},
                            static_cast<const Touch<double>*>(plain));
      for (int k = 0; k < places; ++k) CHECK(g[k] == f[k]);
      dots.in(x1_bar.force, v1), dots.in(x1_bar.torque, w1);
      dots.in(x2_bar.force, v2), dots.in(x2_bar.torque, w2);
      for (int i = 0; i < size_numbers(k1); ++i) dots.in(s1_bar[i], t1[i]);
      for (std::size_t i = 0; mesh && i < one_bar.size(); ++i) dots.in(one_bar[i], one.tangents[i]);
      for (std::size_t i = 0; i < two_bar.size(); ++i) dots.in(two_bar[i], two.tangents[i]);
      CHECK_MESSAGE(dots.error() < 1e-9, "kind ", static_cast<int>(k1), " trial ", trial, ": ",
                    dots.error());
    }
    CHECK(checked >= 15);
    if (k1 == GeomKind::box || k1 == GeomKind::mesh) CHECK(met.size() >= 9);
  }
  mark_operator_tested("collide_mesh");
}

TEST_CASE("collide_mesh: a box as a mesh touches a box where a box does") {
  // Corner k of the mesh has bit i of k for the sign along axis i.
  HullParts parts;
  parts.polygons.first = {0};
  const int sides[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                           {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
  for (int i = 0; i < 8; ++i) parts.corners.push_back(i);
  for (const auto& s : sides) {
    for (const int c : {s[0], s[1], s[2], s[0], s[2], s[3]}) parts.triangles.push_back(c);
    parts.polygons.member.insert(parts.polygons.member.end(), s, s + 4);
    parts.polygons.first.push_back(static_cast<int>(parts.polygons.member.size()));
  }
  std::vector<double> points;
  for (int i = 0; i < 8; ++i) {
    for (const double x : {i & 1 ? 0.3 : -0.3, i & 2 ? 0.2 : -0.2, i & 4 ? 0.1 : -0.1}) {
      points.push_back(x);
    }
  }
  const TestHull cube(parts, points);
  FixedNumbers random(7);
  int touched = 0;
  for (int trial = 0; trial < 600; trial += 3) {  // any orientation
    const Placement at = random_placement(random, trial);
    const double s1[3] = {0.25, 0.15, 0.2}, s2[3] = {0.3, 0.2, 0.1},
                 radius[3] = {cube.hull.radius, 0, 0};
    Touch<double> box[8], mesh[kMeshTouches];
    double f[8], g[kMeshTouches], g2[kMeshTouches];
    collide_box_box(s1, at.x1, s2, at.x2, 0.0, box, f);
    collide_mesh(GeomKind::box, GeomKind::mesh, s1, at.x1, radius, at.x2, 0.0,
                 {nullptr, &cube.hull}, mesh, g, g2);
    CHECK((f[0] >= 0) == (g[0] >= 0));
    if (f[0] < 0 || g[0] < 0) continue;
    double deepest = 0, deepest_mesh = 0;
    for (int k = 0; k < 8; ++k) deepest = f[k] >= 0 ? std::min(deepest, box[k].dist) : deepest;
    for (int k = 0; k < kMeshTouches; ++k) {
      deepest_mesh = g[k] >= 0 ? std::min(deepest_mesh, mesh[k].dist) : deepest_mesh;
    }
    // Faces within 5.1° are measured along the normal of the other face.
    CHECK(deepest_mesh >= 1.01 * deepest - 1e-12);
    ++touched;
  }
  CHECK(touched > 30);
}

TEST_CASE("collide_mesh: lanes find and pull back what scalars do, bit for bit") {
  using S = Pack<double, 4>;
  const TestHull one(prism_parts(12), prism_points(12, 0.3, 0.2)),
      two(prism_parts(5), prism_points(5, 0.25, 0.3));
  FixedNumbers random(13);
  int touched = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Pose<S> x1, x2;
    Placement at[4];
    for (int l = 0; l < 4; ++l) {
      at[l] = random_placement(random, trial + l);
      for (int i = 0; i < 9; ++i) {
        put_lane(x1.R.e[i], l, at[l].x1.R.e[i]), put_lane(x2.R.e[i], l, at[l].x2.R.e[i]);
      }
      put_lane(x1.p, l, at[l].x1.p), put_lane(x2.p, l, at[l].x2.p);
    }
    const S s1[3] = {S(one.hull.radius), S(0), S(0)}, s2[3] = {S(two.hull.radius), S(0), S(0)};
    const PairHulls hulls{&one.hull, &two.hull};
    Touch<S> out[kMeshTouches];
    S f[kMeshTouches], f2[kMeshTouches];
    collide_mesh(GeomKind::mesh, GeomKind::mesh, s1, x1, s2, x2, S(0), hulls, out, f, f2);
    for (int l = 0; l < 4; ++l) {
      const double a[3] = {one.hull.radius, 0, 0}, b[3] = {two.hull.radius, 0, 0};
      Touch<double> alone[kMeshTouches];
      double g[kMeshTouches], g2[kMeshTouches];
      collide_mesh(GeomKind::mesh, GeomKind::mesh, a, at[l].x1, b, at[l].x2, 0.0, hulls, alone, g,
                   g2);
      for (int k = 0; k < kMeshTouches; ++k) {
        CHECK(lane(f[k], l) == g[k]);
        if (g[k] < 0) continue;
        ++touched;
        CHECK(lane(out[k].dist, l) == alone[k].dist);
        CHECK(lane(out[k].pos.x, l) == alone[k].pos.x);
        CHECK(lane(out[k].normal.z, l) == alone[k].normal.z);
      }
    }
  }
  CHECK(touched > 50);
}

TEST_CASE("collide_mesh: what is flat, coincident, huge or not finite ends, and finite is finite") {
  const double nan = std::nan("");
  for (const double scale : {1.0, 0.0, 1e-9, 1e6, nan}) {
    std::vector<double> points = prism_points(6, 0.3, 0.2);
    for (double& x : points) x *= scale;
    const TestHull odd(prism_parts(6), points), usual(prism_parts(6), prism_points(6, 0.3, 0.2));
    for (const GeomKind k1 : kOthers) {
      for (const double x : {0.0, 0.1, 1e-12, nan}) {
        const Pose<double> p1{identity_matrix<double, 3>(), {x, 0, 0}},
            p2{identity_matrix<double, 3>(), {}};
        const bool mesh = k1 == GeomKind::mesh;
        const double s1[3] = {mesh ? usual.hull.radius : 0.2, 0.1, 0.1}, s2[3] = {1e7, 0, 0};
        Touch<double> out[kMeshTouches];
        double f[kMeshTouches], f2[kMeshTouches];
        collide_mesh(k1, GeomKind::mesh, s1, p1, s2, p2, 0.0,
                     {mesh ? &usual.hull : nullptr, &odd.hull}, out, f, f2);
        for (int k = 0; k < mesh_touches(k1, GeomKind::mesh); ++k) {
          if (!(f[k] >= 0) || std::isnan(scale) || std::isnan(x)) continue;
          CHECK(std::isfinite(out[k].dist));
          CHECK(std::isfinite(out[k].pos.x));
        }
      }
    }
  }
}

}  // namespace cycloid::test::mesh_pair_test
