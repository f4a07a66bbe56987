#include "cycloid/optimise/identify.h"

#include <Eigen/Core>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "cycloid/base/error.h"
#include "cycloid/optimise/arrow_system.h"
#include "cycloid/optimise/sobol.h"
#include "cycloid/optimise/weak.h"
#include "cycloid/optimise/whiteness.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Clock = std::chrono::steady_clock;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHuber = 1.345, kCauchy = 2.385;
constexpr double kGap = 1e-6;           // what multiple shooting may leave
constexpr double kFirstDamping = 1e-3;  // μ, in units of D²
constexpr double kLeastDamping = 1e-15, kMostDamping = 1e20;
constexpr double kValueTolerance = 1e-10;  // promised fall of F, relative
constexpr double kStepTolerance = 1e-10;   // of D (θ, s), relative
constexpr double kLooseTolerance = 1e-4;   // of the rounds before the last
constexpr int kMostRounds = 14;            // of multiple shooting
constexpr int kSigmaRounds = 6;
constexpr std::size_t kSobolPerRestart = 8;

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

double loss_of(Loss loss, double r) {  // (2)
  const double a = std::abs(r);
  switch (loss) {
    case Loss::huber: return a <= kHuber ? 0.5 * r * r : kHuber * a - 0.5 * kHuber * kHuber;
    case Loss::cauchy: return 0.5 * kCauchy * kCauchy * std::log1p(r * r / (kCauchy * kCauchy));
    default: return 0.5 * r * r;
  }
}

double weight_of(Loss loss, double r) {  // ρ'(r) / r
  const double a = std::abs(r);
  switch (loss) {
    case Loss::huber: return a <= kHuber ? 1 : kHuber / a;
    case Loss::cauchy: return 1 / (1 + r * r / (kCauchy * kCauchy));
    default: return 1;
  }
}

// What a descent is asked, and what all of them share.
struct Effort {
  const IdentifyOptions& options;
  Clock::time_point begin = Clock::now();
  std::int64_t steps = 0;
  int iterations = 0, most = 0;
  double best = kInfinity;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }
  // False: stop.
  bool say(double cost) {
    best = std::min(best, cost);
    if (!options.watch) return true;
    return options.watch({iterations, most, best, seconds(), steps});
  }
};

// Weights and multipliers of the gaps, (3).
struct Links {
  Numbers weight;               // (tangents)
  std::vector<Numbers> lambda;  // (stretches) of tangents
};

// Levenberg and Marquardt on a FitProblem. The best point so far is always kept.
class Descent {
 public:
  Descent(const FitProblem& problem, Effort& effort, FitPoint start)
      : problem_(problem),
        effort_(effort),
        loss_(effort.options.loss),
        K_(problem.size()),
        nt_(problem.tangents()),
        E_(problem.stretches().size()),
        at_(std::move(start)),
        theta_scale_(K_, 0.0),
        start_scale_(E_ * nt_, 0.0),
        system_(K_, nt_, chained(problem)) {
    links_.weight.assign(nt_, 0.0);
    links_.lambda.assign(E_, Numbers(nt_, 0.0));
  }

  // Evaluates the start; false where it cannot be run.
  bool begin() {
    if (evaluated_) return true;
    Evaluated e = evaluate_with_jacobian(at_);
    if (!e.ok) return false;
    take(std::move(e));
    history_.push_back(cost_);
    return true;
  }

  // Goes down until the tolerance, at most so many iterations.
  OptimiserStatus descend(double value_tolerance, int most) {
    build();
    for (int k = 0; k < most; ++k) {
      if (cost_ == 0) return OptimiserStatus::converged_value;
      const std::optional<OptimiserStatus> over = iterate(value_tolerance);
      if (over) return *over;
    }
    return OptimiserStatus::max_iterations;
  }

  // Gaps count from now on; weights in units of what the data say about starts.
  void weigh_links(double factor) {
    build();
    const Numbers diagonal = system_.start_diagonal();
    Numbers mean(nt_, 0.0);
    double all = 0;
    for (std::size_t e = 0; e < E_; ++e) {
      for (std::size_t i = 0; i < nt_; ++i) {
        mean[i] += diagonal[e * nt_ + i] / static_cast<double>(E_);
        all = std::max(all, diagonal[e * nt_ + i]);
      }
    }
    for (std::size_t i = 0; i < nt_; ++i) {
      links_.weight[i] = factor * std::max(mean[i], 1e-6 * std::max(all, 1e-12));
    }
    refresh();
  }
  void tighten(double factor, bool multipliers) {
    for (std::size_t e = 0; e < E_; ++e) {
      const Numbers& gap = evaluated_->stretches[e].gap;
      for (std::size_t i = 0; i < gap.size(); ++i) {
        if (multipliers) links_.lambda[e][i] += gap[i];
        links_.lambda[e][i] /= factor;  // λ w stays
      }
    }
    for (double& w : links_.weight) w *= factor;
    refresh();
  }
  double largest_gap() const {
    double most = 0;
    for (const StretchResiduals& s : evaluated_->stretches) {
      for (const double g : s.gap) most = std::max(most, std::abs(g));
    }
    return most;
  }

