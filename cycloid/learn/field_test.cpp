#include "cycloid/learn/field.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "cycloid/learn/laws_test.h"
#include "cycloid/network/mlp.h"
#include "tests/support/operator_coverage.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::Numbers;

// A law with weights of its own and a Field over some columns, of which three are used.
struct Case {
  explicit Case(const LearnedLaw& of)
      : law(of), plan(std::make_shared<FieldPlan<double>>(of)), C(block_columns<double>(3)) {
    for (const std::int64_t n : plan->arrays) numbers += static_cast<std::size_t>(n);
    w = test::FixedNumbers(5).vector(numbers);
    for (double& number : w) number *= 0.7;
    if (law.kind == LearnedKind::constrained) {  // its last arrays
      Numbers points = law.masses;
      points.insert(points.end(), law.lengths.begin(), law.lengths.end());
      points.insert(points.end(), law.anchors.begin(), law.anchors.end());
      std::copy(points.begin(), points.end(), w.end() - std::ssize(points));
    }
    x = columns(law.states(), 1), u = columns(law.inputs, 2);
    if (law.kind != LearnedKind::constrained) return;
    // Where points lie on each other there is no rate: columns that are not used repeat the first.
    for (int i = 0; i < law.states(); ++i) {
      for (int c = 3; c < C; ++c) at(i, c) = at(i, 0);
    }
  }
  double& at(int i, int c) { return x[static_cast<std::size_t>(i * C + c)]; }
  // Of two rods on an anchor: velocities that keep their lengths.
  void turn_rods() {
    for (int c = 0; c < C; ++c) {
      const double x1 = at(0, c) - law.anchors[0], y1 = at(1, c) - law.anchors[1];
      const double x2 = at(2, c) - at(0, c), y2 = at(3, c) - at(1, c), w1 = at(4, c), w2 = at(6, c);
      at(4, c) = -w1 * y1, at(5, c) = w1 * x1;
      at(6, c) = at(4, c) - w2 * y2, at(7, c) = at(5, c) + w2 * x2;
    }
  }
  Numbers columns(int n, std::uint64_t seed) const {
    Numbers all(static_cast<std::size_t>(n * C) + 64, 0.0);
    const Numbers some = test::FixedNumbers(seed).vector(static_cast<std::size_t>(3 * n));
    for (int i = 0; i < n; ++i) {
      for (int c = 0; c < 3; ++c) {
        all[static_cast<std::size_t>(i * C + c)] = some[static_cast<std::size_t>(3 * i + c)];
      }
    }
    return all;
  }
  template <class P>
  std::vector<P> pointers(P first) const {
    std::vector<P> all;
    for (const std::int64_t n : plan->arrays) all.push_back(first), first += n;
    return all;
  }
  Numbers rate(const Numbers& at, const Numbers& input, const Numbers& weights) const {
    Field<double> field(plan, C);
    const auto p = pointers(weights.data());
    field.use(p.data(), nullptr);
    Numbers out(x.size(), 0.0);
    field.rate(at.data(), input.data(), out.data());
    return out;
  }
  Numbers energy(const Numbers& at, const Numbers& weights) const {
    Field<double> field(plan, C);
    const auto p = pointers(weights.data());
    field.use(p.data(), nullptr);
    Numbers out(static_cast<std::size_t>(C), 0.0);
    field.energy(at.data(), out.data());
    return out;
  }

  LearnedLaw law;
  std::shared_ptr<const FieldPlan<double>> plan;
  int C;
  std::size_t numbers = 0;
  Numbers w, x, u;
};

// d f(v + s e_i)/ds by a stencil of order 4.
double slope(const std::function<double(const Numbers&)>& f, Numbers v, std::size_t i) {
  const double h = 4e-4, at = v[i];
  const auto f_at = [&](double s) {
    v[i] = at + s;
    return f(v);
  };
  return (8 * (f_at(h) - f_at(-h)) - (f_at(2 * h) - f_at(-2 * h))) / (12 * h);
}

bool check_against_slopes(const char* what, const Numbers& bar,
                          const std::function<double(const Numbers&)>& f, const Numbers& at,
                          const std::vector<std::size_t>& places) {
  double most = 0, off = 0;
  for (const std::size_t i : places) {
    const double s = slope(f, at, i);
    most = std::max(most, std::abs(s)), off = std::max(off, std::abs(bar[i] - s));
  }
  CAPTURE(what);
  CHECK(off <= 1e-8 * std::max(most, 1e-3));
  if (!places.empty()) CHECK(most > 0);
  return off <= 1e-8 * std::max(most, 1e-3) && (places.empty() || most > 0);
}

std::vector<std::size_t> used(int n, int C) {
  std::vector<std::size_t> all;
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < 3; ++c) all.push_back(static_cast<std::size_t>(i * C + c));
  }
  return all;
}

