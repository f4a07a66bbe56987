#include "cycloid/soft/arc_length.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/soft/cloth.h"
#include "cycloid/soft/equilibrium.h"
#include "cycloid/soft/solid.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

// Von Mises' truss as a roof of two panels of cloth: eaves held, the ridge at height h moves up and
// down. With W = ½ E t ((l²/L² - 1)/2)² per area, l² = 1 + w², L² = 1 + h²:
//   P(w) = E t b w (h² - w²) / L³, pushing down                                         (1)
// with limit points at w = ±h/√3. Bending is 1e-6 of that.
struct Roof {
  static constexpr double h = 0.3, b = 0.2, t = 1e-3, young = 1e6;
  Roof() {
    ClothOptions o;
    o.young = {young}, o.poisson = 0, o.thickness = t, o.density = 100;
    o.gravity = {0, 0, 0}, o.inputs = {"force"};
    Numbers vertices;
    for (const double y : {0.0, b}) {
      for (const double x : {-1.0, 0.0, 1.0}) {
        vertices.insert(vertices.end(), {x, y, x == 0 ? h : 0.0});
        o.held.insert(o.held.end(), {true, true, x != 0});
      }
    }
    system =
        std::make_unique<System>(cloth(vertices, {0, 1, 4, 0, 4, 3, 1, 2, 4, 2, 5, 4}, o, false));
  }
  static double force(double w) {
    return young * t * b * w * (h * h - w * w) / std::pow(1 + h * h, 1.5);
  }
  static double slope(double w) {
    return young * t * b * (h * h - 3 * w * w) / std::pow(1 + h * h, 1.5);
  }
  Numbers pushed(double load) const {
    Numbers u(18, 0.0);
    u[3 * 1 + 2] = u[3 * 4 + 2] = -0.5 * load;
    return u;
  }
  std::unique_ptr<System> system;
};

double ridge(const Equilibrium& rest) { return 0.5 * (rest.state[5] + rest.state[14]); }

}  // namespace

TEST_CASE("arc_length: a roof snaps along the curve of von Mises' truss") {
  const Roof roof;
  const double limit = Roof::force(Roof::h / std::sqrt(3)), load = 1.5 * limit;
  const Equilibrium rest = equilibrium(*roof.system, {}, roof.pushed(load), {}, {1, 0.02});
  REQUIRE(rest.converged);
  CHECK(rest.loads.back() == 1);
  CHECK(rest.stable);
  CHECK(ridge(rest) < -Roof::h);
  double highest = 0, lowest = 0;
  int unstable = 0;
  for (int k = 0; k < static_cast<int>(rest.loads.size()); ++k) {
    CAPTURE(k);
    const Equilibrium at = rest.point(k);
    const double w = ridge(at), share = rest.loads[static_cast<std::size_t>(k)];
    CHECK(share * load == doctest::Approx(Roof::force(w)).epsilon(1e-4).scale(limit));
    highest = std::max(highest, share), lowest = std::min(lowest, share);
    if (std::abs(std::abs(w) - Roof::h / std::sqrt(3)) < 1e-3) continue;
    CHECK(at.stable == (std::abs(w) > Roof::h / std::sqrt(3)));
    unstable += !at.stable;
    Numbers bar(rest.state.size(), 0.0);
    bar[5] = bar[14] = 0.5;
    const EquilibriumGradient g = at.pullback(bar);
    const double slope = Roof::slope(w);
    if (std::abs(share) < 0.01) continue;
    const auto young = static_cast<std::size_t>(roof.system->parameters().find("young").offset);
    CHECK(std::abs((g.controls[5] + g.controls[14]) / (-2 * share / slope) - 1) < 2e-3);
    CHECK(std::abs(g.params[young] / (-Roof::force(w) / Roof::young / slope) - 1) < 2e-3);
  }
  CHECK(unstable > 4);
  CHECK(highest == 1);
  CHECK(lowest < -0.6);  // -2/3 is the other limit point
}

TEST_CASE("arc_length: what cannot be followed is refused with the reason") {
  const Roof roof;
  const auto refused = [&](const System& system, const Numbers& x0, const char* reason) {
    CAPTURE(reason);
    try {
      equilibrium(system, x0, {}, {}, EquilibriumOptions{1, 0.01});
      CHECK(false);
    } catch (const Error& e) {
      CHECK(std::string(e.what()).find(reason) != std::string::npos);
    }
  };
  refused(*roof.system, roof.system->initial_state(), "leave x0 out");
  SolidOptions o;
  const SolidMesh mesh = box_mesh({1, 1, 1}, {1, 1, 1}, ElementKind::hex);
  o.held.assign(24, 1);
  o.linear_solver = "iterative";
  refused(solid(mesh, o), {}, "linear_solver=\"direct\"");
  o.linear_solver = "auto", o.material = "plastic", o.yield = 1e3;
  refused(solid(mesh, o), {}, "plastic");
  o.material = "stvk", o.yield = 0;
  o.floor = {{ObstacleShape::plane, {0, 0, -1}}};
  refused(solid(mesh, o), {}, "obstacles");
  CHECK_THROWS_AS(equilibrium(*roof.system, {}, roof.pushed(1), {}, EquilibriumOptions{1, 0.002, 2})
                      .pullback(Numbers(36, 1.0)),
                  GradientError);
}

}  // namespace cycloid
