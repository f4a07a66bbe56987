#include "cycloid/learn/laplace.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline learn {
namespace {

using Matrix = Eigen::MatrixXd;

constexpr std::int64_t kBatchRows = 256;
constexpr int kEvidenceSteps = 100;
constexpr double kLeastPrior = 1e-9, kMostPrior = 1e12;
constexpr double kLeastMiss = 1e-12;  // relative to the largest of a number

std::vector<int> numbers_of(const System& system, const LaplaceOptions& options) {
  std::vector<std::string> names = options.params.empty() ? last_layers(system) : options.params;
  if (names.empty()) {
    throw Error(message("system \"", system.name(), "\" has no network; name its parameters"));
  }
  std::vector<int> numbers;
  for (const std::string& name : names) {
    const Parameter& p = system.parameters().find(name);
    if (!p.not_differentiable.empty()) {
      throw ParameterError(
          message("parameter \"", name, "\" is not differentiated: ", p.not_differentiable));
    }
    for (int i = 0; i < p.size; ++i) numbers.push_back(p.offset + i);
  }
  return numbers;
}

// Rows first … first + count - 1 of the data.
Transitions part_of(const System& system, const Transitions& data, std::int64_t first,
                    std::int64_t count) {
  const auto cut = [&](const std::vector<double>& from, std::int64_t width) {
    if (from.empty()) return std::vector<double>();
    return std::vector<double>(from.begin() + first * width,
                               from.begin() + (first + count) * width);
  };
  const std::int64_t n = system.states().size();
  return {cut(data.x, n), cut(data.next, n), cut(data.u, system.inputs().size())};
}

// (3): the prior of the largest evidence, for a sum with these eigenvalues.
double best_prior(const Eigen::VectorXd& eigenvalues, double size) {
  double alpha = 1;
  for (int i = 0; i < kEvidenceSteps; ++i) {
    const double gamma = (eigenvalues.array() / (eigenvalues.array() + alpha)).sum();
    alpha = std::clamp(gamma / std::max(size, 1e-300), kLeastPrior, kMostPrior);
  }
  return alpha;
}

}  // namespace

std::vector<std::string> last_layers(const System& system) {
  std::map<std::string, int> last;  // of each network
  for (const Parameter& p : system.parameters().all()) {
    const std::size_t at = p.name.rfind(".weight");
    if (at == std::string::npos) continue;
    const std::string digits = p.name.substr(at + 7);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    int& l = last[p.name.substr(0, at)];
    l = std::max(l, std::stoi(digits));
  }
  std::vector<std::string> names;
  for (const auto& [network, l] : last) {
    names.push_back(message(network, ".weight", l));
    const std::string bias = message(network, ".bias", l);
    if (system.parameters().contains(bias)) names.push_back(bias);
  }
  return names;
}

LaplacePosterior laplace_posterior(const System& given, const Transitions& data,
                                   const LaplaceOptions& options) {
  const System system = given.in_double();
  check_transitions(system, data);
  LaplacePosterior out;
  out.numbers = numbers_of(system, options);
  const std::int64_t N = data.rows(system), nt = system.states().tangent_size(),
                     k = static_cast<std::int64_t>(out.numbers.size()),
                     all = system.parameters().size();
  std::vector<Matrix> sums(static_cast<std::size_t>(nt), Matrix::Zero(k, k));
  Eigen::VectorXd squares = Eigen::VectorXd::Zero(nt);
  LineariseOptions derive;
  derive.params = true, derive.threads = options.threads, derive.keep_going = options.keep_going;
  for (std::int64_t first = 0; first < N; first += kBatchRows) {
    const std::int64_t count = std::min(kBatchRows, N - first);
    const Transitions rows = part_of(system, data, first, count);
    const Linearisation<double> lin = linearise(system, rows.x, rows.u, {}, derive);
    const std::vector<double> misses = step_misses(system, rows, lin.next);
    for (std::int64_t i = 0; i < nt; ++i) {
      Matrix J(count, k);
      for (std::int64_t r = 0; r < count; ++r) {
        const double* row = lin.P.data() + (r * nt + i) * all;
        for (std::int64_t c = 0; c < k; ++c) {
          J(r, c) = row[out.numbers[static_cast<std::size_t>(c)]];
        }
        const double miss = misses[static_cast<std::size_t>(r * nt + i)];
        squares[i] += miss * miss;
      }
      sums[static_cast<std::size_t>(i)].noalias() += J.transpose() * J;
    }
  }
  const double least =
      std::max(kLeastMiss * std::sqrt(squares.maxCoeff() / static_cast<double>(N)), 1e-150);
  Matrix H = Matrix::Zero(k, k);
  for (std::int64_t i = 0; i < nt; ++i) {
    const double sigma = std::max(least, std::sqrt(squares[i] / static_cast<double>(N)));
    out.noise.push_back(sigma);
    H += sums[static_cast<std::size_t>(i)] / (sigma * sigma);  // (1)
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(H);
  const Eigen::VectorXd values = eigen.eigenvalues().cwiseMax(0.0);
  double size = 0;
  for (const int i : out.numbers) {
    const double w = system.parameters().default_values()[static_cast<std::size_t>(i)];
    size += w * w;
  }
  out.prior = options.prior > 0 ? options.prior : best_prior(values, size);
  out.determined = (values.array() / (values.array() + out.prior)).sum();
  const Matrix F =
      eigen.eigenvectors() * (values.array() + out.prior).rsqrt().matrix().asDiagonal();  // (2)
  for (std::int64_t r = 0; r < k; ++r) {
    for (std::int64_t c = 0; c < k; ++c) out.factor.push_back(F(r, c));
  }
  return out;
}

std::vector<double> laplace_draw(const LaplacePosterior& of, std::span<const double> params,
                                 std::uint64_t seed, std::uint32_t draw) {
  const std::size_t k = of.numbers.size();
  std::vector<double> out(params.begin(), params.end()), xi(k);
  RandomStream random(seed, draw);
  for (double& v : xi) v = random.normal();
  for (std::size_t r = 0; r < k; ++r) {
    for (std::size_t c = 0; c < k; ++c) {
      out[static_cast<std::size_t>(of.numbers[r])] += of.factor[r * k + c] * xi[c];
    }
  }
  return out;
}

std::vector<double> laplace_directions(const LaplacePosterior& of, std::size_t parameters) {
  const std::size_t k = of.numbers.size();
  std::vector<double> out(k * parameters, 0.0);
  for (std::size_t r = 0; r < k; ++r) {
    for (std::size_t c = 0; c < k; ++c) {
      out[c * parameters + static_cast<std::size_t>(of.numbers[r])] = of.factor[r * k + c];
    }
  }
  return out;
}

}  // namespace cycloid::inline learn
