#include "cycloid/network/mlp.h"

#include <doctest/doctest.h>

#include "cycloid/network/shapes_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

// Dual numbers and the passes sum the same terms in other orders.
constexpr test::PullbackOptions kTight{.tolerance = 1e-10};

template <class S>
struct Call {
  Call(const MlpPlan<double>& plan, MlpOrder order, const S* weights)
      : memory(mlp_numbers<S>(plan, order)), w(layer_pointers(plan.shape, weights)) {}
  std::vector<S> memory;
  std::vector<const S*> w;
};

// Points [weights, x, …more]: weights of a seed, the others away from kinks.
std::vector<Numbers> points(const MlpShape& shape, std::size_t more) {
  std::vector<Numbers> all;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Numbers point = initial_weights(shape, seed);
    const Numbers rest = test::FixedNumbers(seed).vector(more);
    point.insert(point.end(), rest.begin(), rest.end());
    all.push_back(point);
  }
  return all;
}

}  // namespace

TEST_CASE("mlp: a network of two tanh units has the value of its formula") {
  MlpShape shape;
  shape.widths = {1, 2, 1};
  const MlpPlan<double> plan(shape);
  const double w[] = {0.5, -1.5, 0.1, 0.2, 2.0, 3.0, -0.7}, x = 0.4;
  REQUIRE(shape.numbers() == 7);
  double y = 0;
  Call<double> call(plan, MlpOrder::value, w);
  mlp(plan, call.w.data(), &x, &y, call.memory.data());
  const double expected = 2.0 * std::tanh(0.5 * x + 0.1) + 3.0 * std::tanh(-1.5 * x + 0.2) - 0.7;
  CHECK(y == doctest::Approx(expected).epsilon(1e-15));
}

TEST_CASE("mlp: pullback equals dual numbers in inputs and weights, with every feature") {
  for (const MlpShape& shape : test::shapes(2)) {
    const MlpPlan<double> plan(shape);
    const std::size_t np = shape.numbers();
    const auto f = [&](const auto* in, auto* out) {
      using S = std::remove_cvref_t<decltype(*in)>;
      Call<S> call(plan, MlpOrder::value, in);
      mlp(plan, call.w.data(), in + np, out, call.memory.data());
    };
    const auto f_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in)>;
      Call<S> call(plan, MlpOrder::pullback, in);
      const std::vector<S*> bars = layer_pointers(shape, in_bar);
      mlp_pullback(plan, call.w.data(), in + np, out_bar, call.memory.data(), in_bar + np,
                   bars.data());
    };
    test::check_pullback("mlp", 2, f, f_pullback,
                         points(shape, static_cast<std::size_t>(shape.inputs())), kTight);
  }
}

TEST_CASE("mlp_gradient: is the derivative of the value; its pullback equals dual numbers") {
  for (const MlpShape& shape : test::shapes(1)) {
    const MlpPlan<double> plan(shape);
    const std::size_t np = shape.numbers();
    const int n = shape.inputs();
    const auto f = [&](const auto* in, auto* out) {
      using S = std::remove_cvref_t<decltype(*in)>;
      Call<S> call(plan, MlpOrder::pullback, in);
      mlp_gradient(plan, call.w.data(), in + np, out, call.memory.data());
    };
    const auto f_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in)>;
      Call<S> call(plan, MlpOrder::first, in);
      const std::vector<S*> bars = layer_pointers(shape, in_bar);
      mlp_gradient_pullback(plan, call.w.data(), in + np, out_bar, call.memory.data(), in_bar + np,
                            bars.data());
    };
    const auto at = points(shape, static_cast<std::size_t>(n));
    test::check_pullback("mlp_gradient", n, f, f_pullback, at, kTight);
    for (int i = 0; i < n; ++i) {
      std::vector<test::DualNumber> x(at[0].begin(), at[0].end());
      x[np + static_cast<std::size_t>(i)].tangent[0] = 1;
      Call<test::DualNumber> call(plan, MlpOrder::value, x.data());
      test::DualNumber y;
      mlp(plan, call.w.data(), static_cast<const test::DualNumber*>(x.data() + np), &y,
          call.memory.data());
      Numbers g(static_cast<std::size_t>(n));
      f(at[0].data(), g.data());
      CHECK(g[static_cast<std::size_t>(i)] == doctest::Approx(y.tangent[0]).epsilon(1e-11));
    }
  }
}

TEST_CASE("mlp_hessian_product: is symmetric; its pullback equals dual numbers") {
  for (const MlpShape& shape : test::shapes(1)) {
    if (shape.activation == Activation::relu) continue;  // H is zero where there is one
    const MlpPlan<double> plan(shape);
    const std::size_t np = shape.numbers(), n = static_cast<std::size_t>(shape.inputs());
    const auto f = [&](const auto* in, auto* out) {  // in: weights, x, v
      using S = std::remove_cvref_t<decltype(*in)>;
      Call<S> call(plan, MlpOrder::first, in);
      mlp_hessian_product(plan, call.w.data(), in + np, in + np + n, out, call.memory.data());
    };
    const auto f_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in)>;
      Call<S> call(plan, MlpOrder::second, in);
      const std::vector<S*> bars = layer_pointers(shape, in_bar);
      mlp_hessian_product_pullback(plan, call.w.data(), in + np, in + np + n, out_bar,
                                   call.memory.data(), in_bar + np, in_bar + np + n, bars.data());
    };
    const auto at = points(shape, 2 * n);
    test::check_pullback("mlp_hessian_product", shape.inputs(), f, f_pullback, at, kTight);
    Numbers a = at[0], b = at[0], ha(n), hb(n);
    for (std::size_t i = 0; i < n; ++i) a[np + n + i] = i == 0, b[np + n + i] = i == n - 1;
    f(a.data(), ha.data());
    f(b.data(), hb.data());
    CHECK(ha[n - 1] == doctest::Approx(hb[0]).epsilon(1e-12));
  }
}

TEST_CASE("mlp: lanes that share weights sum their cotangents") {
  const MlpShape shape = test::shapes(2)[0];
  const MlpPlan<double> plan(shape);
  const Numbers w = initial_weights(shape, 4);
  const auto at = layer_pointers(shape, w.data());
  using S = test::LaneNumber;
  std::vector<S> x(3), bar(2), x_bar(3, S(0)), memory(mlp_numbers<S>(plan, MlpOrder::pullback));
  test::FixedNumbers random(5);
  Numbers sum(w.size(), 0.0), expected(w.size(), 0.0);
  const auto bars = layer_pointers(shape, sum.data()), own = layer_pointers(shape, expected.data());
  for (int l = 0; l < test::kTestLanes; ++l) {
    const Numbers row = random.vector(3), row_bar = random.vector(2);
    for (std::size_t i = 0; i < 3; ++i) set_lane(x[i], l, row[i]);
    for (std::size_t i = 0; i < 2; ++i) set_lane(bar[i], l, row_bar[i]);
    Numbers room(mlp_numbers<double>(plan, MlpOrder::pullback)), ignored(3, 0.0);
    mlp_pullback(plan, at.data(), row.data(), row_bar.data(), room.data(), ignored.data(),
                 own.data());
  }
  mlp_pullback(plan, at.data(), static_cast<const S*>(x.data()), static_cast<const S*>(bar.data()),
               memory.data(), x_bar.data(), bars.data());
  CHECK(test::relative_error(sum, expected) < 1e-13);
  CHECK(test::largest(expected) > 0.1);
}

}  // namespace cycloid
