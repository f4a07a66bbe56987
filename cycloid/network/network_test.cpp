#include "cycloid/network/network.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

struct Batch {
  explicit Batch(std::int64_t rows) : n(rows), w(initial_weights(shape(), 1)) {
    const std::size_t numbers = static_cast<std::size_t>(3 * rows);
    x = test::FixedNumbers(2).vector(numbers), v = test::FixedNumbers(3).vector(numbers);
  }
  static MlpShape shape() {
    MlpShape s;
    s.widths = {3, 20, 20, 1};
    return s;
  }
  void gradient_pullback(int threads, std::vector<double>& x_bar,
                         std::vector<double>& w_bar) const {
    x_bar.assign(x.size(), 0.0), w_bar.assign(w.size(), 0.0);
    const MlpPlan<double> plan(shape());
    MlpRows<double> r;
    r.rows = n, r.w = w.data(), r.x = x.data(), r.v = v.data(), r.x_bar = x_bar.data();
    r.w_bar = w_bar.data();
    run_rows(MlpCall::gradient_pullback, plan, r, threads);
  }
  std::int64_t n;
  std::vector<double> w, x, v;
};

}  // namespace

TEST_CASE("run_rows: bits depend neither on threads nor, row by row, on the batch") {
  const Batch batch(1000), part(130);
  std::vector<double> x1, w1, x2, w2;
  batch.gradient_pullback(1, x1, w1);
  for (const int threads : {2, 3}) {
    batch.gradient_pullback(threads, x2, w2);
    CHECK(x1 == x2);
    CHECK(w1 == w2);
  }
  part.gradient_pullback(1, x2, w2);
  CHECK(std::equal(x2.begin(), x2.end(), x1.begin()));
  CHECK(test::largest(w2) > 0.1);
}

TEST_CASE("run_rows: adds to the weights' cotangents, and no rows add nothing") {
  const Batch batch(70);
  std::vector<double> x, w;
  batch.gradient_pullback(1, x, w);
  std::vector<double> again(w.size(), 0.25);
  const MlpPlan<double> plan(Batch::shape());
  MlpRows<double> r;
  r.rows = batch.n, r.w = batch.w.data(), r.x = batch.x.data(), r.v = batch.v.data();
  r.w_bar = again.data();
  run_rows(MlpCall::gradient_pullback, plan, r, 1);
  for (std::size_t i = 0; i < w.size(); ++i) {
    CHECK(again[i] - 0.25 == doctest::Approx(w[i]).epsilon(1e-10));
  }
  r.rows = 0;
  const std::vector<double> before = again;
  run_rows(MlpCall::gradient_pullback, plan, r, 1);
  CHECK(again == before);
}

}  // namespace cycloid
