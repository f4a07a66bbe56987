#include "cycloid/soft/element/cell.h"

#include <doctest/doctest.h>

#include "cycloid/soft/element/cell_stiffness.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using test::Numbers;

// rest, now, before, mu, lam, mooney, z in a row, and back.
template <class E>
constexpr int kNumbers = 12 * E::kNodes + 4;

template <class E, class S>
Cell<E, S> cell_at(const S* in) {
  Cell<E, S> cell = zero_cell<E, S>();
  for (int a = 0; a < E::kNodes; ++a) {
    const S* const p = in + 3 * a;
    constexpr int n = 3 * E::kNodes;
    cell.rest[a] = load_vec3(p), cell.now[a] = load_vec3(p + n);
    cell.before[0][a] = load_vec3(p + 2 * n), cell.before[1][a] = load_vec3(p + 3 * n);
  }
  const S* const c = in + 12 * E::kNodes;
  cell.c = {c[0], c[1], c[2]};
  cell.z = c[3];
  return cell;
}

template <class E, class S>
void add_cell(const Cell<E, S>& cell, S* in_bar) {
  for (int a = 0; a < E::kNodes; ++a) {
    S* const p = in_bar + 3 * a;
    constexpr int n = 3 * E::kNodes;
    add_to(p, cell.rest[a]), add_to(p + n, cell.now[a]);
    add_to(p + 2 * n, cell.before[0][a]), add_to(p + 3 * n, cell.before[1][a]);
  }
  S* const c = in_bar + 12 * E::kNodes;
  c[0] += cell.c.mu, c[1] += cell.c.lam, c[2] += cell.c.mooney, c[3] += cell.z;
}

template <class E, class S>
std::vector<Vec3<S>> vectors_at(const S* in) {
  std::vector<Vec3<S>> v;
  for (int a = 0; a < E::kNodes; ++a) v.push_back(load_vec3(in + 3 * a));
  return v;
}

// The corners of the element in its own frame.
template <class E>
Numbers own_frame() {
  if constexpr (E::kNodes == 8) {
    Numbers x;
    for (const auto& corner : Hex8::kCorner) x.insert(x.end(), corner, corner + 3);
    return x;
  } else {
    Numbers x = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int e = 0; e < E::kNodes - 4; ++e) {
      for (int i = 0; i < 3; ++i) {
        const auto corner = [&](int a) { return x[static_cast<std::size_t>(3 * a + i)]; };
        x.push_back(0.5 * (corner(Tet10::kEdge[e][0]) + corner(Tet10::kEdge[e][1])));
      }
    }
    return x;
  }
}

// Distorted at rest, deformed now and before.
template <class E>
std::vector<Numbers> cells() {
  std::vector<Numbers> all;
  for (const std::uint64_t seed : {1u, 2u}) {
    FixedNumbers random(seed);
    Numbers p;
    for (int part = 0; part < 4; ++part) {
      for (const double x : own_frame<E>()) p.push_back(x + 0.04 * random.next());
    }
    p.insert(p.end(), {3, 2, 0.3, 0.4});
    all.push_back(p);
  }
  return all;
}

constexpr Material kAll[] = {
    Material::linear,      Material::corotated,       Material::stvk,
    Material::neo_hookean, Material::neo_hookean_log, Material::mooney_rivlin};
// Points of both cells, and coefficients that have no part in something.
constexpr test::PullbackOptions kHeld = {.tolerance = 1e-10, .floor = 1e-3};

template <class E>
void check_forces(const CellLaw& law) {
  CAPTURE(kMaterialNames[static_cast<int>(law.material)]);
  test::check_pullback(
      "cell_force", 3 * E::kNodes,
      [law]<class S>(const S* in, S* out) {
        Vec3<S> f[E::kNodes];
        for (auto& v : f) v = {S(0), S(0), S(0)};
        cell_force<E, S>(law, cell_at<E>(in), f);
        for (int a = 0; a < E::kNodes; ++a) store(out + 3 * a, f[a]);
      },
      [law]<class S>(const S* in, const S* out_bar, S* in_bar) {
        Cell<E, S> bar = zero_cell<E, S>();
        cell_force_pullback<E, S>(law, cell_at<E>(in), vectors_at<E>(out_bar).data(), bar);
        add_cell(bar, in_bar);
      },
      cells<E>(), kHeld);
}

