#include "cycloid/math/dual.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cycloid/math/pack.h"

namespace cycloid {
namespace {

// A derivative is the product of a few correctly rounded factors and one elementary function of 2
// ulp: 10 ulp, relative.
constexpr double kDerivativeTolerance = 2.5e-15;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using D2 = Dual<double, 2>;
using Nested = Dual<Dual<double, 1>, 1>;

bool near(double actual, double expected, double tolerance = kDerivativeTolerance) {
  return std::abs(actual - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

// x with tangents (1, 0.5).
D2 seed(double x) {
  D2 d = D2::variable(x, 0);
  d.tangent[1] = 0.5;
  return d;
}

// Value and derivative of f at each point, and the same in the lanes of a Dual over packs.
template <class F, class V, class G>
void check_function(const std::string& name, F f, V value, G slope,
                    const std::vector<double>& points) {
  for (const double x : points) {
    const D2 y = f(seed(x));
    CHECK_MESSAGE(near(y.value, value(x)), name, "(", x, ") = ", y.value);
    CHECK_MESSAGE(near(y.tangent[0], slope(x)), name, "'(", x, ") = ", y.tangent[0]);
    CHECK_MESSAGE(near(y.tangent[1], 0.5 * slope(x)), name, "'(", x, ")/2 = ", y.tangent[1]);
  }
  using P = Pack<double, 4>;
  P x(0.0);
  for (int l = 0; l < 4; ++l) set_lane(x, l, points[static_cast<std::size_t>(l) % points.size()]);
  Dual<P, 2> in = Dual<P, 2>::variable(x, 0);
  in.tangent[1] = P(0.5);
  const Dual<P, 2> y = f(in);
  for (int l = 0; l < 4; ++l) {
    const D2 expected = f(seed(lane(x, l)));
    CHECK_MESSAGE(near(lane(y.value, l), expected.value), name, " in lane ", l);
    CHECK_MESSAGE(near(lane(y.tangent[0], l), expected.tangent[0]), name, "' in lane ", l);
    CHECK_MESSAGE(near(lane(y.tangent[1], l), expected.tangent[1]), name, "'/2 in lane ", l);
  }
}

}  // namespace

TEST_CASE("dual: every function has its derivative, in double and in lanes") {
  check_function(
      "sqrt", [](auto x) { return sqrt(x); }, [](double x) { return std::sqrt(x); },
      [](double x) { return 0.5 / std::sqrt(x); }, {0.3, 1e-8, 4.0, 9e10});
  check_function(
      "sin", [](auto x) { return sin(x); }, [](double x) { return std::sin(x); },
      [](double x) { return std::cos(x); }, {0.0, -0.7, 2.0, 11.0});
  check_function(
      "cos", [](auto x) { return cos(x); }, [](double x) { return std::cos(x); },
      [](double x) { return -std::sin(x); }, {0.0, -0.7, 2.0, 11.0});
  check_function(
      "tan", [](auto x) { return tan(x); }, [](double x) { return std::tan(x); },
      [](double x) { return 1 / (std::cos(x) * std::cos(x)); }, {0.0, -0.7, 1.2, 3.0});
  check_function(
      "asin", [](auto x) { return asin(x); }, [](double x) { return std::asin(x); },
      [](double x) { return 1 / std::sqrt((1 - x) * (1 + x)); }, {0.0, -0.7, 0.9, 0.2});
  check_function(
      "acos", [](auto x) { return acos(x); }, [](double x) { return std::acos(x); },
      [](double x) { return -1 / std::sqrt((1 - x) * (1 + x)); }, {0.0, -0.7, 0.9, 0.2});
  check_function(
      "exp", [](auto x) { return exp(x); }, [](double x) { return std::exp(x); },
      [](double x) { return std::exp(x); }, {0.0, -3.0, 2.0, 0.5});
  check_function(
      "log", [](auto x) { return log(x); }, [](double x) { return std::log(x); },
      [](double x) { return 1 / x; }, {1.0, 0.2, 7.0, 1e5});
  check_function(
      "tanh", [](auto x) { return tanh(x); }, [](double x) { return std::tanh(x); },
      [](double x) { return 1 / (std::cosh(x) * std::cosh(x)); }, {0.0, -0.4, 2.0, 9.0});
  check_function(
      "sigmoid", [](auto x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); },
      [](double x) { return 0.5 / (1 + std::cosh(x)); }, {0.0, -0.4, 2.0, 9.0});
  check_function(
      "abs", [](auto x) { return abs(x); }, [](double x) { return std::abs(x); },
      [](double x) { return x < 0 ? -1.0 : 1.0; }, {-2.0, 3.0, -1e-9, 5.0});
  check_function(
      "floor", [](auto x) { return floor(x); }, [](double x) { return std::floor(x); },
      [](double) { return 0.0; }, {-2.5, 3.2, 0.0, 7.9});
  check_function(
      "round_nearest", [](auto x) { return round_nearest(x); },
      [](double x) { return std::nearbyint(x); }, [](double) { return 0.0; },
      {-2.5, 3.2, 0.0, 7.9});
  check_function(
      "pow 2.5", [](auto x) { return pow(x, 2.5); }, [](double x) { return std::pow(x, 2.5); },
      [](double x) { return 2.5 * std::pow(x, 1.5); }, {0.0, 0.3, 1.0, 4.0});
  check_function(
      "2^x", [](auto x) { return pow(2.0, x); }, [](double x) { return std::exp2(x); },
      [](double x) { return std::log(2.0) * std::exp2(x); }, {0.0, -1.5, 1.0, 4.0});
  check_function(
      "x^x", [](auto x) { return pow(x, x); }, [](double x) { return std::pow(x, x); },
      [](double x) { return std::pow(x, x) * (1 + std::log(x)); }, {0.3, 1.0, 2.0, 3.0});
  check_function(
      "atan2(x, 2)", [](auto x) { return atan2(x, decltype(x)(2.0)); },
      [](double x) { return std::atan2(x, 2); }, [](double x) { return 2 / (4 + x * x); },
      {0.0, -0.7, 1.2, 3.0});
  check_function(
      "atan2(-1, x)", [](auto x) { return atan2(decltype(x)(-1.0), x); },
      [](double x) { return std::atan2(-1, x); }, [](double x) { return 1 / (1 + x * x); },
      {0.0, -0.7, 1.2, 3.0});
}

TEST_CASE("dual: sums, products and quotients, with constants on either side") {
  check_function(
      "arithmetic", [](auto x) { return 2.0 * x * x - 3 / (x + 1.0) + (1 - x) / 4.0; },
      [](double x) { return 2 * x * x - 3 / (x + 1) + (1 - x) / 4; },
      [](double x) { return 4 * x + 3 / ((x + 1) * (x + 1)) - 0.25; }, {0.0, 0.5, 2.0, -3.0});
  check_function(
      "quotient", [](auto x) { return -(x - 0.5) / (x * x + 1.0); },
      [](double x) { return -(x - 0.5) / (x * x + 1); },
      [](double x) { return (x * x - x - 1) / ((x * x + 1) * (x * x + 1)); },
      {0.0, 0.5, 2.0, -3.0});
  check_function(
      "compound",
      [](auto x) {
        auto y = x;
        y += x * x;
        y -= 1.0;
        y *= x;
        y /= 2.0;
        return y;
      },
      [](double x) { return (x + x * x - 1) * x / 2; },
      [](double x) { return (2 * x + 3 * x * x - 1) / 2; }, {0.0, 0.5, 2.0, -3.0});
}

TEST_CASE("dual: sin_cos may write over its argument") {
  D2 x = seed(0.4), c;
  sin_cos(x, x, c);
  CHECK(near(x.tangent[0], std::cos(0.4)));
  CHECK(near(c.tangent[0], -std::sin(0.4)));
}

TEST_CASE("dual: at kinks the documented side is taken") {
  CHECK(positive_part(seed(0.0)).tangent[0] == 0);
  CHECK(positive_part(seed(-1.0)).tangent[0] == 0);
  CHECK(positive_part(seed(1.0)).tangent[0] == 1);
  CHECK(unit_step(seed(0.0)).value == 0);
  CHECK(unit_step(seed(2.0)).tangent[0] == 0);
  CHECK(abs(seed(0.0)).tangent[0] == 0);
  CHECK(copysign(seed(0.0), D2(-1.0)).tangent[0] == 0);
  CHECK(copysign(seed(3.0), D2(-1.0)).tangent[0] == -1);
  CHECK(copysign(seed(-3.0), D2(-1.0)).tangent[0] == 1);
  CHECK(max(seed(0.0), D2(0.0)).tangent[0] == 0);  // a tie: the second argument
  CHECK(max(D2(0.0), seed(0.0)).tangent[0] == 1);
  CHECK(min(seed(0.0), D2(0.0)).tangent[0] == 0);
  CHECK(max(seed(2.0), D2(1.0)).tangent[0] == 1);
  CHECK(min(seed(2.0), D2(1.0)).tangent[0] == 0);
  const D2 at_origin = atan2(seed(0.0), seed(0.0));
  CHECK(at_origin.tangent[0] == 0);
  CHECK(at_origin.tangent[1] == 0);
}

TEST_CASE("dual: a pole is infinite for a tangent and absent for a constant") {
  D2 zero(0.0);
  zero.tangent[0] = 1;
  CHECK(sqrt(zero).tangent[0] == kInfinity);
  CHECK(sqrt(zero).tangent[1] == 0);
  D2 one(1.0);
  one.tangent[0] = 1;
  CHECK(asin(one).tangent[0] == kInfinity);
  CHECK(asin(one).tangent[1] == 0);
  CHECK(acos(one).tangent[0] == -kInfinity);
  CHECK(acos(one).tangent[1] == 0);
}

TEST_CASE("dual: pow at base zero is finite where mathematics says so") {
  const auto slopes = [](double x, double y) {
    return pow(Dual<double, 2>::variable(x, 0), Dual<double, 2>::variable(y, 1));
  };
  CHECK(slopes(0.0, 0.0).value == 1);
  CHECK(slopes(0.0, 0.0).tangent[0] == 0);
  CHECK(slopes(0.0, 0.0).tangent[1] == 0);
  CHECK(slopes(0.0, 1.0).tangent[0] == 1);
  CHECK(slopes(0.0, 1.0).tangent[1] == 0);
  CHECK(slopes(0.0, 2.0).tangent[0] == 0);
  CHECK(slopes(0.0, 3.5).tangent[1] == 0);
  CHECK(slopes(0.0, 0.5).tangent[0] == kInfinity);
  CHECK(near(slopes(-2.0, 3.0).tangent[0], 12.0));
  CHECK(slopes(-2.0, 3.0).tangent[1] == 0);
  CHECK(pow(seed(0.0), 0).tangent[0] == 0);
  CHECK(pow(seed(0.0), 1).tangent[0] == 1);
  CHECK(pow(seed(0.0), 2).tangent[0] == 0);
  // The second derivative of x² at zero.
  Nested x(Dual<double, 1>::variable(0.0, 0));
  x.tangent[0] = 1.0;
  CHECK(pow(x, 2).tangent[0].tangent[0] == 2);
}

TEST_CASE("dual: atan2's derivative neither overflows nor underflows") {
  for (const double scale : {1e-200, 1e-3, 1e200}) {
    const D2 y = atan2(seed(3 * scale), D2(4 * scale));
    CHECK(near(y.tangent[0] * scale, 4.0 / 25.0));
  }
}

TEST_CASE("dual: nested duals give second and mixed derivatives") {
  // f = exp(x y) sin(y): f_xy = exp(x y) ((1 + x y) sin y + y cos y), f_yy by hand below.
  const double x = 0.7, y = -1.3;
  using D = Dual<double, 2>;
  using DD = Dual<D, 2>;
  DD xx(D::variable(x, 0)), yy(D::variable(y, 1));
  xx.tangent[0] = 1.0;
  yy.tangent[1] = 1.0;
  const DD f = exp(xx * yy) * sin(yy);
  const double e = std::exp(x * y), s = std::sin(y), c = std::cos(y);
  CHECK(near(f.tangent[0].tangent[1], e * ((1 + x * y) * s + y * c)));
  CHECK(near(f.tangent[1].tangent[0], e * ((1 + x * y) * s + y * c)));
  CHECK(near(f.tangent[1].tangent[1], e * ((x * x - 1) * s + 2 * x * c)));
  CHECK(near(f.tangent[0].tangent[0], e * y * y * s));
  CHECK(near(f.value.tangent[1], f.tangent[1].value));
  CHECK(primal(f) == f.value.value);
}

TEST_CASE("dual: a tangent whose value is zero keeps its own derivative") {
  // sqrt(1 + x²) at 0: the slope is zero, the second derivative is 1. x^y at y = 0: ∂²/∂x∂y = 1/x.
  using D = Dual<double, 1>;
  Nested x(D::variable(0.0, 0));
  x.tangent[0] = 1.0;
  CHECK(sqrt(1.0 + x * x).tangent[0].value == 0);
  CHECK(sqrt(1.0 + x * x).tangent[0].tangent[0] == 1);
  CHECK(asin(x * x).tangent[0].tangent[0] == 2);
  CHECK(atan2(x * x, Nested(1.0)).tangent[0].tangent[0] == 2);
  Nested base(D(4.0)), exponent(D::variable(0.0, 0));
  base.tangent[0] = 1.0;
  CHECK(near(pow(base, exponent).tangent[0].tangent[0], 0.25));
}

TEST_CASE("dual: a constant of an inner level meets an outer one") {
  using P = Pack<double, 4>;
  using DD = Dual<Dual<P, 1>, 2>;
  const DD x = DD::variable(Dual<P, 1>::variable(P(3.0), 0), 1);
  const P two(2.0);
  const DD y = two * x + two - x / two;
  CHECK(lane(primal(y), 2) == 6.5);
  CHECK(lane(y.tangent[1].value, 1) == 1.5);
  CHECK(lane(y.value.tangent[0], 3) == 1.5);
  CHECK(lane(y.tangent[0].value, 3) == 0);
}

TEST_CASE("dual: select keeps the derivatives of the branch not taken out") {
  const D2 x = seed(0.0);
  const D2 y = select(x > 0.0, log(x) / x, 3.0 * x);
  CHECK(y.value == 0);
  CHECK(y.tangent[0] == 3);
}

TEST_CASE("dual: decisions follow the value alone") {
  D2 a(1.0), b(1.0);
  a.tangent[0] = kInfinity;
  CHECK(a == b);
  CHECK_FALSE(a != b);
  CHECK(a <= b);
  CHECK(a >= b);
  CHECK_FALSE(a < b);
  CHECK_FALSE(a > b);
  CHECK(a > 0);
  CHECK(is_finite(a));
  CHECK_FALSE(is_finite(D2(kInfinity)));
  static_assert(std::is_same_v<Scalar<Nested>, double>);
  static_assert(std::is_same_v<Mask<Dual<Pack<float, 8>, 3>>, Mask<Pack<float, 8>>>);
  static_assert(kLanes<Dual<Pack<float, 8>, 3>> == 8);
}

TEST_CASE("dual: float packs take constants of type double by an explicit S(c)") {
  using S = Dual<Pack<float, 4>, 2>;
  const S x = S::variable(Pack<float, 4>(1.5f), 1);
  const S y = S(0.5) * x * x + 2.0f * x;
  CHECK(lane(y.value, 0) == 4.125f);
  CHECK(lane(y.tangent[1], 3) == 3.5f);
  CHECK(lane(y.tangent[0], 3) == 0.0f);
}

}  // namespace cycloid
