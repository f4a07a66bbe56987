#include "cycloid/network/mlp_block.h"

#include <doctest/doctest.h>

#include "cycloid/base/instruction_set.h"
#include "cycloid/network/mlp.h"
#include "cycloid/network/network.h"
#include "cycloid/network/shapes_test.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

struct Rows {
  Rows(const MlpShape& s, std::int64_t n) : shape(s), rows(n), weights(initial_weights(s, 3)) {
    test::FixedNumbers random(static_cast<std::uint64_t>(n));
    const std::size_t count = static_cast<std::size_t>(n);
    x = random.vector(count * in()), v = random.vector(count * in()),
    u = random.vector(count * in()), y_bar = random.vector(count * out());
  }
  std::size_t in() const { return static_cast<std::size_t>(shape.inputs()); }
  std::size_t out() const { return static_cast<std::size_t>(shape.outputs()); }

  // [y, y_tan, x_bar, v_bar, w_bar] by run_rows in T.
  template <class T>
  Numbers by_blocks(MlpCall call, int threads = 1) const {
    const auto cast = [](const Numbers& from) { return std::vector<T>(from.begin(), from.end()); };
    const std::vector<T> w = cast(weights), xs = cast(x), vs = cast(v), us = cast(u),
                         bars = cast(y_bar);
    std::vector<T> y(y_bar.size()), y_tan(y), x_bar(x.size()), v_bar(x.size()), w_bar(w.size());
    MlpRows<T> r;
    r.rows = rows, r.w = w.data(), r.x = xs.data();
    const bool tangent = call == MlpCall::tangent, value = call == MlpCall::value,
               hessian = call == MlpCall::hessian_product_pullback;
    if (value || tangent) r.y = y.data();
    if (tangent) r.y_tan = y_tan.data();
    if (tangent || hessian || call == MlpCall::gradient_pullback) r.v = vs.data();
    if (hessian) r.u = us.data(), r.v_bar = v_bar.data();
    if (call == MlpCall::pullback) r.y_bar = bars.data();
    if (!value && !tangent) r.x_bar = x_bar.data();
    if (!value && !tangent && call != MlpCall::gradient) r.w_bar = w_bar.data();
    const MlpPlan<T> plan(shape);
    run_rows(call, plan, r, threads);
    Numbers all;
    for (const auto* part : {&y, &y_tan, &x_bar, &v_bar, &w_bar}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }

  // The same by mlp.h, row by row.
  Numbers by_rows(MlpCall call) const {
    const MlpPlan<double> plan(shape);
    Numbers y(y_bar.size()), y_tan(y), x_bar(x.size()), v_bar(x.size()), w_bar(weights.size());
    const auto w = layer_pointers(shape, weights.data());
    const auto bars = layer_pointers(shape, w_bar.data());
    Numbers memory(mlp_numbers<double>(plan, MlpOrder::second));
    double* const m = memory.data();
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::size_t i = static_cast<std::size_t>(r) * in(),
                        o = static_cast<std::size_t>(r) * out();
      switch (call) {
        case MlpCall::value: mlp(plan, w.data(), &x[i], &y[o], m); break;
        case MlpCall::tangent: {
          std::vector<test::DualNumber> xs(in()), ys(out()),
              room(mlp_numbers<test::DualNumber>(plan, MlpOrder::value));
          for (std::size_t k = 0; k < in(); ++k) {
            xs[k] = test::DualNumber(x[i + k]);
            xs[k].tangent[0] = v[i + k];
          }
          mlp(plan, w.data(), static_cast<const test::DualNumber*>(xs.data()), ys.data(),
              room.data());
          for (std::size_t k = 0; k < out(); ++k) {
            y[o + k] = ys[k].value, y_tan[o + k] = ys[k].tangent[0];
          }
          break;
        }
        case MlpCall::pullback:
          mlp_pullback(plan, w.data(), &x[i], &y_bar[o], m, &x_bar[i], bars.data());
          break;
        case MlpCall::gradient: mlp_gradient(plan, w.data(), &x[i], &x_bar[i], m); break;
        case MlpCall::gradient_pullback:
          mlp_gradient_pullback(plan, w.data(), &x[i], &v[i], m, &x_bar[i], bars.data());
          break;
        case MlpCall::hessian_product_pullback:
          mlp_hessian_product_pullback(plan, w.data(), &x[i], &v[i], &u[i], m, &x_bar[i], &v_bar[i],
                                       bars.data());
          break;
        default: FAIL("not compared here");
      }
    }
    Numbers all;
    for (const Numbers* part : {&y, &y_tan, &x_bar, &v_bar, &w_bar}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }

  MlpShape shape;
  std::int64_t rows;
  Numbers weights, x, v, u, y_bar;
};

constexpr MlpCall kCalls[] = {
    MlpCall::value,    MlpCall::tangent,           MlpCall::pullback,
    MlpCall::gradient, MlpCall::gradient_pullback, MlpCall::hessian_product_pullback};

MlpShape wide() {
  MlpShape s;
  s.widths = {2, 37, 61, 1};  // no multiple of a register or a tile
  return s;
}

// Whose weights are beyond the first-level cache in float too, with and without a connection around
// the layer that is read once.
std::vector<MlpShape> large() {
  MlpShape s;
  s.widths = {2, 101, 93, 1};
  MlpShape residual;
  residual.widths = {3, 97, 97, 97, 1};
  residual.activation = Activation::silu;
  residual.residual = true;
  return {s, residual};
}

}  // namespace

