#include "cycloid/rigid/force/wrap_path.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::wrap_path_test {

using test::Numbers;

constexpr double kRadius = 0.3;

// l and d as functions of p₀, p₁ and the radius.
struct PathCase {
  bool sphere;
  bool has_side;
  Vec3<double> side;

  template <class S>
  WrapShape<S> shape(const S& radius) const {
    return {sphere, radius, has_side, {S(side.x), S(side.y), S(side.z)}};
  }
  template <class S>
  WrapPath<S> path(const S* in) const {
    return wrap_path(shape(in[6]), Vec3<S>{in[0], in[1], in[2]}, Vec3<S>{in[3], in[4], in[5]});
  }
  void check(const std::vector<Numbers>& points) const {
    const auto value = [&](const auto* in, auto* out) {
      const auto path = this->path(in);
      out[0] = path.length;
      for (int i = 0; i < 3; ++i) out[1 + i] = path.d[0][i], out[4 + i] = path.d[1][i];
    };
    const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in_bar)>;
      WrapPath<S> bar;
      bar.length = out_bar[0];
      for (int i = 0; i < 3; ++i) bar.d[0][i] = out_bar[1 + i], bar.d[1][i] = out_bar[4 + i];
      Vec3<S> p_bar[2]{};
      wrap_path_pullback(shape<S>(in[6]), Vec3<S>{in[0], in[1], in[2]},
                         Vec3<S>{in[3], in[4], in[5]}, bar, p_bar, in_bar[6]);
      for (int i = 0; i < 3; ++i) in_bar[i] += p_bar[0][i], in_bar[3 + i] += p_bar[1][i];
    };
    test::check_pullback("wrap_path", 7, value, pullback, points);
  }
};

const Numbers kPast = {-0.7, 0.1, 0.2, 0.8, 0.15, -0.1, kRadius};    // past the geom
const Numbers kBeside = {-0.7, 0.5, 0.2, 0.8, 0.6, -0.1, kRadius};   // beside it
const Numbers kWithin = {-0.1, 0.1, 0.05, 0.8, 0.1, -0.1, kRadius};  // an end inside

TEST_CASE("wrap_path: half a turn around a cylinder of known length") {
  const PathCase c{false, false, {}};
  const double in[] = {-1, 0, 0, 1, 0, 0, kRadius};
  const WrapPath<double> path = c.path(in);
  const double t = std::sqrt(1 - kRadius * kRadius);
  CHECK(path.length == doctest::Approx(2 * t + kRadius * (kPi - 2 * std::acos(kRadius))));
  CHECK(path.d[0].x == doctest::Approx(-t));  // it leaves along the tangent
  CHECK(path.d[0].y == doctest::Approx(kRadius));
  CHECK(path.d[1].x == doctest::Approx(t));
}

TEST_CASE("wrap_path: directions are the gradient of the length, around and inside") {
  for (const bool sphere : {false, true}) {
    for (const auto& [has_side, side] : {std::pair{false, Vec3<double>{}},
                                         {true, {0.1, 0.5, 0.1}},
                                         {true, {0.1, -0.5, 0.1}},
                                         {true, {0.05, 0.1, 0.02}}}) {
      const PathCase c{sphere, has_side, side};
      for (const Numbers& at : {kPast, kBeside, kWithin}) {
        using D = Dual<double, 1>;
        std::vector<D> in(at.begin(), at.end());
        const WrapPath<D> path = c.path(in.data());
        for (int i = 0; i < 6; ++i) {
          in[static_cast<std::size_t>(i)].tangent[0] = 1;
          const double slope = c.path(in.data()).length.tangent[0];
          in[static_cast<std::size_t>(i)].tangent[0] = 0;
          CHECK(slope == doctest::Approx(path.d[i / 3][i % 3].value).epsilon(1e-10));
        }
      }
    }
  }
}

TEST_CASE("wrap_path: a side site decides about the way, also by more than half a turn") {
  const double in[] = {0.5, 0.2, 0, 0.5, -0.2, 0, kRadius};
  const PathCase near{false, true, {0.4, 0, 0}}, far{false, true, {-0.4, 0, 0}};
  CHECK(near.path(in).length == doctest::Approx(0.4));  // straight
  const double angle = 2 * kPi - 2 * std::atan2(0.2, 0.5), n = std::sqrt(0.29);
  const double expected =
      2 * std::sqrt(0.29 - kRadius * kRadius) + kRadius * (angle - 2 * std::acos(kRadius / n));
  CHECK(far.path(in).length == doctest::Approx(expected));
}

TEST_CASE("wrap_path: pullback equals dual numbers, straight, around and inside") {
  for (const bool sphere : {false, true}) {
    PathCase{sphere, false, {}}.check({kPast, kBeside, kWithin});
    PathCase{sphere, true, {0.1, 0.5, 0.1}}.check({kPast, kBeside, kWithin});
    PathCase{sphere, true, {0.1, -0.5, 0.1}}.check({kPast, kBeside, kWithin});
    PathCase{sphere, true, {0.05, 0.1, 0.02}}.check({kPast, kBeside, kWithin});
  }
}

}  // namespace cycloid::wrap_path_test