  // σ has changed: residuals and slopes are in other units.
  void rescale() {
    take(evaluate_with_jacobian(at_));
    mu_ = kFirstDamping;
    std::fill(theta_scale_.begin(), theta_scale_.end(), 0.0);
    std::fill(start_scale_.begin(), start_scale_.end(), 0.0);
  }

  const FitPoint& at() const { return at_; }
  const Evaluated& evaluated() const { return *evaluated_; }
  double cost() const { return cost_; }
  const Numbers& history() const { return history_; }

 private:
  static std::vector<bool> chained(const FitProblem& problem) {
    std::vector<bool> out;
    for (const FitStretch& s : problem.stretches()) out.push_back(!s.last);
    return out;
  }

  Evaluated evaluate_with_jacobian(const FitPoint& at) {
    effort_.steps += problem_.steps_per_run() * (evaluated_ ? 1 : 2);
    return problem_.evaluate(at, true);
  }

  void take(Evaluated e) {
    evaluated_ = std::move(e);
    cost_ = cost_of(*evaluated_, at_.theta);
  }
  void refresh() {
    cost_ = cost_of(*evaluated_, at_.theta);
    mu_ = std::min(mu_, kFirstDamping);
  }

  // F with (3).
  double cost_of(const Evaluated& e, std::span<const double> theta) const {
    if (!e.ok) return kInfinity;
    double sum = 0;
    for (std::size_t s = 0; s < E_; ++s) {
      for (const double r : e.stretches[s].r) sum += loss_of(loss_, r);
      const Numbers& gap = e.stretches[s].gap;
      for (std::size_t i = 0; i < gap.size(); ++i) {
        const double a = gap[i] + links_.lambda[s][i];
        sum += 0.5 * links_.weight[i] * a * a;
      }
    }
    const Numbers v = problem_.values(theta);
    for (const Unknowns::Prior& p : problem_.priors()) {
      const double r = (v[static_cast<std::size_t>(p.place)] - p.mean) / p.std;
      sum += 0.5 * r * r;
    }
    return sum;
  }

  // The normal equations where the search stands.
  void build() {
    system_.clear();
    for (std::size_t e = 0; e < E_; ++e) {
      const StretchResiduals& s = evaluated_->stretches[e];
      Numbers w(s.r.size());
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = weight_of(loss_, s.r[i]);
      system_.add(e, s.r, s.J, w);
      if (!problem_.stretches()[e].free) system_.hold_start(e);
      if (s.gap.empty()) continue;
      Numbers a = s.gap;
      for (std::size_t i = 0; i < nt_; ++i) a[i] += links_.lambda[e][i];
      system_.add_link(e, a, s.end_tan, links_.weight);
    }
    const Numbers v = problem_.values(at_.theta), dv = problem_.values_jacobian(at_.theta);
    for (const Unknowns::Prior& p : problem_.priors()) {
      const std::size_t row = static_cast<std::size_t>(p.place);
      Numbers J(K_);
      for (std::size_t j = 0; j < K_; ++j) J[j] = dv[row * K_ + j] / p.std;
      system_.add_theta((v[row] - p.mean) / p.std, J);
    }
    // At a bound, and drawn beyond it.
    for (std::size_t i = 0; i < K_; ++i) {
      const double g = system_.theta_gradient()[i];
      const bool low = at_.theta[i] <= problem_.low()[i], high = at_.theta[i] >= problem_.high()[i];
      if ((low && high) || (low && g > 0) || (high && g < 0)) system_.hold_theta(i);
    }
    const Numbers theta = system_.theta_diagonal(), starts = system_.start_diagonal();
    for (std::size_t i = 0; i < K_; ++i) {
      theta_scale_[i] = std::max(theta_scale_[i], std::sqrt(theta[i]));
    }
    for (std::size_t i = 0; i < starts.size(); ++i) {
      start_scale_[i] = std::max(start_scale_[i], std::sqrt(starts[i]));
    }
  }

