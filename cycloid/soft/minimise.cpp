#include "cycloid/soft/minimise.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/thread_pool.h"
#include "cycloid/soft/skew_solve.h"

namespace cycloid::inline soft {
namespace {

constexpr int kMostVentures = 4, kMostChords = 12, kMostHalvings = 40;
constexpr int kMostStuck = 2;  // steps shorter than kStuck of the direction, of cloth and rods
constexpr double kStuck = 1e-3, kLongest = 1024;
constexpr double kBoldest = 20;  // how far uphill a full step may go, over the slope
// Steps shorter than this, over the body's length, are judged by slopes too: how much of the slope
// may be left, and how many on end are taken so.
constexpr double kShort = 1e-6, kFlatter = 0.9;
constexpr int kMostFlat = 12;
// Of conjugate gradients: how many, the residual at which they end, over the first, and how far
// they go at least where H bends down, over the body's length.
constexpr int kMostInner = 40;
constexpr double kEnough = 0.1, kLeast = 1e-5;
constexpr std::size_t kRows = 512;  // of a block of a product

SolidView view_at(const Incremental& problem, const double* y) {
  SolidView v = problem.view;
  v.now = y;
  return v;
}

TermsAt terms_at(const Incremental& problem, const double* y) {
  TermsAt at = problem.terms;
  at.now = y, at.numbers = problem.numbers.data();
  return at;
}

class Search {
 public:
  Search(const SolidPlan& plan, const SolidKernels& kernels, const Incremental& problem,
         int threads, MinimiserSpace& space)
      : plan_(plan),
        kernels_(kernels),
        problem_(problem),
        threads_(threads),
        s_(space),
        pairs_(plan, problem.numbers, problem.terms, threads) {
    const auto n = static_cast<std::size_t>(plan.numbers());
    s_.force.resize(n), s_.direction.resize(n), s_.trial.resize(n), s_.moved.resize(n);
  }

  Minimum run(std::vector<double>& y) {
    Minimum out;
    take_guess(y);
    reach_ = 0.1 * plan_.length;
    bool short_of_target = gap(y) > 0;
    if (!short_of_target) set_targets(y);
    double last = HUGE_VAL;  // length of the last step
    int stuck = 0;           // steps on end of which next to nothing could be made
    for (int k = 0; k < problem_.most_iterations; ++k) {
      ++out.iterations;
      if (!factor_somehow(y)) {
        out.finite = false;
        return out;
      }
      find_direction(y, short_of_target);
      double step = largest_step();
      if (!std::isfinite(step)) {
        out.finite = false;
        return out;
      }
      const double t = short_of_target ? walk_to_target(y) : search(y, step);
      last = t == 0 ? step : t * step;
      reach_ = std::max(4 * last, 2 * kLeast * plan_.length);
      if (ventures_ > 0) continue;
      stuck = t < kStuck ? stuck + 1 : 0;
      if (t == 0 || (plan_.cells() == 0 && stuck > kMostStuck) || flat_ > kMostFlat) break;
      if (short_of_target) {
        short_of_target = t < 1;
        if (!short_of_target) set_targets(y);
        if (t < 1) continue;
      }
      if (t == 1 && chords(y, last)) break;
    }
    out.linear_iterations = linear_iterations_;
    const double relative = last / plan_.length;
    out.residual = relative <= kFound && !short_of_target ? 0 : std::max(relative, 2 * kFound);
    assemble(y, false);
    // In the memory of the last factor, which has done its work.
    auto exact = factor_ ? std::move(factor_) : std::make_unique<StiffnessSolver>(matrix_plan());
    out.plan = with_pairs_;  // whoever solves here needs its places, with this factor or another
    if (exact->factor(s_.values, threads_) && probe(y, *exact)) {
      out.factor = std::move(exact);
      out.skew = s_.skew;
    }
    return out;
  }

