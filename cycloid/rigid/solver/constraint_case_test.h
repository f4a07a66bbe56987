// Constraint problems as plain dense numbers, for tests of the solver: a reference solution, and
// the same problems brought into lanes.
//
// The reference knows nothing of blocks, slots or contact space: M and K are dense, a pyramid is
// its edges, a step is a Gauss elimination, the line search a bisection.
#pragma once

#include <cmath>
#include <vector>

#include "cycloid/base/random.h"
#include "cycloid/math/pack.h"
#include "cycloid/rigid/solver/constraint_newton_pullback.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

struct PlainDiagonal {
  RowLaw law;
  int dof;
  double sign, D, a_ref, eta;
};

// Single rows with a law of their own (D per row, η in friction), or a contact: D[0] of the normal
// (elliptic, frictionless) or of every edge (pyramid); friction = (μ², g).
struct PlainGroup {
  RowLaw law;
  int rows;
  std::vector<double> J;  // (rows, nv)
  double D[kMostRows] = {}, a_ref[kMostRows] = {}, friction[kMostRows] = {};
};

struct PlainProblem {
  std::vector<int> parent;
  std::vector<double> M, a0;  // (nv, nv)
  std::vector<PlainDiagonal> diagonals;
  std::vector<PlainGroup> groups;

  std::size_t nv() const { return parent.size(); }
};

// The cost, its gradient and its Hessian in x.
struct PlainPoint {
  double cost = 0;
  std::vector<double> g, H;
};

inline void add_plain_row(RowLaw law, double D, double eta, double a_ref, const double* J,
                          const std::vector<double>& x, PlainPoint& out) {
  const std::size_t n = x.size();
  double r = -a_ref, f = 0, K = 0;
  for (std::size_t i = 0; i < n; ++i) r += J[i] * x[i];
  const bool slips = law == RowLaw::friction_loss && std::abs(r) * D >= eta;
  if (law == RowLaw::one_sided && r >= 0) return;
  if (D == 0) return;
  if (slips) {
    out.cost += eta * std::abs(r) - 0.5 * eta * eta / D;
    f = r > 0 ? -eta : eta;
  } else {
    out.cost += 0.5 * D * r * r;
    f = -D * r;
    K = D;
  }
  for (std::size_t i = 0; i < n; ++i) {
    out.g[i] -= J[i] * f;
    for (std::size_t j = 0; j < n; ++j) out.H[i * n + j] += K * J[i] * J[j];
  }
}

inline void add_plain_elliptic(const PlainGroup& c, const std::vector<double>& x, PlainPoint& out) {
  const std::size_t n = x.size(), rows = static_cast<std::size_t>(c.rows);
  std::vector<double> r(rows), f(rows, 0.0), K(rows * rows, 0.0);
  double T = 0;
  const double D = c.D[0], mu2 = c.friction[0];
  for (std::size_t k = 0; k < rows; ++k) {
    r[k] = -c.a_ref[k];
    for (std::size_t i = 0; i < n; ++i) r[k] += c.J[k * n + i] * x[i];
    if (k > 0) T += std::pow(c.friction[k] * r[k], 2);
  }
  T = std::sqrt(T);
  if (r[0] >= T) return;
  if (mu2 * r[0] + T <= 0) {
    out.cost += 0.5 * D * (r[0] * r[0] + T * T / mu2);
    for (std::size_t k = 0; k < rows; ++k) {
      const double weight = k == 0 ? D : D / mu2 * c.friction[k] * c.friction[k];
      f[k] = -weight * r[k];
      K[k * rows + k] = weight;
    }
  } else {
    const double h = D / (1 + mu2), depth = r[0] - T;
    std::vector<double> z(rows, 0.0);
    for (std::size_t k = 1; k < rows; ++k) z[k] = c.friction[k] * c.friction[k] * r[k] / T;
    out.cost += 0.5 * h * depth * depth;
    z[0] = -1;  // depth has the gradient -z
    for (std::size_t k = 0; k < rows; ++k) {
      f[k] = h * depth * z[k];
      for (std::size_t l = 0; l < rows; ++l) {
        double curved = 0;
        if (k > 0 && l > 0) {
          curved = ((k == l ? c.friction[k] * c.friction[k] : 0) - z[k] * z[l]) / T;
        }
        K[k * rows + l] = h * (z[k] * z[l] - depth * curved);
      }
    }
  }
  for (std::size_t k = 0; k < rows; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      out.g[i] -= c.J[k * n + i] * f[k];
      for (std::size_t l = 0; l < rows; ++l) {
        for (std::size_t j = 0; j < n; ++j) {
          out.H[i * n + j] += c.J[k * n + i] * K[k * rows + l] * c.J[l * n + j];
        }
      }
    }
  }
}

