// Tests of contact_frame.h.
#include "cycloid/geometry/contact_frame.h"

#include "cycloid/math/norm.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test::contact_frame_test {

using V = Vec3<double>;

const auto kFrame = [](const auto* in, auto* out) {
  const auto f = contact_frame(load_vec3(in), load_vec3(in + 3));
  store(out, f.n), store(out + 3, f.t1), store(out + 6, f.t2);
};
const auto kFramePullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
  using S = std::remove_cvref_t<decltype(*in)>;
  Vec3<S> n_bar{}, tangent_bar{};
  contact_frame_pullback(
      load_vec3(in), load_vec3(in + 3),
      ContactFrame<S>{load_vec3(out_bar), load_vec3(out_bar + 3), load_vec3(out_bar + 6)}, n_bar,
      tangent_bar);
  add_to(in_bar, n_bar), add_to(in_bar + 3, tangent_bar);
};

Numbers point(V n, V tangent) {
  n = normalise(n);
  return {n.x, n.y, n.z, tangent.x, tangent.y, tangent.z};
}

double off_orthonormal(const ContactFrame<double>& f) {
  double worst = 0;
  for (const V& a : {f.n, f.t1, f.t2}) worst = std::max(worst, std::abs(dot(a, a) - 1));
  worst = std::max({worst, std::abs(dot(f.n, f.t1)), std::abs(dot(f.n, f.t2))});
  return std::max(worst, std::abs(dot(f.t1, f.t2)));
}

TEST_CASE("contact_frame: pullback equals dual numbers for both defaults and a given tangent") {
  CHECK(check_pullback("contact_frame", 9, kFrame, kFramePullback,
                       {point({0.3, 0.2, 0.9}, {}), point({0.3, -0.8, 0.2}, {}),
                        point({0.3, 0.2, 0.9}, {0.6, 0.5, 0.4}), point({-0.7, 0.6, 0.1}, {0, 0, 1}),
                        point({0.1, 0.2, 0.3}, {0.3, 0.2, 0.1})}));
}

TEST_CASE("contact_frame: default tangents are y, and z where the normal leans towards y") {
  const ContactFrame<double> up = contact_frame(V{0, 0, 1}, V{});
  CHECK(up.t1.y == 1);
  CHECK(up.t2.x == -1);
  const ContactFrame<double> aside = contact_frame(V{0, 1, 0}, V{});
  CHECK(aside.t1.z == 1);
  CHECK(aside.t2.x == 1);
}

TEST_CASE("contact_frame: orthonormal and finite where the tangent is parallel to the normal") {
  FixedNumbers random(5);
  for (const double tilt : {0.0, 1e-17, 1e-12, 1e-9, 1e-5}) {
    for (const V& axis : {V{0, 0, 1}, V{1, 0, 0}, V{0, -1, 0}, V{0.5, 0.7, -0.2}}) {
      const V n = normalise(axis), y = n + V{0.3, -0.5, 0.4} * tilt;
      CHECK(off_orthonormal(contact_frame(n, y)) < 1e-14);
      const Numbers bar = random.vector(9), in{n.x, n.y, n.z, y.x, y.y, y.z};
      Numbers in_bar(6, 0.0);
      kFramePullback(in.data(), bar.data(), in_bar.data());
      CHECK(largest(in_bar) < 1e7);
      const Vec3<float> nf{float(n.x), float(n.y), float(n.z)};
      const Vec3<float> yf{float(y.x), float(y.y), float(y.z)};
      const ContactFrame<float> f = contact_frame(nf, yf);
      CHECK(std::abs(dot(f.n, f.t1)) < 1e-6f);
      CHECK(std::abs(dot(f.t1, f.t1) - 1) < 1e-6f);
    }
  }
}

TEST_CASE("contact_frame: an upright capsule has MuJoCo's frame, the x axis first") {
  const ContactFrame<double> f = contact_frame(V{0, 0, 1}, V{0, 0, 1});
  CHECK(f.t1.x == 1);
  CHECK(f.t2.y == 1);
}

TEST_CASE("contact_frame: a tangent that is nearly lost is held, for duals and in the pullback") {
  using D = Dual<double, 1>;
  const Vec3<D> n{D(0.0), D(0.0), D(1.0)};
  const Vec3<D> y{D::variable(1e-9, 0), D(0.0), D(1.0)};
  const ContactFrame<D> f = contact_frame(n, y);
  CHECK(f.t1.x.value == doctest::Approx(1));
  for (int i = 0; i < 3; ++i) CHECK(f.t1[i].tangent[0] == 0);
  Vec3<double> n_bar{}, y_bar{};
  contact_frame_pullback(V{0, 0, 1}, V{1e-9, 0, 1}, {{}, {1, 1, 1}, {}}, n_bar, y_bar);
  CHECK(dot(n_bar, n_bar) + dot(y_bar, y_bar) == 0);
}

}  // namespace cycloid::test::contact_frame_test
