#include "cycloid/soft/cloth.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/soft/equilibrium.h"
#include "cycloid/soft/rod.h"

namespace cycloid {
namespace {

std::string refusal(std::vector<double> vertices, std::vector<int> triangles) {
  try {
    cloth(std::move(vertices), std::move(triangles), {});
  } catch (const ModelError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("cloth: meshes that are none are refused by name and place") {
  const std::vector<double> square = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
  CHECK(refusal(square, {0, 1, 2, 0, 2, 3}).empty());
  CHECK(refusal(square, {0, 1, 2, 0, 2, 4}).find("vertex 4") != std::string::npos);
  CHECK(refusal(square, {0, 1, 2}).find("vertex 3 belongs to no") != std::string::npos);
  CHECK(refusal(square, {0, 1, 2, 0, 3, 2}).find("same direction") != std::string::npos);
  CHECK(refusal(square, {0, 1, 1, 0, 2, 3}).find("no area") != std::string::npos);
  CHECK(refusal(square, {}).find("no triangles") != std::string::npos);
  std::vector<double> bad = square;
  bad[4] = std::nan("");
  CHECK(refusal(bad, {0, 1, 2, 0, 2, 3}).find("finite") != std::string::npos);
}

TEST_CASE("rod: a clamped rod bends under its end load as the elastica does") {
  constexpr int n = 42;
  std::vector<double> points;
  for (int k = 0; k < n; ++k) points.insert(points.end(), {(k - 1) / 40.0, 0, 0});
  RodOptions o;
  o.young = 1e9, o.radius = 0.01, o.gravity = {0, 0, 0}, o.inputs = {"force"};
  o.held.assign(3 * n, 0);
  std::fill_n(o.held.begin(), 6, 1);
  const System body = rod(points, o);
  const double EI = o.young * 3.14159265358979 * std::pow(o.radius, 4) / 4;
  std::vector<double> u(3 * n, 0.0);
  u.back() = -EI;  // P L²/EI = 1
  const Equilibrium rest = equilibrium(body, {}, u, {}, 1);
  REQUIRE(rest.converged);
  CHECK(-rest.state[3 * n - 1] == doctest::Approx(0.301721).epsilon(1e-3));
  CHECK(1 - rest.state[3 * n - 3] == doctest::Approx(0.056433).epsilon(1e-2));
  CHECK_THROWS_AS(rod({0, 0, 0}, {}), ModelError);
  CHECK_THROWS_AS(rod({0, 0, 0, 0, 0, 0}, {}), ModelError);
}

}  // namespace cycloid
