#include "cycloid/system/law/law_space.h"

#include <doctest/doctest.h>

#include "tests/support/law_steps.h"

namespace cycloid::law_space_test {

using test::Numbers;

// Vectors before, between and after two quaternions.
struct Mixed {
  static constexpr std::array kState = {
      BlockSpec{"place", 2, "m"}, BlockSpec{"attitude", 4, "1", BlockKind::quaternion},
      BlockSpec{"height", 1, "m"}, BlockSpec{"wrist", 4, "1", BlockKind::quaternion},
      BlockSpec{"speed", 1, "m/s"}};
};
struct Flat {
  static constexpr std::array kState = {BlockSpec{"x", 2, "m"}, BlockSpec{"v", 1, "m/s"}};
};

constexpr int kTangents = 10;  // of Mixed
const LawShape<Mixed> kMixed(Mixed{});
const LawShape<Flat> kFlat(Flat{});

// Unit quaternions at 2 and 7.
const Numbers kBase = {0.3, -2, 0.1, 0.7, -0.5, 0.5, 5, 0.5, -0.5, 0.5, 0.5, 1};

// Displacements: none, small, large, beyond half a turn.
std::vector<Numbers> displacements(std::size_t extra) {
  std::vector<Numbers> points;
  test::FixedNumbers random(2);
  for (const double size : {0.0, 1e-7, 0.5, 2.0, 3.5}) {
    Numbers d = random.vector(kTangents);
    for (double& v : d) v *= size;
    for (const double v : random.vector(extra)) d.push_back(v);
    points.push_back(d);
  }
  return points;
}

TEST_CASE("law_retract: equals Space::retract, in a flat space too") {
  const Space space(state_specs(Mixed{}));
  for (const Numbers& d : displacements(0)) {
    Numbers a(12), b(12);
    law_retract(kMixed, kBase.data(), d.data(), a.data());
    space.retract(kBase.data(), d.data(), b.data());
    CHECK(test::relative_error(a, b) < 1e-15);
  }
  const double x[3] = {1, 2, 3}, d[3] = {0.5, -0.5, 0.25};
  double out[3];
  law_retract(kFlat, x, d, out);
  CHECK(Numbers(out, out + 3) == Numbers{1.5, 1.5, 3.25});
}

TEST_CASE("law_retract: pullback equals dual numbers with respect to both arguments") {
  // in = [e, d], out = (base ⊕ e) ⊕ d in coordinates.
  test::check_pullback(
      "law_retract", 12,
      []<class S>(const S* in, S* out) {
        const std::vector<S> x = test::displaced(kMixed, kBase, in);
        law_retract(kMixed, x.data(), in + kTangents, out);
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        const std::vector<S> x = test::displaced(kMixed, kBase, in);
        std::vector<S> out(12), x_bar(kTangents, S(0));
        law_retract(kMixed, x.data(), in + kTangents, out.data());
        const std::vector<S> bar = test::tangent_cotangent(kMixed, out.data(), out_bar);
        law_retract_pullback(kMixed, x.data(), in + kTangents, bar.data(), x_bar.data(),
                             in_bar + kTangents);
        test::displaced_pullback(kMixed, kBase, in, x_bar.data(), in_bar);
      },
      displacements(kTangents));
  test::check_pullback(
      "law_retract", 3, [](const auto* in, auto* out) { law_retract(kFlat, in, in + 3, out); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        law_retract_pullback(kFlat, in, in + 3, out_bar, in_bar, in_bar + 3);
      },
      {{1, 2, 3, 4, 5, 6}});
}

TEST_CASE("law_retract, law_chart: pullbacks add to what they are given") {
  test::FixedNumbers random(7);
  const Numbers d = random.vector(kTangents), f = random.vector(kTangents),
                bar = random.vector(kTangents), start = random.vector(kTangents);
  const auto check = [&](auto pullback) {
    Numbers a(kTangents, 0.0), b(kTangents, 0.0), a_more = start, b_more = start;
    pullback(a.data(), b.data());
    pullback(a_more.data(), b_more.data());
    for (int i = 0; i < kTangents; ++i) {
      a_more[i] -= start[i], b_more[i] -= start[i];
    }
    CHECK(test::relative_error(a_more, a) < 1e-14);
    CHECK(test::relative_error(b_more, b) < 1e-14);
  };
  check([&](double* x_bar, double* d_bar) {
    law_retract_pullback(kMixed, kBase.data(), d.data(), bar.data(), x_bar, d_bar);
  });
  check([&](double* d_bar, double* f_bar) {
    law_chart_pullback(kMixed, d.data(), f.data(), bar.data(), d_bar, f_bar);
  });
}

TEST_CASE("law_chart: the displacement moves so that the state moves with the tangent velocity") {
  const Space space(state_specs(Mixed{}));
  for (const Numbers& point : displacements(kTangents)) {
    const Numbers d(point.begin(), point.begin() + kTangents),
        f(point.begin() + kTangents, point.end());
    Numbers k(kTangents), x(12), moved(12), rate(kTangents);
    law_chart(kMixed, d.data(), f.data(), k.data());
    law_retract(kMixed, kBase.data(), d.data(), x.data());
    // The way from x ⊕ d to x ⊕ (d ± h k), over 2h, is f.
    const double h = 1e-5;
    Numbers forward = d, backward = d, ahead(kTangents), behind(kTangents);
    for (int i = 0; i < kTangents; ++i) forward[i] += h * k[i], backward[i] -= h * k[i];
    law_retract(kMixed, kBase.data(), forward.data(), moved.data());
    space.difference(x.data(), moved.data(), ahead.data());
    law_retract(kMixed, kBase.data(), backward.data(), moved.data());
    space.difference(x.data(), moved.data(), behind.data());
    for (int i = 0; i < kTangents; ++i) rate[i] = (ahead[i] - behind[i]) / (2 * h);
    // h² times the chart's third derivative, which is large at the longest displacements.
    CHECK(test::relative_error(rate, f) < 1e-8);
  }
}

TEST_CASE("law_chart: pullback equals dual numbers, none, small and large displacements") {
  test::check_pullback(
      "law_chart", kTangents,
      [](const auto* in, auto* out) { law_chart(kMixed, in, in + kTangents, out); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        law_chart_pullback(kMixed, in, in + kTangents, out_bar, in_bar, in_bar + kTangents);
      },
      displacements(kTangents));
  test::check_pullback(
      "law_chart", 3, [](const auto* in, auto* out) { law_chart(kFlat, in, in + 3, out); },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        law_chart_pullback(kFlat, in, in + 3, out_bar, in_bar, in_bar + 3);
      },
      {{1, 2, 3, 4, 5, 6}});
}

}  // namespace cycloid::law_space_test
