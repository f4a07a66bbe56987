#include "cycloid/rigid/inertia.h"

#include "cycloid/rigid/rigid_case_test.h"

using namespace cycloid;

TEST_CASE("body_inertia: equals the inertia about the centre of mass, applied to a motion") {
  const Mat3<double> R = to_matrix(normalise(Quat<double>{0.7, -0.2, 0.5, 0.3}));
  const Vec3<double> r{0.3, -0.4, 0.2};
  const double p[] = {2.0, 0.1, -0.2, 0.3, 0.5, 0.6, 0.7, 0.05, -0.03, 0.02};
  const BodyPlaces at{0, 1, 4, -1, -1};
  const MomentInertia<double> I = body_inertia(at, p, R, r);
  const SpatialInertia<double> reference{
      p[0], r + R * vec3_of<double>(p + 1),
      turn(R, SymMat3<double>{p[4], p[5], p[6], p[7], p[8], p[9]})};
  const Motion<double> y{{0.2, -0.7, 0.4}, {1.1, 0.3, -0.6}};
  const Force<double> a = I * y, b = inertia_apply(reference, y);
  for (int i = 0; i < 3; ++i) {
    CHECK(a.torque[i] == doctest::Approx(b.torque[i]).epsilon(1e-14));
    CHECK(a.force[i] == doctest::Approx(b.force[i]).epsilon(1e-14));
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
    const MomentInertia<S> I = body_inertia(at, p, R, r);
    out[0] =
        power(I * motion(1, S(0)), motion(0, S(0))) + power(I * motion(3, S(0)), motion(2, S(0)));
  };
  const auto pullback = [&](const auto* p, const auto* out_bar, auto* p_bar) {
    using S = std::remove_cvref_t<decltype(*p_bar)>;
    const auto [R, r] = place(S(0));
    body_inertia_pullback(at, p, R, r, motion(0, S(0)), motion(1, S(0)), motion(2, S(0)),
                          motion(3, S(0)), out_bar[0], p_bar);
  };
  test::check_pullback("body_inertia", 1, value, pullback,
                       {{2.0, 0.1, -0.2, 0.3, 0.5, 0.6, 0.7, 0.05, -0.03, 0.02}});
}
