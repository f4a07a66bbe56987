#include "cycloid/rigid/sense/ray_picture.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::ray_picture_test {

using test::Numbers;

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

TEST_CASE("cast_ray: pullback equals dual numbers, whichever geom a lane sees") {
  const Tree tree(seen());
  const std::vector<Numbers> points = test::scene_points(tree);
  const FrameMount on = frame_mount(tree, static_cast<int>(ObjectKind::site), 3);
  Sensor all;  // everything that a ray shows
  all.fields = (1 << kRayFields) - 1;
  Sensor camera = all;
  camera.columns = 2, camera.rows = 1;
  camera.numbers = {1.2, 0.9, 1.1, 0.4};
  Sensor sheet = camera;
  sheet.parallel = true;
  for (const Sensor& s : {all, camera, sheet}) {
    CAPTURE(s.columns);
    const int size = ray_count(s) * ray_numbers(s);
    const auto value = [&](const auto* in, auto* out) {
      using S = std::remove_cvref_t<decltype(*in)>;
      const test::Scene<S> at(tree, in);
      const auto o = sensed_frame(tree, at.p.data(), on, at.frames, at.v.data(), at.m.data());
      ray_picture(tree, at.p.data(), s, o, at.frames, at.v.data(), at.m.data(), {}, out);
    };
    for (const Numbers& x : points) {
      Numbers shown(static_cast<std::size_t>(size));
      value(x.data(), shown.data());
      for (int k = 0; k < size; k += kMostRayNumbers) {
        const double* const y = shown.data() + k;
        CHECK(y[0] > 0);
        CHECK(dot(load_vec3(y + 1), load_vec3(y + 1)) == doctest::Approx(1));    // direction
        CHECK(dot(load_vec3(y + 10), load_vec3(y + 10)) == doctest::Approx(1));  // normal
        CHECK(test::largest(std::span(y + 7, 3)) > 0);
      }
    }
    test::check_pullback(
        s.columns == 0 ? "cast_ray" : "ray_picture", size, value,
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in_bar)>;
          const test::Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          const auto o = sensed_frame(tree, at.p.data(), on, at.frames, at.v.data(), at.m.data());
          SensedFrameBars<S> o_bar;
          ray_picture_pullback(tree, at.p.data(), s, o, at.frames, at.v.data(), at.m.data(), {},
                               out_bar, o_bar, bars.bodies, bars.p_bar.data());
          sensed_frame_pullback(on, at.frames, o, o_bar, bars.bodies, bars.p_bar.data());
          bars.add_to_inputs(in_bar);
        },
        points);
  }
}

TEST_CASE("pixel_ray: by rows from the top left, through a lens or side by side") {
  Sensor s;
  CHECK(ray_count(s) == 1);
  CHECK(pixel_ray(s, 0).d.z == 1);  // a site's
  s.columns = 3, s.rows = 2;
  s.numbers = {2, 4, 1.5, 1};
  CHECK(ray_count(s) == 6);
  const PixelRay first = pixel_ray(s, 0), last = pixel_ray(s, 5);
  CHECK(first.d.x / -first.d.z == doctest::Approx(-0.5));
  CHECK(first.d.y / -first.d.z == doctest::Approx(0.125));
  CHECK(last.d.x / -last.d.z == doctest::Approx(0.5));
  CHECK(last.d.y / -last.d.z == doctest::Approx(-0.125));
  CHECK(dot(first.d, first.d) == doctest::Approx(1));
  s.parallel = true;
  CHECK(pixel_ray(s, 0).o.x == doctest::Approx(-0.5));
  CHECK(pixel_ray(s, 0).d.z == -1);
}

}  // namespace cycloid::ray_picture_test