template <class E>
void check_others() {
  for (const Material m : {Material::neo_hookean, Material::mooney_rivlin}) {
    const CellLaw law{m, 0, {}};
    test::check_pullback(
        "cell_energy", 1,
        [law]<class S>(const S* in, S* out) { out[0] = cell_energy<E, S>(law, cell_at<E>(in)); },
        [law]<class S>(const S* in, const S* out_bar, S* in_bar) {
          Cell<E, S> bar = zero_cell<E, S>();
          cell_energy_pullback<E, S>(law, cell_at<E>(in), out_bar[0], bar);
          add_cell(bar, in_bar);
        },
        cells<E>(), kHeld);
    test::check_pullback(
        "mean_stress", 9,
        [law]<class S>(const S* in, S* out) {
          const Mat3<S> P = mean_stress<E, S>(law, cell_at<E>(in));
          for (int k = 0; k < 9; ++k) out[k] = P.e[k];
        },
        [law]<class S>(const S* in, const S* out_bar, S* in_bar) {
          Cell<E, S> bar = zero_cell<E, S>();
          Mat3<S> P_bar;
          for (int k = 0; k < 9; ++k) P_bar.e[k] = out_bar[k];
          mean_stress_pullback<E, S>(law, cell_at<E>(in), P_bar, bar);
          add_cell(bar, in_bar);
        },
        cells<E>(), kHeld);
  }
  test::check_pullback(
      "cell_rate_force", 3 * E::kNodes,
      []<class S>(const S* in, S* out) {
        Vec3<S> f[E::kNodes];
        for (auto& v : f) v = {S(0), S(0), S(0)};
        cell_rate_force<E, S>(cell_at<E>(in), f);
        for (int a = 0; a < E::kNodes; ++a) store(out + 3 * a, f[a]);
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        Cell<E, S> bar = zero_cell<E, S>();
        cell_rate_force_pullback<E, S>(cell_at<E>(in), vectors_at<E>(out_bar).data(), bar);
        add_cell(bar, in_bar);
      },
      cells<E>(), kHeld);
  test::check_pullback(
      "cell_mass", E::kNodes,
      []<class S>(const S* in, S* out) {
        for (int a = 0; a < E::kNodes; ++a) out[a] = S(0);
        cell_mass<E, S>(vectors_at<E>(in).data(), in[3 * E::kNodes], out);
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        auto bar = vectors_at<E>(in);
        for (auto& v : bar) v = {S(0), S(0), S(0)};
        cell_mass_pullback<E, S>(vectors_at<E>(in).data(), in[3 * E::kNodes], out_bar, bar.data(),
                                 in_bar[3 * E::kNodes]);
        for (int a = 0; a < E::kNodes; ++a) add_to(in_bar + 3 * a, bar[static_cast<size_t>(a)]);
      },
      cells<E>(), kHeld);
  test::check_pullback(
      "cell_volume", 1,
      []<class S>(const S* in, S* out) {
        const auto cell = cell_at<E>(in);
        out[0] = cell_volume<E, S>(cell.rest, cell.now);
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        const auto cell = cell_at<E>(in);
        Cell<E, S> bar = zero_cell<E, S>();
        cell_volume_pullback<E, S>(cell.rest, cell.now, out_bar[0], bar.rest, bar.now);
        add_cell(bar, in_bar);
      },
      cells<E>(), kHeld);
}

