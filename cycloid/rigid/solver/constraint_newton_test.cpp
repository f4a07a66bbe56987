#include "cycloid/rigid/solver/constraint_newton.h"

#include <cstring>

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::constraint_newton_test {

using test::CaseOptions;
using test::LaneProblem;
using test::Numbers;
using test::PlainProblem;

const DofBlocks& layout() {
  static const DofBlocks dofs(test::random_problem(0, {}).parent);
  return dofs;
}

double largest_gradient(const PlainProblem& p, const Numbers& x) {
  return test::largest(test::plain_point(p, x).g);
}

std::vector<PlainProblem> problems(std::uint64_t first, int count, CaseOptions options) {
  std::vector<PlainProblem> out;
  for (int i = 0; i < count; ++i) {
    options.contacts = 1 + i % 5;
    out.push_back(test::random_problem(first + static_cast<std::uint64_t>(i), options));
  }
  return out;
}

bool same_bits(const Numbers& a, const Numbers& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

constexpr RowLaw kCones[] = {RowLaw::pyramid, RowLaw::elliptic};

TEST_CASE("solve_newton: one dof against a limit, by hand") {
  const DofBlocks dofs(std::vector<int>{-1});
  for (const double a0 : {-4.0, 5.0}) {
    PlainProblem p{{-1}, {2.0}, {a0}, {{RowLaw::one_sided, 0, 1.0, 6.0, 1.0, 0.0}}, {}};
    LaneProblem<double> lanes(dofs, {p});
    const NewtonResult<double> result = lanes.solve({});
    CHECK(result.solved);
    // Pressing, 2 (x + 4) + 6 (x - 1) = 0; else free.
    CHECK(lanes.result(0)[0] == doctest::Approx(a0 < 0 ? -0.25 : 5.0).epsilon(1e-15));
  }
}

TEST_CASE("solve_newton: a sliding and spinning sphere moves as in MuJoCo 4.0.0") {
  // Mass 0.8, inertia 0.0032; impratio 3; solref (0.03, 0.9), (-800, -30), (0.005, 1).
  const DofBlocks dofs(std::vector<int>{-1, 0, 1, 2, 3, 4});
  PlainProblem p;
  p.parent = dofs.parent;
  p.M.assign(36, 0.0);
  for (std::size_t i = 0; i < 6; ++i) p.M[7 * i] = i < 3 ? 0.8 : 0.0032;
  p.a0 = {0, 0, -9.81, 0, 0, 0};
  const double arm = 0.09775;
  const Numbers J = {0, 0, 1, 0, 0, 0, 0, 1, 0, arm, 0, 0, -1, 0, 0, 0,  arm, 0,
                     0, 0, 0, 0, 0, 1, 0, 0, 0, 0,   1, 0, 0,  0, 0, -1, 0,   0};
  const double mu2 = 0.7 * 0.7 / 3;
  test::PlainGroup c{RowLaw::pyramid, 4, Numbers(J.begin(), J.begin() + 24)};
  const auto check = [&](const Numbers& expected) {
    p.groups = {c};
    std::vector<PlainProblem> one = {p};
    one[0].groups.insert(one[0].groups.begin(), 3, {RowLaw::one_sided, 1, Numbers(6, 0.0)});
    LaneProblem<double> lanes(dofs, one);
    CHECK(lanes.solve({.scale = 1 / 2.4}).solved);
    CHECK(test::relative_error(lanes.result(0), expected) < 1e-13);
  };
  const auto set = [&](RowLaw law, int rows, double D, const Numbers& a_ref) {
    c = {law, rows, Numbers(J.begin(), J.begin() + 6 * rows)};
    const double friction[] = {mu2, 0.7, 0.7, 0.02, 0.005, 0.005};
    for (int k = 0; k < rows; ++k) {
      c.D[k] = D;
      c.a_ref[k] = a_ref[static_cast<std::size_t>(k)];
      c.friction[k] = friction[k];
    }
  };
  set(RowLaw::pyramid, 4, 7.462116889609961,
      {20.885794127300336, 17.780701754385966, 80.30701754385966, -49.12280701754386});
  check({-2.0747262090942225e+01, 3.4152278969343084, 2.4707842839823623e+01,
         8.3459631731332166e+01, 5.0701121734740070e+02, 0});
  set(RowLaw::elliptic, 6, 3.6320610274028207,
      {20.885794127300336, 17.780701754385966, 80.30701754385966, -49.12280701754386,
       175.43859649122808, 105.26315789473685});
  check({-20.579877568652897, 4.638968506646766, 21.279522114594013, 108.39869990046789,
         495.4820620790647, -13.315991912727108});
  set(RowLaw::elliptic, 3, 3.6320610274028207,
      {10.31112145083103, 8.001315789473685, 36.13815789473685});
  check({-1.0437960197686619e+01, 2.3110590191928750, 6.6792000803580294, 5.6476504781525868e+01,
         2.5507765233096674e+02, 0});
}

TEST_CASE("solve_newton: equals a dense reference, both cones, every kind of row") {
  int zones[3] = {};
  for (const RowLaw cone : kCones) {
    for (std::uint64_t seed = 0; seed < 40; seed += 4) {
      const std::vector<PlainProblem> p = problems(100 * seed, 4, {.cone = cone});
      LaneProblem<Pack<double, 4>> lanes(layout(), p);
      const NewtonResult<Pack<double, 4>> result = lanes.solve({});
      CHECK(all(result.solved));
      CHECK(all(result.finite));
      for (int l = 0; l < 4; ++l) {
        const PlainProblem& one = p[static_cast<std::size_t>(l)];
        CHECK(lane(result.residual, l) <= 1e-10);
        CHECK(test::relative_error(lanes.result(l), test::plain_minimum(one)) < 1e-10);
        LaneProblem<double> alone(layout(), {one});
        CHECK(alone.solve({}).solved);
        CHECK(test::relative_error(lanes.result(l), alone.result(0)) < 1e-10);
        if (cone != RowLaw::elliptic) continue;
        for (int g = 0; g < alone.problem.groups; ++g) {
          if (alone.problem.group[g].law != RowLaw::elliptic) continue;
          const int row = alone.problem.group_row(g);
          const ConstraintResponse<double>& at = alone.space.at;
          ++zones[at.f[row] == 0 ? 0 : at.cross[row] != 0 ? 1 : 2];
        }
      }
    }
  }
  for (const int count : zones) CHECK(count > 5);  // free, slipping and sticking contacts
}

TEST_CASE("solve_newton: leaves forces that balance, also of lanes that ended early") {
  using S = Pack<double, 4>;
  for (const RowLaw cone : kCones) {
    const std::vector<PlainProblem> p = problems(80, 4, {.cone = cone});
    LaneProblem<S> lanes(layout(), p);
    const NewtonResult<S> result = lanes.solve({});
    CHECK(lane(result.steps, 0) != lane(result.steps, 1));
    std::vector<S> d(lanes.x.size()), g(lanes.x.size());
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = lanes.x[i] - lanes.problem.a0[i];
    multiply_blocks(lanes.problem.mass, lanes.problem.M, static_cast<const S*>(d.data()), g.data());
    subtract_row_forces(lanes.problem, static_cast<const S*>(lanes.space.at.f), g.data());
    for (const S& v : g) {
      for (int l = 0; l < 4; ++l) CHECK(std::abs(lane(v, l)) < 1e-9);
    }
  }
}

TEST_CASE("solve_newton: mass ratios of a million, soft, hard and repeated rows") {
  int rough = 0;
  for (const RowLaw cone : kCones) {
    for (const double ratio : {1e6, 1e-6}) {
      for (const double D : {1e-3, 1e3, 1e4, 1e12}) {
        if (cone == RowLaw::elliptic && D > 1e4) continue;  // impedance 0.9999 gives 1e4
        const std::vector<PlainProblem> p =
            problems(7000, 4, {.cone = cone, .mass_ratio = ratio, .D = D, .repeat = true});
        LaneProblem<Pack<double, 4>> lanes(layout(), p);
        const NewtonResult<Pack<double, 4>> result = lanes.solve({});
        CHECK(all(result.finite));
        // Beyond, rounding ends far above the tolerance, and this is told.
        if (D <= 1e4) CHECK(all(result.solved));
        rough += !all(result.solved);
        for (int l = 0; l < 4; ++l) {
          const PlainProblem& one = p[static_cast<std::size_t>(l)];
          const Numbers x = lanes.result(l);
          // Rounding of r is multiplied by D; the reference has it as well.
          const double rounding = 1e-14 * std::max(D, ratio) * test::largest(one.a0);
          CHECK(largest_gradient(one, x) < std::max(1e-9, 30 * rounding));
          CHECK(test::plain_point(one, x).cost <=
                test::plain_point(one, test::plain_minimum(one)).cost * (1 + 1e-8) + rounding);
        }
      }
    }
  }
  CHECK(rough > 0);
}

TEST_CASE("solve_newton: float lanes come as close as rounding allows") {
  for (const RowLaw cone : kCones) {
    const std::vector<PlainProblem> p = problems(300, 16, {.cone = cone});
    LaneProblem<Pack<float, 16>> lanes(layout(), p);
    const NewtonResult<Pack<float, 16>> result =
        lanes.solve({.scale = 0.05, .tolerance = kNewtonTolerance<float>});
    CHECK(all(result.solved));
    for (int l = 0; l < 16; ++l) {
      CHECK(lane(result.residual, l) < 1e-4f);
      CHECK(lane(result.steps, l) < 15);
      CHECK(test::relative_error(lanes.result(l),
                                 test::plain_minimum(p[static_cast<std::size_t>(l)])) < 1e-4);
    }
  }
}

TEST_CASE("solve_newton: without rows the result is a₀, bit for bit, in no steps") {
  PlainProblem p = test::random_problem(5, {});
  p.diagonals.clear();
  p.groups.clear();
  LaneProblem<double> lanes(layout(), {p});
  const NewtonResult<double> result = lanes.solve({});
  CHECK(result.solved);
  CHECK(result.steps == 0);
  CHECK(same_bits(lanes.result(0), p.a0));
}

TEST_CASE("solve_newton: a lane has the same bits whatever its neighbours and place") {
  for (const RowLaw cone : kCones) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      std::vector<PlainProblem> p = problems(900 + 10 * seed, 4, {.cone = cone});
      LaneProblem<Pack<double, 4>> first(layout(), p);
      first.solve({});
      const Numbers mine = first.result(1);
      const std::vector<PlainProblem> copies(4, p[1]);
      LaneProblem<Pack<double, 4>> same(layout(), copies);
      same.solve({});
      CHECK(same_bits(same.result(3), mine));
      std::vector<PlainProblem> others = problems(5000 + 10 * seed, 4, {.cone = cone});
      others[2] = p[1];
      others[0].groups.resize(3);  // a neighbour without contacts
      LaneProblem<Pack<double, 4>> moved(layout(), others);
      moved.solve({});
      CHECK(same_bits(moved.result(2), mine));
    }
  }
}

