#include "cycloid/rigid/sense/geom_distance.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::geom_distance_test {

using test::Numbers;

// Two geoms, on bodies of different trees.
Model looked_at(Shape first, Shape second) {
  Model m = test::TwoTrees::make().model;
  m.geoms.clear();
  for (const Shape shape : {first, second}) {
    Named<Geom> g;
    g.body = m.geoms.empty() ? 7 : 5;
    g.shape = shape;
    g.pos = {0.1, m.geoms.empty() ? 0.0 : 0.2, 0.05};
    g.quat = {0.9, 0.1, -0.2, 0.3};
    g.size = {0.3, 0.2, 0.25};
    g.fluid[0] = 1;  // so that its numbers are parameters
    m.geoms.push_back(g);
  }
  return m;
}

Sensor sensor(int dimension) {
  Sensor s;
  s.object_type = s.reference_type = static_cast<int>(ObjectKind::geom);
  s.object = 0, s.reference = 1;
  s.dimension = dimension;
  s.numbers[0] = 50;
  return s;
}

void check(Shape first, Shape second) {
  const Tree tree(looked_at(first, second));
  const SeenShapes none{};
  for (const int dimension : {1, 3, 6}) {
    const Sensor s = sensor(dimension);
    const auto seen = [&](const auto& at) {
      return seen_distance(tree, at.p.data(), none, s, at.frames, at.v.data(), at.m.data());
    };
    test::check_pullback(
        "seen_distance", dimension,
        [&](const auto* in, auto* out) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const test::Scene<S> at(tree, in);
          distance_sensor(s, seen(at), out);
        },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const test::Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          seen_distance_pullback(tree, at.p.data(), none, s, at.frames, at.v.data(), at.m.data(),
                                 out_bar, bars.bodies, bars.p_bar.data());
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
}

TEST_CASE("seen_distance: pullback equals dual numbers, closed forms and searches") {
  check(Shape::sphere, Shape::capsule);
  check(Shape::capsule, Shape::sphere);  // against the order of kinds
  check(Shape::ellipsoid, Shape::box);
  check(Shape::box, Shape::box);
}

TEST_CASE("distance_sensor: distance, direction and ends; the cutoff where nothing is near") {
  SeenDistance<double> at;
  at.touch = {0.5, {1, 2, 3}, {0, 0, 1}, {}};
  at.origin = {10, 0, 0};
  at.pair = 0;
  double out[6];
  distance_sensor(sensor(1), at, out);
  CHECK(out[0] == 0.5);
  distance_sensor(sensor(6), at, out);
  CHECK(out[0] == 11);
  CHECK(out[2] == 2.75);
  CHECK(out[5] == 3.25);
  at.touch.dist = -0.5;
  distance_sensor(sensor(3), at, out);
  CHECK(out[2] == -1);  // in each other: from surface to surface is backwards
  at.pair = -1;
  distance_sensor(sensor(1), at, out);
  CHECK(out[0] == 50);
  distance_sensor(sensor(3), at, out);
  CHECK(out[2] == 0);
}

}  // namespace cycloid::geom_distance_test
