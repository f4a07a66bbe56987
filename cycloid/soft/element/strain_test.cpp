#include "cycloid/soft/element/strain.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

template <class E>
std::vector<test::Numbers> shaken_cells(const double (*corner)[3]) {
  std::vector<test::Numbers> all;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    test::FixedNumbers random(seed);
    test::Numbers p;
    for (int copy = 0; copy < 2; ++copy) {
      for (int a = 0; a < E::kNodes; ++a) {
        for (int i = 0; i < 3; ++i) p.push_back(corner[a][i] + 0.1 * random.next());
      }
    }
    all.push_back(p);
  }
  return all;
}

template <class E>
void check_strain(const double (*corner)[3]) {
  const auto nodes = []<class S>(const S* in, Vec3<S>* to) {
    for (int a = 0; a < E::kNodes; ++a) to[a] = {in[3 * a], in[3 * a + 1], in[3 * a + 2]};
  };
  test::check_pullback(
      "mean_strain", 9,
      [&]<class S>(const S* in, S* out) {
        Vec3<S> rest[E::kNodes], now[E::kNodes];
        nodes(in, rest), nodes(in + 3 * E::kNodes, now);
        const Mat3<S> mean = mean_strain<E, S>(rest, now);
        for (int k = 0; k < 9; ++k) out[k] = mean.e[k];
      },
      [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
        Vec3<S> x[2][E::kNodes], bar[2][E::kNodes];
        for (int c = 0; c < 2; ++c) {
          nodes(in + 3 * c * E::kNodes, x[c]);
          for (auto& b : bar[c]) b = {S(0), S(0), S(0)};
        }
        Mat3<S> mean_bar;
        for (int k = 0; k < 9; ++k) mean_bar.e[k] = out_bar[k];
        mean_strain_pullback<E, S>(x[0], x[1], mean_bar, bar[0], bar[1]);
        for (int c = 0; c < 2; ++c) {
          for (int i = 0; i < 3 * E::kNodes; ++i) {
            in_bar[3 * c * E::kNodes + i] += bar[c][i / 3][i % 3];
          }
        }
      },
      shaken_cells<E>(corner), {.tolerance = 1e-10});
}

}  // namespace

TEST_CASE("mean_strain: pullback equals dual numbers, by rest and by positions") {
  constexpr double cube[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                 {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  constexpr double tet[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  check_strain<Hex8>(cube);
  check_strain<Tet4>(tet);
}

TEST_CASE("mean_strain: a stretch by λ is (λ² - 1)/2, however the cell is turned") {
  const Vec3<double> rest[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Vec3<double> now[4] = {{5, 5, 5}, {5, 6.2, 5}, {4, 5, 5}, {5, 5, 6}};
  const Mat3<double> mean = mean_strain<Tet4, double>(rest, now);
  CHECK(mean(0, 0) == doctest::Approx(0.22).epsilon(1e-13));
  for (int k = 1; k < 9; ++k) CHECK(std::abs(mean.e[k]) < 1e-14);
}

}  // namespace cycloid
