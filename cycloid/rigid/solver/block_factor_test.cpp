#include "cycloid/rigid/solver/block_factor.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/random.h"
#include "cycloid/math/pack.h"
#include "tests/support/pullback_check.h"

namespace cycloid::block_factor_test {

using test::Numbers;

// A positive definite matrix with a given pattern, dense.
struct Case {
  explicit Case(bool coupled) : dofs(std::vector<int>{-1, 0, 1, 2, 3, 4, 2, 6, 7, 2, 9}) {
    words.resize(BlockPattern::words_needed(dofs));
    places.resize(BlockPattern::places_needed(dofs));
    pattern.start(dofs, words.data(), places.data());
    if (coupled) pattern.row(3).insert(1);
    pattern.close();
    n = static_cast<std::size_t>(dofs.size());
    H.assign(n * n, 0.0);
    test::FixedNumbers random(coupled ? 5 : 4);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const int I = static_cast<int>(i) / kBlock, J = static_cast<int>(j) / kBlock;
        if (!pattern.row(I).has(J)) continue;
        H[i * n + j] = H[j * n + i] = random.next();
      }
      H[i * n + i] = 12 + random.next();
    }
  }
  template <class S>
  void assemble(int I, int J, BlockEntries<S>& block) const {
    for (int i = 0; i < kBlockEntries; ++i) {
      const auto row = static_cast<std::size_t>(I * kBlock + i / kBlock);
      block.e[i] = S(H[row * n + static_cast<std::size_t>(J * kBlock + i % kBlock)]);
    }
  }
  Numbers times(const Numbers& x) const {
    Numbers y(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) y[i] += H[i * n + j] * x[j];
    }
    return y;
  }
  DofBlocks dofs;
  std::vector<std::uint64_t> words;
  std::vector<int> places;
  BlockPattern pattern;
  std::size_t n = 0;
  Numbers H;
};

TEST_CASE("factor_blocks, solve_blocks: H times the solution is the right-hand side") {
  for (const bool coupled : {false, true}) {
    const Case c(coupled);
    Numbers V(static_cast<std::size_t>(c.pattern.count * kBlockEntries));
    factor_blocks(
        c.pattern, [&](int I, int J, BlockEntries<double>& b) { c.assemble(I, J, b); }, V.data());
    const Numbers b = test::FixedNumbers(3).vector(c.n);
    Numbers x = b;
    solve_blocks(c.pattern, static_cast<const double*>(V.data()), x.data());
    CHECK(test::relative_error(c.times(x), b) < 1e-14);  // the condition of H is below 10
  }
}

TEST_CASE("multiply_blocks: equals the dense product") {
  const Case c(true);
  Numbers H(static_cast<std::size_t>(c.pattern.count * kBlockEntries)), y(c.n);
  for (int I = 0; I < c.pattern.blocks; ++I) {
    for_each(c.pattern.row(I), [&](int J) {
      BlockEntries<double> block;
      c.assemble(I, J, block);
      block.store(H.data() + c.pattern.place(I, J) * kBlockEntries);
    });
  }
  const Numbers x = test::FixedNumbers(8).vector(c.n);
  multiply_blocks(c.pattern, static_cast<const double*>(H.data()), x.data(), y.data());
  CHECK(test::relative_error(y, c.times(x)) < 1e-14);
}

TEST_CASE("factor_blocks: a singular matrix and NaN in one lane leave the others alone") {
  using S = Pack<double, 4>;
  const Case c(true);
  const auto solve = [&](double first, double second) {
    std::vector<S> V(static_cast<std::size_t>(c.pattern.count * kBlockEntries)), x(c.n, S(1));
    factor_blocks(
        c.pattern,
        [&](int I, int J, BlockEntries<S>& b) {
          c.assemble(I, J, b);
          for (S& e : b.e) set_lane(e, 1, first * lane(e, 1));
          for (S& e : b.e) set_lane(e, 2, second * lane(e, 2));
        },
        V.data());
    solve_blocks(c.pattern, static_cast<const S*>(V.data()), x.data());
    return x;
  };
  const std::vector<S> clean = solve(1, 1), bad = solve(0, NAN);
  for (std::size_t i = 0; i < c.n; ++i) {
    CHECK(lane(bad[i], 0) == lane(clean[i], 0));
    CHECK(lane(bad[i], 3) == lane(clean[i], 3));
    CHECK(std::isnan(lane(bad[i], 2)));
  }
}

