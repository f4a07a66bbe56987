#include "cycloid/rigid/solver/islands.h"

#include <cstring>

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::islands_test {

using test::LaneProblem;
using test::Numbers;
using test::PlainGroup;
using test::PlainProblem;
using Lanes = Pack<double, 4>;
using Pair = std::pair<int, int>;  // of bodies; -1: the world

constexpr int kBodies = 6;

// Bodies of three dofs each, which is one block, with a contact for each pair.
PlainProblem bodies_in_contact(std::uint64_t seed, RowLaw cone, const std::vector<Pair>& pairs) {
  RandomStream random(seed);
  const auto number = [&] { return random.uniform(-1.0, 1.0); };
  PlainProblem p;
  for (int k = 0; k < 3 * kBodies; ++k) p.parent.push_back(k % 3 == 0 ? -1 : k - 1);
  const std::size_t n = p.nv();
  p.M.assign(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    p.a0.push_back(5 * number());
    p.M[i * (n + 1)] = random.uniform(1.0, 2.0);
    if (i % 3 == 0) continue;
    p.M[i * n + i - 1] = p.M[(i - 1) * n + i] = 0.3 * number();
  }
  for (const auto& [a, b] : pairs) {
    PlainGroup c{cone, 3, Numbers(3 * n, 0.0)};
    for (const int body : {a, b}) {
      for (int i = 0; body >= 0 && i < 9; ++i) {
        c.J[static_cast<std::size_t>(i / 3) * n + static_cast<std::size_t>(3 * body + i % 3)] =
            number();
      }
    }
    for (int k = 0; k < 3; ++k) {
      c.D[k] = random.uniform(20.0, 60.0);
      c.a_ref[k] = 4 * number();
      c.friction[k] = random.uniform(0.2, 1.0);
    }
    c.friction[0] = c.friction[1] * c.friction[1];
    p.groups.push_back(c);
  }
  return p;
}

// Contacts of a lane; lanes that touch differently.
using Contacts = std::vector<Pair>;
const Contacts kTower = {{0, -1}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
const Contacts kTwoPiles = {{0, -1}, {0, 2}, {1, -1}, {1, 5}, {5, 4}};
const Contacts kCrossed = {{5, 0}, {1, 4}, {2, 3}, {4, -1}};
const Contacts kOne = {{3, -1}};
const std::vector<Contacts> kAllContacts = {kTower, kTwoPiles, kCrossed, kOne};

template <class S>
struct IslandCase {
  IslandCase(RowLaw cone, const std::vector<std::size_t>& which)
      : dofs(bodies_in_contact(0, cone, {}).parent),
        plan(dofs, {}),
        problems(plain(cone, which)),
        lanes(dofs, problems),
        memory(carve_memory(islands, plan, dofs, capacity(), lanes.space)) {
    islands.clear();
    for (int g = 0; g < lanes.problem.groups; ++g) {
      for (std::size_t l = 0; l < which.size(); ++l) {
        const Contacts& own = kAllContacts[which[l]];
        if (static_cast<std::size_t>(g) >= own.size()) continue;
        const auto [a, b] = own[static_cast<std::size_t>(g)];
        islands.add(g, a, b, 1u << l);
      }
    }
    islands.known = true;
    result = solve_islands(lanes.problem, {}, islands, lanes.space, lanes.x.data());
  }
  ConstraintCapacity capacity() const {
    return {lanes.problem.diagonals, lanes.problem.groups, lanes.problem.rows};
  }
  static std::vector<PlainProblem> plain(RowLaw cone, const std::vector<std::size_t>& which) {
    std::vector<PlainProblem> out;
    for (const std::size_t w : which) {
      out.push_back(bodies_in_contact(11 + w, cone, kAllContacts[w]));
    }
    return out;
  }
  // x, and residual, force and stiffness of the lane's own rows.
  Numbers of_lane(int l) const {
    Numbers out = lanes.result(l);
    const std::size_t own = problems[static_cast<std::size_t>(l)].groups.size();
    for (std::size_t i = 0; i < 3 * own; ++i) {
      for (const S* rows : {lanes.space.r, lanes.space.at.f, lanes.space.at.diagonal}) {
        out.push_back(lane(rows[i], l));
      }
    }
    return out;
  }

  const DofBlocks dofs;
  const IslandPlan plan;
  const std::vector<PlainProblem> problems;
  LaneProblem<S> lanes;
  IslandSpace<S> islands;
  Arena memory;
  NewtonResult<S> result;
};

constexpr RowLaw kCones[] = {RowLaw::pyramid, RowLaw::elliptic};

TEST_CASE("IslandPlan: trees are units, and those that a row of the model couples are one") {
  const DofBlocks dofs(std::vector<int>{-1, 0, 1, 2, -1, 4, 5, -1, 7, 7, -1});
  REQUIRE(dofs.blocks == 7);
  const IslandPlan trees(dofs, {});
  CHECK(trees.units == 4);
  CHECK(trees.unit == std::vector<int>{0, 0, 1, 2, 2, 2, 3});
  const std::uint64_t rows[] = {1u << 1 | 1u << 6, 1u << 2};
  const IslandPlan coupled(dofs, rows);
  CHECK(coupled.units == 3);
  CHECK(coupled.unit == std::vector<int>{0, 0, 1, 2, 2, 2, 0});
}

TEST_CASE("find_islands: named by their first unit, lane by lane") {
  IslandCase<Lanes> c(RowLaw::pyramid, {0, 1, 2, 3});
  const auto names = [&](int l) {
    std::vector<int> out;
    for (int u = 0; u < kBodies; ++u) out.push_back(c.islands.root[4 * u + l]);
    return out;
  };
  CHECK(names(0) == std::vector<int>{0, 0, 0, 0, 0, 0});
  CHECK(names(1) == std::vector<int>{0, 1, 0, 3, 1, 1});
  CHECK(names(2) == std::vector<int>{0, 1, 2, 2, 1, 0});
  CHECK(names(3) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(std::vector<unsigned>(c.islands.lanes, c.islands.lanes + kBodies) ==
        std::vector<unsigned>{7, 6, 4, 8, 0, 0});
}

TEST_CASE("solve_islands: the minimum of the whole problem") {
  for (const RowLaw cone : kCones) {
    IslandCase<Lanes> c(cone, {0, 1, 2, 3});
    CHECK(all(c.result.solved));
    for (int l = 0; l < 4; ++l) {
      const PlainProblem& p = c.problems[static_cast<std::size_t>(l)];
      CHECK(test::relative_error(c.lanes.result(l), test::plain_minimum(p)) < 1e-9);
      CHECK(test::largest(test::plain_point(p, c.lanes.result(l)).g) < 1e-9);
    }
  }
}

TEST_CASE("solve_islands: a lane's solution is its own, bit for bit, whatever others touch") {
  const auto same = [](const Numbers& a, const Numbers& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), 8 * a.size()) == 0;
  };
  for (const RowLaw cone : kCones) {
    IslandCase<Lanes> mixed(cone, {0, 1, 2, 3});
    for (std::size_t w = 0; w < 4; ++w) {
      const IslandCase<Lanes> alike(cone, {w, w, w, w}), beside(cone, {3, w, 0, w});
      CHECK(same(mixed.of_lane(static_cast<int>(w)), alike.of_lane(2)));
      CHECK(same(mixed.of_lane(static_cast<int>(w)), beside.of_lane(1)));
    }
  }
}

TEST_CASE("solve_islands: islands end one by one, after as many steps as the slowest needs") {
  // The two piles by themselves are two problems.
  for (const RowLaw cone : kCones) {
    const IslandCase<double> both(cone, {1});
    const PlainProblem& p = both.problems[0];
    double most = 0;
    for (const auto& own : {std::vector<std::size_t>{0, 1}, std::vector<std::size_t>{2, 3, 4}}) {
      PlainProblem one = p;
      one.groups.clear();
      for (const std::size_t g : own) one.groups.push_back(p.groups[g]);
      LaneProblem<double> alone(both.dofs, {one});
      const NewtonResult<double> result = alone.solve({});
      CHECK(result.solved);
      most = std::max(most, result.steps);
    }
    CHECK(both.result.steps == most);
  }
}

TEST_CASE("solve_islands: a body that nothing touches keeps its acceleration") {
  IslandCase<Lanes> c(RowLaw::pyramid, {1, 3, 3, 3});
  const Numbers x = c.lanes.result(1), &a0 = c.problems[1].a0;
  for (std::size_t i = 0; i < x.size(); ++i) CHECK((x[i] == a0[i]) == (i / 3 != 3));
}

}  // namespace cycloid::islands_test