  static double scale(double s) { return s > 0 ? s : 1; }

  std::optional<OptimiserStatus> iterate(double value_tolerance) {
    Numbers theta_damping(K_), start_damping(E_ * nt_);
    for (std::size_t i = 0; i < K_; ++i) {
      theta_damping[i] = mu_ * scale(theta_scale_[i]) * scale(theta_scale_[i]);
    }
    for (std::size_t i = 0; i < start_damping.size(); ++i) {
      start_damping[i] = mu_ * scale(start_scale_[i]) * scale(start_scale_[i]);
    }
    ArrowSystem::Step step = system_.solve(theta_damping, start_damping);
    if (!step.ok) {
      return refuse() ? std::nullopt : std::optional(OptimiserStatus::non_finite);
    }
    Numbers theta = at_.theta;
    for (std::size_t i = 0; i < K_; ++i) theta[i] += step.theta[i];
    problem_.project(at_.theta, theta);
    double length = 0, size = 0;
    for (std::size_t i = 0; i < K_; ++i) {
      step.theta[i] = theta[i] - at_.theta[i];
      length = std::hypot(length, scale(theta_scale_[i]) * step.theta[i]);
      size = std::hypot(size, scale(theta_scale_[i]) * at_.theta[i]);
    }
    for (std::size_t i = 0; i < step.starts.size(); ++i) {
      length = std::hypot(length, scale(start_scale_[i]) * step.starts[i]);
    }
    const double promised = promised_fall(step);
    const double near = std::sqrt(2 * cost_) + size;
    if (length <= kStepTolerance * near) return OptimiserStatus::converged_step;
    if (promised <= value_tolerance * cost_ && mu_ <= 1) return OptimiserStatus::converged_value;
    ++effort_.iterations;
    FitPoint trial = problem_.moved(at_, theta, step.starts);
    effort_.steps += problem_.steps_per_run();
    const Evaluated seen = problem_.evaluate(trial, false);
    const double cost = cost_of(seen, trial.theta);
    const double fall = cost_ - cost, rho = promised > 0 ? fall / promised : -1;
    if (!(rho > 0) || !std::isfinite(cost)) {
      if (!effort_.say(cost_)) return OptimiserStatus::stopped;
      // A fall that is lost in the rounding of F is none.
      if (promised <= 1e-13 * cost_) return OptimiserStatus::converged_value;
      return refuse() ? std::nullopt : std::optional(OptimiserStatus::converged_step);
    }
    Evaluated e;
    try {
      e = evaluate_with_jacobian(trial);
    } catch (const GradientError&) {
      return refuse() ? std::nullopt : std::optional(OptimiserStatus::non_finite);
    }
    if (!e.ok) return refuse() ? std::nullopt : std::optional(OptimiserStatus::non_finite);
    at_ = std::move(trial);
    take(std::move(e));
    history_.push_back(cost_);
    mu_ = std::max(kLeastDamping, mu_ * std::max(1.0 / 3, 1 - std::pow(2 * rho - 1, 3)));
    nu_ = 2;
    build();
    if (!effort_.say(cost_)) return OptimiserStatus::stopped;
    return std::nullopt;
  }

  // False where the damping cannot grow any more.
  bool refuse() {
    mu_ *= nu_;
    nu_ *= 2;
    return mu_ <= kMostDamping;
  }

  // The fall of the quadratic model of F along a step.
  double promised_fall(const ArrowSystem::Step& step) const {
    double fall = 0;
    const std::size_t c = K_ + nt_;
    const auto along = [&](const double* row, std::size_t e) {
      double sum = 0;
      for (std::size_t j = 0; j < K_; ++j) sum += row[j] * step.theta[j];
      for (std::size_t j = 0; j < nt_; ++j) sum += row[K_ + j] * step.starts[e * nt_ + j];
      return sum;
    };
    for (std::size_t e = 0; e < E_; ++e) {
      const StretchResiduals& s = evaluated_->stretches[e];
      for (std::size_t i = 0; i < s.r.size(); ++i) {
        const double d = along(s.J.data() + i * c, e), r = s.r[i];
        fall -= weight_of(loss_, r) * (r * d + 0.5 * d * d);
      }
      for (std::size_t i = 0; i < s.gap.size(); ++i) {
        const double a = s.gap[i] + links_.lambda[e][i],
                     d = step.starts[(e + 1) * nt_ + i] - along(s.end_tan.data() + i * c, e);
        fall -= links_.weight[i] * (a * d + 0.5 * d * d);
      }
    }
    const Numbers v = problem_.values(at_.theta), dv = problem_.values_jacobian(at_.theta);
    for (const Unknowns::Prior& p : problem_.priors()) {
      const std::size_t row = static_cast<std::size_t>(p.place);
      double d = 0;
      for (std::size_t j = 0; j < K_; ++j) d += dv[row * K_ + j] * step.theta[j] / p.std;
      const double r = (v[row] - p.mean) / p.std;
      fall -= r * d + 0.5 * d * d;
    }
    return fall;
  }

