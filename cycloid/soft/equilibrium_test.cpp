#include "cycloid/soft/equilibrium.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/soft/solid.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using test::Numbers;

// A unit cube in uniaxial stretch: three faces held along their normals, the fourth pulled.
struct Stretched {
  explicit Stretched(const std::string& material, ElementKind element = ElementKind::hex)
      : mesh(box_mesh({2, 2, 2}, {1, 1, 1}, element)) {
    SolidOptions o;
    o.material = material, o.young = {1000}, o.gravity = {0, 0, 0}, o.inputs = {"pinned"};
    o.held.assign(mesh.vertices.size(), 0);
    for (std::size_t i = 0; i < o.held.size(); ++i) {
      o.held[i] = mesh.vertices[i] == 0 || (i % 3 == 0 && mesh.vertices[i] == 1);
      if (o.held[i]) held.push_back(i);
    }
    system = std::make_unique<System>(solid(mesh, o));
  }
  Equilibrium at(double stretch, std::span<const double> params = {}) const {
    Numbers u;
    for (const std::size_t i : held) u.push_back(mesh.vertices[i] == 1 ? stretch - 1 : 0.0);
    return equilibrium(*system, {}, u, params, 1);
  }
  SolidMesh mesh;
  std::vector<std::size_t> held;
  std::unique_ptr<System> system;
};

}  // namespace

TEST_CASE("equilibrium: uniaxial stretch of the logarithmic material has its lateral stretch") {
  // Closed form: mu (l² - 1) + lam ln J = 0 across.
  const Stretched cube("neo_hookean_log");
  for (const auto& [stretch, lateral] : {std::pair{0.5, 1.21076739},
                                         {0.8, 1.06733837},
                                         {1.5, 0.88017459},
                                         {2.0, 0.79807754},
                                         {10.0, 0.41653193}}) {
    CAPTURE(stretch);
    const Equilibrium rest = cube.at(stretch);
    REQUIRE(rest.converged);
    for (std::size_t v = 0; v < cube.mesh.vertices.size() / 3; ++v) {
      for (std::size_t i = 0; i < 3; ++i) {
        const double X = cube.mesh.vertices[3 * v + i];
        CHECK(rest.state[3 * v + i] ==
              doctest::Approx(X * (i == 0 ? stretch : lateral)).epsilon(1e-8).scale(1));
      }
    }
  }
}

TEST_CASE("equilibrium: its pullback is that of differences, by parameters and inputs") {
  SolidMesh mesh = box_mesh({3, 1, 1}, {0.3, 0.1, 0.1}, ElementKind::hex);
  FixedNumbers random(3);
  for (double& v : mesh.vertices) v += 0.005 * random.next();
  SolidOptions o;
  o.young = {2e4}, o.inputs = {"force", "pinned"}, o.material = "mooney_rivlin";
  o.held.assign(mesh.vertices.size(), 0);
  for (std::size_t v = 0; v < o.held.size() / 3; ++v) {
    if (mesh.vertices[3 * v] < 0.05) o.held[3 * v] = o.held[3 * v + 1] = o.held[3 * v + 2] = 1;
  }
  const System system = solid(mesh, o);
  Numbers p = system.parameters().default_values(),
          u = random.vector(static_cast<std::size_t>(system.inputs().size()));
  for (double& f : u) f *= 0.02;
  const Numbers bar = random.vector(static_cast<std::size_t>(system.states().size()));
  const Equilibrium rest = equilibrium(system, {}, u, p, 1);
  REQUIRE(rest.converged);
  const EquilibriumGradient g = rest.pullback(bar);
  const auto value = [&](const Numbers& controls, const Numbers& params) {
    const Equilibrium e = equilibrium(system, {}, controls, params, 1);
    return test::dot(std::span(bar).first(mesh.vertices.size()),
                     std::span(e.state).first(mesh.vertices.size()));
  };
  const auto check = [&](const std::string& name, Numbers du, Numbers dp, double expected) {
    CAPTURE(name);
    const auto at = [&](double e) {
      Numbers controls = u, params = p;
      for (std::size_t i = 0; i < du.size(); ++i) controls[i] += e * du[i];
      for (std::size_t i = 0; i < dp.size(); ++i) params[i] += e * dp[i];
      return value(controls, params);
    };
    const double h = 0.02;
    const double found =
        (45 * (at(h) - at(-h)) - 9 * (at(2 * h) - at(-2 * h)) + (at(3 * h) - at(-3 * h))) /
        (60 * h);
    CHECK(std::abs(expected) > 1e-7);
    CHECK(found == doctest::Approx(expected).epsilon(1e-7));
  };
  const Numbers none_u(u.size(), 0.0), none_p(p.size(), 0.0);
  Numbers du = random.vector(u.size());
  for (double& d : du) d *= 0.01;
  check("controls", du, none_p, test::dot(g.controls, du));
  for (const Parameter& q : system.parameters().all()) {
    if (q.name == "damping" || q.name == "drag") continue;  // nothing moves
    Numbers dp = none_p;
    for (int i = q.offset; i < q.offset + q.size; ++i) {
      const auto k = static_cast<std::size_t>(i);
      dp[k] = random.next() *
              (q.name == "vertices" ? 0.005 : 0.05 * (std::abs(p[k]) > 1e-3 ? p[k] : 0.5));
      if (q.name == "mass") dp[k] = 0.05;
    }
    if (q.name == "mass") {  // off zero, so that differences stay within the constraint
      std::fill_n(p.begin() + q.offset, q.size, 0.05);
      const EquilibriumGradient heavy = equilibrium(system, {}, u, p, 1).pullback(bar);
      check(q.name, none_u, dp, test::dot(heavy.params, dp));
      std::fill_n(p.begin() + q.offset, q.size, 0.0);
      continue;
    }
    check(q.name, none_u, dp, test::dot(g.params, dp));
  }
}

TEST_CASE("equilibrium: a body that nothing holds is refused, with its free motions") {
  SolidOptions o;
  const SolidMesh mesh = box_mesh({1, 1, 1}, {1, 1, 1}, ElementKind::hex);
  o.held.assign(24, 0);
  o.held[0] = o.held[1] = o.held[2] = o.held[3] = o.held[4] = o.held[5] = 1;
  try {
    equilibrium(solid(mesh, o), {}, {}, {}, 1);
    CHECK(false);
  } catch (const ModelError& e) {
    CHECK(std::string(e.what()).find("against rotation x:") != std::string::npos);
  }
  CHECK_THROWS_AS(equilibrium(solid(mesh, {}), Numbers(3, 0.0), {}, {}, 1), Error);
}

TEST_CASE("equilibrium: what did not converge has no gradient") {
  // A linear material has a place for any load; a logarithmic one pressed to less than nothing not.
  const Stretched cube("neo_hookean_log");
  const Equilibrium rest = cube.at(-0.5);
  CHECK_FALSE(rest.converged);
  CHECK(rest.residual > 0);
  for (const double x : rest.state) CHECK(std::isfinite(x));
  CHECK_THROWS_AS(rest.pullback(Numbers(rest.state.size(), 1.0)), GradientError);
}

}  // namespace cycloid
