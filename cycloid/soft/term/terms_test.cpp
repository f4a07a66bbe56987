#include "cycloid/soft/term/terms.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/soft/solid_plan.h"
#include "cycloid/soft/term/contact.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using test::Numbers;

// Four points, with every law once, its numbers from parameters 0, 1, 2, ... and inputs.
struct Case {
  Case() {
    mesh.vertices = {0, 0, 0, 1, 0.1, 0, 0.3, 0.9, 0.1, 1.2, 1.0, 0.2};
    mesh.part = {0, 0, 0, 0};
    Terms terms;
    const auto add = [&](StencilLaw law, std::vector<int> nodes, Numbers constants, int form = 0) {
      StencilTerm t;
      t.law = law, t.form = form, t.nodes = std::move(nodes), t.constants = std::move(constants);
      for (int k = 0; k < stencil_kernels(law).numbers; ++k) {
        t.sources.push_back({0.1 * k, parameters++, k % 2 == 0 ? inputs++ : -1});
      }
      t.stores = law != StencilLaw::traction && law != StencilLaw::pressure;
      terms.push_back(std::move(t));
    };
    add(StencilLaw::membrane, {0, 1, 2, 1, 3, 2}, {});
    add(StencilLaw::shell_bending, {0, 1, 2, 3, 1, 2}, {1, 0, 0});
    add(StencilLaw::rod_stretch, {0, 1, 1, 2}, {});
    add(StencilLaw::rod_bending, {0, 1, 2, 3, 3}, {1, 1, 0.7});
    add(StencilLaw::rod_spin, {0, 1, 3}, {0.7});
    add(StencilLaw::traction, {0, 1, 2}, {1});
    add(StencilLaw::pressure, {1, 3, 2}, {0.5});
    add(StencilLaw::spring, {3}, {0.1, 0.2, 0.3});
    add(StencilLaw::woven_membrane, {0, 1, 2, 1, 3, 2}, {1, 0.2, 0, 0.3, 1, 0});
    add(StencilLaw::woven_bending, {0, 1, 2, 3, 1, 2}, {1, 0, 0, 0.5, 1, 0.1});
    add(StencilLaw::cubic_bending, {1, 2, 0, 3}, {});
    add(StencilLaw::edge_spring, {0, 1, 2, 3}, {1, 0.4});
    add(StencilLaw::fibre, {0, 1, 2, 3}, {0.6, 0.8, 0});
    add(StencilLaw::plastic, {0, 1, 2, 3}, {});
    add(StencilLaw::contact, {0, 1, 2, 3}, {},
        ObstacleContact::form_of(ObstacleShape::sphere, false));
    plan = std::make_unique<SolidPlan>(mesh, std::vector<char>(12, 0), std::move(terms));
    FixedNumbers random(3);
    for (int k = 0; k < parameters; ++k) p.push_back(0.3 + 0.2 * std::abs(random.next()));
    for (int k = 0; k < inputs; ++k) u.push_back(0.05 * random.next());
    numbers = term_numbers(plan->terms, p.data(), u.data());
    // A sphere below, which all points press and rub.
    double* const contact = numbers.data() + plan->terms.back().first_number;
    contact[0] = 0.5, contact[1] = 0.5, contact[2] = -1.5, contact[ObstacleContact::size] = 2.4;
    // Matter that flows.
    const Numbers plastic = {5, 0.3, 0.2, 0.5};
    std::copy(plastic.begin(), plastic.end(),
              numbers.begin() + plan->terms[plan->terms.size() - 2].first_number);
    for (int k = 0; k < plan->memory(); ++k) memory.push_back(0.02 * random.next());
    for (auto* x : {&now, &before, &other}) {
      *x = mesh.vertices;
      for (double& each : *x) each += 0.05 * random.next();
    }
  }
  TermsAt at() const {
    TermsAt a;
    a.rest = mesh.vertices.data(), a.now = now.data(), a.numbers = numbers.data();
    a.before[0] = before.data(), a.before[1] = other.data(), a.memory = memory.data();
    a.step.befores = 2, a.step.before_weight[0] = 1.4, a.step.before_weight[1] = -0.4;
    a.step.rate = 7;
    return a;
  }

  SolidMesh mesh;
  std::unique_ptr<SolidPlan> plan;
  int parameters = 0, inputs = 0;
  Numbers p, u, now, before, other, memory;
  TermNumbers numbers;
};

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Numbers random_row(std::size_t n, std::uint64_t seed) {
  FixedNumbers random(seed);
  Numbers row(n);
  for (double& x : row) x = random.next();
  return row;
}