// A network's one output at a point of n numbers, by mlp.h.
double output(const Case& k, int net, const Numbers& at) {
  const MlpPlan<double>& plan = k.plan->networks[static_cast<std::size_t>(net)];
  const double* first = k.w.data();
  for (int a = 0; a < k.plan->first_array[static_cast<std::size_t>(net)]; ++a) {
    first += k.plan->arrays[static_cast<std::size_t>(a)];
  }
  const auto w = layer_pointers(plan.shape, first);
  Numbers memory(mlp_numbers<double>(plan, MlpOrder::value));
  double y = 0;
  mlp(plan, w.data(), at.data(), &y, memory.data());
  return y;
}

Numbers column(const Numbers& rows, int n, int C, int c) {
  Numbers out;
  for (int i = 0; i < n; ++i) out.push_back(rows[static_cast<std::size_t>(i * C + c)]);
  return out;
}

}  // namespace

TEST_CASE("field: a Hamiltonian's rate is its differenced gradient, turned") {
  const Case k(test::small_laws()[1].second);
  const Numbers rate = k.rate(k.x, k.u, k.w);
  for (int c = 0; c < 3; ++c) {
    const Numbers at = column(k.x, 4, k.C, c), got = column(rate, 4, k.C, c);
    const auto H = [&](const Numbers& x) { return output(k, 0, x); };
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(got[i] == doctest::Approx(slope(H, at, 2 + i)).epsilon(1e-9));
      CHECK(got[2 + i] == doctest::Approx(-slope(H, at, i)).epsilon(1e-9));
    }
  }
}