 private:
  // The guess is the start where it is nearer to the minimum, and turns nothing inside out.
  void take_guess(std::vector<double>& y) {
    if (problem_.guess.empty()) return;
    const double here = energy(y), there = energy(problem_.guess);
    if (!(there < here) || least_stretch(problem_.guess) <= 0) return;
    for (std::size_t i = 0; i < y.size(); ++i) s_.direction[i] = problem_.guess[i] - y[i];
    if (admissible(y) == 1) y = problem_.guess;
  }

  bool held(std::size_t i) const { return plan_.held[i] != 0; }
  SolidView view_at(const double* y) const { return soft::view_at(problem_, y); }
  TermsAt terms_at(const double* y) const { return soft::terms_at(problem_, y); }
  // How much of the direction barriers admit.
  double admissible(const std::vector<double>& y) const {
    double part = 1;
    if (any_barrier(plan_.terms)) {
      part = admissible_part(plan_.terms, problem_.numbers, y.data(), s_.direction.data());
    }
    if (plan_.surface) {
      const double thickness = thickness_of(plan_, problem_.numbers);
      part = std::min(part,
                      plan_.surface->free_part(y.data(), s_.direction.data(), thickness, threads_));
    }
    return part;
  }
  // The plan of the matrix: with places for the pairs that touch at y, and before it.
  const SolidPlan& matrix_plan() const { return with_pairs_ ? *with_pairs_ : plan_; }
  void make_places(const std::vector<double>& y) {
    if (plan_.surface && !places_.includes(pairs_.acting(y.data()))) {
      places_.add(pairs_.acting(y.data()));
      with_pairs_ = s_.plan = plan_with_pairs(plan_, places_, s_.plan);
      factor_.reset();
    }
    s_.values.resize(static_cast<std::size_t>(matrix_plan().pattern.entries()));
    if (!all_symmetric(plan_.terms)) s_.skew.resize(s_.values.size());
  }
  double gap(const std::vector<double>& y) const {
    double most = 0;
    for (std::size_t k = 0; k < plan_.held_numbers.size(); ++k) {
      most = std::max(
          most, std::abs(problem_.target[k] - y[static_cast<std::size_t>(plan_.held_numbers[k])]));
    }
    return most;
  }
  void set_targets(std::vector<double>& y) const {
    for (std::size_t k = 0; k < plan_.held_numbers.size(); ++k) {
      y[static_cast<std::size_t>(plan_.held_numbers[k])] = problem_.target[k];
    }
  }

  double energy(const std::vector<double>& y) {
    s_.of_cells.assign(static_cast<std::size_t>(plan_.cells()), 0.0);
    const SolidView v = view_at(y.data());
    plan_.for_each_chunk(
        threads_, [&](int begin, int end) { kernels_.energy(v, begin, end, s_.of_cells.data()); });
    double sum = 0;
    for (const double e : s_.of_cells) sum += e;
    sum += terms_energy(plan_.terms, terms_at(y.data()), threads_, false) +
           terms_energy(pairs_.terms(y.data()), terms_at(y.data()), threads_, false);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double d = y[i] - problem_.origin[i];
      if (!held(i)) sum += d * (0.5 * problem_.inertia[i / 3] * d - problem_.pull[i]);  // (1)
    }
    return sum;
  }
  void residual(const std::vector<double>& y) {
    std::fill(s_.force.begin(), s_.force.end(), 0.0);
    add_forces(plan_, kernels_, problem_, threads_, y, s_.force);
    terms_force(pairs_.terms(y.data()), terms_at(y.data()), threads_, s_.force.data());
    balance(plan_, problem_, y, s_.force);
  }
  // H in values, whole: rows of held numbers too.
  void assemble_whole(const std::vector<double>& y, bool positive) {
    make_places(y);
    assemble_forces(matrix_plan(), kernels_, problem_, threads_, positive, y, s_.values, s_.skew);
  }
  void assemble(const std::vector<double>& y, bool positive) {
    assemble_whole(y, positive);
    restrict_to_free(matrix_plan(), problem_, s_.values, s_.skew);
  }
  // False: the matrix is not even finite.
  bool factor_somehow(const std::vector<double>& y) {
    assemble(y, false);
    if (!factor_) factor_ = std::make_unique<StiffnessSolver>(matrix_plan());
    projected_ = false;
    // While the last search met negative curvature, trying to factor the exact matrix is idle.
    if (!bends_down_ && factor_->factor(s_.values, threads_)) return true;
    if (bends()) s_.exact = s_.values;
    return factor_positive(y);
  }
  bool factor_positive(const std::vector<double>& y) {
    projected_ = true;
    assemble(y, true);
    double largest = 0;
    for (const double value : s_.values) {
      if (!std::isfinite(value)) return false;
      largest = std::max(largest, std::abs(value));
    }
    // Where that is singular (a body that nothing holds), a little is added to its diagonal.
    for (double extra = 0; extra < 1; extra = extra == 0 ? 1e-10 : 100 * extra) {
      for_each_entry(matrix_plan().pattern, s_.values,
                     [&](std::size_t i, std::size_t j, double& value) {
                       if (i == j) value += extra * largest;
                     });
      if (factor_->factor(s_.values, threads_)) return true;
      if (!matrix_plan().dissection) assemble(y, true);
    }
    return false;
  }
  // Whether a solve with the matrix at the solution finds it positive definite, as far as it goes.
  bool probe(const std::vector<double>& y, const StiffnessSolver& exact) {
    if (matrix_plan().dissection) return true;
    residual(y);
    return exact.solve(s_.force.data(), threads_, 1e-2).positive;
  }

