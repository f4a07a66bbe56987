#include "cycloid/soft/element/enhanced_cell.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid::enhanced_cell_test {

using E = HexEnhanced;
using test::FixedNumbers;
using test::Numbers;

// A row: rest (24), now (24), mu, lam, mooney.
template <class S>
Cell<E, S> cell_at(const CellLaw& law, const S* in) {
  Cell<E, S> cell = zero_cell<E, S>();
  for (int a = 0; a < 8; ++a) {
    cell.rest[a] = load_vec3(in + 3 * a), cell.now[a] = load_vec3(in + 24 + 3 * a);
  }
  cell.c = {in[48], in[49], in[50]};
  relax_inner<E, S>(law, cell);
  return cell;
}

template <class S>
void add_cell(const Cell<E, S>& cell, S* in_bar) {
  for (int a = 0; a < 8; ++a) {
    add_to(in_bar + 3 * a, cell.rest[a]), add_to(in_bar + 24 + 3 * a, cell.now[a]);
  }
  in_bar[48] += cell.c.mu, in_bar[49] += cell.c.lam, in_bar[50] += cell.c.mooney;
}

// Distorted boxes, deformed by some hundredths.
Numbers deformed(std::uint64_t seed, double lam = 3) {
  FixedNumbers random(seed);
  const Numbers skew = random.vector(24), moved = random.vector(24);
  Numbers row;
  for (int i = 0; i < 24; ++i) {
    row.push_back(0.5 * Hex8::kCorner[i / 3][i % 3] + 0.08 * skew[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < 24; ++i) {
    row.push_back(row[static_cast<std::size_t>(i)] + 0.06 * moved[static_cast<std::size_t>(i)]);
  }
  row.insert(row.end(), {2.0, lam, 0.4});
  return row;
}

TEST_CASE("rest_point: that of inner nodes pulls back, and their slopes have no mean") {
  const auto vertices = []<class S>(const S* in, Vec3<S>* X) {
    for (int a = 0; a < 8; ++a) X[a] = load_vec3(in + 3 * a);
  };
  const Numbers row = deformed(1);
  test::check_pullback(
      "rest_point", 34,
      [vertices]<class S>(const S* in, S* out) {
        Vec3<S> X[8];
        vertices(in, X);
        const auto at = rest_point<E, S>(X, 3);
        for (int a = 0; a < 11; ++a) store(out + 3 * a, at.slope[a]);
        out[33] = at.volume;
      },
      [vertices]<class S>(const S* in, const S* out_bar, S* in_bar) {
        Vec3<S> X[8], X_bar[8];
        vertices(in, X);
        for (auto& v : X_bar) v = {S(0), S(0), S(0)};
        auto bar = zero_rest_point<E, S>();
        for (int a = 0; a < 11; ++a) bar.slope[a] = load_vec3(out_bar + 3 * a);
        bar.volume = out_bar[33];
        rest_point_pullback(rest_point<E, S>(X, 3), 3, bar, X_bar);
        for (int a = 0; a < 8; ++a) add_to(in_bar + 3 * a, X_bar[a]);
      },
      {Numbers(row.begin(), row.begin() + 24)});
  Vec3<double> X[8];
  vertices(row.data(), X);
  for (int k = 8; k < 11; ++k) {
    Vec3<double> mean{0, 0, 0};
    for (int q = 0; q < 8; ++q) {
      const auto at = rest_point<E, double>(X, q);
      mean += at.slope[k] * at.volume;
    }
    CHECK(norm(mean) < 1e-14);
  }
}

TEST_CASE("enhanced cell: inner nodes are at rest, and leave a constant strain alone") {
  const CellLaw law{Material::neo_hookean, 0, {}};
  Numbers row = deformed(2);
  const Cell<E, double> cell = cell_at(law, row.data());
  Vec3<double> f[11];
  for (auto& v : f) v = {0, 0, 0};
  cell_force<E, double>(law, cell, f);
  for (int k = 8; k < 11; ++k) CHECK(norm(f[k]) < 1e-12);
  CHECK(norm(cell.now[8]) > 1e-3);
  const Mat3<double> A{{1.1, 0.2, -0.1, 0.05, 0.9, 0.1, 0, -0.2, 1.2}};
  for (int a = 0; a < 8; ++a) {
    const Vec3<double> x = A * load_vec3(row.data() + 3 * a);
    for (int i = 0; i < 3; ++i) row[static_cast<std::size_t>(24 + 3 * a + i)] = x[i];
  }
  const Cell<E, double> straight = cell_at(law, row.data());
  for (int k = 8; k < 11; ++k) CHECK(norm(straight.now[k]) < 1e-12);
}

TEST_CASE("enhanced cell: energy, force and stress pull back through the inner nodes") {
  for (const Material material : {Material::stvk, Material::neo_hookean}) {
    const CellLaw law{material, 0, {}};
    CAPTURE(kMaterialNames[static_cast<int>(material)]);
    const std::vector<Numbers> at = {deformed(3, material == Material::stvk ? 3 : 200)};
    test::check_pullback(
        "cell_energy", 1,
        [law]<class S>(const S* in, S* out) { out[0] = cell_energy<E, S>(law, cell_at(law, in)); },
        [law]<class S>(const S* in, const S* out_bar, S* in_bar) {
          Cell<E, S> bar = zero_cell<E, S>();
          cell_energy_pullback<E, S>(law, cell_at(law, in), out_bar[0], bar);
          add_cell(bar, in_bar);
        },
        at);
    test::check_pullback(
        "enhanced_force", 24,
        [law]<class S>(const S* in, S* out) {
          Vec3<S> f[11];
          for (auto& v : f) v = {S(0), S(0), S(0)};
          cell_force<E, S>(law, cell_at(law, in), f);
          for (int a = 0; a < 8; ++a) store(out + 3 * a, f[a]);
        },
        [law]<class S>(const S* in, const S* out_bar, S* in_bar) {
          Cell<E, S> bar = zero_cell<E, S>();
          Vec3<S> f_bar[11];
          for (int a = 0; a < 8; ++a) f_bar[a] = load_vec3(out_bar + 3 * a);
          enhanced_force_pullback<E, S>(law, cell_at(law, in), f_bar, bar);
          add_cell(bar, in_bar);
        },
        at);
    test::check_pullback(
        "enhanced_stress", 9,
        [law]<class S>(const S* in, S* out) {
          const Mat3<S> P = mean_stress<E, S>(law, cell_at(law, in));
          for (int k = 0; k < 9; ++k) out[k] = P.e[k];
        },
        [law]<class S>(const S* in, const S* out_bar, S* in_bar) {
          Cell<E, S> bar = zero_cell<E, S>();
          Mat3<S> P_bar;
          for (int k = 0; k < 9; ++k) P_bar.e[k] = out_bar[k];
          enhanced_stress_pullback<E, S>(law, cell_at(law, in), P_bar, bar);
          add_cell(bar, in_bar);
        },
        at);
  }
}

TEST_CASE("enhanced cell: the condensed stiffness is the slope of the force") {
  for (const Material material : {Material::linear, Material::neo_hookean}) {
    const CellLaw law{material, 0, {}};
    const Numbers row = deformed(5, 50);
    Mat<double, 33, 33> K;
    cell_stiffness<E, double>(law, cell_at(law, row.data()), false, K);
    condense<E, double>(K);
    for (int j = 0; j < 24; ++j) {
      using D = Dual<double, 1>;
      std::vector<D> in(row.begin(), row.end());
      in[static_cast<std::size_t>(24 + j)].tangent[0] = 1;
      Vec3<D> f[11];
      for (auto& v : f) v = {D(0), D(0), D(0)};
      cell_force<E, D>(law, cell_at(law, in.data()), f);
      for (int i = 0; i < 24; ++i) {
        const double k = i / 3 <= j / 3 ? K(i, j) : K(j, i);
        CHECK(k == doctest::Approx(f[i / 3][i % 3].tangent[0]).epsilon(1e-9).scale(1));
      }
    }
  }
}

}  // namespace cycloid::enhanced_cell_test
