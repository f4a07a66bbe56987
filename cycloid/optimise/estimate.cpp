#include "cycloid/optimise/estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/optimise/fit/estimate_problem.h"

namespace cycloid::inline optimise {
namespace {

using Row = std::vector<double>;

class Smoother {
 public:
  Smoother(const System& system, const Recording& recording, const EstimateOptions& options)
      : recording_(recording),
        options_(options),
        problem_(system, recording, options),
        nx_(problem_.nx()),
        nf_(problem_.nf()),
        np_(problem_.np()),
        nz_(problem_.nz()) {}

  Estimate run() {
    const auto begin = std::chrono::steady_clock::now();
    filter();
    if (options_.smooth && options_.horizon > 0) {
      move_windows();
    } else if (options_.smooth) {
      smooth_whole();
    } else {
      out_.converged = true;
      out_.message = "an extended Kalman filter went through the recording once";
    }
    out_.force_names = problem_.force_names(), out_.param_names = problem_.unknowns().names();
    for (const Unknowns::Group& group : problem_.unknowns().groups()) {
      for (const Unknowns::Member& member : group.members) {
        out_.parameters.push_back({member.name, group.place, group.size, group.shape});
      }
    }
    out_.sigma = problem_.sigma(), out_.tangents = nz_;
    out_.misfit = misfit_of_samples();
    out_.steps = problem_.simulated();
    out_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(out_);
  }

