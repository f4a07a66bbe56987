#include "cycloid/rigid/solver/constraint_newton_pullback.h"

#include <set>

#include "cycloid/rigid/solver/constraint_case_test.h"

namespace cycloid::constraint_newton_pullback_test {

using test::Numbers;

// A small problem with every kind of row, as a function of one flat row of numbers:
//   [ M (tree rows) | a₀ | D, a_ref, η of diagonal rows | D, a_ref, friction, J of groups' rows ]
struct Shape {
  struct Group {
    RowLaw law;
    int rows;
    std::vector<int> dofs;
  };
  DofBlocks dofs{std::vector<int>{-1, 0, 1, 1, -1}};
  std::vector<DiagonalRow> diagonals = {{RowLaw::one_sided, 2}, {RowLaw::friction_loss, 3}};
  std::vector<Group> groups = {{RowLaw::equality, 1, {0, 1, 2}},
                               {RowLaw::friction_loss, 1, {2, 3}},
                               {RowLaw::pyramid, 3, {0, 1, 3}},
                               {RowLaw::elliptic, 4, {0, 1, 2, 4}}};

  int nv() const { return dofs.dofs(); }
  int all_rows() const { return capacity().diagonals + capacity().rows; }
  int place(int k) const { return dofs.place[static_cast<std::size_t>(k)]; }
  ConstraintCapacity capacity() const {
    ConstraintCapacity most{static_cast<int>(diagonals.size()), static_cast<int>(groups.size()), 0};
    for (const Group& g : groups) most.rows += g.rows;
    return most;
  }
};

const Shape& shape() {
  static const Shape instance;
  return instance;
}

template <class S>
class Solved {
 public:
  explicit Solved(const S* in) {
    const Shape& s = shape();
    const ConstraintCapacity most = s.capacity();
    memory_.push_back(carve_memory(problem, s.dofs, most));
    memory_.push_back(carve_memory(space, s.dofs, most));
    const auto size = static_cast<std::size_t>(s.dofs.size());
    a.assign(size, S(0));
    in = fill(in);
    problem.close();
    result = solve_newton(problem, {}, space, a.data());
    // One Newton step from the minimum: exact for derivatives.
    evaluate(problem, static_cast<const S*>(a.data()), space.p, space.Md, space.r);
    respond(problem, space.r, space.at);
    gradient(problem, space.Md, space.at.f, space.g);
    factor_hessian(problem, Mask<S>(true), space);
    newton_direction(problem, space);
    for (std::size_t i = 0; i < size; ++i) a[i] += space.p[i];
  }

  ConstraintProblem<S> problem;
  NewtonSpace<S> space;
  NewtonResult<S> result;
  std::vector<S> a;

