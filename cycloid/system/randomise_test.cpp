#include "cycloid/system/randomise.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"

namespace cycloid::randomise_test {

using Drawn = std::map<std::string, std::vector<double>>;

constexpr double kBody[] = {0.4, 0.5, 0.6, 0.05, -0.02, 0.01};  // an inertia
constexpr double kPlate[] = {1, 1, 2, 0, 0, 0};                 // ... without thickness

// Numbers of every kind; what moves is of no matter.
struct Bodies {
  static constexpr const char* kName = "bodies";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"mass", 2, "kg", Constraint::non_negative},
      ParameterSpec{"share", 0.5, "1", Constraint::unit_interval},
      ParameterSpec{"offset", 1, "m", Constraint::none, 3},
      ParameterSpec{"inertia", 1, "kg·m²", Constraint::inertia, 6},
      ParameterSpec{"plate", 1, "kg·m²", Constraint::none, 6},
      ParameterSpec{"gravity", 9.81, "m/s²"}};
  template <class S>
  void step(const S&, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = x[0];
  }
};

System bodies() {
  LawSettings settings;
  settings.vary = {"mass", "share", "offset", "inertia", "plate"};
  settings.values = {{"offset", {-1, 0, 3}},
                     {"inertia", {std::begin(kBody), std::end(kBody)}},
                     {"plate", {std::begin(kPlate), std::end(kPlate)}}};
  return make_system(Bodies{}, settings);
}

struct Moments {
  double mean = 0, deviation = 0;
};
template <class Map>
Moments moments(const std::vector<double>& values, const Map& map) {
  Moments m;
  for (const double v : values) m.mean += map(v) / static_cast<double>(values.size());
  for (const double v : values) m.deviation += std::pow(map(v) - m.mean, 2);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(values.size()));
  return m;
}

bool near(double found, double expected, double bound) {
  return std::abs(found - expected) < bound;
}

// With 2^14 draws the standard error of a mean is s/128 and of a deviation s/181; bounds are five.
TEST_CASE("randomise: each law has its mean and its deviation") {
  constexpr int kBatch = 1 << 14;
  const Drawn drawn = randomise(bodies(),
                                {{"mass", LogNormal{{0.3}}},
                                 {"offset", Normal{{0.1, 0, 2}}},
                                 {"share", Uniform{{0.2}, {0.8}}}},
                                kBatch, 5);
  const Moments log_mass = moments(drawn.at("mass"), [](double m) { return std::log(m / 2); });
  CHECK(near(log_mass.mean, 0, 5 * 0.3 / 128));
  CHECK(near(log_mass.deviation, 0.3, 5 * 0.3 / 181));
  std::vector<double> parts[3];
  for (std::size_t i = 0; i < 3 * kBatch; ++i) parts[i % 3].push_back(drawn.at("offset")[i]);
  const auto same = [](double v) { return v; };
  CHECK(near(moments(parts[0], same).mean, -1, 5 * 0.1 / 128));
  CHECK(near(moments(parts[0], same).deviation, 0.1, 5 * 0.1 / 181));
  CHECK(moments(parts[1], same).deviation == 0);
  CHECK(near(moments(parts[2], same).deviation, 2, 5 * 2.0 / 181));
  const Moments share = moments(drawn.at("share"), same);
  CHECK(near(share.mean, 0.5, 5 * 0.6 / std::sqrt(12) / 128));
  CHECK(near(share.deviation, 0.6 / std::sqrt(12), 5 * 0.2 / 181));
}

TEST_CASE("randomise: seed, name and environment decide, not other names or the batch") {
  const System system = bodies();
  const Drawn both = randomise(system, {{"mass", LogNormal{{0.2}}}, {"offset", Normal{{1}}}}, 8, 3);
  const Drawn alone = randomise(system, {{"offset", Normal{{1}}}}, 5, 3);
  for (std::size_t i = 0; i < 15; ++i) CHECK(alone.at("offset")[i] == both.at("offset")[i]);
  CHECK(randomise(system, {{"offset", Normal{{1}}}}, 5, 4) != alone);
  // Names have streams of their own.
  const Drawn two = randomise(system, {{"mass", Normal{{0.1}}}, {"share", Normal{{0.1}}}}, 1, 3);
  CHECK(two.at("mass")[0] - 2 != doctest::Approx(two.at("share")[0] - 0.5));
}

TEST_CASE("randomise: what comes out lies within the constraints, however wide the spread") {
  const System system = bodies();
  const Drawn drawn = randomise(system,
                                {{"mass", Normal{{5}}},
                                 {"share", LogNormal{{2}}},
                                 {"inertia", Normal{{0.3}}},
                                 {"plate", Uniform{{0.5, 0.5, 0.5, -0.5, -0.5, -0.5}, {1.5}}}},
                                500, 11);
  int unlike = 0;
  for (std::size_t e = 0; e < 500; ++e) {
    CHECK(drawn.at("mass")[e] >= 0);
    CHECK(drawn.at("share")[e] <= 1);
    const double* inertia = drawn.at("inertia").data() + 6 * e;
    CHECK(satisfies(Constraint::inertia, inertia, 6));
    CHECK(satisfies(Constraint::inertia, drawn.at("plate").data() + 6 * e, 6));
    unlike += std::abs(inertia[0] / inertia[1] - kBody[0] / kBody[1]) > 0.1;
  }
  CHECK(unlike > 250);
}

TEST_CASE("randomise: LogNormal scales an inertia as a whole, also one without thickness") {
  const Drawn drawn =
      randomise(bodies(), {{"inertia", LogNormal{{3}}}, {"plate", LogNormal{{3}}}}, 50, 2);
  for (std::size_t e = 0; e < 50; ++e) {
    const double* inertia = drawn.at("inertia").data() + 6 * e;
    const double* plate = drawn.at("plate").data() + 6 * e;
    for (int i = 0; i < 6; ++i) {
      CHECK(inertia[i] / kBody[i] == doctest::Approx(inertia[0] / kBody[0]).epsilon(1e-14));
      CHECK(plate[i] == doctest::Approx(plate[0] * kPlate[i]).epsilon(1e-14));
    }
  }
}

TEST_CASE("randomise: refuses unknown names, names outside vary, and spreads without sense") {
  const System system = bodies();
  const auto refused = [&](const char* name, Spread spread, const char* text) {
    CHECK_THROWS_WITH_AS(randomise(system, {{name, std::move(spread)}}, 2, 0),
                         doctest::Contains(text), ParameterError);
  };
  refused("mas", LogNormal{{1}}, "did you mean \"mass\"");
  refused("gravity", LogNormal{{1}}, "name it in vary");
  refused("mass", LogNormal{{-1}}, "s must not be negative; got -1");
  refused("mass", Normal{{1, 2}}, "expected one number for s, or 1; got 2");
  refused("offset", Normal{{NAN}}, "s must be finite");
  refused("offset", Uniform{{1}, {0}}, "from a lower to an upper end; got 1 to 0");
  refused("inertia", LogNormal{{1, 1, 1, 1, 1, 1}}, "s must be one number");
  refused("mass", Uniform{{-2}, {-1}},
          "of 100000 draws of Uniform for environment 0 none is zero or");
  CHECK_THROWS_WITH_AS(randomise(system, {}, 0, 0), doctest::Contains("batch must be"), Error);
}

}  // namespace cycloid::randomise_test