 private:
  void keep(const EstimatePath& path, std::size_t sample, const Row& covariance) {
    const std::size_t k = problem_.knot_of_sample()[sample];
    const auto copy = [](const Row& from, std::size_t at, std::size_t n, Row& to,
                         std::size_t place) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at * n), n,
                  to.begin() + static_cast<std::ptrdiff_t>(place * n));
    };
    copy(path.x, k, nx_, out_.states, sample);
    copy(path.f, k, nf_, out_.forces, sample);
    const Row values = problem_.unknowns().values(std::span(path.theta).subspan(k * np_, np_));
    copy(values, 0, np_, out_.params, sample);
    std::copy(covariance.begin(), covariance.end(),
              out_.covariance.begin() + static_cast<std::ptrdiff_t>(sample * nz_ * nz_));
  }

  // The extended Kalman filter: path_ is what it knows at each knot, prior_ what it expected there.
  void filter() {
    const std::size_t K = problem_.knots().size(), S = recording_.samples();
    path_.x.resize(K * nx_), path_.f.assign(K * nf_, 0.0), path_.theta.resize(K * np_);
    out_.states.resize(S * nx_), out_.forces.resize(S * nf_), out_.params.resize(S * np_);
    out_.covariance.resize(S * nz_ * nz_);
    const Row x = problem_.first_state();
    std::copy(x.begin(), x.end(), path_.x.begin());
    std::copy(problem_.unknowns().start().begin(), problem_.unknowns().start().end(),
              path_.theta.begin());
    Row P = problem_.first_covariance();
    prior_ = path_;
    for (std::size_t k = 0; k < K; ++k) {
      if (problem_.knots()[k].measured) prior_covariance_.push_back(P);
      std::vector<KalmanStep> step(1);
      problem_.see(path_, k, k, step);
      KalmanResult seen = kalman(step, Row(nz_, 0.0), P, false);
      problem_.move(path_, k, seen.mean[0], 1);
      P = seen.covariance[0];
      if (problem_.knots()[k].measured) keep(path_, problem_.knots()[k].sample, P);
      if (k + 1 == K) break;
      Row next(nx_);
      step.assign(2, {});
      problem_.linearise_steps(path_, k, k + 1, step, &next);
      P = kalman(step, Row(nz_, 0.0), P, false).covariance[1];
      std::copy(next.begin(), next.end(),
                path_.x.begin() + static_cast<std::ptrdiff_t>((k + 1) * nx_));
      std::copy_n(path_.f.begin() + static_cast<std::ptrdiff_t>(k * nf_), nf_,
                  path_.f.begin() + static_cast<std::ptrdiff_t>((k + 1) * nf_));
      std::copy_n(path_.theta.begin() + static_cast<std::ptrdiff_t>(k * np_), np_,
                  path_.theta.begin() + static_cast<std::ptrdiff_t>((k + 1) * np_));
      copy_knot(path_, prior_, k + 1);
    }
  }

  void copy_knot(const EstimatePath& from, EstimatePath& to, std::size_t k) const {
    const auto copy = [k](const Row& a, Row& b, std::size_t n) {
      std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(k * n), n,
                  b.begin() + static_cast<std::ptrdiff_t>(k * n));
    };
    copy(from.x, to.x, nx_), copy(from.f, to.f, nf_), copy(from.theta, to.theta, np_);
  }

  // Gauss and Newton between two knots. Returns the covariances of all knots.
  std::vector<Row> settle(std::size_t first, std::size_t last, const Row& prior_covariance,
                          EstimatePath& path, bool& converged) {
    KalmanResult found;
    converged = false;
    for (int iteration = 0; iteration < options_.iterations && !converged; ++iteration) {
      std::vector<KalmanStep> steps(last - first + 1);
      Row next((last - first) * nx_);
      problem_.linearise_steps(path, first, last, steps, &next);
      for (std::size_t k = first; k < last; ++k)
        problem_.add_gap(path, next.data() + (k - first) * nx_, k, steps[k - first]);
      problem_.see(path, first, last, steps);
      found = kalman(steps, problem_.change(path, prior_, first), prior_covariance, true);
      double largest = 0;
      for (std::size_t k = first; k <= last; ++k) {
        const Row& c = found.mean[k - first];
        for (std::size_t i = 0; i < nz_; ++i) {
          const double std = std::sqrt(found.covariance[k - first][i * nz_ + i]);
          if (c[i] != 0) largest = std::max(largest, std::abs(c[i]) / std::max(std, 1e-12));
        }
      }
      if (!std::isfinite(largest)) throw Error("estimate: the linearised problem is not finite");
      // A change by many standard deviations is beyond where the linearisation holds.
      const double share = iteration > 0 && largest > 1e3 ? 0.5 : 1;
      for (std::size_t k = first; k <= last; ++k)
        problem_.move(path, k, found.mean[k - first], share);
      converged = share == 1 && largest <= options_.tolerance;
      ++out_.iterations;
      if (options_.watch && !options_.watch({iteration + 1, options_.iterations, found.misfit, 0,
                                             problem_.simulated()})) {
        break;
      }
    }
    return std::move(found.covariance);
  }

  void smooth_whole() {
    const std::vector<Row> covariance =
        settle(0, problem_.knots().size() - 1, prior_covariance_[0], path_, out_.converged);
    for (std::size_t i = 0; i < recording_.samples(); ++i) {
      keep(path_, i, covariance[problem_.knot_of_sample()[i]]);
    }
    out_.message = out_.converged
                       ? message("the smoother settled in ", out_.iterations, " iterations")
                       : message("the smoother did not settle in ", out_.iterations,
                                 " iterations: try a larger process, or a horizon");
  }

  void move_windows() {
    out_.converged = true;
    std::size_t settled = 0;
    for (std::size_t i = 1; i < recording_.samples(); ++i) {
      const std::size_t from = i > static_cast<std::size_t>(options_.horizon)
                                   ? i - static_cast<std::size_t>(options_.horizon)
                                   : 0;
      EstimatePath path = path_;
      bool converged = false;
      const std::vector<Row> covariance =
          settle(problem_.knot_of_sample()[from], problem_.knot_of_sample()[i],
                 prior_covariance_[from], path, converged);
      keep(path, i, covariance.back());
      settled += converged ? 1 : 0;
      out_.converged = out_.converged && converged;
    }
    out_.message = message(settled, " of ", recording_.samples() - 1, " windows settled");
  }

  double misfit_of_samples() {
    // At the samples, with what is kept of them.
    EstimatePath path;
    for (std::size_t k = 0, i = 0; k < problem_.knots().size(); ++k) {
      if (i + 1 < recording_.samples() && problem_.knot_of_sample()[i + 1] == k) ++i;
      const auto add = [](const Row& from, std::size_t at, std::size_t n, Row& to) {
        to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(at * n),
                  from.begin() + static_cast<std::ptrdiff_t>((at + 1) * n));
      };
      add(out_.states, i, nx_, path.x), add(out_.forces, i, nf_, path.f);
      add(path_.theta, k, np_, path.theta);
    }
    std::vector<KalmanStep> steps(problem_.knots().size());
    problem_.see(path, 0, problem_.knots().size() - 1, steps);
    double sum = 0;
    for (const KalmanStep& s : steps) {
      for (const double r : s.r) sum += r * r;
      out_.measured += static_cast<std::int64_t>(s.r.size());
    }
    return sum;
  }

  const Recording& recording_;
  const EstimateOptions& options_;
  const EstimateProblem problem_;
  const std::size_t nx_, nf_, np_, nz_;
  EstimatePath path_, prior_;
  std::vector<Row> prior_covariance_;  // of each sample, before it is seen
  Estimate out_;
};

}  // namespace

Estimate estimate(const System& system, const Recording& recording,
                  const EstimateOptions& options) {
  return Smoother(system, recording, options).run();
}

}  // namespace cycloid::inline optimise
