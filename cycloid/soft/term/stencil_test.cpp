#include "cycloid/soft/term/stencil.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/soft/term/cell_laws.h"
#include "cycloid/soft/term/contact.h"
#include "cycloid/soft/term/cubic_bending.h"
#include "cycloid/soft/term/edge_spring.h"
#include "cycloid/soft/term/loads.h"
#include "cycloid/soft/term/membrane.h"
#include "cycloid/soft/term/rod_laws.h"
#include "cycloid/soft/term/shell_bending.h"
#include "cycloid/soft/term/woven.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

template <class Law>
using Values = typename Law::template Group<double>;

// The same with the direction of number `i` of the positions now.
template <class Law>
auto along(const Values<Law>& s, int i) {
  using D = Dual<double, 1>;
  typename Law::template Group<D> d;
  const auto lift = [](const Vec3<double>& x) { return Vec3<D>{D(x.x), D(x.y), D(x.z)}; };
  d.step = s.step;
  for (int a = 0; a < Law::kNodes; ++a) {
    d.rest[a] = lift(s.rest[a]), d.now[a] = lift(s.now[a]);
    for (int k = 0; k < 2; ++k) d.before[k][a] = lift(s.before[k][a]);
  }
  for (int k = 0; k < Law::kNumbers; ++k) d.number[k] = D(s.number[k]);
  for (int k = 0; k < Law::kConstants; ++k) d.constant[k] = D(s.constant[k]);
  for (std::size_t k = 0; k < std::size(s.memory); ++k) d.memory[k] = D(s.memory[k]);
  d.now[i / 3][i % 3].tangent[0] = 1;
  return d;
}

template <class Law>
void force_is_the_slope(const Values<Law>& s) {
  Vec3<double> f[Law::kNodes];
  Law::force(s, f);
  double largest = 0;
  for (const auto& each : f) largest = std::max(largest, norm(each));
  CHECK(largest > 0);
  for (int i = 0; i < 3 * Law::kNodes; ++i) {
    const double slope = Law::energy(along<Law>(s, i)).tangent[0];
    CHECK(std::abs(f[i / 3][i % 3] - slope) <= 1e-11 * largest);
  }
}

// Points at rest, moved about by `amount` now and before.
template <class Law>
Values<Law> shaken(const double (*rest)[3], double amount, int befores, std::uint64_t seed) {
  Values<Law> s;
  test::FixedNumbers random(seed);
  const auto shake = [&](const Vec3<double>& x) {
    return Vec3<double>{x.x + amount * random.next(), x.y + amount * random.next(),
                        x.z + amount * random.next()};
  };
  for (int a = 0; a < Law::kNodes; ++a) {
    s.rest[a] = {rest[a][0], rest[a][1], rest[a][2]};
    s.now[a] = shake(s.rest[a]);
    for (auto& before : s.before) before[a] = shake(s.rest[a]);
  }
  s.step.befores = befores;
  s.step.before_weight[0] = befores == 2 ? 1.4 : 1, s.step.before_weight[1] = -0.4;
  s.step.rate = 20, s.step.spread = befores == 2 ? 1 : 2;
  for (double& x : s.constant) x = 1;
  for (double& x : s.memory) x = 0.2 * amount * random.next();
  return s;
}

constexpr double kCube[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
constexpr double kSix[6][3] = {{0, 0, 0},       {1, 0.1, 0},      {0.3, 0.9, 0.1},
                               {1.2, 1.0, 0.2}, {-0.7, 0.6, 0.1}, {0.6, -0.8, 0}};

}  // namespace