inline PlainPoint plain_point(const PlainProblem& p, const std::vector<double>& x) {
  const std::size_t n = p.nv();
  PlainPoint out{0, std::vector<double>(n, 0.0), p.M};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out.g[i] += p.M[i * n + j] * (x[j] - p.a0[j]);
    out.cost += 0.5 * out.g[i] * (x[i] - p.a0[i]);
  }
  for (const PlainDiagonal& d : p.diagonals) {
    std::vector<double> J(n, 0.0);
    J[static_cast<std::size_t>(d.dof)] = d.sign;
    add_plain_row(d.law, d.D, d.eta, d.a_ref, J.data(), x, out);
  }
  for (const PlainGroup& c : p.groups) {
    if (c.law == RowLaw::elliptic && c.rows > 1) {
      add_plain_elliptic(c, x, out);
    } else if (c.law == RowLaw::pyramid && c.rows > 1) {
      for (int k = 1; k < c.rows; ++k) {
        for (const double sign : {1.0, -1.0}) {
          std::vector<double> J(n);
          const double g = sign * c.friction[k];
          for (std::size_t i = 0; i < n; ++i) {
            J[i] = c.J[i] + g * c.J[static_cast<std::size_t>(k) * n + i];
          }
          add_plain_row(RowLaw::one_sided, c.D[0], 0, c.a_ref[0] + g * c.a_ref[k], J.data(), x,
                        out);
        }
      }
    } else {
      for (int k = 0; k < c.rows; ++k) {
        add_plain_row(is_cone(c.law) ? RowLaw::one_sided : c.law, c.D[k], c.friction[k], c.a_ref[k],
                      c.J.data() + static_cast<std::size_t>(k) * n, x, out);
      }
    }
  }
  return out;
}

// A⁻¹ b by elimination with pivots.
inline std::vector<double> plain_solve(std::vector<double> A, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(A[i * n + k]) > std::abs(A[pivot * n + k])) pivot = i;
    }
    for (std::size_t j = 0; j < n; ++j) std::swap(A[k * n + j], A[pivot * n + j]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double ratio = A[i * n + k] / A[k * n + k];
      for (std::size_t j = k; j < n; ++j) A[i * n + j] -= ratio * A[k * n + j];
      b[i] -= ratio * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= A[k * n + j] * b[j];
    b[k] /= A[k * n + k];
  }
  return b;
}

inline std::vector<double> plain_minimum(const PlainProblem& p) {
  const std::size_t n = p.nv();
  std::vector<double> x = p.a0;
  const auto slope = [&](const std::vector<double>& y, const std::vector<double>& d) {
    return dot(plain_point(p, y).g, d);
  };
  for (int step = 0; step < 100; ++step) {
    const PlainPoint at = plain_point(p, x);
    std::vector<double> d = plain_solve(at.H, at.g), y = x;
    for (double& v : d) v = -v;
    const double start = dot(at.g, d);
    double low = 0, high = 1;
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] + d[i];
    if (slope(y, d) > 1e-9 * std::abs(start)) {
      for (int k = 0; k < 60; ++k) {
        const double middle = 0.5 * (low + high);
        for (std::size_t i = 0; i < n; ++i) y[i] = x[i] + middle * d[i];
        (slope(y, d) < 0 ? low : high) = middle;
      }
    }
    for (std::size_t i = 0; i < n; ++i) x[i] += high * d[i];
    if (std::abs(start) < 1e-28 * (1 + at.cost)) break;
  }
  return x;
}

struct CaseOptions {
  RowLaw cone = RowLaw::pyramid;
  int contacts = 3;
  double mass_ratio = 1;  // of the second root's body to the rest
  double D = 30;          // typical weight of a row
  bool repeat = false;    // the first contact twice
};

