#include "cycloid/learn/noise_network.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/network/network.h"

namespace cycloid::inline learn {
namespace {

constexpr double kLeastNoise = 1e-4;  // of the deviation that it begins with

}  // namespace

std::vector<double> NoiseNetwork::features(std::span<const double> x, std::span<const double> u,
                                           std::size_t rows) const {
  const std::size_t inputs = static_cast<std::size_t>(shape.inputs()), n = x.size() / rows;
  std::vector<double> out(rows * inputs, 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    std::copy_n(x.data() + r * n, n, out.data() + r * inputs);
    if (u.empty()) continue;
    std::copy_n(u.data() + r * (inputs - n), inputs - n, out.data() + r * inputs + n);
  }
  return out;
}

std::vector<double> NoiseNetwork::stated(std::span<const double> rows, std::span<const double> v,
                                         int threads) const {
  const std::size_t nt = least.size(), N = rows.size() / static_cast<std::size_t>(shape.inputs());
  std::vector<double> s(N * nt);
  const MlpPlan<double> plan(shape);
  MlpRows<double> call;
  call.rows = static_cast<std::int64_t>(N), call.w = v.data(), call.x = rows.data();
  call.y = s.data();
  run_rows(MlpCall::value, plan, call, threads);
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = least[i % nt] + std::exp(s[i]);  // (1)
  return s;
}

void NoiseNetwork::pull(std::span<const double> rows, std::span<const double> v,
                        std::span<const double> s, std::span<const double> s_bar,
                        std::span<double> v_bar, int threads) const {
  const std::size_t nt = least.size();
  std::vector<double> y_bar(s.size()), x_bar(rows.size());
  for (std::size_t i = 0; i < s.size(); ++i) y_bar[i] = (s[i] - least[i % nt]) * s_bar[i];  // (2)
  const MlpPlan<double> plan(shape);
  MlpRows<double> call;
  call.rows = static_cast<std::int64_t>(s.size() / nt), call.w = v.data(), call.x = rows.data();
  call.y_bar = y_bar.data(), call.x_bar = x_bar.data(), call.w_bar = v_bar.data();
  run_rows(MlpCall::pullback, plan, call, threads);
}

NoiseNetwork make_noise_network(const System& system, const Transitions& data,
                                const std::vector<int>& hidden, std::span<const double> first,
                                std::uint64_t seed) {
  check_transitions(system, data);
  const int n = system.states().size(), m = system.inputs().size();
  NoiseNetwork out;
  out.shape.widths = {n + m};
  out.shape.widths.insert(out.shape.widths.end(), hidden.begin(), hidden.end());
  out.shape.widths.push_back(system.states().tangent_size());
  if (const LearnedLaw* law = learned_law(system)) out.shape.angles = law->angles;
  for (int i = 0; i < n + m; ++i) {
    const std::vector<double>& from = i < n ? data.x : data.u;
    const std::size_t width = static_cast<std::size_t>(i < n ? n : m);
    double sum = 0, squares = 0, count = 0;
    for (std::size_t k = static_cast<std::size_t>(i < n ? i : i - n); k < from.size(); k += width) {
      sum += from[k], squares += from[k] * from[k], count += 1;
    }
    const double mean = count > 0 ? sum / count : 0;
    const double variance = count > 0 ? squares / count - mean * mean : 1;
    out.shape.input_shift.push_back(mean);
    out.shape.input_scale.push_back(variance > 1e-24 ? std::sqrt(variance) : 1);
  }
  for (const double s : first) {
    if (!(s > 0)) throw Error(message("noise must begin with deviations above zero; got ", s));
    out.shape.output_shift.push_back(std::log(s)), out.shape.output_scale.push_back(1);
    out.least.push_back(kLeastNoise * s);
  }
  out.shape.check();
  out.weights = initial_weights(out.shape, seed);
  return out;
}

}  // namespace cycloid::inline learn