TEST_CASE("laws of terms: the force is the slope of the energy, at rest and in a step") {
  for (int befores = 0; befores <= 2; ++befores) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(befores);
      CAPTURE(seed);
      auto membrane = shaken<Membrane>(kSix, 0.1, befores, seed);
      const double numbers[] = {1e3, 0.3, 0.01, 200, 0.02};
      std::copy_n(numbers, 5, membrane.number);
      force_is_the_slope<Membrane>(membrane);

      auto shell = shaken<ShellBending>(kSix, 0.1, befores, seed);
      const double of_shell[] = {1e3, 0.3, 0.1, 0.02};
      std::copy_n(of_shell, 4, shell.number);
      shell.constant[1] = 2;
      force_is_the_slope<ShellBending>(shell);
      shell.constant[2] = 0;  // an edge of the cloth
      shell.now[5] = shell.now[2], shell.rest[5] = shell.rest[2];
      for (auto& before : shell.before) before[5] = before[2];
      force_is_the_slope<ShellBending>(shell);

      auto woven = shaken<WovenMembrane>(kSix, 0.1, befores, seed);
      const double of_weave[] = {1e3, 3e2, 0.2, 1e2, 0.01, 200, 0.02};
      std::copy_n(of_weave, 7, woven.number);
      force_is_the_slope<WovenMembrane>(woven);
      auto bent = shaken<WovenBending>(kSix, 0.1, befores, seed);
      const double of_bent[] = {1e3, 3e2, 0.2, 1e2, 0.1, 0.02};
      std::copy_n(of_bent, 6, bent.number);
      force_is_the_slope<WovenBending>(bent);

      auto hinge = shaken<CubicBending>(kSix, 0.1, befores, seed);
      const double of_hinge[] = {1e3, 0.3, 0.1, 0.02};
      std::copy_n(of_hinge, 4, hinge.number);
      force_is_the_slope<CubicBending>(hinge);
      auto edge = shaken<EdgeSpring>(kSix, 0.1, befores, seed);
      edge.number[0] = 30, edge.number[1] = 0.4;
      force_is_the_slope<EdgeSpring>(edge);

      auto fibre = shaken<FibreLaw<Hex8>>(kCube, 0.1, befores, seed);
      const double of_fibre[] = {50, 20, 0.3};
      std::copy_n(of_fibre, 3, fibre.number);
      force_is_the_slope<FibreLaw<Hex8>>(fibre);
      auto plastic = shaken<PlasticCell<Hex8>>(kCube, 0.1, befores, seed);
      for (const double yield : {0.1, 20.0, 1e4}) {  // all, some and none of its points flow
        const double of_plastic[] = {1e3, 0.3, yield, 50};
        std::copy_n(of_plastic, 4, plastic.number);
        force_is_the_slope<PlasticCell<Hex8>>(plastic);
      }

      auto stretch = shaken<RodStretch>(kSix, 0.1, befores, seed);
      const double of_rod[] = {1e3, 0.1, 200, 0.02};
      std::copy_n(of_rod, 4, stretch.number);
      force_is_the_slope<RodStretch>(stretch);

      auto bend = shaken<RodBending>(kSix, 0.1, befores, seed);
      const double of_bend[] = {1e5, 0.1, 0.3, 0.02};
      std::copy_n(of_bend, 4, bend.number);
      force_is_the_slope<RodBending>(bend);
      bend.step.rate = 0;
      force_is_the_slope<RodBending>(bend);

      auto traction = shaken<TractionLoad>(kSix, 0.1, befores, seed);
      traction.number[0] = 3, traction.number[1] = -2, traction.number[2] = 1;
      force_is_the_slope<TractionLoad>(traction);
      auto pressure = shaken<PressureLoad>(kSix, 0.1, befores, seed);
      pressure.number[0] = 3, pressure.step.form = 1;
      force_is_the_slope<PressureLoad>(pressure);
      auto spring = shaken<SpringLoad>(kSix, 0.1, befores, seed);
      spring.number[0] = 3;
      force_is_the_slope<SpringLoad>(spring);
    }
  }
}

TEST_CASE("contact: the force is the slope of the energy, pressing and rubbing") {
  using Contact = ObstacleContact;
  const double height[] = {0.02, 0.26, 0.13, 0.32};  // above the middle of each shape
  for (int shape = 0; shape < 4; ++shape) {
    for (const bool barrier : {true, false}) {
      for (int befores = 0; befores <= 2; ++befores) {
        CAPTURE(shape);
        CAPTURE(barrier);
        auto s = shaken<Contact>(kSix, 0, befores, 1);
        const double sink = barrier ? 0 : 0.04;
        s.now[0] = {0.01, 0.02, height[shape] - sink};
        s.before[0][0] = {0, 0.015, height[shape] - sink + 0.002};
        s.before[1][0] = {-0.01, 0.01, height[shape] - sink + 0.003};
        s.step.form = Contact::form_of(static_cast<ObstacleShape>(shape), barrier);
        const double numbers[Contact::kNumbers] = {0,   0,    0,    0.05, 0.02, 0.3, 0.01, -0.02,
                                                   0.1, 0.02, 0.03, 0.01, 0.2,  0.1, 0.3,  0.25,
                                                   0.2, 0.3,  40,   0.05, 0.4,  0.01};
        std::copy_n(numbers, Contact::kNumbers, s.number);
        if (shape == 2) s.number[Contact::size] = 0.1, s.number[Contact::size + 1] = 0.2;
        if (shape == 2) s.now[0].z += 0.2, s.before[0][0].z += 0.2, s.before[1][0].z += 0.2;
        force_is_the_slope<Contact>(s);
      }
    }
  }
}

