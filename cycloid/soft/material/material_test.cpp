#include "cycloid/soft/material/material.h"

#include <doctest/doctest.h>

#include "cycloid/soft/material/fibre.h"
#include "cycloid/soft/material/plastic.h"
#include "cycloid/soft/material/viscous.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

constexpr Material kAll[] = {
    Material::linear,      Material::corotated,       Material::stvk,
    Material::neo_hookean, Material::neo_hookean_log, Material::mooney_rivlin};

template <class S>
Mat3<S> matrix_at(const S* p) {
  Mat3<S> m;
  for (int k = 0; k < 9; ++k) m.e[k] = p[k];
  return m;
}

// mu, lam, mooney, F: stretched, turned, sheared, and pressed.
std::vector<Numbers> points() {
  return {
      {3, 2, 0.3, 1.2, 0.1, -0.2, 0.05, 0.9, 0.3, 0.1, -0.15, 1.1},
      {1, 4, 0.1, 0.1, -1.3, 0.2, 0.9, 0.2, 0.1, -0.3, 0.2, 0.8},
      {2, 1, 0.6, -0.8, 0.3, 0.4, 0.1, -1.4, 0.2, 0.2, 0.5, 0.7},
      {2, 5, 0.2, 0.7, 0.02, 0.01, -0.03, 0.6, 0.05, 0.02, 0.01, 0.9},
      {2, 3, 0.4, 1.02, 0.03, -0.01, 0.02, 0.97, 0.04, -0.03, 0.01, 1.03},
  };
}

// The same, and a cell that is turned inside out, for the materials that know such a thing.
std::vector<Numbers> points_of(Material m) {
  std::vector<Numbers> all = points();
  if (m != Material::neo_hookean_log && m != Material::mooney_rivlin) {
    all.push_back({3, 2, 0.3, 1.2, 0.1, -0.2, 0.05, 0.9, 0.3, 0.1, -0.15, -0.4});
  }
  return all;
}

Mat3<double> rotation() {
  // About (1, 2, 2)/3 by an angle whose cosine is 0.28 and sine 0.96.
  const double x = 1.0 / 3, y = 2.0 / 3, z = 2.0 / 3, c = 0.28, s = 0.96, k = 1 - c;
  return {{c + k * x * x, k * x * y - s * z, k * x * z + s * y, k * y * x + s * z, c + k * y * y,
           k * y * z - s * x, k * z * x - s * y, k * z * y + s * x, c + k * z * z}};
}

}  // namespace

TEST_CASE("material: stress is the slope of the energy, in F and in every coefficient") {
  for (const Material m : kAll) {
    CAPTURE(kMaterialNames[static_cast<int>(m)]);
    test::check_pullback(
        "energy_density", 1,
        [m]<class S>(const S* in, S* out) {
          out[0] = energy_density<S>(m, {in[0], in[1], in[2]}, matrix_at(in + 3));
        },
        [m]<class S>(const S* in, const S* out_bar, S* in_bar) {
          Coefficients<S> c_bar{S(0), S(0), S(0)};
          Mat3<S> F_bar{};
          energy_density_pullback<S>(m, {in[0], in[1], in[2]}, matrix_at(in + 3), out_bar[0], c_bar,
                                     F_bar);
          in_bar[0] += c_bar.mu, in_bar[1] += c_bar.lam, in_bar[2] += c_bar.mooney;
          for (int k = 0; k < 9; ++k) in_bar[3 + k] += F_bar.e[k];
        },
        points_of(m), {.tolerance = 1e-10});
  }
}

TEST_CASE("material: the derivative of the stress, in F and in every coefficient") {
  for (const Material m : kAll) {
    CAPTURE(kMaterialNames[static_cast<int>(m)]);
    test::check_pullback(
        "piola_stress", 9,
        [m]<class S>(const S* in, S* out) {
          const Mat3<S> P = piola_stress<S>(m, {in[0], in[1], in[2]}, matrix_at(in + 3));
          for (int k = 0; k < 9; ++k) out[k] = P.e[k];
        },
        [m]<class S>(const S* in, const S* out_bar, S* in_bar) {
          Coefficients<S> c_bar{S(0), S(0), S(0)};
          Mat3<S> F_bar{};
          piola_stress_pullback<S>(m, {in[0], in[1], in[2]}, matrix_at(in + 3), matrix_at(out_bar),
                                   c_bar, F_bar);
          in_bar[0] += c_bar.mu, in_bar[1] += c_bar.lam, in_bar[2] += c_bar.mooney;
          for (int k = 0; k < 9; ++k) in_bar[3 + k] += F_bar.e[k];
        },
        points_of(m), {.tolerance = 1e-10});
  }
}