TEST_CASE("solve_newton: NaN and infinity stay in their lane and end at once") {
  const std::vector<PlainProblem> p = problems(40, 4, {.cone = RowLaw::elliptic});
  LaneProblem<Pack<double, 4>> clean(layout(), p);
  const NewtonResult<Pack<double, 4>> expected = clean.solve({});
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    std::vector<PlainProblem> spoilt = p;
    spoilt[1].a0[2] = bad;
    spoilt[2].groups[3].a_ref[0] = bad;
    LaneProblem<Pack<double, 4>> lanes(layout(), spoilt);
    const NewtonResult<Pack<double, 4>> result = lanes.solve({});
    for (const int l : {0, 3}) {
      CHECK(result.solved[l]);
      CHECK(result.finite[l]);
      CHECK(lane(result.steps, l) == lane(expected.steps, l));
      CHECK(same_bits(lanes.result(l), clean.result(l)));
    }
    CHECK_FALSE(result.finite[1]);
    CHECK_FALSE(result.solved[1]);
    CHECK(lane(result.steps, 1) == 0);
    CHECK(lane(result.steps, 2) <= expected.steps[2] + 2);
  }
}

TEST_CASE("solve_newton: what stops at the limit of steps is not called solved") {
  const std::vector<PlainProblem> p = problems(60, 4, {.cone = RowLaw::elliptic});
  LaneProblem<Pack<double, 4>> lanes(layout(), p);
  const NewtonResult<Pack<double, 4>> result = lanes.solve({.most = 1});
  CHECK_FALSE(all(result.solved));
  for (int l = 0; l < 4; ++l) CHECK(result.solved[l] == (lane(result.residual, l) <= 1e-10));
}

TEST_CASE("solve_newton: in float, stiff rows with large references are solved") {
  for (const RowLaw cone : kCones) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      PlainProblem p = test::random_problem(seed, {.cone = cone, .contacts = 4});
      for (test::PlainGroup& g : p.groups) {
        for (int k = 0; k < g.rows; ++k) g.D[k] *= 1e3, g.a_ref[k] *= 1e2;
      }
      LaneProblem<float> lanes(layout(), {p});
      const NewtonResult<float> result = lanes.solve({.scale = 1e-4, .tolerance = 1e-5});
      CHECK(result.solved);
      CHECK(result.steps < 80);
    }
  }
}

}  // namespace cycloid::constraint_newton_test
