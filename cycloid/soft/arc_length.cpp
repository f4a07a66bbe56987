#include "cycloid/soft/arc_length.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace cycloid::inline soft {
namespace {

using Numbers = std::vector<double>;

constexpr int kMostMends = 12, kFew = 4;
constexpr double kShortest = 1.0 / 4096;  // of the length that was asked for
constexpr double kTurn = 0.5;             // cos 60°

class Path {
 public:
  Path(const SolidPlan& plan, const SolidKernels& kernels, const ProblemAt& problem, int threads)
      : plan_(plan), kernels_(kernels), problem_(problem), threads_(threads) {}

  RestPath follow(const Numbers& start, double length, int most_steps) {
    PathPoint here{0, start};
    RestPath out;
    if (!rest_at(here)) return out;
    out.points.push_back(here);
    Numbers last;  // the step before
    double s = length;
    while (!out.complete && static_cast<int>(out.points.size()) <= most_steps) {
      PathPoint next = here;
      int mends = 0;
      const bool good = advance(next, s, last, mends);
      PathPoint end = next;
      const bool over = good && here.load < 1 && next.load >= 1;
      if (!good || (over && !reach(here, end))) {
        s *= 0.5;
        if (s < kShortest * length) break;
        continue;
      }
      if (over) {
        next = std::move(end);
        out.complete = true;
      }
      last = difference(next.y, here.y);
      here = next;
      out.points.push_back(std::move(next));
      if (mends <= kFew) s = std::min(length, 1.5 * s);
    }
    out.iterations = iterations_;
    return out;
  }

 private:
  static Numbers difference(const Numbers& a, const Numbers& b) {
    Numbers d(a.size());
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = a[i] - b[i];
    return d;
  }
  // The mean over vertices.
  double dot(const Numbers& a, const Numbers& b) const {
    double sum = 0;
    for (std::size_t i = 0; i < 3 * static_cast<std::size_t>(plan_.points()); ++i) {
      sum += a[i] * b[i];
    }
    return sum / plan_.points();
  }
  Numbers residual(const Incremental& problem, const Numbers& y) const {
    Numbers r(y.size(), 0.0);
    add_forces(plan_, kernels_, problem, threads_, y, r);
    balance(plan_, problem, y, r);
    return r;
  }
  void set_held(const Incremental& problem, Numbers& y) const {
    for (std::size_t k = 0; k < plan_.held_numbers.size(); ++k) {
      y[static_cast<std::size_t>(plan_.held_numbers[k])] = problem.target[k];
    }
  }

  // d of (2), with H at y; empty where H is singular. Held numbers move with their targets.
  Numbers along(const Incremental& problem, const RegularSolver& solver, const Numbers& y) const {
    const Incremental none = problem_(0), all = problem_(1);
    const Numbers r0 = residual(none, y), r1 = residual(all, y);
    Numbers d(y.size()), drive(y.size(), 0.0);
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = r0[i] - r1[i];
    bool driven = false;
    for (std::size_t k = 0; k < plan_.held_numbers.size(); ++k) {
      const auto i = static_cast<std::size_t>(plan_.held_numbers[k]);
      drive[i] = all.target[k] - none.target[k];
      driven = driven || drive[i] != 0;
    }
    if (driven) {
      Numbers values(static_cast<std::size_t>(plan_.pattern.entries())), skew;
      if (!all_symmetric(plan_.terms)) skew.resize(values.size());
      assemble_forces(plan_, kernels_, problem, threads_, false, y, values, skew);
      const auto leave = [&](std::size_t i, std::size_t j, const double& value) {
        if (!plan_.held[i]) d[i] -= value * drive[j];
      };
      for_each_entry(plan_.pattern, values, leave), for_each_entry(plan_.pattern, skew, leave);
    }
    if (!solver.solve(d.data(), false, threads_)) return {};
    for (const int held : plan_.held_numbers) {
      d[static_cast<std::size_t>(held)] = drive[static_cast<std::size_t>(held)];
    }
    return d;
  }