// All that a term depends on: rest, now, before, before, numbers, memory.
struct Row {
  Numbers rest, now, before, other, numbers, memory;
  explicit Row(const Case& c, std::uint64_t seed = 0)
      : rest(12, 0.0),
        now(rest),
        before(rest),
        other(rest),
        numbers(c.numbers.size(), 0.0),
        memory(c.memory.size(), 0.0) {
    if (seed == 0) return;
    rest = random_row(12, seed), now = random_row(12, seed + 1), before = random_row(12, seed + 2);
    other = random_row(12, seed + 3), numbers = random_row(numbers.size(), seed + 4);
    memory = random_row(memory.size(), seed + 5);
  }
  TermsAt at() const {
    TermsAt a;
    a.rest = rest.data(), a.now = now.data(), a.numbers = numbers.data();
    a.before[0] = before.data(), a.before[1] = other.data(), a.memory = memory.data();
    return a;
  }
  TermsBars bars() {
    TermsBars b;
    b.rest = rest.data(), b.now = now.data(), b.numbers = numbers.data();
    b.before[0] = before.data(), b.before[1] = other.data(), b.memory = memory.data();
    return b;
  }
  double dot_with(const Row& o) const {
    return dot(rest, o.rest) + dot(now, o.now) + dot(before, o.before) + dot(other, o.other) +
           dot(numbers, o.numbers) + dot(memory, o.memory);
  }
};

// The case moved by h along a row.
Case moved(const Row& way, double h) {
  Case c;
  const auto add = [h](Numbers& x, const Numbers& d) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += h * d[i];
  };
  add(c.mesh.vertices, way.rest), add(c.now, way.now), add(c.before, way.before);
  add(c.other, way.other), add(c.numbers, way.numbers), add(c.memory, way.memory);
  return c;
}

template <class F>
double difference(const Row& way, F&& f) {
  const double h = 1e-5;
  const auto central = [&](double s) { return (f(moved(way, s)) - f(moved(way, -s))) / (2 * s); };
  return (4 * central(h / 2) - central(h)) / 3;
}

}  // namespace

TEST_CASE("terms_force: the pullback is the transpose of the tangent, which is the difference") {
  const Case c;
  const Terms& terms = c.plan->terms;
  const Row way(c, 5);
  const Numbers bar = random_row(12, 11);
  Numbers f_tan(12, 0.0);
  terms_force_tangent(terms, c.at(), way.at(), 1, f_tan.data());
  Row back(c);
  terms_force_pullback(terms, c.at(), 1, bar.data(), back.bars());
  CHECK(back.dot_with(way) == doctest::Approx(dot(bar, f_tan)).epsilon(1e-12));
  CHECK(std::abs(dot(bar, f_tan)) > 1e-3);
  const double expected = difference(way, [&](const Case& at) {
    Numbers f(12, 0.0);
    terms_force(terms, at.at(), 1, f.data());
    return dot(bar, f);
  });
  CHECK(dot(bar, f_tan) == doctest::Approx(expected).epsilon(1e-7));
  test::mark_operator_tested("terms_force");
  test::mark_operator_tested("StencilLanes::force");
}

TEST_CASE("terms_energy, terms_mass: pullbacks equal differences") {
  const Case c;
  const Terms& terms = c.plan->terms;
  const Row way(c, 7);
  TermsAt still = c.at();
  still.step = {};
  Row back(c);
  terms_energy_pullback(terms, still, 1, 1.5, back.bars());
  double expected = difference(way, [&](const Case& at) {
    TermsAt here = at.at();
    here.step = {};
    return 1.5 * terms_energy(terms, here, 1, true);
  });
  CHECK(back.dot_with(way) == doctest::Approx(expected).epsilon(1e-7));
  CHECK(std::abs(expected) > 1e-3);
  test::mark_operator_tested("terms_energy");
  test::mark_operator_tested("StencilLanes::energy");

  const Numbers bar = random_row(4, 13);
  Row of_mass(c);
  terms_mass_pullback(terms, c.at(), 1, bar.data(), of_mass.bars());
  expected = difference(way, [&](const Case& at) {
    Numbers m(4, 0.0);
    terms_mass(terms, at.at(), 1, m.data());
    return dot(bar, m);
  });
  CHECK(of_mass.dot_with(way) == doctest::Approx(expected).epsilon(1e-7));
  Numbers m_tan(4, 0.0);
  terms_mass_tangent(terms, c.at(), way.at(), 1, m_tan.data());
  CHECK(dot(bar, m_tan) == doctest::Approx(expected).epsilon(1e-7));
  CHECK(std::abs(expected) > 1e-3);
  test::mark_operator_tested("terms_mass");
  test::mark_operator_tested("StencilLanes::mass");
}