  const FitProblem& problem_;
  Effort& effort_;
  Loss loss_;
  std::size_t K_, nt_, E_;
  FitPoint at_;
  std::optional<Evaluated> evaluated_;
  double cost_ = kInfinity, mu_ = kFirstDamping, nu_ = 2;
  Numbers theta_scale_, start_scale_;
  ArrowSystem system_;
  Links links_;
  Numbers history_;
};

// The square root of the information on θ: rows of (5), and of priors. J by values, not by θ.
Matrix information_root(const FitProblem& problem, const Evaluated& at, Loss loss,
                        std::span<const double> theta) {
  const std::size_t K = problem.size(), nt = problem.tangents(), c = K + nt;
  std::vector<Matrix> parts;
  std::size_t e = 0;
  while (e < at.stretches.size()) {
    const std::size_t first = e;
    while (!problem.stretches()[e].last) ++e;
    ++e;
    std::size_t rows = 0;
    for (std::size_t s = first; s < e; ++s) rows += at.stretches[s].r.size();
    // ∂s_e/∂(θ, s_first), gaps being closed.
    Matrix by_theta = Matrix::Zero(index(nt), index(K)),
           by_start = Matrix::Identity(index(nt), index(nt));
    Matrix J(index(rows), index(K + nt));
    std::size_t row = 0;
    for (std::size_t s = first; s < e; ++s) {
      const StretchResiduals& own = at.stretches[s];
      const Eigen::Map<const Matrix> Js(own.J.data(), index(own.r.size()), index(c));
      Matrix part(index(own.r.size()), index(c));
      part.leftCols(index(K)) = Js.leftCols(index(K)) + Js.rightCols(index(nt)) * by_theta;
      part.rightCols(index(nt)) = Js.rightCols(index(nt)) * by_start;
      for (std::size_t i = 0; i < own.r.size(); ++i) {
        part.row(index(i)) *= std::sqrt(weight_of(loss, own.r[i]));
      }
      J.middleRows(index(row), index(own.r.size())) = part;
      row += own.r.size();
      if (problem.stretches()[s].last) break;
      const Eigen::Map<const Matrix> end(own.end_tan.data(), index(nt), index(c));
      const Matrix theta_next = end.leftCols(index(K)) + end.rightCols(index(nt)) * by_theta;
      by_start = (end.rightCols(index(nt)) * by_start).eval();
      by_theta = theta_next;
    }
    Matrix left = J.leftCols(index(K));
    if (problem.stretches()[first].free && rows > 0) {
      Matrix starts = J.rightCols(index(nt));
      for (Eigen::Index j = 0; j < starts.cols(); ++j) {
        const double length = starts.col(j).norm();
        if (length > 0) starts.col(j) /= length;
      }
      Eigen::ColPivHouseholderQR<Matrix> qr(starts);
      qr.setThreshold(1e-10);
      left = (qr.householderQ().transpose() * left).eval();
      const Eigen::Index rank = qr.rank();
      left = left.bottomRows(left.rows() - rank).eval();
    }
    if (left.rows() > left.cols() && K > 0) {  // its triangle says the same
      const Eigen::HouseholderQR<Matrix> qr(left);
      const Matrix R = qr.matrixQR().topRows(index(K)).triangularView<Eigen::Upper>();
      left = R;
    }
    parts.push_back(std::move(left));
  }
  // Of priors, whose Jacobian by values is a unit row.
  Matrix priors = Matrix::Zero(index(problem.priors().size()), index(K));
  for (std::size_t i = 0; i < problem.priors().size(); ++i) {
    priors(index(i), problem.priors()[i].place) = 1 / problem.priors()[i].std;
  }
  Eigen::Index rows = priors.rows();
  for (const Matrix& part : parts) rows += part.rows();
  Matrix all(rows, index(K));
  Eigen::Index row = 0;
  // ∂r/∂v = ∂r/∂θ (∂v/∂θ)⁻¹
  const Numbers dv = problem.values_jacobian(theta);
  const Eigen::Map<const Matrix> D(dv.data(), index(K), index(K));
  const Eigen::PartialPivLU<Matrix> lu(D.transpose());
  for (const Matrix& part : parts) {
    if (part.rows() == 0 || K == 0) continue;
    all.middleRows(row, part.rows()) = lu.solve(part.transpose()).transpose();
    row += part.rows();
  }
  all.middleRows(row, priors.rows()) = priors;
  row += priors.rows();
  return all.topRows(row);
}

