#include "cycloid/system/event/jump.h"

#include "cycloid/system/laws/bare_motion.h"
#include "tests/support/operator_coverage.h"
#include "tests/support/pullback_check.h"

namespace cycloid {

TEST_CASE("jump: what the sense measures is reversed and scaled, and nothing else changes") {
  // x = [q1, q2, v1, v2], a wall q1 = 0.5, a mass matrix that turns impulses.
  const double x[4] = {0.5, 2, -3, 1};
  const double p[14] = {1, 0, 0, 0, 0.5, 0.8, 0, 0, 1, 0, 0, 0, 2, 0.5};
  double next[4];
  CHECK(jump_guard(4, x, p) == 0);
  jump(4, x, p, next);
  CHECK(next[0] == x[0]);
  CHECK(next[1] == x[1]);
  CHECK(next[2] == doctest::Approx(0.8 * 3).epsilon(1e-15));
  CHECK(next[3] == doctest::Approx(1 + 1.8 * 3 * 0.25).epsilon(1e-15));
}

TEST_CASE("jump: pullbacks equal dual numbers") {
  constexpr int n = 3, numbers = 3 * n + 2, columns = n + numbers;
  using D = Dual<double, columns>;
  const std::vector<double> at = test::FixedNumbers(3).vector(columns), bar = {0.3, -1.2, 0.7};
  D x[n], p[numbers], next[n];
  for (int i = 0; i < n; ++i) x[i] = D::variable(at[static_cast<std::size_t>(i)], i);
  for (int i = 0; i < numbers; ++i) {
    p[i] = D::variable(at[static_cast<std::size_t>(n + i)], n + i);
  }
  jump(n, x, p, next);
  const D g = jump_guard(n, x, p);
  std::vector<double> g_bar(columns, 0.0), next_bar(columns, 0.0);
  jump_guard_pullback(n, at.data(), at.data() + n, 1.0, g_bar.data(), g_bar.data() + n);
  jump_pullback(n, at.data(), at.data() + n, bar.data(), next_bar.data(), next_bar.data() + n);
  bool ok = true;
  for (std::size_t i = 0; i < columns; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += bar[j] * next[j].tangent[i];
    CHECK(g_bar[i] == doctest::Approx(g.tangent[i]).epsilon(1e-12));
    CHECK(next_bar[i] == doctest::Approx(sum).epsilon(1e-11));
    ok &= std::abs(next_bar[i] - sum) < 1e-10 && std::abs(g_bar[i] - g.tangent[i]) < 1e-12;
  }
  CHECK(std::abs(next_bar[n + n + 1]) > 1e-3);  // restitution
  if (ok) test::mark_operator_tested("jump"), test::mark_operator_tested("jump_guard");
}

TEST_CASE("jump: a law with two jumps is its law, and each has numbers of its own") {
  const JumpLaw<double> law(AnyLaw<double>(Coasting{1, 0}), 2);
  constexpr int n = 2, numbers = 8, np = 2 * numbers;
  const std::vector<double> x = {0.4, -1.3}, p = test::FixedNumbers(7).vector(np);
  double dx[n], x_bar[n] = {}, p_bar[np] = {}, t_bar = 0, *const none = nullptr;
  const double bar[n] = {0.6, -0.2};
  law.x_dot(0.0, x.data(), none, p.data(), dx);
  CHECK(dx[0] == x[1]);
  CHECK(dx[1] == 0);
  law.x_dot_pullback(0.0, x.data(), none, p.data(), bar, t_bar, x_bar, none, p_bar);
  bool ok = x_bar[0] == 0 && x_bar[1] == bar[0];
  CHECK(ok);
  if (ok) test::mark_operator_tested("JumpLaw::x_dot");

  double g[kMostJumps];
  law.events(0.0, x.data(), none, p.data(), g);
  const double g_bar[kMostJumps] = {0.3, -0.8, 5, 7};
  set_zero(x_bar, n);
  law.events_pullback(0.0, x.data(), none, p.data(), g_bar, t_bar, x_bar, none, p_bar);
  double x_own[n] = {}, p_own[np] = {}, next[n], next_own[n];
  for (int k = 0; k < 2; ++k) {
    CHECK(g[k] == jump_guard(n, x.data(), p.data() + k * numbers));
    jump_guard_pullback(n, x.data(), p.data() + k * numbers, g_bar[k], x_own, p_own + k * numbers);
  }
  CHECK(g[2] == 1);
  ok = std::equal(x_bar, x_bar + n, x_own) && std::equal(p_bar, p_bar + np, p_own);
  CHECK(ok);
  if (ok) test::mark_operator_tested("JumpLaw::events");

  law.reset(1, 0.0, x.data(), none, p.data(), next);
  jump(n, x.data(), p.data() + numbers, next_own);
  law.reset_pullback(1, 0.0, x.data(), none, p.data(), bar, t_bar, x_bar, none, p_bar);
  jump_pullback(n, x.data(), p.data() + numbers, bar, x_own, p_own + numbers);
  ok = std::equal(next, next + n, next_own) && std::equal(x_bar, x_bar + n, x_own) &&
       std::equal(p_bar, p_bar + np, p_own) && std::abs(p_bar[numbers + 3]) > 1e-3;
  CHECK(ok);
  if (ok) test::mark_operator_tested("JumpLaw::reset");
}

}  // namespace cycloid