  // H d = -(r + H_fh δ), with δ the way of held numbers to their targets, which is d there.
  void find_direction(const std::vector<double>& y, bool short_of_target) {
    if (!find_with_factor(y, short_of_target) && factor_positive(y)) {
      find_with_factor(y, short_of_target);
    }
  }
  // False where the matrix turns out not to be positive definite.
  bool find_with_factor(const std::vector<double>& y, bool short_of_target) {
    residual(y);
    std::vector<double>& d = s_.direction;
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = -s_.force[i];
    bool positive = true;
    if (short_of_target) {
      std::vector<double>& gap = s_.moved;
      std::fill(gap.begin(), gap.end(), 0.0);
      for (std::size_t k = 0; k < plan_.held_numbers.size(); ++k) {
        const auto i = static_cast<std::size_t>(plan_.held_numbers[k]);
        gap[i] = problem_.target[k] - y[i];
      }
      assemble_whole(y, false);
      const auto leave = [&](std::size_t i, std::size_t j, const double& value) {
        if (!held(i)) d[i] -= value * gap[j];
      };
      for_each_entry(matrix_plan().pattern, s_.values, leave);
      for_each_entry(matrix_plan().pattern, s_.skew, leave);
      positive = solve_with_factor(d.data());
      for (const int i : plan_.held_numbers) {
        d[static_cast<std::size_t>(i)] = gap[static_cast<std::size_t>(i)];
      }
    } else {
      positive = solve(d);
      if (projected_ && bends()) bend(d);
    }
    return positive;
  }
  bool solve_with_factor(double* d) {
    const SolveEnd end = factor_->solve(d, threads_, kSearchTolerance);
    linear_iterations_ += end.iterations;
    return end.positive;
  }
  bool bends() const { return plan_.cells() == 0 && s_.skew.empty() && matrix_plan().dissection; }
  // The exact matrix H in place of the positive one, M: conjugate gradients on H d = -r with the
  // factor of M, until |H d + r| is small in the norm of M⁻¹, or to where H bends down along p.
  // There the last step goes along p as far as if H bent up as much, but at least a little: at a
  // saddle the gradient alone leads nowhere (Steihaug1983).
  void bend(std::vector<double>& d) {
    bends_down_ = false;
    const std::size_t n = d.size();
    std::vector<double>&r = s_.left, &z = s_.moved, &p = s_.along, &q = s_.rotational;
    r.resize(n), p.resize(n), q.resize(n);
    for (std::size_t i = 0; i < n; ++i) r[i] = -s_.force[i];
    z = d;  // M⁻¹ r
    double rz = dot(r, z);
    if (!(rz > 0)) return;  // nothing left, or a direction that is not finite
    std::fill(d.begin(), d.end(), 0.0);
    p = z;
    const double enough = kEnough * kEnough * rz;
    for (int k = 0; k < kMostInner && rz > enough; ++k) {
      multiply(s_.exact, p, q);
      const double curve = dot(p, q);
      if (!(curve > 0)) {
        bends_down_ = true;
        double most = 0;
        for (const double v : p) most = std::max(most, std::abs(v));
        const double far = std::clamp(curve < 0 ? rz / -curve : HUGE_VAL,
                                      kLeast * plan_.length / most, reach_ / most);
        for (std::size_t i = 0; i < n; ++i) d[i] += far * p[i];
        return;
      }
      const double a = rz / curve;
      for (std::size_t i = 0; i < n; ++i) d[i] += a * p[i], r[i] -= a * q[i];
      z = r;
      factor_->solve(z.data(), threads_);
      const double next = dot(r, z), b = next / rz;
      rz = next;
      for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + b * p[i];
    }
  }
  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  void multiply(const std::vector<double>& values, const std::vector<double>& x,
                std::vector<double>& out) const {
    const SparsePattern& p = matrix_plan().pattern;
    parallel_for((x.size() + kRows - 1) / kRows, threads_, [&](std::size_t block) {
      for (std::size_t i = block * kRows; i < std::min((block + 1) * kRows, x.size()); ++i) {
        double sum = 0;
        for (auto e = static_cast<std::size_t>(p.first[i]);
             e < static_cast<std::size_t>(p.first[i + 1]); ++e) {
          sum += values[e] * x[static_cast<std::size_t>(p.column[e])];
        }
        out[i] = sum;
      }
    });
  }
  // With the skew part, unless that would go uphill.
  bool solve(std::vector<double>& d) {
    if (s_.skew.empty()) return solve_with_factor(d.data());
    std::vector<double>& kept = s_.moved;
    kept = d;
    bool positive = true;
    const auto inverse = [&](double* b) { positive = solve_with_factor(b) && positive; };
    skew_solve(matrix_plan().pattern, inverse, s_.skew, 0, false, d.data());
    double slope = 0;
    for (std::size_t i = 0; i < d.size(); ++i) slope -= kept[i] * d[i];
    if (slope < 0) return positive;
    d = kept;
    return solve_with_factor(d.data());
  }
  double largest_step() const {
    double most = 0;
    for (const double d : s_.direction)
      most = std::isfinite(d) ? std::max(most, std::abs(d)) : HUGE_VAL;
    return most;
  }
  void place_trial(const std::vector<double>& y, double t) {
    for (std::size_t i = 0; i < y.size(); ++i) s_.trial[i] = y[i] + t * s_.direction[i];
  }