// (4), per output and kind of number; true where something changed by more than a percent.
bool estimate_sigma(FitProblem& problem, const Evaluated& at) {
  struct Sum {
    double square = 0, count = 0;
  };
  // By name of the output, and whether it is a quaternion's.
  std::map<std::pair<std::string, bool>, Sum> sums;
  const auto key = [&](int r, int piece) {
    const Measured& m = problem.measured()[static_cast<std::size_t>(r)];
    const MeasuredPiece& p = m.pieces()[static_cast<std::size_t>(piece)];
    return std::pair(m.outputs()[static_cast<std::size_t>(p.output)].name, p.quaternion);
  };
  const auto sigma_of = [&](int r, int piece) {
    const std::size_t c = static_cast<std::size_t>(problem.measured()[static_cast<std::size_t>(r)]
                                                       .pieces()[static_cast<std::size_t>(piece)]
                                                       .column);
    return problem.sigma(static_cast<std::size_t>(r))[c];
  };
  double all = 0;
  for (const StretchResiduals& s : at.stretches) {
    for (std::size_t i = 0; i < s.r.size(); ++i) {
      const ResidualPlace& p = s.places[i];
      if (!problem.recordings()[static_cast<std::size_t>(p.recording)].sigma.empty()) continue;
      Sum& sum = sums[key(p.recording, p.piece)];
      const double e = s.r[i] * sigma_of(p.recording, p.piece);
      sum.square += e * e;
      sum.count += 1;
      all += 1;
    }
  }
  double unknown = static_cast<double>(problem.size());
  for (const FitStretch& s : problem.stretches()) {
    if (s.free && s.first_step == 0) unknown += static_cast<double>(problem.tangents());
  }
  const double share = all > 2 * unknown ? 1 - unknown / all : 0.5;
  bool changed = false;
  for (std::size_t r = 0; r < problem.recordings().size(); ++r) {
    if (!problem.recordings()[r].sigma.empty()) continue;
    for (std::size_t q = 0; q < problem.measured()[r].pieces().size(); ++q) {
      const MeasuredPiece& piece = problem.measured()[r].pieces()[q];
      const Sum& sum = sums[key(static_cast<int>(r), static_cast<int>(q))];
      if (sum.count == 0) continue;
      const std::size_t c = static_cast<std::size_t>(piece.column);
      const double old = problem.sigma(r)[c];
      // What fits exactly is not weighted without end.
      const double now = std::max(std::sqrt(sum.square / (sum.count * share)), 1e-9 * old);
      const double next = now > 0 ? now : old;
      changed = changed || std::abs(next - old) > 0.01 * old;
      for (int i = 0; i < piece.columns(); ++i) {
        problem.set_sigma(r, c + static_cast<std::size_t>(i), next);
      }
    }
  }
  return changed;
}

// One descent to the end, with rounds for gaps and σ.
OptimiserStatus run_descent(FitProblem& problem, Descent& descent, const IdentifyOptions& options) {
  const bool links = std::any_of(problem.stretches().begin(), problem.stretches().end(),
                                 [](const FitStretch& s) { return !s.last; });
  const auto finish = [&](double tolerance) {
    OptimiserStatus status = OptimiserStatus::max_iterations;
    if (!links) return descent.descend(tolerance, options.iterations);
    double gap = kInfinity;
    for (int round = 0; round < kMostRounds; ++round) {
      const bool near = gap <= kGap;
      status = descent.descend(near ? tolerance : kLooseTolerance, options.iterations);
      if (status == OptimiserStatus::stopped || status == OptimiserStatus::non_finite)
        return status;
      const double now = descent.largest_gap();
      if (near && now <= kGap) return status;
      descent.tighten(now > 0.25 * gap && round > 0 ? 10 : 3, true);
      gap = now;
    }
    return descent.largest_gap() <= kGap ? status : OptimiserStatus::max_iterations;
  };
  if (links) descent.weigh_links(0.1);
  OptimiserStatus status = finish(kValueTolerance);
  for (int round = 0; round < kSigmaRounds && !problem.sigma_known(); ++round) {
    if (!is_converged(status) && status != OptimiserStatus::max_iterations) return status;
    if (!estimate_sigma(problem, descent.evaluated())) break;
    descent.rescale();
    if (links) descent.weigh_links(10);
    status = finish(kValueTolerance);
  }
  return status;
}

