#include "cycloid/fluid/spectral/node_terms.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using Complex = ComplexLane<double>;

template <class Term>
void hold_products(const char* name) {
  FixedNumbers draw(3);
  std::vector<test::Numbers> points;
  for (int i = 0; i < 3; ++i) points.push_back(draw.vector(Term::kSeen));
  test::check_pullback(
      name, Term::kProducts,
      [](const auto* g, auto* q) {
        using S = std::remove_cvref_t<decltype(*g)>;
        Term::template products<S>(nullptr, g, q);
      },
      [](const auto* g, const auto* q_bar, auto* g_bar) {
        using S = std::remove_cvref_t<decltype(*g)>;
        Term::template products_pullback<S>(nullptr, g, q_bar, g_bar);
      },
      points);
}

double dot(const Complex* a, const Complex* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i].re * b[i].re + a[i].im * b[i].im;
  return sum;
}

// The adjoints of the linear parts, at a mode and at the mean.
template <class Term>
void hold_linear_parts() {
  FixedNumbers draw(5);
  const auto fill = [&](Complex* x, int n) {
    for (int i = 0; i < n; ++i) x[i] = {draw.next(), draw.next()};
  };
  for (const bool mean : {false, true}) {
    SpectralMode<double> m = {};
    m.is_mean = mean ? 1 : 0;
    if (!mean) {
      double k2 = 0;
      for (double& k : m.k) k = draw.next(), k2 += k * k;
      m.inverse_square = 1 / k2;
    }
    const double c[3] = {draw.next(), draw.next(), draw.next()}, zero[3] = {};
    Complex u[Term::kFields], q[Term::kProducts], N[Term::kFields], N0[Term::kFields];
    Complex N_bar[Term::kFields], u_bar[Term::kFields] = {}, q_bar[Term::kProducts] = {};
    fill(u, Term::kFields), fill(q, Term::kProducts), fill(N_bar, Term::kFields);
    Term::template assembled<double>(m, c, q, u, N);
    const Complex none_q[Term::kProducts] = {}, none_u[Term::kFields] = {};
    Term::template assembled<double>(m, c, none_q, none_u, N0);  // what does not depend on either
    for (int f = 0; f < Term::kFields; ++f) N[f] = N[f] - N0[f];
    Term::template assembled_adjoint<double>(m, c, N_bar, q_bar, u_bar);
    const double expected = dot(N, N_bar, Term::kFields);
    CHECK(dot(q, q_bar, Term::kProducts) + dot(u, u_bar, Term::kFields) ==
          doctest::Approx(expected).epsilon(1e-13));
    if constexpr (!Term::kSeesState) {
      Complex g[Term::kSeen], g_bar[Term::kSeen], back[Term::kFields] = {};
      fill(g_bar, Term::kSeen);
      Term::template seen<double>(m, u, g);
      Term::template seen_adjoint<double>(m, g_bar, back);
      CHECK(dot(u, back, Term::kFields) ==
            doctest::Approx(dot(g, g_bar, Term::kSeen)).epsilon(1e-13));
    }
    if constexpr (requires { &Term::template constants_adjoint<double>; }) {
      for (int i = 0; i < Term::kConstants; ++i) {
        double unit[3] = {}, c_bar[3] = {};
        unit[i] = 1;
        Complex with[Term::kFields], without[Term::kFields];
        Term::template assembled<double>(m, unit, none_q, u, with);
        Term::template assembled<double>(m, zero, none_q, u, without);
        for (int f = 0; f < Term::kFields; ++f) with[f] = with[f] - without[f];
        Term::template constants_adjoint<double>(m, u, N_bar, c_bar);
        CHECK(c_bar[i] == doctest::Approx(dot(with, N_bar, Term::kFields)).epsilon(1e-13));
      }
    }
  }
}

TEST_CASE("products: pullbacks equal dual numbers") {
  hold_products<Incompressible<2>>("Incompressible::products");
  hold_products<Incompressible<3>>("Incompressible::products");
  hold_products<Transport<1>>("Transport::products");
  hold_products<Transport<2>>("Transport::products");
  hold_products<Transport<3>>("Transport::products");
  hold_products<Reaction>("Reaction::products");
  hold_products<ShallowWater>("ShallowWater::products");
}

TEST_CASE("terms: linear parts and their adjoints are transposes") {
  hold_linear_parts<Incompressible<2>>();
  hold_linear_parts<Incompressible<3>>();
  hold_linear_parts<Transport<1>>();
  hold_linear_parts<Transport<2>>();
  hold_linear_parts<Transport<3>>();
  hold_linear_parts<Reaction>();
  hold_linear_parts<ShallowWater>();
}

TEST_CASE("Incompressible: what it assembles has no divergence, and keeps the mean") {
  FixedNumbers draw(9);
  SpectralMode<double> m = {{2, -3, 1}, 1.0 / 14, 0};
  Complex q[5], N[3];
  for (Complex& x : q) x = {draw.next(), draw.next()};
  Incompressible<3>::assembled<double>(m, nullptr, q, nullptr, N);
  double re = 0, im = 0;
  for (int a = 0; a < 3; ++a) re += m.k[a] * N[a].re, im += m.k[a] * N[a].im;
  CHECK(std::abs(re) + std::abs(im) < 1e-14);
  CHECK(std::abs(N[0].re) > 0.01);
  m = {{0, 0, 0}, 0, 1};
  Incompressible<3>::assembled<double>(m, nullptr, q, nullptr, N);
  for (const Complex& x : N) CHECK((x.re == 0 && x.im == 0));
}

}  // namespace
}  // namespace cycloid
