#include "cycloid/optimise/fit/weak.h"

#include <Eigen/Core>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cycloid/base/error.h"

namespace cycloid::inline optimise {
namespace {

using Matrix = Eigen::MatrixXd;
constexpr double kInvolved = 1e-7;     // share of a number in a null direction that counts, squared
constexpr double kWhole = 1e-3;        // how near to a whole number counts as one
constexpr int kMostWhole = 6;          // largest exponent or factor
constexpr std::size_t kMostNamed = 6;  // numbers that a sentence names

Eigen::Index at(std::size_t i) { return static_cast<Eigen::Index>(i); }

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  if (names.size() > kMostNamed) text += message(" and ", names.size() - kMostNamed, " more");
  return text;
}

// The rows of a basis brought to reduced form, pivots first, so that whole ratios show.
std::vector<std::vector<double>> reduced(Matrix rows) {
  std::vector<std::vector<double>> out;
  Eigen::Index r = 0;
  for (Eigen::Index c = 0; c < rows.cols() && r < rows.rows(); ++c) {
    Eigen::Index best = r;
    for (Eigen::Index i = r; i < rows.rows(); ++i) {
      if (std::abs(rows(i, c)) > std::abs(rows(best, c))) best = i;
    }
    if (std::abs(rows(best, c)) < 1e-6) continue;
    rows.row(r).swap(rows.row(best));
    rows.row(r) /= rows(r, c);
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      if (i != r) rows.row(i) -= rows(i, c) * rows.row(r);
    }
    ++r;
  }
  for (Eigen::Index i = 0; i < r; ++i) {
    out.emplace_back();
    for (Eigen::Index c = 0; c < rows.cols(); ++c) out.back().push_back(rows(i, c));
  }
  return out;
}

// What is determined of a group, as products or sums; nothing where ratios are not whole.
std::vector<std::string> combinations(const Matrix& complement,
                                      const std::vector<std::string>& names, bool products) {
  std::vector<std::string> texts;
  for (const std::vector<double>& row : reduced(complement)) {
    const std::vector<int> whole = whole_ratios(row);
    if (whole.empty()) return {};
    texts.push_back(products ? product_text(names, whole) : sum_text(names, whole));
  }
  return texts;
}

}  // namespace

std::vector<int> whole_ratios(std::span<const double> v) {
  double largest = 0;
  for (const double x : v) largest = std::max(largest, std::abs(x));
  double first = 0;
  for (const double x : v) {
    if (first == 0 && std::abs(x) > kWhole * largest) first = x;
  }
  if (first == 0) return {};
  for (int multiple = 1; multiple <= 4; ++multiple) {
    std::vector<int> whole;
    for (const double x : v) {
      const double ratio = multiple * x / first, near = std::round(ratio);
      if (std::abs(ratio - near) > kWhole * std::max(1.0, std::abs(ratio)) ||
          std::abs(near) > kMostWhole) {
        whole.clear();
        break;
      }
      whole.push_back(static_cast<int>(near));
    }
    if (!whole.empty()) return whole;
  }
  return {};
}

std::string product_text(const std::vector<std::string>& names, const std::vector<int>& exponents) {
  const auto power = [](const std::string& name, int e) {
    static const char* const kPowers[] = {"", "", "²", "³", "⁴", "⁵", "⁶"};
    return name + kPowers[e];
  };
  std::string over, under;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (exponents[i] > 0) over += (over.empty() ? "" : " × ") + power(names[i], exponents[i]);
    if (exponents[i] < 0) under += " / " + power(names[i], -exponents[i]);
  }
  return (over.empty() ? "1" : over) + under;
}

std::string sum_text(const std::vector<std::string>& names, const std::vector<int>& factors) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (factors[i] == 0) continue;
    const int size = std::abs(factors[i]);
    text += text.empty() ? (factors[i] < 0 ? "-" : "") : factors[i] < 0 ? " - " : " + ";
    text += (size == 1 ? "" : message(size, " ")) + names[i];
  }
  return text;
}

