#include "cycloid/rigid/tree/root_field.h"

#include "cycloid/rigid/sense/sense_case_test.h"

namespace cycloid::root_field_test {

using test::Numbers;

// A body with its parameters [ mass | com | inertia (6) ], whose pose is turned by the rotation
// vector θ and moved by r from a fixed one; numbers are about the point s. The row is
// [ θ | r | s | parameters ].
constexpr BodyPlaces kPlaces{.mass = 0, .com = 1, .inertia = 4};
const Numbers kPoint = {0,   0,    0,   0.3, -0.2, 0.5, 0.1, 0.4,   -0.3, 1.7,
                        0.2, -0.1, 0.3, 0.5, 0.6,  0.4, 0.1, -0.05, 0.02};

template <class S>
struct Posed {
  explicit Posed(const S* in)
      : R(to_matrix(renormalise(retract(Quat<S>{S(0.5), S(-0.1), S(0.7), S(0.5)}, body_axes(in))))),
        I(body_inertia(kPlaces, in + 9, R, load_vec3(in + 3))) {}
  // θ is given in world axes.
  static Vec3<S> body_axes(const S* in) {
    return rotate_inverse(Quat<S>{S(0.5), S(-0.1), S(0.7), S(0.5)}, load_vec3(in));
  }
  Mat3<S> R;
  SpatialInertia<S> I;
};

TEST_CASE("root_inertia: pullback equals dual numbers in pose, point and parameters") {
  test::check_pullback(
      "root_inertia", 10,
      [](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*out)>;
        root_inertia(Posed<S>(in).I, load_vec3(in + 6), out);
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in_bar)>;
        const Posed<S> body(in);
        Vec3<S> s_bar{};
        Force<S> pose{};
        root_inertia_pullback(kPlaces, body.R, body.I, load_vec3(in + 6), out_bar, s_bar, pose,
                              in_bar + 9);
        // The wrench is about the origin; the pose turns about r.
        add_to(in_bar, pose.torque - cross(load_vec3(in + 3), pose.force));
        add_to(in_bar + 3, pose.force);
        add_to(in_bar + 6, s_bar);
      },
      {kPoint});
}

TEST_CASE("root_velocity, root_force: pullbacks equal dual numbers in field and point") {
  const Numbers point = {0.3, -0.2, 0.5, 0.7, 0.1, -0.4, 0.2, 0.6, -0.3};  // [ field (6) | s ]
  test::check_pullback(
      "root_velocity", 6,
      [](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*out)>;
        root_velocity(Motion<S>{load_vec3(in), load_vec3(in + 3)}, load_vec3(in + 6), out);
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in_bar)>;
        Vec3<S> s_bar{};
        Force<S> v_bar{};
        root_velocity_pullback(Motion<S>{load_vec3(in), load_vec3(in + 3)}, load_vec3(in + 6),
                               out_bar, s_bar, v_bar);
        add_to(in_bar, v_bar.torque);
        add_to(in_bar + 3, v_bar.force);
        add_to(in_bar + 6, s_bar);
      },
      {point});
  test::check_pullback(
      "root_force", 6,
      [](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*out)>;
        root_force(Force<S>{load_vec3(in), load_vec3(in + 3)}, load_vec3(in + 6), out);
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in_bar)>;
        Vec3<S> s_bar{};
        Motion<S> W_bar{};
        root_force_pullback(Force<S>{load_vec3(in), load_vec3(in + 3)}, load_vec3(in + 6), out_bar,
                            s_bar, W_bar);
        add_to(in_bar, W_bar.angular);
        add_to(in_bar + 3, W_bar.linear);
        add_to(in_bar + 6, s_bar);
      },
      {point});
}

TEST_CASE("root_inertia: a rod about its end, a third of m l²") {
  const double m = 3, l = 2;
  const SpatialInertia<double> rod{m, {l / 2, 0, 0}, {0, m * l * l / 12, m * l * l / 12, 0, 0, 0}};
  double out[10];
  root_inertia(rod, {0, 0, 0}, out);
  CHECK(out[0] == 0);
  CHECK(out[1] == doctest::Approx(m * l * l / 3));
  CHECK(out[6] == m * l / 2);
  CHECK(out[9] == m);
}

}  // namespace cycloid::root_field_test
