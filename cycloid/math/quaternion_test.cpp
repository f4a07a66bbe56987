#include "cycloid/math/quaternion.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

// Products of a dozen numbers near one: 10 roundings.
constexpr double kRounding = 1.2e-15;

const Quat<double> kQuarterTurnZ{std::sqrt(0.5), 0, 0, std::sqrt(0.5)};

double distance(const Vec3<double>& a, const Vec3<double>& b) { return norm(a - b); }
double distance(const Quat<double>& a, const Quat<double>& b) {
  return norm(Vec<double, 4>{{a.w - b.w, a.x - b.x, a.y - b.y, a.z - b.z}});
}

// Unit quaternions near the identity, at a half turn about each axis, ordinary ones, and w < 0.
std::vector<Quat<double>> samples() {
  std::vector<Quat<double>> q = {
      {1, 0, 0, 0},           {1, 1e-9, -2e-9, 1e-9}, {0, 1, 0, 0},
      {0, 0, 1, 0},           {0, 0, 0, 1},           {0.5, 0.5, -0.5, 0.5},
      {-0.3, 0.8, 0.1, -0.4}, {0.1, 2, 2, -1},        {1e-9, 0.2, -0.9, 0.3}};
  for (auto& x : q) x = normalise(x);
  return q;
}

Numbers joined(const Quat<double>& q, const Numbers& rest) {
  Numbers n{q.w, q.x, q.y, q.z};
  n.insert(n.end(), rest.begin(), rest.end());
  return n;
}

std::vector<Numbers> samples_with(const Numbers& rest) {
  std::vector<Numbers> points;
  for (const auto& q : samples()) points.push_back(joined(q, rest));
  return points;
}

}  // namespace

TEST_CASE("quaternion: Hamilton's table i j = k, j k = i, k i = j, i i = -1") {
  const Quat<double> i{0, 1, 0, 0}, j{0, 0, 1, 0}, k{0, 0, 0, 1}, minus_one{-1, 0, 0, 0};
  CHECK(distance(i * j, k) == 0);
  CHECK(distance(j * k, i) == 0);
  CHECK(distance(k * i, j) == 0);
  CHECK(distance(i * i, minus_one) == 0);
  CHECK((j * i).z == -1);
}

TEST_CASE("quaternion: a quarter turn about z takes x to y; rotate_inverse takes it back") {
  const Vec3<double> x{1, 0, 0}, y{0, 1, 0};
  CHECK(distance(rotate(kQuarterTurnZ, x), y) < kRounding);
  CHECK(distance(rotate_inverse(kQuarterTurnZ, y), x) < kRounding);
}

TEST_CASE("quaternion: products compose rotations, lengths are kept, q and -q rotate alike") {
  const Vec3<double> v{0.3, -1.1, 0.7};
  for (const auto& a : samples()) {
    for (const auto& b : samples()) {
      CHECK(distance(rotate(a * b, v), rotate(a, rotate(b, v))) < 2 * kRounding);
    }
    CHECK(norm(rotate(a, v)) == doctest::Approx(norm(v)).epsilon(kRounding));
    CHECK(distance(rotate(a, v), rotate(a * -1.0, v)) == 0);
  }
}

TEST_CASE("quaternion: to_matrix agrees with rotate, is orthogonal, and from_matrix inverts it") {
  const Vec3<double> v{0.3, -1.1, 0.7};
  for (const auto& q : samples()) {
    const Mat3<double> r = to_matrix(q);
    CHECK(distance(r * v, rotate(q, v)) < kRounding);
    const Mat3<double> defect = r * transpose(r) - identity_matrix<double, 3>();
    for (const double e : defect.e) CHECK(std::abs(e) < 2 * kRounding);
    const Quat<double> back = from_matrix(r);
    const double sign = dot(back, q) < 0 ? -1 : 1;
    CHECK(distance(back * sign, q) < kRounding);
  }
}

TEST_CASE("quaternion: normalise gives a unit quaternion at every scale, the identity at zero") {
  for (const double scale : {1e-310, 1e-200, 1e-9, 1.0, 1e200}) {
    const Quat<double> q = normalise(Quat<double>{scale, -2 * scale, 0, 2 * scale});
    CHECK(distance(q, {1.0 / 3, -2.0 / 3, 0, 2.0 / 3}) < kRounding);
  }
  CHECK(distance(normalise(Quat<double>{0, 0, 0, 0}), {1, 0, 0, 0}) == 0);
}

TEST_CASE("hamilton_product: pullback equals dual numbers") {
  test::check_pullback(
      "hamilton_product", 4,
      [](const auto* in, auto* out) { store(out, load_quat(in) * load_quat(in + 4)); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto a_bar = load_quat(in_bar), b_bar = load_quat(in_bar + 4);
        hamilton_product_pullback(load_quat(in), load_quat(in + 4), load_quat(out_bar), a_bar,
                                  b_bar);
        store(in_bar, a_bar), store(in_bar + 4, b_bar);
      },
      samples_with({0.3, -0.9, 0.2, 0.4}));
}