void describe_outputs(const FitProblem& problem, const Evaluated& at, Fit& fit) {
  struct Seen {
    double square = 0, sigma = 0;
    std::int64_t count = 0;
    std::map<std::array<int, 3>, Numbers> series;  // of recording, piece and number
  };
  std::vector<std::string> order;
  std::map<std::string, Seen> seen;
  for (const Measured& m : problem.measured()) {
    for (const RecordedOutput& o : m.outputs()) {
      if (seen.emplace(o.name, Seen()).second) order.push_back(o.name);
    }
  }
  for (const StretchResiduals& s : at.stretches) {
    for (std::size_t i = 0; i < s.r.size(); ++i) {
      const ResidualPlace& p = s.places[i];
      const Measured& m = problem.measured()[static_cast<std::size_t>(p.recording)];
      const MeasuredPiece& piece = m.pieces()[static_cast<std::size_t>(p.piece)];
      Seen& of = seen[m.outputs()[static_cast<std::size_t>(piece.output)].name];
      const double sigma = problem.sigma(
          static_cast<std::size_t>(p.recording))[static_cast<std::size_t>(piece.column)];
      of.square += s.r[i] * s.r[i] * sigma * sigma;
      of.sigma += sigma * sigma;
      // Three residuals are one angle.
      of.count += !piece.quaternion || p.number == 0 ? 1 : 0;
      of.series[{p.recording, p.piece, p.number}].push_back(s.r[i]);
    }
  }
  for (const std::string& name : order) {
    const Seen& s = seen[name];
    std::vector<Numbers> series;
    std::size_t numbers = 0;
    for (const auto& [place, e] : s.series) series.push_back(e), numbers += e.size();
    FitOutput out;
    out.name = name;
    out.count = s.count;
    out.rms = s.count > 0 ? std::sqrt(s.square / static_cast<double>(s.count)) : 0;
    out.sigma = numbers > 0 ? std::sqrt(s.sigma / static_cast<double>(numbers)) : 0;
    out.whiteness = ljung_box(series);
    fit.outputs.push_back(out);
  }
}

void describe_parameters(const FitProblem& problem, Fit& fit) {
  for (const Unknowns::Group& group : problem.unknowns().groups()) {
    for (const Unknowns::Member& member : group.members) {
      fit.parameters.push_back({member.name, group.place, group.size, group.shape});
    }
  }
  for (const SensorUnknown& s : problem.sensors()) {
    fit.parameters.push_back(
        {s.name, s.place, s.size, s.size == 1 ? std::vector<int>() : std::vector<int>{s.size}});
  }
}

// What the data say about θ at the end.
void judge(const FitProblem& problem, const Descent& descent, const FitPoint& guess, Loss loss,
           Fit& fit) {
  const std::size_t K = problem.size();
  const Matrix root = information_root(problem, descent.evaluated(), loss, descent.at().theta);
  WeakInput input;
  input.rows = static_cast<std::size_t>(root.rows());
  input.R = std::span(root.data(), input.rows * K);
  const Numbers values = problem.values(descent.at().theta), first = problem.values(guess.theta);
  input.values = values;
  input.guess = first;
  input.names = problem.names();
  for (std::size_t i = 0; i < K; ++i) {
    input.positive.push_back(i < problem.unknowns().size() && problem.unknowns().positive(i));
  }
  const Weakness weakness = find_weakness(input);
  fit.weak = weakness.sentences;
  fit.determined = weakness.determined;
  fit.covariance = weakness.covariance;
  for (std::size_t i = 0; i < K; ++i) fit.std.push_back(std::sqrt(fit.covariance[i * K + i]));
}