TEST_CASE("material: energies keep their digits at strains of 1e-7") {
  const Coefficients<double> c{3, 2, 0.3};
  const Mat3<double> G{{0.3, -0.5, 0.2, 0.1, 0.4, -0.2, 0.6, 0.3, -0.1}};
  const Mat3<double> e = symmetric_part(G) * 1e-7;
  const double hooke = c.mu * contract(e, e) + 0.5 * c.lam * trace(e) * trace(e);
  for (const Material m : kAll) {
    CAPTURE(kMaterialNames[static_cast<int>(m)]);
    const Mat3<double> F = identity_matrix<double, 3>() + G * 1e-7;
    CHECK(energy_density(m, c, F) == doctest::Approx(hooke).epsilon(1e-5));
    if (m == Material::linear) continue;
    CHECK(energy_density(m, c, rotation() * F) == doctest::Approx(hooke).epsilon(1e-5));
  }
}

TEST_CASE("material: viscous stress, in F, in the strain before, and in every coefficient") {
  std::vector<Numbers> all;
  for (Numbers p : points()) {
    p[2] = 0.7;  // z
    for (const double e : {0.1, 0.02, -0.05, 0.02, -0.1, 0.03, -0.05, 0.03, 0.2}) p.push_back(e);
    all.push_back(p);
  }
  test::check_pullback(
      "viscous_stress", 9,
      []<class S>(const S* in, S* out) {
        const Mat3<S> P = viscous_stress<S>({in[0], in[1], S(0)}, in[2], matrix_at(in + 3),
                                            symmetric_part(matrix_at(in + 12)));
        for (int k = 0; k < 9; ++k) out[k] = P.e[k];
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        Coefficients<S> c_bar{S(0), S(0), S(0)};
        Mat3<S> F_bar{}, E_bar{};
        S z_bar(0);
        viscous_stress_pullback<S>({in[0], in[1], S(0)}, in[2], matrix_at(in + 3),
                                   symmetric_part(matrix_at(in + 12)), matrix_at(out_bar), c_bar,
                                   z_bar, F_bar, E_bar);
        in_bar[0] += c_bar.mu, in_bar[1] += c_bar.lam, in_bar[2] += z_bar;
        for (int k = 0; k < 9; ++k) in_bar[3 + k] += F_bar.e[k], in_bar[12 + k] += E_bar.e[k];
      },
      all, {.tolerance = 1e-10});
  // The stress is the slope of the energy.
  using D = Dual<double, 1>;
  const Numbers& p = all[0];
  const Mat3<double> E = symmetric_part(matrix_at(p.data() + 12));
  const Mat3<double> P = viscous_stress<double>({p[0], p[1], 0}, p[2], matrix_at(p.data() + 3), E);
  for (int k = 0; k < 9; ++k) {
    Mat3<D> F, ref;
    for (int i = 0; i < 9; ++i)
      F.e[i] = D(p[static_cast<std::size_t>(3 + i)]), ref.e[i] = D(E.e[i]);
    F.e[k].tangent[0] = 1;
    const D energy = viscous_energy<D>({D(p[0]), D(p[1]), D(0.0)}, D(p[2]), F, ref);
    CHECK(P.e[k] == doctest::Approx(energy.tangent[0]).epsilon(1e-12));
  }
}

