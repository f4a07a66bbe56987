#include "cycloid/optimise/fit/verify_fit.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline optimise {
namespace {

using Numbers = std::vector<double>;

constexpr int kMostTries = 1000;  // draws that no body can have are drawn again

// As if its controls had come so many samples late, and with noise in units of their width.
Recording disturbed(const Recording& recording, const TestWorld& world) {
  Recording out = recording;
  const std::size_t rows = recording.samples(),
                    m = rows == 0 ? 0 : recording.controls.size() / rows;
  if (m == 0) return out;
  Numbers width(m);
  for (std::size_t c = 0; c < m; ++c) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t i = 0; i < rows; ++i) {
      low = std::min(low, recording.controls[i * m + c]);
      high = std::max(high, recording.controls[i * m + c]);
    }
    width[c] = high - low;
  }
  const std::size_t late = static_cast<std::size_t>(world.delay);
  for (std::size_t i = 0; i < rows; ++i) {
    RandomStream random(world.seed, 0, i);
    for (std::size_t c = 0; c < m; ++c) {
      out.controls[i * m + c] = recording.controls[(i < late ? 0 : i - late) * m + c];
      if (world.noise > 0) out.controls[i * m + c] += world.noise * width[c] * random.normal();
    }
  }
  return out;
}

// Parameters of a world by the names that another registry has, where these have changed.
Numbers moved_parameters(const System& world, const Parameters& names, std::span<const double> from,
                         std::span<const double> to) {
  Numbers out = world.parameters().default_values();
  for (const Parameter& p : names.all()) {
    if (!world.parameters().contains(p.name)) continue;
    const std::size_t own = static_cast<std::size_t>(world.parameters().find(p.name).offset);
    for (std::size_t i = 0; i < static_cast<std::size_t>(p.size); ++i) {
      const std::size_t at = static_cast<std::size_t>(p.offset) + i;
      if (from[at] != to[at]) out[own + i] = to[at];
    }
  }
  return out;
}

// Flat vectors drawn from the fit's covariance.
std::vector<Numbers> drawn(const System& system, const Fit& fit, int count, std::uint64_t seed) {
  const std::size_t K = fit.values.size();
  if (K == 0 || fit.covariance.size() != K * K) return {};
  using Matrix = Eigen::MatrixXd;
  Matrix C = Matrix::Zero(static_cast<Eigen::Index>(K), static_cast<Eigen::Index>(K));
  const auto known = [&](std::size_t i) { return std::isfinite(fit.covariance[i * K + i]); };
  for (std::size_t i = 0; i < K; ++i) {
    for (std::size_t j = 0; j < K; ++j) {
      if (known(i) && known(j)) {
        C(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = fit.covariance[i * K + j];
      }
    }
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(C);
  const Matrix root =
      eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
  std::vector<Numbers> rows;
  for (int attempt = 0; attempt < kMostTries * count && std::ssize(rows) < count; ++attempt) {
    RandomStream random(seed, 1, static_cast<std::uint64_t>(attempt));
    Eigen::VectorXd z(static_cast<Eigen::Index>(K));
    for (double& x : z) x = random.normal();
    const Eigen::VectorXd by = root * z;
    Numbers flat = fit.flat;
    for (const FitParameter& p : fit.parameters) {
      for (int i = 0; i < p.size && p.offset >= 0; ++i) {
        flat[static_cast<std::size_t>(p.offset + i)] =
            fit.values[static_cast<std::size_t>(p.place + i)] + by[p.place + i];
      }
    }
    try {
      system.check_parameters(flat);
    } catch (const Error&) {
      continue;
    }
    rows.push_back(std::move(flat));
  }
  return rows;
}

}  // namespace

IdentifyOptions start_options(const System& system, const Fit& fit, const Recording& recording,
                              const IdentifyOptions& fitted) {
  IdentifyOptions own;
  own.loss = fitted.loss;
  own.iterations = fitted.iterations;
  own.threads = fitted.threads;
  own.keep_going = fitted.keep_going;
  own.is_stop = fitted.is_stop;
  const std::vector<RecordedOutput> outputs = outputs_of(system, recording);
  for (const FitParameter& p : fit.parameters) {
    if (p.offset >= 0) continue;
    const std::string output = p.name.substr(7, p.name.rfind('.') - 7);
    const bool measured = std::any_of(outputs.begin(), outputs.end(),
                                      [&](const RecordedOutput& o) { return o.name == output; });
    if (!measured) continue;
    const auto from = fit.values.begin() + p.place;
    const Numbers at(from, from + p.size);
    own.unknowns.bounds.push_back({p.name, at, at});
  }
  return own;
}

Trust verify_fit(const System& given, const Fit& fit, const std::vector<Recording>& recordings,
                 std::span<const double> guess, const IdentifyOptions& fitted,
                 const VerifyOptions& options) {
  const System system = with_parameters(given, fit.flat);
  VerifyOptions own = options;
  const bool controlled = std::any_of(recordings.begin(), recordings.end(),
                                      [](const Recording& r) { return !r.controls.empty(); });
  if (!controlled) own.delay = 0, own.noise = 0;
  if (own.std.empty() && own.parameters.empty()) {
    own.parameters = drawn(system, fit, own.draws, own.seed);
  }
  const auto sigma_of = [&](const std::string& name) {
    const auto at = std::find_if(fit.outputs.begin(), fit.outputs.end(),
                                 [&](const FitOutput& o) { return o.name == name; });
    return at == fit.outputs.end() || at->sigma == 0 ? 1 : at->sigma;
  };
  const auto squares = [&](const TestWorld& world, const Numbers& p) {
    double sum = 0;
    for (const Recording& r : recordings) {
      const Recording seen = disturbed(r, world);
      IdentifyOptions how = start_options(world.system, fit, seen, fitted);
      how.threads = world.threads;
      how.keep_going = world.keep_going;
      try {
        for (const FitOutput& o : fit_start(world.system, seen, p, how).outputs) {
          sum += std::pow(o.rms / sigma_of(o.name), 2) * static_cast<double>(o.count);  // (1)
        }
      } catch (const Interrupted&) {
        throw;
      } catch (const Error&) {
        return std::numeric_limits<double>::infinity();  // a run that fails
      }
    }
    return sum;
  };
  const Judge judge = [&](const TestWorld& world) {
    const Numbers start = moved_parameters(world.system, system.parameters(), fit.flat, guess);
    return TestCosts{squares(world, start),
                     squares(world, world.system.parameters().default_values())};
  };
  return verify(system, judge, {}, own);
}

}  // namespace cycloid::inline optimise
