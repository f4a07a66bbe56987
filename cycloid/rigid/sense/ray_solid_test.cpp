#include "cycloid/rigid/sense/ray_solid.h"

#include <doctest/doctest.h>

#include "cycloid/rigid/sense/ray_case_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid::ray_solid_test {

using test::hills;
using test::hollow;
using test::Numbers;
using V = Vec3<double>;

TEST_CASE("ray_solid_distance: faces from either side, hills, their sides, and the box below") {
  const Mesh mesh = hollow();
  const SolidShape solid = seen_faces<double>(mesh, -1, {});
  CHECK(ray_solid_distance(&mesh, solid, V{0.25, 0.25, 2}, V{0, 0, -1}) == doctest::Approx(1.9));
  CHECK(ray_solid_distance(&mesh, solid, V{0.25, 0.25, 0.05}, V{0, 0, 1}) == doctest::Approx(0.05));
  CHECK(ray_solid_distance(&mesh, solid, V{2, 2, 2}, V{0, 0, -1}) == -1);
  const HeightData data = hills();
  const SolidShape field = solid_field<double>(data, -1, {});
  const Mesh* const none = nullptr;
  CHECK(ray_solid_distance(none, field, V{-0.5, 0, 2}, V{0, 0, -1}) == doctest::Approx(1.5));
  CHECK(ray_solid_distance(none, field, V{0.2, 0.1, -2}, V{0, 0, 1}) == doctest::Approx(1.8));
  CHECK(ray_solid_distance(none, field, V{3, 0, -0.1}, V{-1, 0, 0}) == doctest::Approx(1.5));
  CHECK(ray_solid_distance(none, field, V{3, 0, 0.05}, V{-1, 0, 0}) == doctest::Approx(1.5));
  CHECK(ray_solid_distance(none, field, V{3, 0, 0.6}, V{-1, 0, 0}) == -1);
  CHECK(ray_solid_distance(none, field, V{0.2, 0.1, -0.1}, V{0, 0, 1}) == doctest::Approx(0.1));
}

TEST_CASE("ray_solid_distance: pullback equals dual numbers on faces, hills and planes") {
  const Mesh mesh = hollow();
  const HeightData data = hills();
  const SolidShape faces = seen_faces<double>(mesh, -1, {}),
                   field = solid_field<double>(data, -1, {});
  const std::vector<Numbers> points = {{0.22, 0.2, 2, 0.02, 0.03, -1.1},
                                       {0.2, 0.15, 0.03, 0.1, 0.05, 0.9},
                                       {0.15, 0.1, 1.7, 0.03, 0.01, -0.9},
                                       {0.3, 0.1, -2, -0.02, 0.05, 1.2}};
  for (const bool terrain : {false, true}) {
    const Mesh* const own = terrain ? nullptr : &mesh;
    const SolidShape& solid = terrain ? field : faces;
    test::check_pullback(
        "ray_solid_distance", 1,
        [&](const auto* in, auto* out) {
          out[0] = ray_solid_distance(own, solid, load_vec3(in), load_vec3(in + 3));
        },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in_bar)>;
          Vec3<S> p_bar{}, d_bar{};
          ray_solid_distance_pullback(own, solid, load_vec3(in), load_vec3(in + 3), out_bar[0],
                                      false, p_bar, d_bar);
          add_to(in_bar, p_bar), add_to(in_bar + 3, d_bar);
        },
        points);
  }
}

TEST_CASE("ray_solid_distance: points and heights have the share of their corner") {
  const Mesh mesh = hollow();
  Numbers bars(mesh.vertex.size());
  SolidShape solid = seen_faces<double>(mesh, -1, {});
  solid.hull_bar.value = bars.data();
  V p_bar{}, d_bar{};
  const V p{0.3, 0.2, 2}, d{0, 0, -1};
  ray_solid_distance_pullback(&mesh, solid, p, d, 1.0, true, p_bar, d_bar);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto moved = [&](double e) {
      Mesh other = mesh;
      other.vertex[i] += e;
      return ray_solid_distance(&other, seen_faces<double>(other, -1, {}), p, d);
    };
    CHECK(bars[i] == doctest::Approx((moved(1e-6) - moved(-1e-6)) / 2e-6).epsilon(1e-6));
  }
  CHECK(bars[14] < -0.1);  // higher is nearer
}

}  // namespace cycloid::ray_solid_test