// Starts of further descents: the best of a Sobol set around the guess, judged in one batch.
std::vector<Numbers> further_starts(FitProblem& problem, const FitPoint& guess, int restarts,
                                    std::uint64_t seed, Effort& effort) {
  const std::size_t K = problem.size(), n = kSobolPerRestart * static_cast<std::size_t>(restarts);
  const Numbers unit = sobol(n, K, seed);
  std::vector<Numbers> thetas(n, guess.theta);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < K; ++j) {
      const double u = unit[i * K + j], at = guess.theta[j], low = problem.low()[j],
                   high = problem.high()[j];
      if (std::isfinite(low) && std::isfinite(high)) {
        thetas[i][j] = low + u * (high - low);
      } else if (low >= 0 && at > 0) {  // a factor of four each way
        thetas[i][j] = std::clamp(at * std::exp2(4 * u - 2), low, high);
      } else {
        const double reach = at != 0 ? 2 * std::abs(at) : 1;
        thetas[i][j] = std::clamp(at + (2 * u - 1) * reach, low, high);
      }
    }
  }
  effort.steps += problem.steps_per_run() * static_cast<std::int64_t>(n);
  const std::vector<double> costs = problem.costs(guess, thetas);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  std::vector<Numbers> best;
  for (std::size_t i = 0; i < n && best.size() < static_cast<std::size_t>(restarts); ++i) {
    if (std::isfinite(costs[order[i]])) best.push_back(thetas[order[i]]);
  }
  return best;
}

void check_options(const IdentifyOptions& options) {
  if (options.iterations < 1) {
    throw Error(message("iterations must be positive, got ", options.iterations));
  }
  if (options.restarts < 0) {
    throw Error(message("restarts must not be negative, got ", options.restarts));
  }
}

// Requests and options of parameters, and of sensors.
struct Asked {
  std::vector<UnknownRequest> parameters, sensors;
  UnknownOptions of_parameters, of_sensors;
};

Asked sorted(const std::vector<UnknownRequest>& params, const UnknownOptions& options) {
  Asked out;
  const auto is_sensor = [](const std::string& name) { return name.starts_with("output:"); };
  for (const UnknownRequest& request : params) {
    if (request.names.empty()) throw ParameterError("params: an unknown without a name");
    const bool sensor = is_sensor(request.names.front());
    if (sensor && request.names.size() > 1) {
      throw ParameterError(message("\"", request.names.front(), "\" cannot be tied"));
    }
    (sensor ? out.sensors : out.parameters).push_back(request);
  }
  out.of_parameters.parameters = options.parameters;
  for (const UnknownBounds& b : options.bounds) {
    (is_sensor(b.name) ? out.of_sensors : out.of_parameters).bounds.push_back(b);
  }
  for (const UnknownPrior& p : options.priors) {
    (is_sensor(p.name) ? out.of_sensors : out.of_parameters).priors.push_back(p);
  }
  return out;
}

// The fit without segments, from where segments have led.
Fit finish_whole(const System& system, const std::vector<Recording>& recordings,
                 const std::vector<UnknownRequest>& params, const IdentifyOptions& options,
                 const FitProblem& problem, const FitPoint& at) {
  IdentifyOptions own = options;
  own.shooting = 0;
  own.restarts = 0;
  own.theta = at.theta;
  own.starts.clear();
  for (std::size_t e = 0; e < problem.stretches().size(); ++e) {
    if (problem.stretches()[e].first_step > 0) continue;
    const auto from = at.starts.begin() + static_cast<std::ptrdiff_t>(e * problem.states());
    own.starts.insert(own.starts.end(), from, from + static_cast<std::ptrdiff_t>(problem.states()));
  }
  return identify(system, recordings, params, own);
}

std::string message_of(OptimiserStatus status, const Fit& fit) {
  if (status == OptimiserStatus::stopped) {
    return "Stopped before it converged: the best so far.";
  }
  if (fit.largest_gap > kGap) {
    return message("Segments do not meet: a gap of ", fit.largest_gap,
                   " is left. Allow more iterations, or take shorter segments.");
  }
  return advice(status);
}

}  // namespace

const char* name(Loss loss) {
  switch (loss) {
    case Loss::squared: return "squared";
    case Loss::huber: return "huber";
    case Loss::cauchy: return "cauchy";
  }
  return "unknown";
}