 private:
  const S* fill(const S* in) {
    const Shape& s = shape();
    spread_mass_matrix(problem, in);
    for (int k = 0; k < s.nv(); ++k) {
      for (int j = k; j >= 0; j = s.dofs.parent[static_cast<std::size_t>(j)]) ++in;
    }
    pad(s.dofs, in, problem.a0);
    in += s.nv();
    problem.clear();
    for (const DiagonalRow& d : s.diagonals) {
      const int row = problem.add_diagonal(d.law, s.place(d.place));
      problem.sign[row] = S(-1);
      take_row(row, in);
    }
    for (const Shape::Group& g : s.groups) {
      const int index = problem.groups, row = problem.add_group(g.law, g.rows);
      S* J = problem.jacobian(index);
      for (int i = 0; i < g.rows * problem.size(); ++i) J[i] = S(0);
      std::uint64_t word = 0;
      for (int k = 0; k < g.rows; ++k) {
        take_row(row + k, in);
        for (const int i : g.dofs) {
          J[k * problem.size() + s.place(i)] = *in++;
          BlockSet{&word, 1}.insert(s.place(i) / kBlock);
        }
      }
      problem.touch(index, BlockSet{&word, 1});
    }
    return in;
  }
  void take_row(int row, const S*& in) {
    problem.D[row] = *in++;
    problem.a_ref[row] = *in++;
    problem.friction[row] = *in++;
  }
  std::vector<Arena> memory_;
};

// (4): the cotangents of every number, from μ, f, w and r̄.
template <class S>
void add_input_cotangents(const Solved<S>& at, const S* mu, const RowCotangents<S>& bar,
                          S* in_bar) {
  const Shape& s = shape();
  std::vector<S> M_mu(at.a.size());
  multiply_blocks(at.problem.mass, at.problem.M, mu, M_mu.data());
  const auto moved = [&](int k) {
    return at.a[static_cast<std::size_t>(s.place(k))] - at.problem.a0[s.place(k)];
  };
  for (int k = 0; k < s.nv(); ++k) {
    for (int j = k; j >= 0; j = s.dofs.parent[static_cast<std::size_t>(j)]) {
      S entry = mu[s.place(k)] * moved(j);
      if (j != k) entry += mu[s.place(j)] * moved(k);
      *in_bar++ -= entry;
    }
  }
  for (int k = 0; k < s.nv(); ++k) *in_bar++ += M_mu[static_cast<std::size_t>(s.place(k))];
  const auto add_row = [&](int row) {
    *in_bar++ += bar.D[row];
    *in_bar++ += bar.a_ref[row];
    *in_bar++ += bar.friction[row];
  };
  int row = 0;
  for (; row < at.problem.diagonals; ++row) add_row(row);
  for (const Shape::Group& g : s.groups) {
    for (int k = 0; k < g.rows; ++k, ++row) {
      add_row(row);
      for (const int i : g.dofs) {
        *in_bar++ += at.space.at.f[row] * mu[s.place(i)] +
                     at.space.r_bar[row] * at.a[static_cast<std::size_t>(s.place(i))];
      }
    }
  }
}

Numbers random_point(std::uint64_t seed) {
  const Shape& s = shape();
  RandomStream random(seed);
  Numbers in;
  for (int k = 0; k < s.nv(); ++k) {
    for (int j = k; j >= 0; j = s.dofs.parent[static_cast<std::size_t>(j)]) {
      in.push_back(j == k ? random.uniform(1.5, 3.0) : random.uniform(-0.5, 0.5));
    }
  }
  for (int k = 0; k < s.nv(); ++k) in.push_back(random.uniform(-4.0, 4.0));
  const auto row = [&](RowLaw law, int k) {
    in.push_back(random.uniform(4.0, 9.0));
    in.push_back(random.uniform(-3.0, 3.0));
    const bool cone = law == RowLaw::pyramid || law == RowLaw::elliptic;
    in.push_back(!cone    ? random.uniform(0.5, 3.0)
                 : k == 0 ? random.uniform(0.2, 0.6)
                          : random.uniform(0.4, 1.0));
  };
  for (const DiagonalRow& d : s.diagonals) row(d.law, 0);
  for (const Shape::Group& g : s.groups) {
    for (int k = 0; k < g.rows; ++k) {
      row(g.law, k);
      for (std::size_t i = 0; i < g.dofs.size(); ++i) in.push_back(random.uniform(-1.0, 1.0));
    }
  }
  return in;
}

// Where the rows that have zones are: limit, two friction losses, edges pressed, elliptic zone.
std::vector<int> zones(const Numbers& in) {
  const Solved<double> at(in.data());
  const ConstraintResponse<double>& rows = at.space.at;
  std::vector<int> out;
  for (const int i : {0, 1, 3}) out.push_back(rows.diagonal[i] > 0);
  out.push_back(rows.diagonal[4] > 0);
  const int cone = 7;
  out.push_back(rows.f[cone] == 0 ? 0 : rows.cross[cone] != 0 ? 1 : 2);
  return out;
}

TEST_CASE("solve_newton: its pullback and the forces' equal dual numbers in all zones") {
  // Points until each row that has zones has been in each of them.
  std::vector<Numbers> points;
  std::set<std::pair<std::size_t, int>> seen;
  for (std::uint64_t seed = 0; seen.size() < 4 * 2 + 3 && seed < 500; ++seed) {
    const Numbers in = random_point(seed);
    const std::vector<int> here = zones(in);
    const std::size_t before = seen.size();
    for (std::size_t i = 0; i < here.size(); ++i) seen.insert({i, here[i]});
    if (seen.size() > before || points.size() < 5) points.push_back(in);
  }
  REQUIRE(seen.size() == 4 * 2 + 3);
  test::check_pullback(
      "solve_newton", shape().nv() + shape().all_rows(),  // a, and the rows' forces
      [](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const Solved<S> at(in);
        unpad(shape().dofs, static_cast<const S*>(at.a.data()), out);
        row_residuals(at.problem, at.a.data(), at.space.r);
        respond(at.problem, at.space.r, at.space.at);
        std::copy_n(at.space.at.f, at.problem.all_rows(), out + shape().nv());
      },
      [](const auto* in, const auto* bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        Solved<S> at(in);
        const auto rows = static_cast<std::size_t>(at.problem.all_rows());
        std::vector<S> a_bar(at.a.size()), mu(at.a.size()), bars(3 * rows, S(0));
        pad(shape().dofs, bar, a_bar.data());
        const RowCotangents<S> row_bars{bars.data(), bars.data() + rows, bars.data() + 2 * rows};
        solve_newton_pullback(at.problem, static_cast<const S*>(at.a.data()),
                              static_cast<const S*>(a_bar.data()), at.space, mu.data(), row_bars,
                              bar + shape().nv());
        add_input_cotangents(at, static_cast<const S*>(mu.data()), row_bars, in_bar);
      },
      points, {.tolerance = 1e-10});  // the minimum is known to 1e-10
}

TEST_CASE("solve_newton_pullback: D̄ D summed over a contact is w·f") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Numbers in = random_point(seed);
    Solved<double> at(in.data());
    const auto rows = static_cast<std::size_t>(at.problem.all_rows());
    const Numbers a_bar = test::FixedNumbers(seed).vector(at.a.size());
    Numbers mu(at.a.size()), bars(3 * rows, 0.0);
    const RowCotangents<double> bar{bars.data(), bars.data() + rows, bars.data() + 2 * rows};
    solve_newton_pullback(at.problem, static_cast<const double*>(at.a.data()), a_bar.data(),
                          at.space, mu.data(), bar);
    for (int g = 2; g < at.problem.groups; ++g) {
      double power = 0, sum = 0;
      for (int k = 0; k < at.problem.group[g].rows; ++k) {
        const int row = at.problem.group_row(g) + k;
        power += at.space.w[row] * at.space.at.f[row];
        sum += bar.D[row] * at.problem.D[row];
      }
      CHECK(sum == doctest::Approx(power).epsilon(1e-11));
    }
  }
}

}  // namespace cycloid::constraint_newton_pullback_test
