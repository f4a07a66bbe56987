#include "cycloid/fluid/lattice/collide.h"

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

// Inputs: rates (4), force (3), populations; outputs: populations.
template <class L, bool kOneRate>
void hold_collision(const char* name) {
  constexpr int q = L::kDirections;
  const auto f = [](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*out)>;
    for (int i = 0; i < q; ++i) out[i] = in[7 + i];
    collide<L, kOneRate>(LatticeRates<S>{in[0], in[1], in[2], in[3]}, in + 4, out);
  };
  const auto f_pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    LatticeRates<S> bar{S(0), S(0), S(0), S(0)};
    collide_pullback<L, kOneRate>(LatticeRates<S>{in[0], in[1], in[2], in[3]}, in + 4, in + 7,
                                  out_bar, bar, in_bar + 4, in_bar + 7);
    in_bar[0] = in_bar[0] + bar.shear, in_bar[1] = in_bar[1] + bar.bulk;
    in_bar[2] = in_bar[2] + bar.odd, in_bar[3] = in_bar[3] + bar.even;
  };
  test::FixedNumbers numbers(7);
  std::vector<test::Numbers> points;
  for (int p = 0; p < 3; ++p) points.push_back(numbers.vector(7 + q));
  test::check_pullback(name, q, f, f_pullback, points);
}

TEST_CASE(
    "collide: pullback equals dual numbers, in the plane and in space, one rate and several") {
  hold_collision<D2Q9, true>("collide");
  hold_collision<D2Q9, false>("collide");
  hold_collision<D3Q19, true>("collide");
  hold_collision<D3Q19, false>("collide");
}

template <class L>
void hold_conservation() {
  constexpr int q = L::kDirections;
  test::FixedNumbers numbers(11);
  const test::Numbers g = numbers.vector(q), force = {0.3, -0.2, 0.1};
  for (const bool one : {true, false}) {
    test::Numbers after = g;
    const LatticeRates<double> rates{1.3, 0.8, 1.1, 0.9};
    if (one) collide<L, true>(rates, force.data(), after.data());
    else collide<L, false>(rates, force.data(), after.data());
    double mass = 0, momentum[3] = {};
    for (int i = 0; i < q; ++i) {
      const double gain = after[std::size_t(i)] - g[std::size_t(i)];
      mass += gain;
      for (int a = 0; a < 3; ++a) momentum[a] += L::c[i][a] * gain;
    }
    CHECK(std::abs(mass) < 1e-14);
    for (int a = L::kFirst; a < 3; ++a) {
      CHECK(momentum[a] == doctest::Approx(force[std::size_t(a)]).epsilon(1e-13));
    }
  }
  // Equal rates make both the same.
  const LatticeRates<double> same{1.3, 1.3, 1.3, 1.3};
  test::Numbers x = g, y = g;
  collide<L, true>(same, force.data(), x.data());
  collide<L, false>(same, force.data(), y.data());
  CHECK(test::relative_error(x, y) < 1e-14);
}

TEST_CASE("collide: mass stays, momentum grows by the force, equal rates are one rate") {
  hold_conservation<D2Q9>();
  hold_conservation<D3Q19>();
}

// Σ w, Σ w c_a c_b and the fourth moments of (1) in lattice_set.h.
template <class L>
void hold_moments() {
  const auto sum = [](auto&& of) {
    double total = 0;
    for (int i = 0; i < L::kDirections; ++i) total += L::w[i] * of(L::c[i]);
    return total;
  };
  CHECK(sum([](const int*) { return 1.0; }) == doctest::Approx(1).epsilon(1e-14));
  const auto delta = [](int a, int b) { return a == b ? 1.0 : 0.0; };
  for (int a = L::kFirst; a < 3; ++a) {
    for (int b = L::kFirst; b < 3; ++b) {
      CHECK(sum([&](const int* c) { return c[a] * c[b]; }) ==
            doctest::Approx(delta(a, b) / 3).epsilon(1e-14));
      for (int e = L::kFirst; e < 3; ++e) {
        for (int f = L::kFirst; f < 3; ++f) {
          const double fourth = sum([&](const int* c) {
            return (c[a] * c[b] - delta(a, b) / 3) * (c[e] * c[f] - delta(e, f) / 3);
          });
          const double expected = (delta(a, e) * delta(b, f) + delta(a, f) * delta(b, e)) / 9;
          CHECK(fourth == doctest::Approx(expected).epsilon(1e-13));
        }
      }
    }
  }
  for (int i = 0; i < L::kDirections; ++i) {
    for (int a = 0; a < 3; ++a) CHECK(L::c[opposite(i)][a] == -L::c[i][a]);
  }
}

TEST_CASE("lattice sets: weights have the moments that second order needs") {
  hold_moments<D2Q9>();
  hold_moments<D3Q19>();
}

}  // namespace
}  // namespace cycloid
