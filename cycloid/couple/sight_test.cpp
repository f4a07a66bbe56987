#include "cycloid/couple/sight.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using Names = std::vector<std::string>;
constexpr int kWide = 3, kStride = 5;

}  // namespace

TEST_CASE("Sight: blocks of the state and an energy, in the order asked for") {
  const System s = systems::double_pendulum();
  const Sight seen(s, Names{"energy", "angular_velocities"}), all(s, std::nullopt);
  CHECK(seen.size() == 3);
  CHECK(all.size() == 4);
  CHECK_THROWS_AS(Sight(s, Names{"enrgy"}), ModelError);
}

TEST_CASE("Sight: values and pullbacks by state and parameters, in lanes of any width") {
  const System s = systems::double_pendulum();
  const Sight seen(s, Names{"energy", "angles"});
  const int np = s.parameters().lane_size();
  const std::vector<double> x = test::FixedNumbers(1).vector(4 * kWide),
                            bar = test::FixedNumbers(2).vector(3 * kStride);
  std::vector<double> p;
  for (const double v : s.parameters().default_values()) p.insert(p.end(), kWide, v);
  const auto loss = [&](const std::vector<double>& at, const std::vector<double>& params) {
    Sight::Lanes<double> lanes(seen, kWide);
    std::vector<double> o(3 * kStride);
    lanes.begin({params.data()});
    lanes.observe(at.data(), 0, o.data(), kStride);
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      for (int l = 0; l < kWide; ++l) {
        const auto k = static_cast<std::size_t>(i * kStride + l);
        sum += bar[k] * o[k];
      }
    }
    return sum;
  };
  Sight::Lanes<double> lanes(seen, kWide);
  std::vector<double> x_bar(4 * kWide, 0.0), p_bar(p.size(), 0.0);
  lanes.begin({p.data()});
  lanes.pullback(x.data(), 0, bar.data(), kStride, x_bar.data());
  lanes.finish(p_bar.data());
  const double e = 1e-6;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto a = x, b = x;
    a[i] += e, b[i] -= e;
    CHECK(x_bar[i] == doctest::Approx((loss(a, p) - loss(b, p)) / (2 * e)).epsilon(1e-6));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(np * kWide); ++i) {
    auto a = p, b = p;
    a[i] += e, b[i] -= e;
    CHECK(p_bar[i] == doctest::Approx((loss(x, a) - loss(x, b)) / (2 * e)).epsilon(1e-6));
  }
  CHECK(test::largest(p_bar) > 0.1);
}

}  // namespace cycloid