Weakness find_weakness(const WeakInput& input) {
  const std::size_t K = input.names.size();
  Weakness out;
  out.determined.assign(K, true);
  out.acts.assign(K, true);
  out.covariance.assign(K * K, 0.0);
  if (K == 0) return out;
  std::vector<double> size(K);
  for (std::size_t j = 0; j < K; ++j) {
    size[j] = input.values[j] != 0 ? std::abs(input.values[j]) : 1;
  }
  Matrix A = Matrix::Zero(at(std::max(input.rows, K)), at(K));
  for (std::size_t i = 0; i < input.rows; ++i) {
    for (std::size_t j = 0; j < K; ++j) A(at(i), at(j)) = input.R[i * K + j] * size[j];
  }
  // Columns of equal length: how well numbers are told apart does not depend on their sizes.
  Eigen::VectorXd length = A.colwise().norm();
  const double longest = length.maxCoeff();
  for (std::size_t j = 0; j < K; ++j) {
    out.acts[j] = length(at(j)) > 1e-12 * longest;
    if (!out.acts[j]) A.col(at(j)).setZero();
    length(at(j)) = out.acts[j] ? length(at(j)) : 1;
    A.col(at(j)) /= length(at(j));
  }
  const Eigen::JacobiSVD<Matrix> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd& S = svd.singularValues();
  const Matrix& V = svd.matrixV();
  const double least = kNull * (S(0) > 0 ? S(0) : 1);
  // Null directions as relative changes, and who shares them.
  std::vector<Eigen::Index> null;
  for (Eigen::Index i = 0; i < V.cols(); ++i) {
    if (!(S(i) > least)) null.push_back(i);
  }
  Matrix N(at(K), static_cast<Eigen::Index>(null.size()));
  for (std::size_t i = 0; i < null.size(); ++i) N.col(at(i)) = V.col(null[i]);
  const Matrix P = N * N.transpose();
  std::vector<std::size_t> group(K);
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t i = 0; i < K; ++i) {
    out.determined[i] = P(at(i), at(i)) < kInvolved;
    for (std::size_t j = 0; j < i; ++j) {
      if (std::abs(P(at(i), at(j))) < kInvolved) continue;
      const std::size_t from = group[i], to = group[j];
      for (std::size_t& g : group) g = g == from ? to : g;
    }
  }
  for (std::size_t g = 0; g < K; ++g) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < K; ++i) {
      if (group[i] == g && !out.determined[i]) members.push_back(i);
    }
    if (members.empty()) continue;
    std::vector<std::string> names;
    bool positive = true, nonzero = true;
    for (const std::size_t i : members) {
      names.push_back(input.names[i]);
      positive = positive && input.positive[i] && input.values[i] > 0;
      nonzero = nonzero && input.values[i] != 0;
    }
    const std::size_t n = members.size();
    // Null directions in relative changes, restricted to the group.
    Matrix B(at(n), N.cols());
    for (std::size_t i = 0; i < n; ++i) {
      B.row(at(i)) = N.row(at(members[i])) / length(at(members[i]));
    }
    for (Eigen::Index c = 0; c < B.cols(); ++c) {
      const double norm = B.col(c).norm();
      if (norm > 0) B.col(c) /= norm;
    }
    const auto complement_of = [&](const Matrix& of) {
      const Eigen::JacobiSVD<Matrix> own(of, Eigen::ComputeFullU);
      Eigen::Index rank = 0;
      while (rank < own.singularValues().size() && own.singularValues()(rank) > 1e-6) ++rank;
      return Matrix(own.matrixU().rightCols(at(n) - rank).transpose());
    };
    const Matrix logs = complement_of(B);
    if (logs.rows() == 0) {
      out.sentences.push_back(quoted_list(names) + (n == 1 ? " does" : " do") +
                              " not act on what was measured");
      continue;
    }
    Matrix linear = B;  // absolute changes
    for (std::size_t i = 0; i < n; ++i) linear.row(at(i)) *= size[members[i]];
    for (Eigen::Index c = 0; c < linear.cols(); ++c) {
      const double norm = linear.col(c).norm();
      if (norm > 0) linear.col(c) /= norm;
    }
    std::vector<std::string> texts;
    if (positive) texts = combinations(logs, names, true);
    if (texts.empty()) texts = combinations(complement_of(linear), names, false);
    if (texts.empty() && nonzero) texts = combinations(logs, names, true);
    if (texts.empty() || texts.size() > kMostNamed) {
      out.sentences.push_back(message(quoted_list(names), " are not determined apart: only ",
                                      logs.rows(), " of ", n, " combinations of them leave",
                                      logs.rows() == 1 ? "s" : "", " a trace"));
    } else {
      out.sentences.push_back("only " + quoted_list(texts) +
                              (texts.size() == 1 ? " is determined" : " are determined"));
    }
  }
  // Covariance from the directions that are determined.
  for (std::size_t i = 0; i < K; ++i) {
    for (std::size_t j = 0; j < K; ++j) {
      double sum = 0;
      for (Eigen::Index s = 0; s < V.cols(); ++s) {
        if (S(s) > least) sum += V(at(i), s) * V(at(j), s) / (S(s) * S(s));
      }
      const bool known = out.determined[i] && out.determined[j];
      out.covariance[i * K + j] = known ? sum * size[i] * size[j] / (length(at(i)) * length(at(j)))
                                  : i == j ? std::numeric_limits<double>::infinity()
                                           : 0;
    }
    const double error = std::sqrt(out.covariance[i * K + i]),
                 most = std::max(std::abs(input.values[i]), std::abs(input.guess[i]));
    if (out.determined[i] && error > most && input.guess[i] != 0) {
      out.sentences.push_back(message(input.names[i], " is hardly determined: its standard error, ",
                                      error, ", exceeds its value, ", input.values[i]));
    }
  }
  return out;
}

}  // namespace cycloid::inline optimise
