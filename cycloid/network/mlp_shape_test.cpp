#include "cycloid/network/mlp_shape.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/network/mlp.h"
#include "cycloid/network/shapes_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("MlpShape: counts features and weights") {
  MlpShape s;
  s.widths = {3, 8, 2};
  CHECK(s.numbers() == 3 * 8 + 8 + 8 * 2 + 2);
  s.angles = {1};
  s.frequencies = {1, 0, 2};
  CHECK(s.waves() == 2);
  CHECK(s.features() == 2 + 4);
  CHECK(s.numbers() == 6 * 8 + 8 + 8 * 2 + 2);
  CHECK(s.wave_matrix() == std::vector<double>{0, 1, 0, 1, 0, 2});
}

TEST_CASE("MlpShape: what makes no sense is refused by name") {
  MlpShape s;
  s.widths = {3};
  CHECK_THROWS_WITH_AS(
      s.check(), "a network needs at least the sizes of its inputs and outputs; got 1 size", Error);
  s.widths = {3, 0, 1};
  CHECK_THROWS_AS(s.check(), Error);
  s.widths = {3, 4, 1};
  s.angles = {3};
  CHECK_THROWS_WITH_AS(s.check(), "angles must be rising indices of the 3 inputs; got 3", Error);
  s.angles = {0};
  s.input_shift = {1, 0, 0}, s.input_scale = {1, 1, 1};
  CHECK_THROWS_WITH_AS(s.check(), "input 0 is an angle: it is not normalised (shift 0, scale 1)",
                       Error);
  s.angles = {};
  s.input_scale = {1, 0, 1};
  CHECK_THROWS_WITH_AS(s.check(), "the scale of the inputs must be finite and positive; got 0",
                       Error);
  s.input_scale = {1, 1};
  CHECK_THROWS_AS(s.check(), Error);
}

TEST_CASE("initial_weights: depend on the seed alone and stay within their bound") {
  MlpShape s;
  s.widths = {4, 64, 64, 1};
  const auto a = initial_weights(s, 7), b = initial_weights(s, 7), c = initial_weights(s, 8);
  CHECK(a == b);
  CHECK(a != c);
  double mean = 0, largest = 0;
  for (std::size_t i = 0; i < 4 * 64; ++i) {
    mean += a[i] / (4 * 64);
    largest = std::max(largest, std::abs(a[i]));
  }
  CHECK(largest <= 0.5);
  CHECK(largest > 0.48);
  CHECK(std::abs(mean) < 0.05);
  MlpShape wider = s;
  wider.widths.back() = 2;  // the other layers keep their numbers
  const auto d = initial_weights(wider, 7);
  CHECK(std::equal(a.begin(), a.begin() + 4 * 64 + 64 + 64 * 64 + 64, d.begin()));
}

TEST_CASE("fold_normalisation: the same function without normalisation") {
  MlpShape s;
  s.widths = {3, 5, 2};
  s.angles = {1};
  s.frequencies = {0, 0, 1.5};
  s.input_shift = {0.3, 0, 0}, s.input_scale = {2, 1, 0.5};
  s.output_shift = {1, -1}, s.output_scale = {3, 0.2};
  std::vector<double> w = initial_weights(s, 1), folded_w = w;
  const MlpShape folded = fold_normalisation(s, folded_w);
  CHECK_FALSE(folded.normalised());
  const double x[] = {0.7, -0.2, 0.4};
  double y[2], again[2];
  const auto call = [&](const MlpShape& shape, const std::vector<double>& weights, double* out) {
    const MlpPlan<double> plan(shape);
    std::vector<double> memory(mlp_numbers<double>(plan, MlpOrder::value));
    const auto at = layer_pointers(shape, weights.data());
    mlp(plan, at.data(), x, out, memory.data());
  };
  call(s, w, y);
  call(folded, folded_w, again);
  for (int i = 0; i < 2; ++i) CHECK(again[i] == doctest::Approx(y[i]).epsilon(1e-14));
  s.input_shift[2] = 0.1;
  CHECK_THROWS_AS(fold_normalisation(s, w), Error);
}

}  // namespace cycloid