TEST_CASE("material: stress of a rate of strain, in F, in its rate, and in every coefficient") {
  std::vector<Numbers> all;
  for (Numbers p : points()) {
    for (const double e : {0.1, 0.2, -0.5, 0.3, -0.1, 0.3, -0.4, 0.6, 0.2}) p.push_back(e);
    all.push_back(p);
  }
  test::check_pullback(
      "rate_stress", 9,
      []<class S>(const S* in, S* out) {
        const Mat3<S> P =
            rate_stress<S>({in[0], in[1], S(0)}, in[2], matrix_at(in + 3), matrix_at(in + 12));
        for (int k = 0; k < 9; ++k) out[k] = P.e[k];
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        Coefficients<S> c_bar{S(0), S(0), S(0)};
        Mat3<S> F_bar{}, G_bar{};
        S z_bar(0);
        rate_stress_pullback<S>({in[0], in[1], S(0)}, in[2], matrix_at(in + 3), matrix_at(in + 12),
                                matrix_at(out_bar), c_bar, z_bar, F_bar, G_bar);
        in_bar[0] += c_bar.mu, in_bar[1] += c_bar.lam, in_bar[2] += z_bar;
        for (int k = 0; k < 9; ++k) in_bar[3 + k] += F_bar.e[k], in_bar[12 + k] += G_bar.e[k];
      },
      all, {.tolerance = 1e-10});
}

TEST_CASE("fibre: traction in F, direction, pull and stiffness, and the slope of the energy") {
  std::vector<Numbers> all;
  for (Numbers p : points()) {
    for (const double a : {0.6, -0.48, 0.64}) p.push_back(a);
    all.push_back(p);
  }
  const auto fibre_of = []<class S>(const S* in) {
    return Fibre<S>{{in[12], in[13], in[14]}, in[0], in[1]};
  };
  test::check_pullback(
      "fibre_traction", 3,
      [&]<class S>(const S* in, S* out) {
        const Vec3<S> t = fibre_traction(fibre_of(in), matrix_at(in + 3));
        out[0] = t.x, out[1] = t.y, out[2] = t.z;
      },
      [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
        Fibre<S> bar{{S(0), S(0), S(0)}, S(0), S(0)};
        Mat3<S> F_bar{};
        fibre_traction_pullback(fibre_of(in), matrix_at(in + 3),
                                {out_bar[0], out_bar[1], out_bar[2]}, bar, F_bar);
        in_bar[0] += bar.pull, in_bar[1] += bar.stiffness;
        for (int k = 0; k < 9; ++k) in_bar[3 + k] += F_bar.e[k];
        in_bar[12] += bar.a.x, in_bar[13] += bar.a.y, in_bar[14] += bar.a.z;
      },
      all, {.tolerance = 1e-10});
  using D = Dual<double, 1>;
  for (const Numbers& p : all) {
    const Vec3<double> t = fibre_traction(fibre_of(p.data()), matrix_at(p.data() + 3));
    for (int k = 0; k < 9; ++k) {
      std::vector<D> d(p.begin(), p.end());
      d[static_cast<std::size_t>(3 + k)].tangent[0] = 1;
      const double slope = fibre_energy(fibre_of(d.data()), matrix_at(d.data() + 3)).tangent[0];
      CHECK(t[k / 3] * p[static_cast<std::size_t>(12 + k % 3)] ==
            doctest::Approx(slope).epsilon(1e-12));
    }
  }
}

TEST_CASE("plastic: stress ends on the yield surface, by the slope of its energy") {
  using D = Dual<double, 1>;
  const PlasticLaw<double> law{3, 2, 0.4, 0.5};
  const PlasticLaw<D> of_duals{D(3), D(2), D(0.4), D(0.5)};
  const double memory[7] = {0.02, -0.05, 0.03, 0.01, 0.02, -0.03, 0.1};
  D same[7];
  for (int k = 0; k < 7; ++k) same[k] = D(memory[k]);
  for (const Numbers& p : points()) {
    const Mat3<double> F = matrix_at(p.data() + 3);
    const Mat3<double> P = plastic_stress(law, memory, F, true);
    for (int k = 0; k < 9; ++k) {
      Mat3<D> along;
      for (int i = 0; i < 9; ++i) along.e[i] = D(F.e[i]);
      along.e[k].tangent[0] = 1;
      CHECK(P.e[k] ==
            doctest::Approx(plastic_energy(of_duals, same, along, true).tangent[0]).epsilon(1e-11));
    }
    // After the flow nothing is left to flow, and the stress is the same.
    double next[7];
    plastic_flow(law, memory, F, next);
    CHECK(next[6] > memory[6]);
    CHECK(next[0] + next[1] + next[2] == doctest::Approx(0).scale(1).epsilon(1e-14));
    const PlasticPoint<double> after = plastic_point(law, next, F, true);
    CHECK(std::sqrt(6.0) * law.mu * std::sqrt(contract(after.d, after.d)) ==
          doctest::Approx(law.yield + law.hardening * next[6]).epsilon(1e-12));
    const Mat3<double> frozen = plastic_stress(law, next, F, false);
    for (int k = 0; k < 9; ++k) CHECK(frozen.e[k] == doctest::Approx(P.e[k]).epsilon(1e-11));
  }
  // Below the yield stress it is St. Venant and Kirchhoff's material.
  const PlasticLaw<double> hard{3, 2, 1e3, 0};
  const double none[7] = {};
  const Mat3<double> F = matrix_at(points()[0].data() + 3), P = plastic_stress(hard, none, F, true),
                     expected = piola_stress<double>(Material::stvk, {3, 2, 0}, F);
  for (int k = 0; k < 9; ++k) CHECK(P.e[k] == doctest::Approx(expected.e[k]).epsilon(1e-13));
}

