#include "cycloid/rigid/contact/hunt_crossley.h"

#include "tests/support/pullback_check.h"

namespace cycloid::hunt_crossley_test {

using test::Numbers;

// [h, stiffness, dissipation, stiction, solref, friction, A, rows, x, v] as one row.
constexpr int kFirstVelocity = 4 + 2 + 5 + 1 + 1 + 1;

struct Law {
  bool of_pair = false;
  double exponent = 1.5;
};

template <class S>
struct Inputs {
  Inputs(const Law& law, const S* in) : rows(in[12]), x(in[13]), v(in + kFirstVelocity) {
    options.timestep = in[0];
    CompliantOptions<S>& to = options.compliant;
    to.acts = true, to.of_pair = law.of_pair, to.exponent = law.exponent;
    to.depth_factor = std::pow(1e-3, 1 - law.exponent);
    to.stiffness = in[1], to.dissipation = in[2], to.stiction = in[3];
    for (int i = 0; i < 2; ++i) c.soft.solref[i] = in[4 + i];
    for (int i = 0; i < 5; ++i) c.friction[i] = in[6 + i];
    c.A = in[11];
  }
  ReferenceOptions<S> options;
  ContactNumbers<S> c;
  S rows, x;
  const S* v;
};

Numbers point(double rows, double x, double v0, const Numbers& solref = {0.02, 1.1}) {
  Numbers in = {0.002, 3e4, 0.8, 0.05};
  in.insert(in.end(), solref.begin(), solref.end());
  in.insert(in.end(), {0.7, 0.6, 0.02, 0.003, 0.004, 1.25, rows, x});
  in.insert(in.end(), {v0, 0.06, -0.03, 1.4, -2.5, 3.5});
  return in;
}

void check_law(int n, const Law& law, const std::vector<Numbers>& points,
               const test::PullbackOptions& options = {}) {
  test::check_pullback(
      "compliant_force", n,
      [=](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const Inputs<S> at(law, in);
        compliant_force(n, at.options, at.c, at.rows, at.x, at.v, out);
      },
      [=](const auto* in, const auto* bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const Inputs<S> at(law, in);
        ReferenceOptions<S> options_bar;
        ContactNumbers<S> c_bar;
        compliant_force_pullback(n, at.options, at.c, at.rows, at.x, at.v, bar, options_bar, c_bar,
                                 in_bar[13], in_bar + kFirstVelocity);
        in_bar[0] += options_bar.timestep;
        in_bar[1] += options_bar.compliant.stiffness;
        in_bar[2] += options_bar.compliant.dissipation;
        in_bar[3] += options_bar.compliant.stiction;
        for (int i = 0; i < 2; ++i) in_bar[4 + i] += c_bar.soft.solref[i];
        for (int i = 0; i < 5; ++i) in_bar[6 + i] += c_bar.friction[i];
        in_bar[11] += c_bar.A;
      },
      points, options);
}

// f of a contact with six rows.
struct Forces {
  Forces(const Law& law, const Numbers& in, int n = 6) {
    const Inputs<double> at(law, in.data());
    compliant_force(n, at.options, at.c, at.rows, at.x, at.v, f);
  }
  double f[kMostRows] = {};
};

TEST_CASE("compliant_force: Hunt and Crossley's law and regularised friction by hand") {
  const Numbers in = point(6, -0.004, -0.5);
  const Forces at({}, in);
  const double f0 = 3e4 * std::pow(0.004, 1.5) * (1 + 1.5 * 0.8 * 0.5);
  CHECK(at.f[0] == doctest::Approx(f0).epsilon(1e-14));
  const double s = std::sqrt(0.06 * 0.06 + 0.03 * 0.03 + 0.05 * 0.05);
  CHECK(at.f[1] == doctest::Approx(-0.7 * f0 * 0.06 / s).epsilon(1e-14));
  CHECK(at.f[2] == doctest::Approx(0.6 * f0 * 0.03 / s).epsilon(1e-14));
  const double spin = 0.02 * 1.4;  // [m/s]
  CHECK(at.f[3] == doctest::Approx(-0.02 * f0 * spin / std::hypot(spin, 0.05)).epsilon(1e-14));
}

TEST_CASE("compliant_force: friction at high slip is Coulomb's, at low slip a damper") {
  Numbers in = point(3, -0.002, 0.0);
  in[6] = in[7] = 0.7;
  in[kFirstVelocity + 1] = 300, in[kFirstVelocity + 2] = 400;
  const Forces fast({}, in, 3);
  CHECK(std::hypot(fast.f[1], fast.f[2]) == doctest::Approx(0.7 * fast.f[0]).epsilon(1e-7));
  in[kFirstVelocity + 1] = 1e-6, in[kFirstVelocity + 2] = 0;
  const Forces slow({}, in, 3);
  CHECK(slow.f[1] == doctest::Approx(-0.7 * slow.f[0] * 1e-6 / 0.05).epsilon(1e-8));
}

TEST_CASE("compliant_force: the stiffness of solref is MuJoCo's spring at one millimetre") {
  // solref (-k, -b): MuJoCo's contact accelerates by k x per unit of inverse weight A.
  for (const double p : {1.0, 1.5, 2.0}) {
    const Forces at({.of_pair = true, .exponent = p}, point(1, -1e-3, 0.0, {-900, -5}), 1);
    CHECK(at.f[0] == doctest::Approx(900 * 1e-3 / 1.25).epsilon(1e-13));
  }
  // A time constant and a damping ratio: k = 1/(t ζ)².
  const Forces at({.of_pair = true, .exponent = 1}, point(1, -2e-3, 0.0, {0.02, 0.5}), 1);
  CHECK(at.f[0] == doctest::Approx(1e4 * 2e-3 / 1.25).epsilon(1e-13));
}

TEST_CASE("compliant_force: nothing apart, nothing when it parts too fast, nothing without rows") {
  for (const Numbers& in : {point(6, 0.001, -0.5), point(6, -0.001, 2.0), point(0, -0.001, -0.5)}) {
    for (const double f : Forces({}, in).f) CHECK(f == 0);
  }
  const Forces few({}, point(3, -0.001, -0.5));
  CHECK(few.f[2] != 0);
  CHECK(few.f[3] == 0);
}

TEST_CASE("compliant_force: pullback equals dual numbers when pressing, with any rows and law") {
  for (const int n : {1, 3, 4, 6}) {
    const std::vector<Numbers> points = {point(n, -0.004, -0.5), point(n, -0.0007, 0.6),
                                         point(n, -0.01, 0.0, {-900, -5})};
    check_law(n, {}, points);
    check_law(n, {.exponent = 1}, points);
    check_law(n, {.of_pair = true}, points);
    check_law(n, {.of_pair = true, .exponent = 2.2}, points);
  }
  check_law(6, {.of_pair = true}, {point(6, -0.002, -0.3, {0.003, 1})});  // 2h stands in for t
}

TEST_CASE("compliant_force: pullback is zero when free and when released") {
  check_law(6, {}, {point(6, 0.002, -0.5), point(6, -0.002, 3.0), point(0, -0.002, -0.5)},
            {.zero_by_law = true});
}

}  // namespace cycloid::hunt_crossley_test