  // Newton's method at the load of the point; also says whether it is stable.
  bool rest_at(PathPoint& point) {
    const Incremental problem = problem_(point.load);
    set_held(problem, point.y);
    bool found = false;
    for (int k = 0; k < kMostMends; ++k) {
      ++iterations_;
      const RegularSolver solver = solver_at(plan_, kernels_, problem, point.y, threads_);
      point.stable = solver.stable();
      if (found) return true;
      const auto step = newton(problem, solver, point.y);
      if (!step) return false;
      found = *step <= kFound * plan_.length;
    }
    return false;
  }
  // y += e of (3); the largest number of e.
  std::optional<double> newton(const Incremental& problem, const RegularSolver& solver,
                               Numbers& y) const {
    Numbers e = residual(problem, y);
    double most = 0;
    const bool zero = std::all_of(e.begin(), e.end(), [](double r) { return r == 0; });
    if (!zero && !solver.solve(e.data(), false, threads_)) return {};
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!std::isfinite(e[i])) return {};
      y[i] -= e[i];
      most = std::max(most, std::abs(e[i]));
    }
    return most;
  }

  // From the point to the next one.
  bool advance(PathPoint& point, double s, const Numbers& last, int& mends) {
    const Numbers start = point.y;
    const double start_load = point.load;
    Numbers gone;
    double share = 0;  // Δλ
    bool found = false;
    for (mends = 0;; ++mends) {
      const Incremental problem = problem_(point.load);
      ++iterations_;
      const RegularSolver solver = solver_at(plan_, kernels_, problem, point.y, threads_);
      point.stable = solver.stable();
      if (found) break;
      if (mends == kMostMends) return false;
      const Numbers d = along(problem, solver, point.y);
      if (d.empty()) return false;
      if (mends == 0) {
        const double size = std::sqrt(dot(d, d));
        if (!(size > 0)) return false;
        share = (!last.empty() && dot(last, d) < 0 ? -s : s) / size;
        gone = d;
        for (double& g : gone) g *= share;  // (2)
      } else {
        Numbers e = residual(problem, point.y);
        if (!solver.solve(e.data(), false, threads_)) return false;
        for (double& v : e) v = -v;
        for (const int held : plan_.held_numbers) e[static_cast<std::size_t>(held)] = 0;
        const double change = -dot(gone, e) / dot(gone, d);
        double most = 0;
        for (std::size_t i = 0; i < e.size(); ++i) {
          e[i] += change * d[i];  // (3)
          gone[i] += e[i];
          most = std::max(most, std::abs(e[i]));
        }
        share += change;
        if (!std::isfinite(most) || !std::isfinite(share)) return false;
        if (most > 10 * std::max(s, 1e-3 * plan_.length)) return false;
        found = most <= kFound * plan_.length;
      }
      point.load = start_load + share;
      for (std::size_t i = 0; i < gone.size(); ++i) point.y[i] = start[i] + gone[i];
      set_held(problem_(point.load), point.y);
    }
    return last.empty() || dot(gone, last) >= kTurn * std::sqrt(dot(gone, gone) * dot(last, last));
  }

  // From the point beyond to that at λ = 1.
  bool reach(const PathPoint& here, PathPoint& end) {
    const double part = (1 - here.load) / (end.load - here.load);
    for (std::size_t i = 0; i < end.y.size(); ++i) {
      end.y[i] = here.y[i] + part * (end.y[i] - here.y[i]);
    }
    end.load = 1;
    return rest_at(end);
  }

  const SolidPlan& plan_;
  const SolidKernels& kernels_;
  const ProblemAt& problem_;
  int threads_, iterations_ = 0;
};

}  // namespace

RegularSolver solver_at(const SolidPlan& plan, const SolidKernels& kernels,
                        const Incremental& problem, const Numbers& y, int threads) {
  Numbers values(static_cast<std::size_t>(plan.pattern.entries())), skew;
  if (!all_symmetric(plan.terms)) skew.resize(values.size());
  assemble_forces(plan, kernels, problem, threads, false, y, values, skew);
  restrict_to_free(plan, problem, values, skew);
  return {plan, std::move(values), std::move(skew), threads};
}

RestPath follow_path(const SolidPlan& plan, const SolidKernels& kernels, const ProblemAt& problem,
                     const Numbers& start, double length, int most_steps, int threads) {
  return Path(plan, kernels, problem, threads).follow(start, length, most_steps);
}

}  // namespace cycloid::inline soft
