#include "cycloid/rigid/tree/inertia.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::inertia_test {

TEST_CASE("body_inertia: equals a sum over point masses that turn with the body") {
  const Mat3<double> R = to_matrix(normalise(Quat<double>{0.7, -0.2, 0.5, 0.3}));
  const Vec3<double> r{0.3, -0.4, 0.2};
  // Six equal masses on the axes of the centre of mass: a diagonal inertia.
  const double m = 0.4, a[3] = {0.5, 0.3, 0.2};
  const Vec3<double> com{0.1, -0.2, 0.3};
  const auto about = [&](int i) { return 2 * m * a[i] * a[i]; };
  const double p[] = {
      6 * m, com.x, com.y, com.z, about(1) + about(2), about(0) + about(2), about(0) + about(1),
      0,     0,     0};
  const SpatialInertia<double> I = body_inertia(BodyPlaces{0, 1, 4, -1, -1}, p, R, r);
  const Motion<double> y{{0.2, -0.7, 0.4}, {1.1, 0.3, -0.6}};
  Force<double> expected{};
  for (int i = 0; i < 6; ++i) {
    Vec3<double> at = com;
    at[i / 2] += i % 2 ? a[i / 2] : -a[i / 2];
    const Vec3<double> x = r + R * at;
    expected += wrench(field_at(y, x) * m, x, Vec3<double>{});
  }
  const Force<double> got = I * y;
  for (int i = 0; i < 3; ++i) {
    CHECK(got.torque[i] == doctest::Approx(expected.torque[i]).epsilon(1e-14));
    CHECK(got.force[i] == doctest::Approx(expected.force[i]).epsilon(1e-14));
  }
}

TEST_CASE("SpatialInertia: a sum moves as its parts do, and a body without mass adds nothing") {
  const SpatialInertia<double> a{2.0, {0.3, -0.1, 0.4}, {0.5, 0.6, 0.7, 0.05, -0.03, 0.02}};
  const SpatialInertia<double> b{0.5, {-0.2, 0.7, 0.1}, {0.1, 0.2, 0.15, 0.01, 0.02, -0.01}};
  const SpatialInertia<double> none{0.0, {5, 5, 5}, {}};
  const Motion<double> y{{0.2, -0.7, 0.4}, {1.1, 0.3, -0.6}};
  SpatialInertia<double> sum = a;
  sum += b;
  sum += none;
  SpatialInertia<double> from_none = none;
  from_none += none;
  from_none += a;
  const Force<double> got = sum * y, expected = a * y + b * y, alone = from_none * y, own = a * y;
  for (int i = 0; i < 3; ++i) {
    CHECK(got.torque[i] == doctest::Approx(expected.torque[i]).epsilon(1e-14));
    CHECK(got.force[i] == doctest::Approx(expected.force[i]).epsilon(1e-14));
    CHECK(alone.torque[i] == doctest::Approx(own.torque[i]).epsilon(1e-14));
  }
}

TEST_CASE("body_inertia: pullback of two pairs of motions equals dual numbers") {
  const BodyPlaces at{0, 1, 4, -1, -1};
  // Φ = x₁·I y₁ + x₂·I y₂ as a function of mass, com and inertia.
  const auto number = [](auto& random) { return random.next(); };
  test::FixedNumbers random(9);
  Motion<double> m[4];
  for (Motion<double>& y : m) {
    for (int i = 0; i < 3; ++i) y.angular[i] = number(random), y.linear[i] = number(random);
  }
  const Quat<double> q = normalise(Quat<double>{0.7, -0.2, 0.5, 0.3});
  const auto motion = [&]<class S>(int i, S) {
    const auto vec = [](const Vec3<double>& v) { return Vec3<S>{S(v.x), S(v.y), S(v.z)}; };
    return Motion<S>{vec(m[i].angular), vec(m[i].linear)};
  };
  const auto place = [&]<class S>(S) {
    return std::pair{to_matrix(Quat<S>{S(q.w), S(q.x), S(q.y), S(q.z)}),
                     Vec3<S>{S(0.3), S(-0.4), S(0.2)}};
  };
  const auto value = [&](const auto* p, auto* out) {
    using S = std::remove_cvref_t<decltype(*p)>;
    const auto [R, r] = place(S(0));
    const SpatialInertia<S> I = body_inertia(at, p, R, r);
    out[0] =
        power(I * motion(1, S(0)), motion(0, S(0))) + power(I * motion(3, S(0)), motion(2, S(0)));
  };
  const auto pullback = [&](const auto* p, const auto* out_bar, auto* p_bar) {
    using S = std::remove_cvref_t<decltype(*p_bar)>;
    const auto [R, r] = place(S(0));
    const Motion<S> x1 = motion(0, S(0)), y1 = motion(1, S(0)), x2 = motion(2, S(0)),
                    y2 = motion(3, S(0));
    body_inertia_pullback(at, p, R, r,
                          std::array{InertiaForm<S>{&x1, &y1}, InertiaForm<S>{&x2, &y2}},
                          out_bar[0], p_bar);
  };
  test::check_pullback("body_inertia", 1, value, pullback,
                       {{2.0, 0.1, -0.2, 0.3, 0.5, 0.6, 0.7, 0.05, -0.03, 0.02}});
}

}  // namespace cycloid::inertia_test
