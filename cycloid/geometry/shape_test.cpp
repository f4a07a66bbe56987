// Tests of shape.h.
#include "cycloid/geometry/shape.h"

#include <limits>

#include "cycloid/math/pack.h"
#include "cycloid/math/rotation.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test::shape_test {

using V = Vec3<double>;

TEST_CASE("pose cotangents: force and torque do the work of a point and of a direction") {
  FixedNumbers random(2);
  const auto vector = [&] { return V{random.next(), random.next(), random.next()}; };
  const V p = vector(), x = vector(), z = vector(), x_bar = vector(), z_bar = vector();
  const V velocity = vector(), omega = vector();  // of the geom, at p
  PoseBar<double> bar{};
  add_point(bar, x - p, x_bar);
  add_direction(bar, z, z_bar);
  const double work = dot(x_bar, velocity + cross(omega, x - p)) + dot(z_bar, cross(omega, z));
  CHECK(dot(bar.force, velocity) + dot(bar.torque, omega) == doctest::Approx(work).epsilon(1e-14));
}

TEST_CASE("write_touch: an unused place is far away and harmless, lane by lane") {
  using S = Pack<double, 2>;
  Touch<S> bad{S(std::nan("")), {S(1), S(2), S(3)}, {S(std::nan("")), S(0), S(0)}, {}};
  S feature, dist = S(1);
  set_lane(dist, 1, 2.0);
  bad.dist = dist;
  Touch<S> out{};
  write_touch(dist < S(1.5), bad, S(7), out, feature);
  CHECK(lane(out.dist, 0) == 1);
  CHECK(lane(out.pos.z, 0) == 3);
  CHECK(lane(feature, 0) == 7);
  CHECK(lane(out.dist, 1) == kFar);
  CHECK(lane(out.normal.x, 1) == 0);
  CHECK(lane(out.normal.z, 1) == 1);
  CHECK(lane(feature, 1) == kNoFeature);
}

TEST_CASE("used_bar: NaN cotangents of unused places become zeros") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TouchBar<double> bar{nan, {nan, nan, nan}, {nan, nan, nan}, {nan, nan, nan}};
  const TouchBar<double> zero = used_bar(kNoFeature, bar);
  CHECK(zero.dist == 0);
  CHECK(dot(zero.pos, zero.pos) + dot(zero.normal, zero.normal) == 0);
  CHECK(dot(zero.tangent, zero.tangent) == 0);
  CHECK(used_bar(0.0, TouchBar<double>{2, {}, {}, {}}).dist == 2);
}

TEST_CASE("direction: a vector that is too short has the direction it is given, held") {
  using D = Dual<double, 1>;
  const Vec3<D> other{D::variable(0, 0), D(1.0), D(0.0)};
  const Direction<D> d = direction(Vec3<D>{D(1e-16), D(0.0), D(0.0)}, other);
  CHECK(d.u.y.value == 1);
  CHECK(d.u.x.tangent[0] == 0);
  CHECK(d.inverse.value == 0);
  CHECK(d.length.value == 0);
  const Direction<double> e = direction(V{3, 0, 4}, V{});
  CHECK(e.length == 5);
  CHECK(e.u.z == doctest::Approx(0.8));
}

TEST_CASE("size_numbers: as many as the kinds have") {
  CHECK(size_numbers(GeomKind::plane) == 0);
  CHECK(size_numbers(GeomKind::sphere) == 1);
  CHECK(size_numbers(GeomKind::capsule) == 2);
  CHECK(size_numbers(GeomKind::ellipsoid) == 3);
  CHECK(size_numbers(GeomKind::cylinder) == 2);
  CHECK(size_numbers(GeomKind::box) == 3);
}

}  // namespace cycloid::test::shape_test
