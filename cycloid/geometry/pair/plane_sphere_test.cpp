// Tests of plane_sphere.h against MuJoCo's contacts and dual numbers.
#include "cycloid/geometry/pair/plane_sphere.h"

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::test::plane_sphere_test {

struct PlaneSphere {
  static constexpr int kTouches = kPlaneSphereTouches;
  static void collide(auto&&... a) { collide_plane_sphere(a...); }
  static void pullback(auto&&... a) { collide_plane_sphere_pullback(a...); }
};

TEST_CASE("collide_plane_sphere: number, distance, position and frame are MuJoCo's") {
  check_mujoco_contacts<PlaneSphere>(kPlaneSphereContacts);
}

TEST_CASE("collide_plane_sphere: pullback equals dual numbers over, on and under the plane") {
  CHECK(check_collide_pullback<PlaneSphere>("collide_plane_sphere",
                                            points_of_features<PlaneSphere>({0}, 6)));
}

TEST_CASE("collide_plane_sphere: a place without a contact passes nothing back") {
  check_no_contact_is_zero<PlaneSphere>(scene({{}}, {{0.4}, {1, 0, 0, 0}, {3, 4, 9}}, 0.1));
}

TEST_CASE("collide_plane_sphere: finite on the plane and for a sphere of no size") {
  check_finite<PlaneSphere>(
      {
          scene({{}}, {{0.3}}),  // centre on the plane
          scene({{}}, {{}}),     // no size
      },
      scene({{}, {0.9, 0.2, -0.3, 0.4}}, {{0.3}, {0.9, 0.2, -0.3, 0.4}, {0.1, 0.1, 0.1}}));
}

TEST_CASE("ball_on_plane: pullback equals dual numbers, the normal as three free numbers") {
  // in: n, p, e, r
  CHECK(check_pullback(
      "ball_on_plane", kTouchNumbers,
      [](const auto* in, auto* out) {
        const auto t = ball_on_plane(load_vec3(in), load_vec3(in + 3), load_vec3(in + 6), in[9]);
        out[0] = t.dist;
        store(out + 1, t.pos), store(out + 4, t.normal), store(out + 7, t.tangent);
      },
      [](const auto* in, const auto* bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        Vec3<S> n_bar{}, p_bar{}, e_bar{};
        const TouchBar<S> t_bar{bar[0], load_vec3(bar + 1), load_vec3(bar + 4), {}};
        ball_on_plane_pullback(load_vec3(in), load_vec3(in + 3), load_vec3(in + 6), in[9], t_bar,
                               n_bar, p_bar, e_bar, in_bar[9]);
        add_to(in_bar, n_bar), add_to(in_bar + 3, p_bar), add_to(in_bar + 6, e_bar);
      },
      {{0.6, 0, 0.8, 0.1, 0.2, 0.3, 0.5, -0.4, 0.6, 0.7},
       {0, -0.6, 0.8, 0.1, 0.2, 0.3, 0.5, -0.4, -0.6, 0.2}}));
}

}  // namespace cycloid::test::plane_sphere_test