TEST_CASE("contact: a barrier pushes outwards, without bound towards the surface") {
  using Contact = ObstacleContact;
  double number[Contact::kNumbers] = {};
  number[Contact::stiffness] = 2, number[Contact::width] = 0.1;
  const int form = Contact::form_of(ObstacleShape::plane, true);
  CHECK(Contact::slope(form, number, 0.1) == 0);
  CHECK(Contact::slope(form, number, 0.2) == 0);
  // -κ (2 (φ - w) ln(φ/w) + (φ - w)²/φ) at φ = w/2
  CHECK(Contact::slope(form, number, 0.05) ==
        doctest::Approx(-2 * (2 * -0.05 * std::log(0.5) + 0.05)).epsilon(1e-14));
  CHECK(Contact::slope(form, number, 1e-9) < -1e6);
  CHECK(Contact::potential(form, number, 0.0) == HUGE_VAL);
  CHECK(Contact::potential(form, number, -0.1) == HUGE_VAL);
}

TEST_CASE("membrane: uniaxial stretch gives Young's modulus, bending gives nothing") {
  Values<Membrane> s{};
  s.rest[1] = {1, 0, 0}, s.rest[2] = {0, 1, 0};
  const double e = 1e-6, nu = 0.3;
  s.now[1] = {1 + e, 0, 0}, s.now[2] = {0, 1 - nu * e, 0};
  const double numbers[] = {2e5, nu, 0.01, 100, 0};
  std::copy_n(numbers, 5, s.number);
  Vec3<double> f[3];
  Membrane::force(s, f);
  CHECK(f[1].x == doctest::Approx(2e5 * e * 0.01 / 2).epsilon(1e-5));  // σ h · half the side
  CHECK(std::abs(f[2].y) < 1e-5 * f[1].x);
  CHECK(Membrane::mass(s) == doctest::Approx(0.5).epsilon(1e-14));
}

TEST_CASE("shell bending: a cylinder has half D times its curvature squared, by area") {
  // Two triangles of a strip whose vertices lie on a circle of radius R about the y axis.
  const double R = 50, dx = 0.1, dy = 0.2, Y = 1e6, nu = 0.3, h = 0.01;
  const auto bent = [&](double x, double y) {
    return Vec3<double>{R * std::sin(x / R), y, R * (1 - std::cos(x / R))};
  };
  Values<ShellBending> s{};
  const double at[6][2] = {{0, 0}, {dx, 0}, {dx, dy}, {2 * dx, dy}, {0, dy}, {0, -dy}};
  for (int a = 0; a < 6; ++a) {
    s.rest[a] = {at[a][0], at[a][1], 0};
    s.now[a] = bent(at[a][0], at[a][1]);
  }
  const double numbers[] = {Y, nu, h, 0};
  std::copy_n(numbers, 4, s.number);
  for (double& c : s.constant) c = 1;
  const double D = Y * h * h * h / (12 * (1 - nu * nu));
  CHECK(ShellBending::energy(s) == doctest::Approx(dx * dy / 2 * D / 2 / (R * R)).epsilon(1e-4));
}

TEST_CASE(
    "shell bending: its positive stiffness is the exact one at rest, and keeps bending's sign") {
  auto s = shaken<ShellBending>(kSix, 0.1, 1, 3);
  const double numbers[] = {1e3, 0.3, 0.1, 0.02};
  std::copy_n(numbers, 4, s.number);
  Mat<double, 18, 18> K;
  ShellBending::positive_stiffness(s, K);
  test::FixedNumbers random(7);
  for (int k = 0; k < 20; ++k) {
    double x[18], work = 0;
    for (double& each : x) each = random.next();
    for (int i = 0; i < 18; ++i) {
      for (int j = 0; j < 18; ++j) work += x[i] * K(i, j) * x[j];
    }
    CHECK(work >= 0);
  }
  for (int a = 0; a < 6; ++a) {
    s.now[a] = s.rest[a];
    for (auto& before : s.before) before[a] = s.rest[a];
  }
  ShellBending::positive_stiffness(s, K);
  using D = Dual<double, 1>;
  double largest = 0;
  for (const double k : K.e) largest = std::max(largest, std::abs(k));
  for (int i = 0; i < 18; ++i) {
    Vec3<D> f[6];
    ShellBending::force(along<ShellBending>(s, i), f);
    for (int j = 0; j < 18; ++j) {
      CHECK(std::abs(f[j / 3][j % 3].tangent[0] - K(i, j)) <= 1e-10 * largest);
    }
  }
}

