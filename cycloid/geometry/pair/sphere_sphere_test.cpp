// Tests of sphere_sphere.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/sphere_sphere.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::sphere_sphere_test {

struct SphereSphere {
  static constexpr int kTouches = kSphereSphereTouches;
  static void collide(auto&&... a) { collide_sphere_sphere(a...); }
  static void pullback(auto&&... a) { collide_sphere_sphere_pullback(a...); }
};

TEST_CASE("collide_sphere_sphere: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<SphereSphere>(kSphereSphereContacts);
}

TEST_CASE("collide_sphere_sphere: pullback equals dual numbers apart and overlapping") {
  CHECK(check_collide_pullback<SphereSphere>("collide_sphere_sphere",
                                             points_of_features<SphereSphere>({0}, 8)));
}

TEST_CASE("collide_sphere_sphere: a place without a contact passes nothing back") {
  check_no_contact_is_zero<SphereSphere>(scene({{0.2}}, {{0.2}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE(
    "collide_sphere_sphere: finite with coincident centres, parallel and other axes, and without "
    "size") {
  check_finite<SphereSphere>(
      {
          scene({{0.3}}, {{0.3}}),                         // coincident, parallel axes
          scene({{0.3}}, {{0.3}, {0.9, 0.2, -0.3, 0.4}}),  // coincident
          scene({{0.3}}, {{0.3}, {1, 0, 0, 0}, {1e-18}}),  // nearly coincident
          scene({{}}, {{}}),                               // no size
      },
      scene({{0.3}}, {{0.3}, {1, 0, 0, 0}, {0.1, 0.2, 0.1}}));
}

TEST_CASE("ball_touch: pullback equals dual numbers apart and overlapping") {
  // in: e1, e2, r1, r2
  const auto z1 = [](auto s) { return Vec3<decltype(s)>{decltype(s)(0), decltype(s)(0), s}; };
  const auto z2 = [](auto s) { return Vec3<decltype(s)>{s, decltype(s)(0), decltype(s)(0)}; };
  CHECK(check_pullback(
      "ball_touch", kTouchNumbers,
      [&](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const auto t =
            ball_touch(load_vec3(in), in[6], z1(S(1)), load_vec3(in + 3), in[7], z2(S(1)));
        out[0] = t.dist;
        store(out + 1, t.pos), store(out + 4, t.normal), store(out + 7, t.tangent);
      },
      [&](const auto* in, const auto* bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        Vec3<S> e1_bar{}, e2_bar{};
        const TouchBar<S> t_bar{bar[0], load_vec3(bar + 1), load_vec3(bar + 4), {}};
        ball_touch_pullback(load_vec3(in), in[6], z1(S(1)), load_vec3(in + 3), in[7], z2(S(1)),
                            t_bar, e1_bar, in_bar[6], e2_bar, in_bar[7]);
        add_to(in_bar, e1_bar), add_to(in_bar + 3, e2_bar);
      },
      {{0.1, 0.2, 0.3, 0.5, -0.4, 0.6, 0.7, 0.3}, {0.1, 0.2, 0.3, 1.5, -0.4, 0.6, 0.2, 0.3}}));
}

TEST_CASE("ball_touch: coincident centres part along z1 × z2, or x where the axes are parallel") {
  const Vec3<double> c{0.1, 0.2, 0.3}, x{1, 0, 0}, z{0, 0, 1};
  CHECK(ball_touch(c, 0.2, z, c, 0.3, x).normal.y == 1);
  CHECK(ball_touch(c, 0.2, z, c, 0.3, z).normal.x == 1);
  CHECK(ball_touch(c, 0.2, z, c, 0.3, z).dist == doctest::Approx(-0.5));
  Vec3<double> e1_bar{}, e2_bar{};
  double r1_bar = 0, r2_bar = 0;
  ball_touch_pullback(c, 0.2, z, c, 0.3, x, {1, {}, {1, 1, 1}, {}}, e1_bar, r1_bar, e2_bar, r2_bar);
  CHECK(e2_bar.y == 1);  // the distance grows along the held normal, which nothing turns
  CHECK(e2_bar.x == 0);
  CHECK(e1_bar.y == -1);
  CHECK(r1_bar == -1);
}

}  // namespace cycloid::test::sphere_sphere_test