TEST_CASE("material: at rest there is no stress, and small strains feel Hooke's law") {
  const Coefficients<double> c{3, 2, 0.4};
  Mat3<double> e{{0.3, 0.1, -0.2, 0.1, -0.4, 0.5, -0.2, 0.5, 0.7}};
  const Mat3<double> rest = identity_matrix<double, 3>(), expected = hooke(c.mu, c.lam, e);
  for (const Material m : kAll) {
    CAPTURE(kMaterialNames[static_cast<int>(m)]);
    const Mat3<double> P = piola_stress(m, c, rest), dP = piola_stress_tangent(m, c, rest, e);
    for (int k = 0; k < 9; ++k) {
      CHECK(std::abs(P.e[k]) < 1e-14);
      CHECK(dP.e[k] == doctest::Approx(expected.e[k]).epsilon(1e-12));
    }
  }
}

TEST_CASE("material: a rotation by a large angle costs nothing, except in the linear one") {
  const Coefficients<double> c{3, 2, 0.4};
  for (const Material m : kAll) {
    CAPTURE(kMaterialNames[static_cast<int>(m)]);
    const Mat3<double> P = piola_stress(m, c, rotation());
    double largest = 0;
    for (const double p : P.e) largest = std::max(largest, std::abs(p));
    if (m == Material::linear) CHECK(largest > 0.1);
    else CHECK(largest < 1e-13);
  }
}

TEST_CASE("material: mooney_rivlin with a share of zero is neo_hookean_log") {
  for (const Numbers& p : points()) {
    const Mat3<double> F = matrix_at(p.data() + 3);
    CHECK(energy_density<double>(Material::mooney_rivlin, {p[0], p[1], 0}, F) ==
          doctest::Approx(energy_density<double>(Material::neo_hookean_log, {p[0], p[1], 0}, F))
              .epsilon(1e-13));
  }
}

TEST_CASE("material: a cell without volume has no logarithm, and infinite energy") {
  const Mat3<double> flat{{1, 0, 0, 0, 1, 0, 0, 0, 0}}, inside_out{{1, 0, 0, 0, 1, 0, 0, 0, -1}};
  for (const Material m : {Material::neo_hookean_log, Material::mooney_rivlin}) {
    CHECK(energy_density<double>(m, {1, 1, 0.2}, flat) == HUGE_VAL);
    CHECK(energy_density<double>(m, {1, 1, 0.2}, inside_out) == HUGE_VAL);
  }
}

TEST_CASE("corotated: the rotation nearest to F, also from far away and inside out") {
  for (const Numbers& p : points_of(Material::corotated)) {
    const Mat3<double> F = matrix_at(p.data() + 3), R = polar_rotation(F);
    CHECK(determinant(R) == doctest::Approx(1).epsilon(1e-13));
    const Mat3<double> U = transpose(R) * F, G = turning_matrix(symmetric_part(U));
    CHECK(std::abs(axial(U).x) + std::abs(axial(U).y) + std::abs(axial(U).z) < 1e-13);
    // A maximum of tr(RᵀF).
    CHECK(G(0, 0) > 0);
    CHECK(G(0, 0) * G(1, 1) - G(0, 1) * G(1, 0) > 0);
    CHECK(determinant(G) > 0);
  }
}

}  // namespace cycloid