// A base of six dofs with limbs of three and two, and a body of its own with one dof.
inline PlainProblem random_problem(std::uint64_t seed, const CaseOptions& options) {
  RandomStream random(seed);
  PlainProblem p;
  p.parent = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 5, 9, -1};
  const std::size_t n = p.nv();
  const auto number = [&] { return random.uniform(-1.0, 1.0); };
  std::vector<double> L(n * n, 0.0);  // M = Lᵀ L has the tree's pattern
  for (std::size_t k = 0; k < n; ++k) {
    for (int j = static_cast<int>(k); j >= 0; j = p.parent[static_cast<std::size_t>(j)]) {
      L[k * n + static_cast<std::size_t>(j)] =
          j == static_cast<int>(k) ? random.uniform(0.5, 1.5) : 0.4 * number();
    }
  }
  L[n * n - 1] *= std::sqrt(options.mass_ratio);
  p.M.assign(n * n, 0.0);
  for (std::size_t i = 0; i < n * n * n; ++i) {
    const std::size_t a = i / (n * n), b = i / n % n, k = i % n;
    p.M[a * n + b] += L[k * n + a] * L[k * n + b];
  }
  for (std::size_t i = 0; i < n; ++i) p.a0.push_back(5 * number());
  const auto weight = [&] { return options.D * random.uniform(0.5, 2.0); };
  for (const int k : {6, 8, 10}) {
    p.diagonals.push_back(
        {RowLaw::one_sided, k, number() > 0 ? 1.0 : -1.0, weight(), 3 * number(), 0});
  }
  for (const int k : {7, 11}) {
    p.diagonals.push_back(
        {RowLaw::friction_loss, k, 1, weight(), 3 * number(), random.uniform(0.5, 8.0)});
  }
  const auto group = [&](RowLaw law, int rows, int last, int other) {
    PlainGroup c{law, rows, std::vector<double>(static_cast<std::size_t>(rows) * n, 0.0)};
    for (int a = last, b = other; a != b;) {
      int& later = a > b ? a : b;
      for (int k = 0; k < rows; ++k) {
        c.J[static_cast<std::size_t>(k) * n + static_cast<std::size_t>(later)] = number();
      }
      later = p.parent[static_cast<std::size_t>(later)];
    }
    for (int k = 0; k < rows; ++k) {
      c.D[k] = weight();
      c.a_ref[k] = 4 * number();
      c.friction[k] = is_cone(law) ? random.uniform(0.2, 1.0) : random.uniform(1.0, 6.0);
    }
    if (is_cone(law)) c.friction[0] = c.friction[1] * c.friction[1] / random.uniform(0.7, 4.0);
    p.groups.push_back(c);
  };
  group(RowLaw::equality, 3, 10, -1);
  group(RowLaw::friction_loss, 1, 8, 10);
  group(RowLaw::one_sided, 1, 8, 11);
  for (int i = 0; i < options.contacts; ++i) {
    const int rows[] = {3, 4, 6, 1}, lasts[] = {8, 10, 8, 10, 11}, others[] = {-1, -1, 10, 11, -1};
    const int which = static_cast<int>(random.bits32() % 4),
              where = static_cast<int>(random.bits32() % 5);
    const int count = rows[which];
    group(count == 1 ? RowLaw::one_sided : options.cone, count, lasts[where], others[where]);
  }
  if (options.repeat) p.groups.push_back(p.groups.back());
  return p;
}

// Problems in lanes, one per lane; they differ in numbers and in their contacts. The groups before
// the contacts are the same in each.
template <class S>
class LaneProblem {
 public:
  static constexpr std::size_t kSingleGroups = 3;

  LaneProblem(const DofBlocks& layout, const std::vector<PlainProblem>& lanes) : dofs(layout) {
    ConstraintCapacity most{static_cast<int>(lanes[0].diagonals.size()), 0, 0};
    std::size_t groups = 0;
    for (const PlainProblem& p : lanes) groups = std::max(groups, p.groups.size());
    most.groups = static_cast<int>(groups);
    most.rows = kMostRows * most.groups;
    memory_.push_back(carve_memory(problem, dofs, most));
    memory_.push_back(carve_memory(space, dofs, most));
    x.assign(static_cast<std::size_t>(dofs.size()), S(0));
    set_smooth(lanes);
    problem.clear();
    for (std::size_t i = 0; i < lanes[0].diagonals.size(); ++i) set_diagonal(lanes, i);
    for (std::size_t g = 0; g < groups; ++g) set_group(lanes, g);
    problem.close();
  }

