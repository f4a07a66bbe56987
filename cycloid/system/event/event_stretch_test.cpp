#include "cycloid/system/event/event_stretch.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cycloid/system/integrator/rk4.h"

namespace cycloid::event_stretch_test {

// x = x₀ + a t + b t², which is not a number where x > limit; event j has direction j.
struct Ramp {
  static constexpr const char* kName = "ramp";
  static constexpr std::array kState = {BlockSpec{"x", 1, "m"}};
  static constexpr std::array kParameters = {
      ParameterSpec{"wall", 0.0, "m"}, ParameterSpec{"a", 1.0, "m/s"},
      ParameterSpec{"b", 0.0, "m/s²"}, ParameterSpec{"limit", 1e9, "m"}};
  static constexpr std::array kEvents = {EventSpec{"falling", EventDirection::falling},
                                         EventSpec{"rising", EventDirection::rising},
                                         EventSpec{"both", EventDirection::both}};
  template <class S>
  void x_dot(const S& t, const S* x, const S*, const S* p, S* dx) const {
    dx[0] = p[1] + S(2) * p[2] * t + S(0) * sqrt(p[3] - x[0]);
  }
  template <class S>
  void events(const S&, const S* x, const S*, const S* p, S* g) const {
    for (int j = 0; j < 3; ++j) g[j] = x[0] - p[0];
  }
  template <class S>
  void reset(int, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = x[0];
  }
};

struct Stretch {
  using Of = EventStretch<Ramp, Rk4, double>;
  Ramp law;
  LawShape<Ramp> shape{law};
  Rk4 scheme;
  std::vector<double> memory = std::vector<double>(static_cast<std::size_t>(Of::numbers(shape)));
  NumberArena<double> arena{memory.data()};
  Of of{law, scheme, shape, arena, {nullptr}};

  Stretch(double wall, double a, double b, double limit = 1e9) {
    const double p[] = {wall, a, b, limit};
    std::copy_n(p, 4, of.parameters());
  }
  Of::Root operator()(double x, double t, double h) {
    of.begin(t, h, t + h);
    return of.first_root(&x);
  }
};

TEST_CASE("EventStretch: takes the memory that it says") {
  Stretch stretch(0, 1, 0);
  CHECK(stretch.arena.next == stretch.memory.data() + stretch.memory.size());
}

TEST_CASE("EventStretch: a root between the ends, in its direction, with the side it leads to") {
  const auto up = Stretch(0.3, 1, 0)(0, 0, 1);
  CHECK(up.event == 1);  // of those that fit, the first
  CHECK(up.tau == doctest::Approx(0.3).epsilon(1e-15));
  CHECK(up.to == 1);
  CHECK_FALSE(up.held);
  const auto down = Stretch(-0.3, -1, 0)(0, 0, 1);
  CHECK(down.event == 0);
  CHECK(down.to == -1);
  CHECK(Stretch(1.3, 1, 0)(0, 0, 1).event < 0);
}

TEST_CASE("EventStretch: the end of a step is the next one's beginning, exactly and to rounding") {
  for (const double off : {0.0, 1e-16, -1e-16, 4e-16, -4e-16}) {
    CAPTURE(off);
    Stretch stretch(1.5 + off, 1, 0);
    CHECK(stretch(1, 0, 0.5).event < 0);
    const auto next = stretch(1.5, 0.5, 0.5);
    CHECK(next.event == 1);
    CHECK(next.tau < 1e-15);
  }
  // Far enough beyond for the step to have it; the next one then begins beyond.
  Stretch stretch(1.5 - 1e-13, 1, 0);
  CHECK(stretch(1, 0, 0.5).event == 1);
  CHECK(stretch(1.5, 0.5, 0.5).event < 0);
}

TEST_CASE("EventStretch: what has happened happens again only after the state has left") {
  Stretch stretch(0.5, 1, 0);
  const double x = 0.5;
  stretch.of.begin(0, 1, 1);
  for (const int expected : {1, 2}) {  // rising, and both; then nothing
    const auto root = stretch.of.first_root(&x);
    CHECK(root.event == expected);
    CHECK(root.tau == 0);
    stretch.of.pass(root, &x);
  }
  CHECK(stretch.of.first_root(&x).event < 0);
}

TEST_CASE("EventStretch: a state without speed that is pressed through the surface is held there") {
  Stretch stretch(0.5, 0, -1);
  const double x = 0.5;
  stretch.of.begin(0, 1, 1);
  const auto root = stretch.of.first_root(&x);
  CHECK(root.event == 0);
  CHECK(root.held);
  CHECK(root.grazing);
  CHECK_FALSE(root.rests);
  stretch.of.pass(root, &x);
  CHECK(stretch.of.first_root(&x).rests);
}

TEST_CASE("EventStretch: grazing is what a change of √ε of the numbers would miss") {
  // x = 1 + t - t² has its top 1.25 at ½; σ = |x| + |wall| + h |ẋ| is about 2.5 there.
  for (const double d : {1e-2, 1e-4, 1e-6, 1e-7}) {
    const auto root = Stretch(1.25 - d, 1, -1)(1, 0, 0.9);
    REQUIRE(root.event == 1);
    CHECK(root.tau == doctest::Approx(0.5 - std::sqrt(d)).epsilon(1e-9));
    CHECK_FALSE(root.grazing);
  }
  for (const double d : {1e-8, 1e-10, 1e-12}) {
    const auto root = Stretch(1.25 - d, 1, -1)(1, 0, 0.9);
    REQUIRE(root.event == 1);
    CHECK(root.grazing);
  }
  for (const double d : {0.0, 1e-12, 1e-8, 1e-2}) {  // a touch, and misses
    CHECK(Stretch(1.25 + d, 1, -1)(1, 0, 0.9).event < 0);
  }
}

TEST_CASE("EventStretch: a surface before a place where nothing is finite") {
  for (const double limit : {1.9, 1.51, 1.5001}) {
    CAPTURE(limit);
    const auto root = Stretch(1.5, 1, 0, limit)(1, 0, 1);
    CHECK(root.event == 1);
    CHECK(root.tau == doctest::Approx(0.5).epsilon(1e-14));
  }
  CHECK(Stretch(1.5, 1, 0, 1.4)(1, 0, 1).event < 0);
  CHECK(Stretch(1.5, 1, 0, 0.5)(1, 0, 1).event < 0);
}

}  // namespace cycloid::event_stretch_test