TEST_CASE("blocks: every call equals mlp.h, for every feature, lone rows, few and many") {
  for (const InstructionSet set : available_instruction_sets()) {
    const ScopedInstructionSet in_use(set);
    std::vector<MlpShape> all = test::shapes(1);
    all.push_back(wide());
    for (const MlpShape& s : large()) all.push_back(s);
    for (MlpShape s : test::shapes(1)) {  // wider than a register
      for (std::size_t l = 1; l + 1 < s.widths.size(); ++l) s.widths[l] *= 9;
      all.push_back(s);
    }
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (const std::int64_t n : {1, 2, 5, 75}) {
        const Rows rows(all[k], n);
        for (const MlpCall call : kCalls) {
          CAPTURE(k);
          CAPTURE(n);
          CAPTURE(static_cast<int>(call));
          const Numbers expected = rows.by_rows(call);
          CHECK(test::relative_error(rows.by_blocks<double>(call), expected) < 1e-12);
          CHECK(test::relative_error(rows.by_blocks<float>(call), expected) < 2e-5);
        }
      }
    }
  }
}

TEST_CASE("blocks: numbers with tangents equal dual numbers in one column, weights' tangents too") {
  const MlpShape no_angles = wide();
  std::vector<MlpShape> all = test::shapes(1);
  all.push_back(no_angles);
  for (const MlpShape& shape : all) {
    for (const int columns : {1, 3, 9}) {
      const MlpPlan<double> plan(shape);
      const std::size_t n = static_cast<std::size_t>(shape.inputs()),
                        C = static_cast<std::size_t>(columns), np = shape.numbers();
      const auto numbers = [](std::uint64_t seed, std::size_t count) {
        test::FixedNumbers random(seed);
        std::vector<Tangent1> out(count);
        for (Tangent1& d : out) d.value = random.next(), d.tangent[0] = random.next();
        return out;
      };
      const std::vector<Tangent1> w = numbers(1, np), x = numbers(2, n * C), u = numbers(3, n * C);
      std::vector<Tangent1> v = numbers(4, n * C), x_bar(n * C, Tangent1(0.0)), v_bar(x_bar),
                            w_bar(np, Tangent1(0.0)), own_w(w_bar);
      const auto& kernels = mlp_kernels<Tangent1>();
      alignas(64) static Tangent1 room[40000];
      REQUIRE(kernels.numbers(plan, columns, MlpOrder::second) <= std::size(room));
      MlpBlock<Tangent1> b{&plan, layer_pointers(shape, w.data()).data(), columns, room};
      const auto weights = layer_pointers(shape, w.data());
      const auto bars = layer_pointers(shape, w_bar.data()),
                 own_bars = layer_pointers(shape, own_w.data());
      b.w = weights.data(), b.x = x.data(), b.v = v.data(), b.u = u.data();
      b.x_bar = x_bar.data(), b.v_bar = v_bar.data(), b.w_bar = bars.data();
      kernels.run(MlpCall::hessian_product_pullback, b);
      std::vector<Tangent1> memory(mlp_numbers<Tangent1>(plan, MlpOrder::second));
      double largest = 0;
      for (std::size_t c = 0; c < C; ++c) {
        std::vector<Tangent1> own[3], own_x(n, Tangent1(0.0)), own_v(own_x);
        for (std::size_t i = 0; i < n; ++i) {
          own[0].push_back(x[i * C + c]), own[1].push_back(v[i * C + c]);
          own[2].push_back(u[i * C + c]);
        }
        mlp_hessian_product_pullback(plan, weights.data(), own[0].data(), own[1].data(),
                                     own[2].data(), memory.data(), own_x.data(), own_v.data(),
                                     own_bars.data());
        for (std::size_t i = 0; i < n; ++i) {
          for (const auto& [got, want] :
               {std::pair(x_bar[i * C + c], own_x[i]), std::pair(v_bar[i * C + c], own_v[i])}) {
            CHECK(std::abs(got.value - want.value) < 1e-11);
            CHECK(std::abs(got.tangent[0] - want.tangent[0]) < 1e-11 * (1 + np));
            largest = std::max(largest, std::abs(want.tangent[0]));
          }
        }
      }
      for (std::size_t i = 0; i < np; ++i) {
        CHECK(std::abs(w_bar[i].value - own_w[i].value) < 1e-11 * (1 + np));
        CHECK(std::abs(w_bar[i].tangent[0] - own_w[i].tangent[0]) < 1e-11 * (1 + np));
      }
      if (shape.activation != Activation::relu) CHECK(largest > 1e-6);
    }
  }
}