  double least_stretch(const std::vector<double>& y) {
    if (plan_.cells() == 0) return 1;
    s_.of_cells.assign(static_cast<std::size_t>(plan_.cells()), 0.0);
    const SolidView v = view_at(y.data());
    plan_.for_each_chunk(threads_, [&](int begin, int end) {
      kernels_.least_stretch(v, begin, end, s_.of_cells.data());
    });
    return *std::min_element(s_.of_cells.begin(), s_.of_cells.end());
  }

  // Goes towards the targets, the whole way where no cell is turned inside out by it.
  double walk_to_target(std::vector<double>& y) {
    const double before = least_stretch(y);
    double t = admissible(y);
    for (int k = 0; k < kMostHalvings; ++k, t *= 0.5) {
      place_trial(y, t);
      if (least_stretch(s_.trial) > std::min(0.0, before) + 0.1 * std::abs(before)) {
        y.swap(s_.trial);
        return t;
      }
    }
    return 0;
  }

  // Armijo's rule; 0 where nothing goes downhill. Cloth and rods are much stiffer along than
  // across: a full step across lengthens them, and the next one mends it. So a few full steps may
  // go uphill before the search goes back to where they began (the watchdog of
  // ChamberlainEtAl1982).
  double search(std::vector<double>& y, double step) {
    const Start here = start_of(y);
    if (ventures_ == 0) from_ = here;
    if (plan_.cells() == 0) {
      const double t = admissible(y);
      place_trial(y, t);
      const double now = energy(s_.trial) + t * here.turning;
      if (now <= from_.energy + 1e-4 * t * from_.slope + from_.noise) {
        const bool longer = projected_ && ventures_ == 0 && t == 1;
        ventures_ = 0;
        if (longer) return lengthen(y, now, here.turning);
        y.swap(s_.trial);
        return t;
      }
      const bool bold = now <= from_.energy + kBoldest * std::abs(from_.slope);
      if (!projected_ && bold && ventures_ < kMostVentures) {
        if (ventures_ == 0) s_.anchor = y, s_.anchor_direction = s_.direction;
        ++ventures_;
        y.swap(s_.trial);
        return t;
      }
      if (ventures_ > 0) {
        y = s_.anchor, s_.direction = s_.anchor_direction;
        step = largest_step();
      }
      ventures_ = 0;
    }
    return search_by_halves(y, step, from_);
  }
  struct Start {
    double energy = 0, slope = 0, noise = 0, turning = 0;
  };
  Start start_of(const std::vector<double>& y) {
    Start s;
    for (std::size_t i = 0; i < y.size(); ++i) s.slope += s_.force[i] * s_.direction[i];
    s.energy = energy(y);
    s.noise = 1e-13 * (std::abs(s.energy) + energy_scale(y));
    s.turning = rotational_slope(y);
    return s;
  }
  // The trial, or twice, four times ... the direction, as long as that goes downhill: near a saddle
  // the positive matrix is much too stiff along the way out of it.
  double lengthen(std::vector<double>& y, double reached, double turning) {
    double t = 1;
    std::vector<double>& d = s_.direction;
    while (t < kLongest) {
      for (double& v : d) v *= 2;
      if (admissible(y) < 1) break;
      place_trial(y, 1);
      const double now = energy(s_.trial) + 2 * t * turning;
      if (!(now < reached)) break;
      t *= 2, reached = now;
    }
    for (double& v : d) v *= (t < kLongest ? 0.5 : 1) / t;
    place_trial(y, t);
    y.swap(s_.trial);
    return t;
  }
  double search_by_halves(std::vector<double>& y, double step, const Start& from) {
    const auto [start, slope, noise, turning] = from;
    double t = admissible(y);
    for (int k = 0; k < kMostHalvings; ++k, t *= 0.5) {
      place_trial(y, t);
      const double now = energy(s_.trial) + t * turning;
      const bool lower = now <= start + 1e-4 * t * slope + noise;
      if (lower || (k == 0 && flattens(t * step, slope))) {
        flat_ = lower ? 0 : flat_ + 1;
        y.swap(s_.trial);
        return t;
      }
      if (t * step < 1e-15 * plan_.length) break;
    }
    return 0;
  }
  // Whether a short step ends where the slope along it is smaller. Energies before and after it
  // differ by their rounding alone, which stress brings in (the approximate condition of
  // HagerZhang2005).
  bool flattens(double length, double slope) {
    if (length > kShort * plan_.length) return false;
    residual(s_.trial);
    return std::abs(dot(s_.force, s_.direction)) <= kFlatter * std::abs(slope);
  }
  // Work along the direction of forces that have no potential.
  double rotational_slope(const std::vector<double>& y) {
    if (s_.skew.empty()) return 0;
    s_.rotational.assign(y.size(), 0.0);
    terms_rotational_force(plan_.terms, terms_at(y.data()), threads_, s_.rotational.data());
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!held(i)) sum += s_.rotational[i] * s_.direction[i];
    }
    return sum;
  }
  // The size of the terms of (1), whose rounding the energy has.
  double energy_scale(const std::vector<double>& y) const {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double d = y[i] - problem_.origin[i];
      if (!held(i)) sum += 0.5 * problem_.inertia[i / 3] * d * d + std::abs(problem_.pull[i] * d);
    }
    for (const double e : s_.of_cells) sum += std::abs(e);
    return sum;
  }

  // Further steps with the same factor; true at the solution. `last`: the length of the last step.
  bool chords(std::vector<double>& y, double& last) {
    for (int k = 0; k < kMostChords; ++k) {
      if (last <= 1e-15 * plan_.length) return true;
      residual(y);
      for (std::size_t i = 0; i < y.size(); ++i) s_.direction[i] = -s_.force[i];
      if (!solve(s_.direction)) return false;
      const double step = largest_step();
      // Rounding is reached: steps are tiny and no longer shrink.
      if (last <= kFound * plan_.length && !(step < 0.5 * last)) return true;
      if (!(step <= 0.1 * last) || admissible(y) < 1) return false;
      place_trial(y, 1);
      y.swap(s_.trial);
      last = step;
    }
    return last <= kFound * plan_.length;
  }

  const SolidPlan& plan_;
  const SolidKernels& kernels_;
  const Incremental& problem_;
  int threads_;
  MinimiserSpace& s_;
  std::unique_ptr<StiffnessSolver> factor_;
  int linear_iterations_ = 0;
  double reach_ = 0;         // how far a search goes where H bends down [m]
  bool bends_down_ = false;  // the exact matrix, as the last search found
  bool projected_ = false;   // the factor is not that of the exact matrix
  int ventures_ = 0;         // full steps that went uphill since from_
  int flat_ = 0;             // steps on end that only their slopes speak for
  Start from_;
  TouchingPairs pairs_;
  ContactPairs places_;
  std::shared_ptr<const SolidPlan> with_pairs_;
};

}  // namespace