TEST_CASE("rotate, rotate_inverse: ambient pullbacks equal dual numbers, off the unit sphere too") {
  auto points = samples_with({0.3, -1.1, 0.7});
  points.push_back({2, -1, 0.5, 3, 0.3, -1.1, 0.7});
  test::check_pullback(
      "rotate", 3,
      [](const auto* in, auto* out) { store(out, rotate(load_quat(in), load_vec3(in + 4))); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto q_bar = load_quat(in_bar);
        auto v_bar = load_vec3(in_bar + 4);
        rotate_pullback(load_quat(in), load_vec3(in + 4), load_vec3(out_bar), q_bar, v_bar);
        store(in_bar, q_bar), store(in_bar + 4, v_bar);
      },
      points);
  test::check_pullback(
      "rotate_inverse", 3,
      [](const auto* in, auto* out) {
        store(out, rotate_inverse(load_quat(in), load_vec3(in + 4)));
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        auto q_bar = load_quat(in_bar);
        auto v_bar = load_vec3(in_bar + 4);
        rotate_inverse_pullback(load_quat(in), load_vec3(in + 4), load_vec3(out_bar), q_bar, v_bar);
        store(in_bar, q_bar), store(in_bar + 4, v_bar);
      },
      points);
}

TEST_CASE("rotate, rotate_inverse: tangent cotangents reach a raw quaternion") {
  // The raw quaternion is not of unit length: the division by |q| in ambient_from_tangent counts.
  std::vector<Numbers> points = samples_with({0.3, -1.1, 0.7});
  for (std::size_t k = 0; k < points.size(); ++k) {
    for (int i = 0; i < 4; ++i) points[k][static_cast<std::size_t>(i)] *= 0.4 + 0.7 * double(k);
  }
  test::check_pullback(
      "rotate_tangent", 3,
      [](const auto* in, auto* out) {
        store(out, rotate(normalise(load_quat(in)), load_vec3(in + 4)));
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        Vec3<S> q_bar{}, v_bar{};
        rotate_tangent_pullback(normalise(load_quat(in)), load_vec3(in + 4), load_vec3(out_bar),
                                q_bar, v_bar);
        add_to(in_bar, ambient_from_tangent_cotangent(load_quat(in), q_bar));
        add_to(in_bar + 4, v_bar);
      },
      points);
  test::check_pullback(
      "rotate_inverse_tangent", 3,
      [](const auto* in, auto* out) {
        store(out, rotate_inverse(normalise(load_quat(in)), load_vec3(in + 4)));
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        Vec3<S> q_bar{}, v_bar{};
        rotate_inverse_tangent_pullback(normalise(load_quat(in)), load_vec3(in + 4),
                                        load_vec3(out_bar), q_bar, v_bar);
        add_to(in_bar, ambient_from_tangent_cotangent(load_quat(in), q_bar));
        add_to(in_bar + 4, v_bar);
      },
      points);
}

TEST_CASE("to_matrix: pullback equals dual numbers") {
  test::check_pullback(
      "to_matrix", 9,
      [](const auto* in, auto* out) {
        const auto r = to_matrix(load_quat(in));
        for (int k = 0; k < 9; ++k) out[k] = r.e[k];
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        Mat3<S> r_bar;
        for (int k = 0; k < 9; ++k) r_bar.e[k] = out_bar[k];
        auto q_bar = load_quat(in_bar);
        to_matrix_pullback(load_quat(in), r_bar, q_bar);
        store(in_bar, q_bar);
      },
      samples_with({}));
}

TEST_CASE("normalise: the quaternion's pullback equals dual numbers, zero at zero") {
  const auto f = [](const auto* in, auto* out) { store(out, normalise(load_quat(in))); };
  const auto back = [](const auto* in, const auto* out_bar, auto* in_bar) {
    auto q_bar = load_quat(in_bar);
    normalise_pullback(load_quat(in), load_quat(out_bar), q_bar);
    store(in_bar, q_bar);
  };
  auto points = samples_with({});
  points.push_back({3, -1, 2, 0.5});
  points.push_back({1e-6, 2e-6, 0, 1e-6});
  test::check_pullback("normalise", 4, f, back, points);
  test::check_pullback("normalise", 4, f, back, {{0, 0, 0, 0}}, {.zero_by_law = true});
}

TEST_CASE("cotangent conversions: from tangent to ambient and back is the identity") {
  const Vec3<double> delta_bar{0.4, -0.2, 1.3};
  for (const auto& q : samples()) {
    const Quat<double> ambient = ambient_from_tangent_cotangent(q, delta_bar);
    CHECK(std::abs(dot(ambient, q)) < 3 * kRounding);
    CHECK(distance(tangent_from_ambient_cotangent(q, ambient), delta_bar) < 2 * kRounding);
  }
  CHECK(ambient_from_tangent_cotangent(Quat<double>{0, 0, 0, 0}, delta_bar).x == 0);
}

}  // namespace cycloid