TEST_CASE("terms_flow, terms_stress: pullbacks equal differences, and what flows is remembered") {
  const Case c;
  const Terms& terms = c.plan->terms;
  REQUIRE(c.plan->memory() == 7);
  const Row way(c, 31);
  const Numbers bar = random_row(7, 37), bar9 = random_row(9, 41);
  Numbers next(7, 0.0), next_tan(7, 0.0);
  terms_flow(terms, c.at(), 1, next.data());
  CHECK(next[6] > c.memory[6] + 1e-3);
  terms_flow_tangent(terms, c.at(), way.at(), 1, next_tan.data());
  Row back(c), of_stress(c);
  terms_flow_pullback(terms, c.at(), 1, bar.data(), back.bars());
  double expected = difference(way, [&](const Case& at) {
    Numbers own(7, 0.0);
    terms_flow(terms, at.at(), 1, own.data());
    return dot(bar, own);
  });
  CHECK(std::abs(expected) > 1e-3);
  CHECK(back.dot_with(way) == doctest::Approx(expected).epsilon(1e-7));
  CHECK(dot(bar, next_tan) == doctest::Approx(expected).epsilon(1e-7));
  terms_stress_pullback(terms, c.at(), 1, bar9.data(), of_stress.bars());
  expected = difference(way, [&](const Case& at) {
    Numbers own(9, 0.0);
    terms_stress(terms, at.at(), 1, own.data());
    return dot(bar9, own);
  });
  CHECK(of_stress.dot_with(way) == doctest::Approx(expected).epsilon(1e-7));
  test::mark_operator_tested("terms_flow");
  test::mark_operator_tested("StencilLanes::flow");
  test::mark_operator_tested("terms_stress");
  test::mark_operator_tested("StencilLanes::stress");
}

TEST_CASE("terms_stiffness: even and odd part together are the tangent of the force") {
  const Case c;
  const SolidPlan& plan = *c.plan;
  Row way(c);
  way.now = random_row(12, 17);
  const auto n = static_cast<std::size_t>(plan.pattern.entries());
  Numbers values(n, 0.0), skew(n, 0.0), f_tan(12, 0.0), product(12, 0.0);
  terms_stiffness(plan.terms, c.at(), 1, false, plan.first.data(), values.data(), skew.data());
  terms_force_tangent(plan.terms, c.at(), way.at(), 1, f_tan.data());
  for (std::size_t i = 0; i < 12; ++i) {
    for (auto e = static_cast<std::size_t>(plan.pattern.first[i]);
         e < static_cast<std::size_t>(plan.pattern.first[i + 1]); ++e) {
      product[i] +=
          (values[e] + skew[e]) * way.now[static_cast<std::size_t>(plan.pattern.column[e])];
    }
  }
  double largest = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(product[i] == doctest::Approx(f_tan[i]).epsilon(1e-11));
  }
  for (const double odd : skew) largest = std::max(largest, std::abs(odd));
  CHECK(largest > 1e-3);  // of the pressure, on an open surface
  CHECK_FALSE(all_symmetric(plan.terms));
  CHECK_FALSE(any_barrier(plan.terms));
}

TEST_CASE("term_numbers: constants, parameters and inputs add up, and so do their cotangents") {
  const Case c;
  const TermNumbers got = term_numbers(c.plan->terms, c.p.data(), c.u.data());
  CHECK(got[0] == c.p[0] + c.u[0]);
  CHECK(got[1] == 0.1 + c.p[1]);
  const Numbers bar = random_row(got.size(), 19);
  Numbers p_bar(c.p.size(), 0.0), u_bar(c.u.size(), 0.0);
  term_numbers_pullback(c.plan->terms, bar, p_bar.data(), u_bar.data());
  const Numbers p_tan = random_row(c.p.size(), 23), u_tan = random_row(c.u.size(), 29);
  const TermNumbers along = term_numbers_tangent(c.plan->terms, p_tan.data(), u_tan.data());
  CHECK(dot(bar, along) == doctest::Approx(dot(p_bar, p_tan) + dot(u_bar, u_tan)).epsilon(1e-13));
  test::mark_operator_tested("term_numbers");
}

TEST_CASE("barriers: no step goes through, and what is inside is named and pushed out") {
  StencilTerm t;
  t.law = StencilLaw::contact, t.nodes = {0}, t.name = "ball";
  t.form = ObstacleContact::form_of(ObstacleShape::sphere, true);
  t.kernels = &stencil_kernels(t.law);
  const Terms terms = {t};
  TermNumbers numbers(22, 0.0);
  numbers[ObstacleContact::size] = 0.1, numbers[ObstacleContact::width] = 0.01;
  const double y[3] = {0, 0, 1}, through[3] = {0, 0, -2}, past[3] = {0.5, 0, -2};
  const double part = admissible_part(terms, numbers, y, through);
  CHECK(part > 0.3);
  CHECK(part < 0.45);
  CHECK(admissible_part(terms, numbers, y, past) == 1);
  CHECK(first_trespass(terms, numbers, y).vertex == -1);
  double inside[3] = {0, 0, 0.06};
  const Trespass found = first_trespass(terms, numbers, inside);
  CHECK(found.vertex == 0);
  CHECK(found.distance == doctest::Approx(-0.04));
  CHECK(found.obstacle == "ball");
  const std::vector<char> free(3, 0);
  push_out(terms, numbers, free, inside);
  CHECK(inside[2] == doctest::Approx(0.105));
}

}  // namespace cycloid
