#include "cycloid/system/law/law_point.h"

#include <doctest/doctest.h>

#include "cycloid/system/laws/pendulum.h"
#include "tests/support/law_steps.h"
#include "tests/support/test_laws.h"

namespace cycloid::law_point_test {

using Dipole = test::DipoleByDuals;
using test::Numbers;

// The pendulum without its own pullback: with saved values, from dual numbers.
struct PendulumByDuals {
  static constexpr const char* kName = "pendulum_by_duals";
  static constexpr auto kState = Pendulum::kState;
  static constexpr auto kInput = Pendulum::kInput;
  static constexpr auto kParameters = Pendulum::kParameters;
  static constexpr int kSaved = Pendulum::kSaved;
  template <class S>
  void x_dot(const S& t, const S* x, const S* u, const S* p, S* dx, S* saved) const {
    Pendulum{}.x_dot(t, x, u, p, dx, saved);
  }
};

// Every kind of column on its own: one state, no input, no parameters; time.
struct Clock {
  static constexpr const char* kName = "clock";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}};
  template <class S>
  void x_dot(const S& t, const S* x, const S*, const S*, S* dx) const {
    dx[0] = sin(t) * x[0] * x[0];
  }
};

constexpr int kColumns = 1 + 6 + 3 + 4;  // of Dipole: t, d, u, p
const LawShape<Dipole> kShape(Dipole{});
const Numbers kBase = {0.5, -0.5, 0.5, 0.5, 0.2, -0.4, 0.6};

// in = [t, d, u, p], the state is base ⊕ d.
const auto dipole_of = []<class S>(const S* in, S* dx) {
  const std::vector<S> x = test::displaced(kShape, kBase, in + 1);
  Dipole{}.x_dot(in[0], x.data(), in + 7, in + 10, dx);
};
const auto dipole_back = []<class S>(const S* in, const S* dx_bar, S* in_bar) {
  const std::vector<S> x = test::displaced(kShape, kBase, in + 1);
  std::vector<S> x_bar(6, S(0));
  const LawPoint<Dipole, S> at{Dipole{}, kShape, in[0], S(0), in + 7, in + 10, Scratch{nullptr}};
  law_x_dot_pullback(at, in[0], x.data(), static_cast<const S*>(nullptr), dx_bar, in_bar[0],
                     x_bar.data(), in_bar + 7, in_bar + 10);
  test::displaced_pullback(kShape, kBase, in + 1, x_bar.data(), in_bar + 1);
};
const std::vector<Numbers> kDipolePoints = {
    {0.4, 0, 0, 0, 0, 0, 0, 0.1, 0.2, -0.3, 1, 2, 3, 0.8},
    {2.0, 0.3, -0.7, 1.1, 2, -1, 0.5, 0, 0, 0, 0.5, 0.7, 0.9, -2},
    {0.0, 1.5, 1.5, -1.0, 0, 0, 0, 3, 2, 1, 1, 1, 1, 0}};

TEST_CASE("law_x_dot: the pullback from dual numbers is right for time, quaternions, u and p") {
  static_assert(kColumns % kDualWidth != 0, "the last group of columns is not full");
  test::check_pullback("law_x_dot", 6, dipole_of, dipole_back, kDipolePoints);
  test::check_law_pullback("law_x_dot", Clock{}, {{0.4, 1.2}, {-2.0, 0.3}});
}

TEST_CASE("law_x_dot: the pullback from dual numbers can itself be differentiated") {
  test::check_pullback_derivative("law_x_dot", 6, dipole_of, dipole_back, kDipolePoints);
}

TEST_CASE("law_x_dot: dual numbers and the law's own pullback agree, with saved values") {
  static_assert(HasPullback<Pendulum> && !HasPullback<PendulumByDuals>);
  const double x[2] = {0.4, -1.1}, u[1] = {0.3}, p[4] = {0.7, 1.3, 0.4, 9.81}, bar[2] = {0.6, -0.8};
  double results[2][8];
  const auto run = [&](const auto& law, double* bars) {
    using Law = std::remove_cvref_t<decltype(law)>;
    double dx[2], saved[2];
    const LawPoint<Law, double> at{law, LawShape<Law>(law), 0, 0, u, p, Scratch{nullptr}};
    law_x_dot(at, 0.0, x, dx, saved);
    CHECK(saved[0] == doctest::Approx(std::sin(0.4)).epsilon(1e-15));
    for (int i = 0; i < 8; ++i) bars[i] = 0.25;
    law_x_dot_pullback(at, 0.0, x, saved, bar, bars[0], bars + 1, bars + 3, bars + 4);
  };
  run(Pendulum{}, results[0]);
  run(PendulumByDuals{}, results[1]);
  CHECK(test::relative_error(results[1], results[0]) < 1e-14);
  for (int i = 1; i < 8; ++i) CHECK(std::abs(results[0][i] - 0.25) > 1e-3);
}

}  // namespace cycloid::law_point_test