  NewtonResult<S> solve(const NewtonOptions& options) {
    return solve_newton(problem, options, space, x.data());
  }
  std::vector<double> result(int lane_index) const {
    std::vector<double> out;
    for (const int i : dofs.place) {
      out.push_back(static_cast<double>(lane(primal(x[static_cast<std::size_t>(i)]), lane_index)));
    }
    return out;
  }

  const DofBlocks& dofs;
  ConstraintProblem<S> problem;
  NewtonSpace<S> space;
  std::vector<S> x;

 private:
  static void put(S& to, std::size_t lane_index, double value) {
    set_lane(to, static_cast<int>(lane_index), static_cast<Scalar<S>>(value));
  }
  void set_smooth(const std::vector<PlainProblem>& lanes) {
    const std::size_t n = lanes[0].nv();
    std::vector<S> rows, a0(n, S(0));
    for (std::size_t k = 0; k < n; ++k) {
      for (int j = static_cast<int>(k); j >= 0; j = dofs.parent[static_cast<std::size_t>(j)]) {
        S entry(0);
        for (std::size_t l = 0; l < lanes.size(); ++l) {
          put(entry, l, lanes[l].M[k * n + static_cast<std::size_t>(j)]);
        }
        rows.push_back(entry);
      }
      for (std::size_t l = 0; l < lanes.size(); ++l) put(a0[k], l, lanes[l].a0[k]);
    }
    spread_mass_matrix(problem, rows.data());
    pad(dofs, a0.data(), problem.a0);
  }
  void set_diagonal(const std::vector<PlainProblem>& lanes, std::size_t i) {
    const PlainDiagonal& first = lanes[0].diagonals[i];
    const int row =
        problem.add_diagonal(first.law, dofs.place[static_cast<std::size_t>(first.dof)]);
    problem.sign[row] = problem.D[row] = problem.a_ref[row] = problem.friction[row] = S(0);
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const PlainDiagonal& d = lanes[l].diagonals[i];
      put(problem.sign[row], l, d.sign);
      put(problem.D[row], l, d.D);
      put(problem.a_ref[row], l, d.a_ref);
      put(problem.friction[row], l, d.eta);
    }
  }
  void set_group(const std::vector<PlainProblem>& lanes, std::size_t g) {
    int rows = 1;
    RowLaw law = RowLaw::one_sided;
    for (const PlainProblem& p : lanes) {
      if (g >= p.groups.size()) continue;
      rows = std::max(rows, p.groups[g].rows);
      if (g < kSingleGroups || p.groups[g].rows > 1) law = p.groups[g].law;
    }
    const int index = problem.groups, row = problem.add_group(law, rows);
    S* J = problem.jacobian(index);
    for (int i = 0; i < rows * dofs.size(); ++i) J[i] = S(0);
    for (int k = 0; k < rows; ++k) {
      problem.D[row + k] = problem.a_ref[row + k] = problem.friction[row + k] = S(0);
    }
    if (law == RowLaw::elliptic) problem.friction[row] = S(1);
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      if (g < lanes[l].groups.size()) set_group_lane(lanes[l].groups[g], index, law, l);
    }
  }
  void set_group_lane(const PlainGroup& c, int index, RowLaw law, std::size_t l) {
    const std::size_t n = dofs.place.size();
    const int row = problem.group_row(index);
    S* J = problem.jacobian(index);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(dofs.words), 0);
    for (int k = 0; k < c.rows; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        const double entry = c.J[static_cast<std::size_t>(k) * n + i];
        if (entry == 0) continue;
        put(J[k * dofs.size() + dofs.place[i]], l, entry);
        BlockSet{words.data(), dofs.words}.insert(dofs.place[i] / kBlock);
      }
      put(problem.a_ref[row + k], l, c.a_ref[k]);
      const bool edge = law == RowLaw::pyramid && c.rows > 1;
      if (edge ? k > 0 : k == 0 || !is_cone(law))
        put(problem.D[row + k], l, edge ? c.D[0] : c.D[k]);
      const bool rubs = !is_cone(law) || c.rows > 1;
      if (rubs) put(problem.friction[row + k], l, c.friction[k]);
    }
    problem.touch(index, BlockSet{words.data(), dofs.words});
  }

  std::vector<Arena> memory_;
};

}  // namespace cycloid::test