TEST_CASE("woven cloth: alike in both directions it is plain cloth") {
  const double Y = 1e3, nu = 0.3, h = 0.1;
  auto plain = shaken<Membrane>(kSix, 0.1, 1, 2);
  const double of_plain[] = {Y, nu, h, 200, 0.02};
  std::copy_n(of_plain, 5, plain.number);
  auto woven = shaken<WovenMembrane>(kSix, 0.1, 1, 2);
  const double of_woven[] = {Y, Y, nu, Y / (2 * (1 + nu)), h, 200, 0.02};
  std::copy_n(of_woven, 7, woven.number);
  CHECK(WovenMembrane::energy(woven) == doctest::Approx(Membrane::energy(plain)).epsilon(1e-12));
  CHECK(WovenMembrane::mass(woven) == doctest::Approx(Membrane::mass(plain)).epsilon(1e-14));
  auto shell = shaken<ShellBending>(kSix, 0.1, 1, 2);
  const double of_shell[] = {Y, nu, h, 0.02};
  std::copy_n(of_shell, 4, shell.number);
  auto bent = shaken<WovenBending>(kSix, 0.1, 1, 2);
  const double of_bent[] = {Y, Y, nu, Y / (2 * (1 + nu)), h, 0.02};
  std::copy_n(of_bent, 6, bent.number);
  CHECK(WovenBending::energy(bent) == doctest::Approx(ShellBending::energy(shell)).epsilon(1e-12));
}

TEST_CASE("woven cloth: tension along the warp feels the warp, and the weft contracts") {
  Values<WovenMembrane> s{};
  s.rest[1] = {1, 0, 0}, s.rest[2] = {0, 1, 0};
  const double e = 1e-6, nu = 0.2;
  s.now[1] = {1 + e, 0, 0}, s.now[2] = {0, 1 - nu * e, 0};
  const double numbers[] = {2e5, 3e4, nu, 1e4, 0.01, 100, 0};
  std::copy_n(numbers, 7, s.number);
  s.constant[0] = 1, s.constant[1] = s.constant[2] = 0;
  Vec3<double> f[3];
  WovenMembrane::force(s, f);
  CHECK(f[1].x == doctest::Approx(2e5 * e * 0.01 / 2).epsilon(1e-5));
  CHECK(std::abs(f[2].y) < 1e-5 * f[1].x);
  // Sheared, it is its modulus: the warp may lie anywhere in the triangle's plane by a multiple.
  s.constant[0] = 3, s.constant[2] = 7;
  s.now[1] = {1, 0, 0}, s.now[2] = {2 * e, 1, 0};
  WovenMembrane::force(s, f);
  CHECK(f[2].x == doctest::Approx(1e4 * 2 * e * 0.01 / 2).epsilon(1e-5));
}

TEST_CASE("obstacles: distances and normals") {
  const Vec3<double> size = {0.2, 0.3, 0.4};
  const auto far = [&](ObstacleShape shape, const Vec3<double>& x) {
    const Distance<double> d = distance_from(shape, size, x);
    return std::pair(d.phi, d.n);
  };
  CHECK(far(ObstacleShape::plane, {5, 6, 0.7}).first == 0.7);
  CHECK(far(ObstacleShape::sphere, {0, 3, 4}).first == doctest::Approx(4.8));
  CHECK(far(ObstacleShape::sphere, {0, 3, 4}).second.y == doctest::Approx(0.6));
  CHECK(far(ObstacleShape::capsule, {0.5, 0, 0.25}).first == doctest::Approx(0.3));
  CHECK(far(ObstacleShape::capsule, {0, 0, 0.9}).first == doctest::Approx(0.4));
  CHECK(far(ObstacleShape::box, {0.5, 0.7, 0.1}).first == doctest::Approx(0.5));
  CHECK(far(ObstacleShape::box, {-0.5, 0.7, 0.1}).second.x == doctest::Approx(-0.6));
  const auto inside = far(ObstacleShape::box, {0.15, 0, 0});
  CHECK(inside.first == doctest::Approx(-0.05));
  CHECK(inside.second.x == 1);
}

}  // namespace cycloid