void add_forces(const SolidPlan& plan, const SolidKernels& kernels, const Incremental& problem,
                int threads, const std::vector<double>& y, std::vector<double>& force) {
  const SolidView v = view_at(problem, y.data());
  plan.for_each_chunk(threads,
                      [&](int begin, int end) { kernels.force(v, begin, end, force.data()); });
  terms_force(plan.terms, terms_at(problem, y.data()), threads, force.data());
}

void balance(const SolidPlan& plan, const Incremental& problem, const std::vector<double>& y,
             std::vector<double>& force) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    force[i] = plan.held[i] ? 0.0
                            : force[i] + problem.inertia[i / 3] * (y[i] - problem.origin[i]) -
                                  problem.pull[i];  // (2)
  }
}

void assemble_forces(const SolidPlan& plan, const SolidKernels& kernels, const Incremental& problem,
                     int threads, bool positive, const std::vector<double>& y,
                     std::vector<double>& values, std::vector<double>& skew) {
  std::fill(values.begin(), values.end(), 0.0);
  const SolidView v = view_at(problem, y.data());
  plan.for_each_chunk(threads, [&](int begin, int end) {
    kernels.stiffness(v, begin, end, positive, plan.rows(), values.data());
  });
  std::fill(skew.begin(), skew.end(), 0.0);
  terms_stiffness(plan.terms, terms_at(problem, y.data()), threads, positive, plan.first.data(),
                  values.data(), skew.empty() ? nullptr : skew.data());
}

void restrict_to_free(const SolidPlan& plan, const Incremental& problem,
                      std::vector<double>& values, std::vector<double>& skew) {
  const auto held = [&](std::size_t i) { return plan.held[i] != 0; };
  for_each_entry(plan.pattern, skew, [&](std::size_t i, std::size_t j, double& value) {
    if (held(i) || held(j)) value = 0;
  });
  for_each_entry(plan.pattern, values, [&](std::size_t i, std::size_t j, double& value) {
    if (held(i) || held(j)) value = i == j ? 1.0 : 0.0;
    else if (i == j) value += problem.inertia[i / 3];
  });
}

Minimum minimise(const SolidPlan& plan, const SolidKernels& kernels, const Incremental& problem,
                 int threads, std::vector<double>& y, MinimiserSpace& space) {
  return Search(plan, kernels, problem, threads, space).run(y);
}

}  // namespace cycloid::inline soft
