#include "cycloid/rigid/sense/ray_sensor.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::ray_sensor_test {

using test::Numbers;

using V = Vec3<double>;

// [size, p, d], with d not of length one, as a change of it is not.
void check(Shape shape, const std::vector<Numbers>& points) {
  const auto value = [&](const auto* in, auto* out) {
    out[0] = ray_distance(shape, load_vec3(in), load_vec3(in + 3), load_vec3(in + 6));
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const Vec3<S> size = load_vec3(in), p = load_vec3(in + 3), d = load_vec3(in + 6);
    Vec3<S> size_bar{}, p_bar{}, d_bar{};
    ray_distance_pullback(shape, size, p, d, ray_distance(shape, size, p, d), out_bar[0], size_bar,
                          p_bar, d_bar);
    add_to(in_bar, size_bar), add_to(in_bar + 3, p_bar), add_to(in_bar + 6, d_bar);
  };
  test::check_pullback("ray_distance", 1, value, pullback, points);
}

// Geoms of every shape around a site of the arm, on bodies that move and on ones that stand.
Model seen() {
  Model m = test::TwoTrees::make().model;
  const auto add = [&](int body, Shape shape, std::array<double, 3> pos,
                       std::array<double, 3> size) {
    Named<Geom> g;
    g.body = body;
    g.shape = shape;
    g.pos = pos;
    g.quat = {0.9, 0.1, -0.2, 0.3};
    g.size = size;
    g.fluid[0] = 1;  // so that its numbers are parameters
    m.geoms.push_back(g);
  };
  add(7, Shape::box, {0, 0, 0}, {0.8, 0.9, 0.7});
  add(6, Shape::ellipsoid, {0.1, 0.2, 0}, {2.8, 2.9, 2.7});
  add(5, Shape::capsule, {0, 0.1, 0}, {1.2, 0.5, 0});
  add(0, Shape::sphere, {1, 0, 0}, {9, 0, 0});
  return m;
}

TEST_CASE("ray_distance: entries, exits, misses, and a plane from above alone") {
  const V x{1, 0, 0}, down{0, 0, -1}, ball{0.5, 0, 0};
  CHECK(ray_distance(Shape::sphere, ball, V{-2, 0, 0}, x) == doctest::Approx(1.5));
  CHECK(ray_distance(Shape::sphere, ball, V{0.1, 0, 0}, x) == doctest::Approx(0.4));
  CHECK(ray_distance(Shape::sphere, ball, V{2, 0, 0}, x) == -1);
  CHECK(ray_distance(Shape::sphere, ball, V{-2, 0.6, 0}, x) == -1);
  CHECK(ray_distance(Shape::box, V{0.5, 0.4, 0.3}, V{-2, 0, 0}, x) == doctest::Approx(1.5));
  CHECK(ray_distance(Shape::cylinder, V{0.5, 0.4, 0}, V{0, 0, 2}, down) == doctest::Approx(1.6));
  CHECK(ray_distance(Shape::capsule, V{0.5, 0.4, 0}, V{0, 0, 2}, down) == doctest::Approx(1.1));
  CHECK(ray_distance(Shape::capsule, V{0.5, 0.4, 0}, V{-2, 0, 0.6}, x) ==
        doctest::Approx(2 - std::sqrt(0.25 - 0.04)));
  CHECK(ray_distance(Shape::ellipsoid, V{0.5, 0.4, 0.3}, V{0, 0, 2}, down) == doctest::Approx(1.7));
  CHECK(ray_distance(Shape::plane, V{1, 1, 0}, V{0.5, 0, 2}, down) == doctest::Approx(2));
  CHECK(ray_distance(Shape::plane, V{1, 1, 0}, V{1.5, 0, 2}, down) == -1);
  CHECK(ray_distance(Shape::plane, V{0, 0, 0}, V{1.5, 0, 2}, down) == doctest::Approx(2));
  CHECK(ray_distance(Shape::plane, V{0, 0, 0}, V{0, 0, -2}, V{0, 0, 1}) == -1);
}

TEST_CASE("ray_distance: pullback equals dual numbers for every shape, from outside and inside") {
  const Numbers outside = {0.5, 0.4, 0.3, -1.4, 0.2, 0.9, 0.8, -0.05, -0.55},
                inside = {0.5, 0.4, 0.3, 0.1, 0.05, -0.1, 0.8, -0.3, -0.5},
                above = {0.5, 0.4, 0.3, 0.1, 0.05, 1.4, 0.05, 0.08, -0.9};
  for (const Shape shape :
       {Shape::sphere, Shape::ellipsoid, Shape::capsule, Shape::cylinder, Shape::box}) {
    check(shape, {outside, inside, above});
  }
  check(Shape::plane, {above});
}

TEST_CASE("cast_ray: pullback equals dual numbers, whichever geom a lane sees") {
  const Tree tree(seen());
  const std::vector<Numbers> points = test::scene_points(tree);
  const auto frame = [&](const auto& at) {
    return sensed_frame(tree, at.p.data(), frame_mount(tree, static_cast<int>(ObjectKind::site), 3),
                        at.frames, at.v.data(), at.m.data());
  };
  for (const Numbers& x : points) {
    const test::Scene<double> at(tree, x.data());
    const auto hit = cast_ray(tree, at.p.data(), frame(at), at.frames, at.v.data(), at.m.data());
    CHECK(hit.t > 0);
  }
  test::check_pullback(
      "cast_ray", 1,
      [&](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const test::Scene<S> at(tree, in);
        out[0] = cast_ray(tree, at.p.data(), frame(at), at.frames, at.v.data(), at.m.data()).t;
      },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const test::Scene<S> at(tree, in);
        test::SceneBars<S> bars(at, in);
        const auto o = frame(at);
        SensedFrameBars<S> o_bar;
        const auto hit = cast_ray(tree, at.p.data(), o, at.frames, at.v.data(), at.m.data());
        cast_ray_pullback(tree, at.p.data(), o, at.frames, at.v.data(), at.m.data(), hit, S(1),
                          o_bar, bars.bodies, bars.p_bar.data());
        sensed_frame_pullback(tree, frame_mount(tree, static_cast<int>(ObjectKind::site), 3),
                              at.frames, at.v.data(), at.m.data(), o, o_bar, bars.bodies,
                              bars.p_bar.data());
        std::vector<S> own(test::Scene<S>::inputs(tree), S(0));
        bars.add_to_inputs(own.data());
        for (std::size_t k = 0; k < own.size(); ++k) in_bar[k] += own[k] * out_bar[0];
      },
      points);
}

}  // namespace cycloid::ray_sensor_test
