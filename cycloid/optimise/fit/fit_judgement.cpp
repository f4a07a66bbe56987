#include "cycloid/optimise/fit/fit_judgement.h"

#include <Eigen/Core>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "cycloid/optimise/fit/weak.h"
#include "cycloid/optimise/fit/whiteness.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

// R of a QR factorisation, which says the same as all the rows.
Matrix upper_triangle(const Matrix& rows) {
  if (rows.rows() <= rows.cols()) return rows;
  const Eigen::HouseholderQR<Matrix> qr(rows);
  return qr.matrixQR().topRows(rows.cols()).triangularView<Eigen::Upper>();
}

// The square root of the information on θ: rows of (2), and of priors. J by values, not by θ.
Matrix information_root(const FitProblem& problem, const Evaluated& at, Loss loss,
                        std::span<const double> theta) {
  const std::size_t K = problem.size(), nt = problem.start_columns(), c = K + nt;
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
    parts.push_back(K > 0 ? upper_triangle(left) : left);
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

}  // namespace

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

void judge(const FitProblem& problem, const FitPoint& at, const Evaluated& seen,
           const FitPoint& guess, Loss loss, Fit& fit) {
  const std::size_t K = problem.size();
  const Matrix root = information_root(problem, seen, loss, at.theta);
  WeakInput input;
  input.rows = static_cast<std::size_t>(root.rows());
  input.R = std::span(root.data(), input.rows * K);
  const Numbers values = problem.values(at.theta), first = problem.values(guess.theta);
  input.values = values;
  input.guess = first;
  input.names = problem.names();
  for (std::size_t i = 0; i < K; ++i) {
    input.positive.push_back(i < problem.unknowns().size() && problem.unknowns().positive(i));
  }
  const Matrix triangle = K > 0 ? upper_triangle(root) : root;
  fit.information_root.assign(triangle.data(), triangle.data() + triangle.size());
  const Weakness weakness = find_weakness(input);
  fit.weak = weakness.sentences;
  fit.determined = weakness.determined;
  fit.covariance = weakness.covariance;
  for (std::size_t i = 0; i < K; ++i) fit.std.push_back(std::sqrt(fit.covariance[i * K + i]));
}

}  // namespace cycloid::inline optimise