TEST_CASE("blocks: the derivative of a pullback in a direction equals dual numbers of it") {
  const MlpShape shape = test::shapes(2)[7];
  const Rows rows(shape, 1);
  const MlpPlan<double> plan(shape);
  const std::size_t n = rows.in(), m = rows.out(), np = shape.numbers();
  using D = test::DualNumber;
  std::vector<D> x(n), bar(m), x_bar(n, D(0.0)), w_bar(np, D(0.0)),
      memory(mlp_numbers<D>(plan, MlpOrder::pullback));
  const Numbers bar_tan = test::FixedNumbers(9).vector(m);
  for (std::size_t i = 0; i < n; ++i) x[i] = D(rows.x[i]), x[i].tangent[0] = rows.v[i];
  for (std::size_t i = 0; i < m; ++i) bar[i] = D(rows.y_bar[i]), bar[i].tangent[0] = bar_tan[i];
  const auto w = layer_pointers(shape, rows.weights.data());
  const auto bars = layer_pointers(shape, w_bar.data());
  mlp_pullback(plan, w.data(), static_cast<const D*>(x.data()), static_cast<const D*>(bar.data()),
               memory.data(), x_bar.data(), bars.data());
  const auto& kernels = mlp_kernels<double>();
  Numbers room(kernels.numbers(plan, 1, MlpOrder::first) + 16), own_x(n), own_tan(n), own_w(np),
      v = rows.v;
  const auto own_bars = layer_pointers(shape, own_w.data());
  MlpBlock<double> b{&plan, w.data(), 1, room.data()};
  b.x = rows.x.data(), b.v = v.data(), b.y_bar = rows.y_bar.data(), b.y_bar_tan = bar_tan.data();
  b.x_bar = own_x.data(), b.x_bar_tan = own_tan.data(), b.w_bar = own_bars.data();
  kernels.run(MlpCall::pullback_tangent, b);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(own_x[i] == doctest::Approx(x_bar[i].value).epsilon(1e-12));
    CHECK(own_tan[i] == doctest::Approx(x_bar[i].tangent[0]).epsilon(1e-12));
  }
  for (std::size_t i = 0; i < np; ++i) {
    CHECK(own_w[i] == doctest::Approx(w_bar[i].tangent[0]).epsilon(1e-12));
  }
}

}  // namespace cycloid
