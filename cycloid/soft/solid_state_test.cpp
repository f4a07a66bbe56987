#include "cycloid/soft/solid_state.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using Numbers = std::vector<double>;

Numbers random_row(std::size_t n, std::uint64_t seed, double size = 1) {
  test::FixedNumbers random(seed);
  Numbers out(n);
  for (double& x : out) x = size * random.next();
  return out;
}
double dot(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
Numbers sum(const Numbers& a, const Numbers& b, double t) {
  Numbers out = a;
  for (std::size_t i = 0; i < a.size(); ++i) out[i] += t * b[i];
  return out;
}

using Duals = std::vector<Dual1>;
Duals duals(const Numbers& values, const Numbers& tangents) {
  Duals out(values.begin(), values.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].tangent[0] = tangents[i];
  return out;
}
Numbers tangents(const Duals& of) {
  Numbers out;
  for (const Dual1& x : of) out.push_back(x.tangent[0]);
  return out;
}

// Four points, three segments; the first one is held.
SolidPlan plan_of_rod() {
  SolidMesh mesh;
  mesh.vertices = {0, 0, 0, 1, 0.1, 0, 1.8, 0.9, 0.1, 2.2, 1.0, 0.9};
  mesh.part = {0, 0, 0, 0};
  std::vector<char> held(21, 0);
  std::fill_n(held.begin(), 6, 1);
  for (const std::size_t i : {12u, 13u, 14u, 16u, 17u, 19u, 20u}) held[i] = 1;
  return SolidPlan(mesh, held, {}, 3);
}

// Rest, start and end of a step, with angles.
struct Case {
  Case() : plan(plan_of_rod()) {
    rest = plan.mesh.vertices;
    rest.resize(21, 0.0);
    start = sum(rest, random_row(21, 3), 0.3);
    end = sum(start, random_row(21, 5), 0.2);
  }
  Numbers state() const {
    Numbers out(30, 0.0);
    write_state<double>(plan, rest.data(), start.data(), end.data(), v.data(), out.data());
    return out;
  }
  SolidPlan plan;
  Numbers rest, start, end, v = random_row(21, 7);
};

double central(const std::function<double(double)>& f) {
  constexpr double h = 1e-5;
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

}  // namespace

TEST_CASE("write_state: pullback and tangent are each other's transpose and the difference") {
  const Case c;
  const Numbers rest_tan = random_row(21, 11), start_tan = random_row(21, 13),
                end_tan = random_row(21, 17), v_tan = random_row(21, 19), bar = random_row(30, 23);
  Numbers x_bar(21, 0.0), v_bar(x_bar), rest_bar(x_bar), start_bar(x_bar);
  Duals next(30, Dual1(0.0));
  write_state<Dual1>(c.plan, duals(c.rest, rest_tan).data(), duals(c.start, start_tan).data(),
                     duals(c.end, end_tan).data(), duals(c.v, v_tan).data(), next.data());
  const Numbers tan = tangents(next);
  write_state_pullback<double>(c.plan, c.rest.data(), c.start.data(), c.end.data(), bar.data(),
                               x_bar.data(), v_bar.data(), rest_bar.data(), start_bar.data());
  const double forward = dot(bar, tan);
  CHECK(dot(x_bar, end_tan) + dot(v_bar, v_tan) + dot(rest_bar, rest_tan) +
            dot(start_bar, start_tan) ==
        doctest::Approx(forward).epsilon(1e-12));
  CHECK(std::abs(forward) > 0.1);
  CHECK(central([&](double t) {
          Case moved = c;
          moved.rest = sum(c.rest, rest_tan, t), moved.start = sum(c.start, start_tan, t);
          moved.end = sum(c.end, end_tan, t), moved.v = sum(c.v, v_tan, t);
          return dot(bar, moved.state());
        }) == doctest::Approx(forward).epsilon(1e-8));
  // Read again, the state is what it was made of, with angles measured from rest.
  const Numbers state = c.state();
  Numbers x(21), v(21), back(30, 0.0);
  read_state(c.plan, state.data(), x.data(), v.data());
  CHECK(x[4] == c.end[4]);
  CHECK(v[15] == doctest::Approx(c.v[15]).epsilon(1e-14));
  CHECK(x[12] == doctest::Approx(c.plan.length * state[24]).epsilon(1e-14));
  const Numbers to_x = random_row(21, 29), to_v = random_row(21, 31), along = random_row(30, 37);
  Numbers of_x(21), of_v(21);
  read_state(c.plan, along.data(), of_x.data(), of_v.data());
  read_state_pullback(c.plan, to_x.data(), to_v.data(), back.data());
  CHECK(dot(back, along) == doctest::Approx(dot(to_x, of_x) + dot(to_v, of_v)).epsilon(1e-13));
  test::mark_operator_tested("write_state");
  test::mark_operator_tested("read_state");
}

TEST_CASE("held_turn: the angle of a clamp, with pullback and tangent") {
  const Case c;
  const auto of = [&](const Numbers& rest, const Numbers& start, const Numbers& end, double a) {
    return held_turn<double>(c.plan, 0, rest.data(), start.data(), end.data(), a);
  };
  const Numbers rest_tan = random_row(21, 11), start_tan = random_row(21, 13),
                end_tan = random_row(21, 17);
  const double forward =
      held_turn<Dual1>(c.plan, 0, duals(c.rest, rest_tan).data(), duals(c.start, start_tan).data(),
                       duals(c.end, end_tan).data(), duals({0.3}, {0.7})[0])
          .tangent[0];
  Numbers rest_bar(21, 0.0), start_bar(rest_bar), end_bar(rest_bar);
  double turned_bar = 0;
  held_turn_pullback<double>(c.plan, 0, c.rest.data(), c.start.data(), c.end.data(), 1.5,
                             rest_bar.data(), start_bar.data(), end_bar.data(), turned_bar);
  CHECK(dot(rest_bar, rest_tan) + dot(start_bar, start_tan) + dot(end_bar, end_tan) +
            0.7 * turned_bar ==
        doctest::Approx(1.5 * forward).epsilon(1e-12));
  CHECK(central([&](double t) {
          return of(sum(c.rest, rest_tan, t), sum(c.start, start_tan, t), sum(c.end, end_tan, t),
                    0.3 + 0.7 * t);
        }) == doctest::Approx(forward).epsilon(1e-8));
  // At the step's end the state shows the angle that was asked for.
  Case held = c;
  held.end[12] = of(c.rest, c.start, c.end, 0.3);
  CHECK(held.state()[24] == doctest::Approx(0.3).epsilon(1e-12));
  test::mark_operator_tested("held_turn");
}

}  // namespace cycloid