template <class E>
void check_stiffness() {
  constexpr int n = 3 * E::kNodes;
  const CellLaw law{Material::neo_hookean, 2, {1.6, -0.6}};
  const Numbers p = cells<E>()[0];
  Mat<double, n, n> K;
  cell_stiffness<E, double>(law, cell_at<E>(p.data()), false, K);
  for (int b = 0; b < E::kNodes; ++b) {
    for (int j = 0; j < 3; ++j) {
      using D = Dual<double, 1>;
      std::vector<D> in(p.begin(), p.end());
      in[static_cast<std::size_t>(n + 3 * b + j)].tangent[0] = 1;
      Vec3<D> f[E::kNodes] = {};
      cell_force<E, D>(law, cell_at<E>(in.data()), f);
      for (int a = 0; a <= b; ++a) {
        for (int i = 0; i < 3; ++i) {
          CHECK(K(3 * a + i, 3 * b + j) ==
                doctest::Approx(f[a][i].tangent[0]).epsilon(1e-10).scale(1));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("cell_force: pullback equals dual numbers in every shape, material and with damping") {
  for (const Material m : kAll) check_forces<Tet4>({m, 0, {}});
  for (const Material m : {Material::corotated, Material::neo_hookean_log}) {
    check_forces<Hex8>({m, 0, {}});
  }
  check_forces<Tet10>({Material::neo_hookean, 0, {}});
  check_forces<Tet4>({Material::mooney_rivlin, 1, {1, 0}});
  check_forces<Hex8>({Material::neo_hookean, 2, {1.6, -0.6}});
  check_forces<Tet10>({Material::stvk, 2, {1.6, -0.6}});
}

TEST_CASE("cell: energies, stresses, masses and volumes pull back as dual numbers say") {
  check_others<Tet4>();
  check_others<Hex8>();
  check_others<Tet10>();
}

TEST_CASE("cell: forces are the slope of the energy, damping included") {
  const CellLaw law{Material::neo_hookean, 1, {1, 0}};
  const Numbers p = cells<Hex8>()[0];
  Vec3<double> f[8] = {};
  cell_force<Hex8, double>(law, cell_at<Hex8>(p.data()), f);
  for (int k = 0; k < 24; ++k) {
    using D = Dual<double, 1>;
    std::vector<D> in(p.begin(), p.end());
    in[static_cast<std::size_t>(24 + k)].tangent[0] = 1;
    CHECK(f[k / 3][k % 3] ==
          doctest::Approx(cell_energy<Hex8, D>(law, cell_at<Hex8>(in.data())).tangent[0])
              .epsilon(1e-11));
  }
}

TEST_CASE("cell_stiffness: equals the derivative of the forces in every shape") {
  check_stiffness<Tet4>();
  check_stiffness<Hex8>();
  check_stiffness<Tet10>();
}

TEST_CASE("cell_stiffness: what is kept positive has the positive eigenvalues, and no others") {
  FixedNumbers random(3);
  Mat<double, 9, 9> A;
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j <= i; ++j) A(i, j) = A(j, i) = random.next();
  }
  Mat<double, 9, 9> kept = A;
  keep_positive(kept);
  // With B = kept and C = B - A, both not negative, B C = 0 says that they share no vector.
  const auto C = kept - A, product = kept * C;
  double most = 0, trace_kept = 0, trace_cut = 0;
  for (const double v : product.e) most = std::max(most, std::abs(v));
  for (int i = 0; i < 9; ++i) trace_kept += kept(i, i), trace_cut += C(i, i);
  CHECK(most < 1e-12);
  CHECK(trace_kept > 1);
  CHECK(trace_cut > 1);
}

TEST_CASE("cell: masses and volumes of the undistorted shapes") {
  const auto total = []<class E>(E) {
    const Numbers p = own_frame<E>();
    double m[E::kNodes] = {};
    const auto rest = vectors_at<E>(p.data());
    cell_mass<E, double>(rest.data(), 2.0, m);
    double sum = 0;
    for (const double x : m) {
      CHECK(x > 0);
      sum += x;
    }
    CHECK(sum == doctest::Approx(2.0 * cell_volume<E, double>(rest.data(), rest.data())));
    return sum / 2;
  };
  CHECK(total(Tet4{}) == doctest::Approx(1.0 / 6).epsilon(1e-14));
  CHECK(total(Hex8{}) == doctest::Approx(8).epsilon(1e-14));
  CHECK(total(Tet10{}) == doctest::Approx(1.0 / 6).epsilon(1e-14));
}

}  // namespace cycloid