TEST_CASE("factor_blocks: a pivot that rounding makes negative is held above zero") {
  // One block of rank one: the second and third pivots are zero but for rounding.
  const DofBlocks dofs(std::vector<int>{-1, 0, 1});
  std::vector<std::uint64_t> words(BlockPattern::words_needed(dofs));
  std::vector<int> places(BlockPattern::places_needed(dofs));
  BlockPattern pattern;
  pattern.start(dofs, words.data(), places.data());
  pattern.close();
  const double a[3] = {1.0 / 3, 0.1, 0.7};
  Numbers V(kBlockEntries), x = {1.0, 1.0, 1.0};
  factor_blocks(
      pattern,
      [&](int, int, BlockEntries<double>& b) {
        b.clear();
        b.add_outer<1>(a, a);
      },
      V.data());
  solve_blocks(pattern, static_cast<const double*>(V.data()), x.data());
  for (const double v : x) CHECK(std::isfinite(v));
}

TEST_CASE("factor_blocks: where float loses the matrix, no entry outgrows it") {
  // A light body with a long lever: three rows make H, what is left to its turning is rounding.
  // A pivot that comes out below zero shows how large that rounding is.
  const DofBlocks dofs(std::vector<int>{-1, 0, 1, 2, 3, 4});
  std::vector<std::uint64_t> words(BlockPattern::words_needed(dofs));
  std::vector<int> places(BlockPattern::places_needed(dofs));
  BlockPattern pattern;
  pattern.start(dofs, words.data(), places.data());
  for (int J : {0, 1}) pattern.row(1).insert(J);
  pattern.close();
  const double J[3][6] = {{0.198, 0.113, 0.974, -0.00571, -0.00129, -0.00333},
                          {-0.0225, 0.994, -0.111, 0.887, 1.77, 4.57},
                          {-0.98, 0, 0.199, 4.89, -0.317, -0.829}};
  const double D[3] = {0.19, 1.9, 1.9};
  RandomStream random(5);
  for (int trial = 0; trial < 1000; ++trial) {
    double rows[3][6], H[6][6] = {};
    for (int k = 0; k < 18; ++k)
      rows[k / 6][k % 6] = J[k / 6][k % 6] * random.uniform(0.999, 1.001);
    for (int i = 0; i < 36; ++i) {
      for (int k = 0; k < 3; ++k) H[i / 6][i % 6] += D[k] * rows[k][i / 6] * rows[k][i % 6];
    }
    for (int i = 0; i < 6; ++i) H[i][i] += i < 3 ? 0.01 : 7e-7;
    std::vector<float> V(static_cast<std::size_t>(pattern.count * kBlockEntries));
    factor_blocks(
        pattern,
        [&](int I, int K, BlockEntries<float>& b) {
          for (int e = 0; e < kBlockEntries; ++e) {
            b.e[e] = static_cast<float>(H[kBlock * I + e / kBlock][kBlock * K + e % kBlock]);
          }
        },
        V.data());
    const float* between = V.data() + pattern.place(1, 0) * kBlockEntries;
    for (int e = 0; e < kBlockEntries; ++e) {  // of V = √H, |V_ij| ≤ √H_jj
      CHECK(std::abs(between[e]) <= 2 * std::sqrt(H[e % kBlock][e % kBlock]));
    }
  }
}

}  // namespace cycloid::block_factor_test
