#include "cycloid/fluid/transform/fft.h"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "tests/support/operator_coverage.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;

template <class T>
std::vector<T> numbers(std::int64_t n, std::uint64_t seed) {
  FixedNumbers draw(seed);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& v : x) v = static_cast<T>(draw.next());
  return x;
}

// (1) of fft.h as it stands there.
std::complex<double> coefficient(const std::vector<int>& shape, const std::vector<double>& x,
                                 const std::vector<int>& k) {
  std::complex<double> sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double angle = 0;
    std::size_t rest = i;
    for (std::size_t a = shape.size(); a-- > 0;) {
      const std::size_t n = static_cast<std::size_t>(shape[a]);
      angle += static_cast<double>(rest % n) * k[a] / static_cast<double>(n);
      rest /= n;
    }
    sum += x[i] * std::polar(1.0, -2 * std::numbers::pi * angle);
  }
  return sum / static_cast<double>(x.size());
}

template <class T>
void hold_to_the_sum(const std::vector<int>& shape, const std::vector<int>& cut) {
  CAPTURE(shape.size());
  CAPTURE(shape[0]);
  const RealTransform<T> f(shape, cut);
  FftWorkspace<T> w(f, 2);
  const auto x = numbers<T>(f.nodes(), 7);
  const std::vector<double> exact(x.begin(), x.end());
  std::vector<T> X(static_cast<std::size_t>(f.coefficients()));
  f.forward(x.data(), X.data(), w);
  const double tolerance = 30 * static_cast<double>(std::numeric_limits<T>::epsilon());
  double worst = 0;
  for (int s = 0; s < f.slabs(); ++s) {
    for (int r = 0; r < f.pitch(); ++r) {
      const std::size_t i = static_cast<std::size_t>(2 * s * f.pitch() + r);
      const std::size_t im = i + static_cast<std::size_t>(f.pitch());
      if (r >= f.rows()) {
        CHECK(X[i] == 0);
        CHECK(X[im] == 0);
        continue;
      }
      std::vector<int> k;
      for (int a = 0; a < f.dimensions(); ++a) {
        k.push_back(f.wave_number(a, s, r));
        if (!cut.empty()) CHECK(std::abs(k.back()) <= cut[static_cast<std::size_t>(a)]);
      }
      worst = std::max(worst,
                       std::abs(std::complex<double>(X[i], X[im]) - coefficient(shape, exact, k)));
    }
  }
  CHECK(worst < tolerance);
  std::vector<T> back(x.size());
  f.inverse(X.data(), back.data(), w);
  if (cut.empty()) {
    double off = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      off = std::max(off, std::abs(double(back[i] - x[i])));
    CHECK(off < tolerance);
  } else {
    // What is kept is kept: a second pass changes nothing.
    std::vector<T> again(X.size());
    f.forward(back.data(), again.data(), w);
    double off = 0;
    for (std::size_t i = 0; i < X.size(); ++i)
      off = std::max(off, std::abs(double(again[i] - X[i])));
    CHECK(off < tolerance);
  }
}

TEST_CASE("fft_radices: their product is the length") {
  for (int n = 1; n < 400; ++n) {
    int product = 1;
    for (const int r : fft_radices(n)) product *= r;
    CHECK(product == n);
  }
}

TEST_CASE("RealTransform: equals the sum, for every instruction set, length and cut") {
  for (const InstructionSet set : available_instruction_sets()) {
    const ScopedInstructionSet scope(set);
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 25, 30, 31, 49, 64, 77, 96}) {
      hold_to_the_sum<double>({n}, {});
      hold_to_the_sum<float>({n}, {});
    }
    hold_to_the_sum<double>({48}, {15});
    hold_to_the_sum<double>({12, 10}, {});
    hold_to_the_sum<float>({12, 10}, {});
    hold_to_the_sum<double>({9, 7}, {});
    hold_to_the_sum<double>({1, 6}, {});
    hold_to_the_sum<double>({6, 1}, {});
    hold_to_the_sum<double>({20, 35}, {6, 11});
    hold_to_the_sum<float>({40, 37}, {6, 11});
    hold_to_the_sum<double>({6, 5, 4}, {});
    hold_to_the_sum<float>({5, 6, 18}, {});
    hold_to_the_sum<double>({8, 9, 10}, {2, 3, 3});
  }
}

TEST_CASE("real_transform, real_inverse: pullbacks are the transposes") {
  for (const std::vector<int>& shape :
       {std::vector<int>{15}, {16}, {8, 6}, {7, 9}, {6, 5, 4}, {4, 3, 7}}) {
    for (const bool cuts : {false, true}) {
      std::vector<int> cut;
      if (cuts) {
        for (const int n : shape) cut.push_back(n / 3);
      }
      const RealTransform<double> f(shape, cut);
      FftWorkspace<double> w(f, 1);
      const auto x = numbers<double>(f.nodes(), 1), x_bar = numbers<double>(f.nodes(), 2);
      auto X_bar = numbers<double>(f.coefficients(), 3);
      for (int s = 0; s < 2 * f.slabs(); ++s) {
        for (int r = f.rows(); r < f.pitch(); ++r) {
          X_bar[static_cast<std::size_t>(s * f.pitch() + r)] = 0;
        }
      }
      std::vector<double> X(X_bar.size()), back(x.size(), 1.0), y(x.size()), Y(X.size(), 1.0);
      real_transform(f, x.data(), X.data(), w);
      real_transform_pullback(f, X_bar.data(), back.data(), w);
      const auto dot = [](const auto& a, const auto& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        return sum;
      };
      for (double& b : back) b -= 1;
      CHECK(dot(X, X_bar) == doctest::Approx(dot(x, back)).epsilon(1e-12));
      CHECK(std::abs(dot(X, X_bar)) > 1e-4);
      // Coefficients that no real numbers have are inputs of the inverse like any other.
      real_inverse(f, X_bar.data(), y.data(), w);
      real_inverse_pullback(f, x_bar.data(), Y.data(), w);
      for (double& b : Y) b -= 1;
      CHECK(dot(y, x_bar) == doctest::Approx(dot(X_bar, Y)).epsilon(1e-12));
    }
  }
  test::mark_operator_tested("real_transform");
  test::mark_operator_tested("real_inverse");
}

TEST_CASE("RealTransform: threads change no bit") {
  const RealTransform<double> f({24, 20, 18}, {7, 6, 5});
  const auto x = numbers<double>(f.nodes(), 5);
  std::vector<double> first, back_first;
  for (const int threads : {1, 2, 3}) {
    FftWorkspace<double> w(f, threads);
    std::vector<double> X(static_cast<std::size_t>(f.coefficients())), back(x.size());
    f.forward(x.data(), X.data(), w);
    f.inverse(X.data(), back.data(), w);
    if (threads == 1) first = X, back_first = back;
    CHECK(X == first);
    CHECK(back == back_first);
  }
}

TEST_CASE("RealTransform: shapes without sense are refused") {
  CHECK_THROWS_AS(RealTransform<double>({}), ModelError);
  CHECK_THROWS_AS(RealTransform<double>({4, 0}), ModelError);
  CHECK_THROWS_AS(RealTransform<double>({2, 2, 2, 2}), ModelError);
  CHECK_THROWS_AS(RealTransform<double>({4, 4}, {1}), ModelError);
  CHECK_THROWS_AS(RealTransform<double>({1 << 20, 1 << 20}), ModelError);
}

}  // namespace
}  // namespace cycloid