TEST_CASE("field: a Lagrangian's accelerations fulfil the equations of Euler and Lagrange") {
  const Case k(test::small_laws()[4].second);
  const Numbers rate = k.rate(k.x, k.u, k.w);
  for (int c = 0; c < 3; ++c) {
    const Numbers at = column(k.x, 4, k.C, c), dot = column(rate, 4, k.C, c);
    CHECK(dot[0] == at[2]);
    const auto L = [&](const Numbers& x) {
      return 0.5 * (x[2] * x[2] + x[3] * x[3]) + output(k, 0, x);
    };
    for (std::size_t i = 0; i < 2; ++i) {
      // d/dt ∂L/∂v_i along x_dot, which is ∂L/∂q_i
      const double h = 1e-3;
      const auto moved = [&](double s) {
        Numbers x = at;
        for (std::size_t j = 0; j < 4; ++j) x[j] += s * dot[j];
        return slope(L, x, 2 + i);
      };
      const double momentum_dot =
          (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
      CHECK(momentum_dot == doctest::Approx(slope(L, at, i)).epsilon(1e-7));
    }
  }
}

TEST_CASE("field: without friction and inputs the energy does not change, with friction it falls") {
  for (auto [what, law] : test::small_laws()) {
    if (law.kind == LearnedKind::neural_ode) continue;
    law.stabilisation = 0;
    for (const bool friction : {false, true}) {
      law.dissipation = friction;
      Case k(law);
      if (law.kind == LearnedKind::constrained) k.turn_rods();
      const Numbers none(k.u.size(), 0.0), rate = k.rate(k.x, none, k.w);
      for (int c = 0; c < 3; ++c) {
        const double h = 1e-3;
        const auto moved = [&](double s) {
          Numbers x = k.x;
          for (std::size_t i = 0; i < x.size(); ++i) x[i] += s * rate[i];
          return k.energy(x, k.w)[static_cast<std::size_t>(c)];
        };
        const double E_dot =
            (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
        CAPTURE(what);
        if (friction) CHECK(E_dot < 1e-8);
        else CHECK(std::abs(E_dot) < 1e-8);
      }
    }
  }
}

TEST_CASE("field: rate_pullback equals differences by states, inputs and weights") {
  bool ok = true;
  for (const auto& [what, law] : test::small_laws()) {
    CAPTURE(what);
    const Case k(law);
    const Numbers bar = k.columns(law.states(), 9);
    const auto loss = [&](const Numbers& x, const Numbers& u, const Numbers& w) {
      return test::dot(bar, k.rate(x, u, w));
    };
    Field<double> field(k.plan, k.C);
    Numbers x_bar(k.x.size(), 0.0), u_bar(k.u.size(), 0.0), w_bar(k.numbers, 0.0);
    const auto p = k.pointers(k.w.data());
    const auto p_bar = k.pointers(w_bar.data());
    field.use(p.data(), p_bar.data());
    const Numbers rate = k.rate(k.x, k.u, k.w);
    field.rate_pullback(
        k.x.data(), k.u.data(),
        [&](const double* x_dot, double* to) {
          for (int i = 0; i < law.states() * k.C; ++i) {
            CHECK(x_dot[i] == doctest::Approx(rate[static_cast<std::size_t>(i)]).epsilon(1e-13));
            to[i] = bar[static_cast<std::size_t>(i)];
          }
        },
        x_bar.data(), u_bar.data());
    ok &= check_against_slopes(
        "x", x_bar, [&](const Numbers& x) { return loss(x, k.u, k.w); }, k.x,
        used(law.states(), k.C));
    ok &= check_against_slopes(
        "u", u_bar, [&](const Numbers& u) { return loss(k.x, u, k.w); }, k.u,
        used(law.inputs, k.C));
    std::vector<std::size_t> weights;
    for (std::size_t i = 0; i < k.numbers; ++i) weights.push_back(i);
    ok &= check_against_slopes(
        "w", w_bar, [&](const Numbers& w) { return loss(k.x, k.u, w); }, k.w, weights);
  }
  if (ok) test::mark_operator_tested("Field::rate");
}

TEST_CASE("field: energy_pullback equals differences by states and weights") {
  bool ok = true;
  for (const auto& [what, law] : test::small_laws()) {
    if (law.kind == LearnedKind::neural_ode) continue;
    CAPTURE(what);
    const Case k(law);
    const Numbers bar = k.columns(1, 9);
    const auto loss = [&](const Numbers& x, const Numbers& w) {
      double sum = 0;
      const Numbers E = k.energy(x, w);
      for (std::size_t c = 0; c < 3; ++c) sum += bar[c] * E[c];
      return sum;
    };
    Field<double> field(k.plan, k.C);
    Numbers x_bar(k.x.size(), 0.0), w_bar(k.numbers, 0.0);
    const auto p = k.pointers(k.w.data());
    const auto p_bar = k.pointers(w_bar.data());
    field.use(p.data(), p_bar.data());
    field.energy_pullback(k.x.data(), bar.data(), x_bar.data());
    ok &= check_against_slopes(
        "x", x_bar, [&](const Numbers& x) { return loss(x, k.w); }, k.x, used(law.states(), k.C));
    std::vector<std::size_t> weights;
    for (std::size_t i = 0; i < k.numbers; ++i) weights.push_back(i);
    ok &= check_against_slopes(
        "w", w_bar, [&](const Numbers& w) { return loss(k.x, w); }, k.w, weights);
  }
  if (ok) test::mark_operator_tested("Field::energy");
}

TEST_CASE("field: distances of a constrained law are those of its points, and stay") {
  LearnedLaw law = test::small_laws().back().second;
  law.stabilisation = 0, law.dissipation = false, law.inputs = 0;
  const Case k(law);
  const Numbers rate = k.rate(k.x, k.u, k.w);
  Field<double> field(k.plan, k.C);
  const auto p = k.pointers(k.w.data());
  field.use(p.data(), nullptr);
  Numbers off(static_cast<std::size_t>(2 * k.C));
  field.violation(k.x.data(), off.data());
  for (int c = 0; c < 3; ++c) {
    const Numbers x = column(k.x, 8, k.C, c), dot = column(rate, 8, k.C, c);
    CHECK(off[static_cast<std::size_t>(c)] ==
          doctest::Approx(std::hypot(x[0] - 0.1, x[1] - 1.5) - 0.9).epsilon(1e-13));
    // Φ̈ of both, by hand
    const auto second = [&](double rx, double ry, double vx, double vy, double ax, double ay) {
      return rx * ax + ry * ay + vx * vx + vy * vy;
    };
    CHECK(std::abs(second(x[0] - 0.1, x[1] - 1.5, x[4], x[5], dot[4], dot[5])) < 1e-12);
    CHECK(std::abs(second(x[2] - x[0], x[3] - x[1], x[6] - x[4], x[7] - x[5], dot[6] - dot[4],
                          dot[7] - dot[5])) < 1e-12);
  }
}

TEST_CASE("field: violation_pullback equals differences by states, lengths and anchors") {
  const Case k(test::small_laws().back().second);
  const Numbers bar = k.columns(2, 9);
  const auto loss = [&](const Numbers& x, const Numbers& w) {
    Field<double> field(k.plan, k.C);
    const auto p = k.pointers(w.data());
    field.use(p.data(), nullptr);
    Numbers off(bar.size(), 0.0);
    field.violation(x.data(), off.data());
    return test::dot(bar, off);
  };
  Field<double> field(k.plan, k.C);
  Numbers x_bar(k.x.size(), 0.0), w_bar(k.numbers, 0.0);
  const auto p = k.pointers(k.w.data());
  const auto p_bar = k.pointers(w_bar.data());
  field.use(p.data(), p_bar.data());
  field.violation_pullback(k.x.data(), bar.data(), x_bar.data());
  bool ok = check_against_slopes(
      "x", x_bar, [&](const Numbers& x) { return loss(x, k.w); }, k.x, used(8, k.C));
  std::vector<std::size_t> points;
  for (std::size_t i = k.numbers - 6; i < k.numbers; ++i) points.push_back(i);
  ok &=
      check_against_slopes("w", w_bar, [&](const Numbers& w) { return loss(k.x, w); }, k.w, points);
  if (ok) test::mark_operator_tested("Field::violation");
}

}  // namespace cycloid
