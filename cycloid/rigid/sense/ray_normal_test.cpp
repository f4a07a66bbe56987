#include "cycloid/rigid/sense/ray_normal.h"

#include <doctest/doctest.h>

#include "cycloid/rigid/sense/ray_case_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid::ray_normal_test {

using test::hills;
using test::hollow;
using test::Numbers;
using V = Vec3<double>;

// [size, x], the point not on the surface, as a change of it is not. Planes, boxes and the ends of
// cylinders have a normal that is constant.
TEST_CASE("ray_normal: pullback equals dual numbers for every shape that is round") {
  const std::vector<Numbers> side = {{0.5, 0.4, 0.3, 0.2, 0.41, 0.12}};
  const std::vector<Numbers> all = {
      side[0], {0.5, 0.4, 0.3, 0.1, -0.2, -0.45}, {0.5, 0.4, 0.3, 0.1, 0.2, 0.42}};
  for (const Shape shape : {Shape::sphere, Shape::ellipsoid, Shape::capsule, Shape::cylinder}) {
    test::check_pullback(
        "ray_normal", 3,
        [&](const auto* in, auto* out) {
          store(out, ray_normal(shape, load_vec3(in), load_vec3(in + 3)));
        },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in_bar)>;
          Vec3<S> size_bar{}, x_bar{};
          ray_normal_pullback(shape, load_vec3(in), load_vec3(in + 3), load_vec3(out_bar), size_bar,
                              x_bar);
          add_to(in_bar, size_bar), add_to(in_bar + 3, x_bar);
        },
        shape == Shape::cylinder ? side : all);
  }
  V size_bar{}, x_bar{};
  ray_normal_pullback(Shape::box, V{0.5, 0.4, 0.3}, V{0.1, 0.2, 0.42}, V{1, 2, 3}, size_bar, x_bar);
  CHECK(dot(x_bar, x_bar) + dot(size_bar, size_bar) == 0);
}

TEST_CASE("ray_solid_normal: outwards, and points and heights have their share of its turn") {
  const Mesh mesh = hollow();
  const HeightData data = hills();
  const Mesh* const none = nullptr;
  const SolidShape field = solid_field<double>(data, -1, {});
  const V p{0.3, 0.2, 2}, down{0, 0, -1}, weight{0.3, -0.7, 0.4};
  CHECK(ray_solid_normal(none, field, p, down).z > 0);
  CHECK(ray_solid_normal(none, field, V{0.2, 0.1, -2}, V{0, 0, 1}).z == -1);
  CHECK(ray_solid_normal(none, field, V{3, 0, -0.1}, V{-1, 0, 0}).x == 1);
  CHECK(ray_solid_normal(none, field, V{-3, 0, -0.1}, V{1, 0, 0}).x == -1);
  SolidShape solid = seen_faces<double>(mesh, -1, {});
  Numbers bars(mesh.vertex.size());
  solid.hull_bar.value = bars.data();
  ray_solid_normal_bar(&mesh, solid, p, down, weight, true);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto moved = [&](double e) {
      Mesh other = mesh;
      other.vertex[i] += e;
      const SolidShape at = seen_faces<double>(other, -1, {});
      return dot(weight, ray_solid_normal(&other, at, p, down));
    };
    CHECK(bars[i] == doctest::Approx((moved(1e-6) - moved(-1e-6)) / 2e-6).epsilon(1e-6));
  }
  CHECK(test::largest(bars) > 0.1);
}

}  // namespace cycloid::ray_normal_test