Fit identify(const System& system, const std::vector<Recording>& recordings,
             const std::vector<UnknownRequest>& params, const IdentifyOptions& options) {
  check_options(options);
  const Asked asked = sorted(params, options.unknowns);
  const StretchOptions running{options.threads, options.keep_going};
  FitProblem problem(system, recordings, Unknowns(system, asked.parameters, asked.of_parameters),
                     asked.sensors, asked.of_sensors, options.x0, options.shooting, running);
  Effort effort{options};
  effort.most = options.iterations;
  FitPoint guess = problem.start();
  const FitPoint first = guess;
  if (!options.theta.empty()) {
    if (options.theta.size() != guess.theta.size() ||
        options.starts.size() != guess.starts.size()) {
      throw Error("the fit to go on from has other unknowns or other recordings");
    }
    guess = {options.theta, options.starts};
  }
  Fit fit;
  std::optional<Descent> best;
  const auto stops = [&](const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Interrupted&) {
      return true;
    } catch (...) {
      return options.is_stop && options.is_stop(thrown);
    }
  };
  OptimiserStatus status = OptimiserStatus::max_iterations;
  const auto attempt = [&](const FitPoint& from) {
    Descent descent(problem, effort, from);
    OptimiserStatus ended = OptimiserStatus::stopped;
    bool begun = false, stopped = false;
    try {
      begun = descent.begin();
      if (begun && !best) fit.start_cost = descent.cost();
      if (begun && !effort.say(descent.cost())) {
        stopped = true;
      } else if (begun) {
        ended = run_descent(problem, descent, options);
        stopped = ended == OptimiserStatus::stopped;
      }
    } catch (...) {
      if (!begun || !stops(std::current_exception())) throw;
      ended = OptimiserStatus::stopped;
      stopped = true;
    }
    if (begun && (!best || descent.cost() < best->cost())) {
      best.emplace(std::move(descent));
      status = ended;
    }
    return begun && !stopped;
  };
  const Evaluated start = problem.evaluate(guess, false);
  if (!start.ok && options.restarts == 0) {
    throw Error(message("the run from the guess fails: ", start.reason,
                        "; give another guess, or restarts=... for starts elsewhere"));
  }
  bool go_on = !start.ok || attempt(guess);
  if (go_on && options.restarts > 0) {
    for (const Numbers& theta :
         further_starts(problem, guess, options.restarts, options.seed, effort)) {
      go_on = attempt({theta, guess.starts});
      if (best && status == OptimiserStatus::stopped && !go_on) break;
    }
  }
  if (!best) throw Error(message("no start can be run: ", start.reason));
  if (!go_on) status = OptimiserStatus::stopped;
  if (go_on && best->largest_gap() > kGap) {
    // Contacts and dry friction may leave gaps that no slope closes: the rest in one piece.
    Fit whole = finish_whole(system, recordings, params, options, problem, best->at());
    whole.start_cost = fit.start_cost;
    whole.iterations += effort.iterations;
    whole.steps += effort.steps;
    whole.seconds = effort.seconds();
    return whole;
  }
  const Descent& descent = *best;
  fit.names = problem.names();
  fit.values = problem.values(descent.at().theta);
  fit.flat = problem.parameters(descent.at().theta);
  fit.theta = descent.at().theta;
  fit.starts = descent.at().starts;
  for (std::size_t e = 0; e < problem.stretches().size(); ++e) {
    if (problem.stretches()[e].first_step > 0) continue;
    const auto from = fit.starts.begin() + static_cast<std::ptrdiff_t>(e * problem.states());
    fit.x0.insert(fit.x0.end(), from, from + static_cast<std::ptrdiff_t>(problem.states()));
  }
  describe_parameters(problem, fit);
  describe_outputs(problem, descent.evaluated(), fit);
  judge(problem, descent, first, options.loss, fit);
  for (std::size_t r = 0; r < recordings.size(); ++r) fit.sigma.push_back(problem.sigma(r));
  fit.cost = descent.cost();
  fit.history = descent.history();
  fit.largest_gap = descent.largest_gap();
  fit.status = status;
  fit.converged = is_converged(status) && fit.largest_gap <= kGap;
  fit.message = message_of(status, fit);
  fit.iterations = effort.iterations;
  fit.steps = effort.steps;
  fit.seconds = effort.seconds();
  problem.set_running({options.threads, {}});
  fit.shown = problem.shown(descent.at());
  return fit;
}

Fit fit_start(const System& system, const Recording& recording, std::span<const double> parameters,
              const IdentifyOptions& options) {
  IdentifyOptions own = options;
  own.unknowns.parameters.assign(parameters.begin(), parameters.end());
  own.x0 = {};
  own.x0.known = !recording.x0.empty();
  own.shooting = 0;
  own.restarts = 0;
  std::vector<UnknownRequest> sensors;
  for (const UnknownBounds& b : own.unknowns.bounds) sensors.push_back({{b.name}, b.low});
  return identify(system, {recording}, sensors, own);
}

}  // namespace cycloid::inline optimise
