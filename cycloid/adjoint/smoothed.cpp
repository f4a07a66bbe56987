#include "cycloid/adjoint/smoothed.h"

#include <algorithm>
#include <cmath>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline adjoint {
namespace {

// Environments that run at once, at least; and numbers of inputs, about.
constexpr std::int64_t kRowsAtOnce = 2048, kInputsAtOnce = std::int64_t{1} << 23;

std::size_t n(std::int64_t count) { return static_cast<std::size_t>(count); }

// Sums over the samples of an environment, for means and their variances.
struct Moments {
  Moments(std::int64_t rows, std::int64_t numbers)
      : width(n(numbers)), sum(n(rows) * width), square(n(rows) * width) {}
  template <class T>
  void add(std::int64_t row, const T* values) {
    for (std::size_t i = 0; i < width; ++i) add(row, i, static_cast<double>(values[i]));
  }
  void add(std::int64_t row, std::size_t i, double value) {
    sum[n(row) * width + i] += value;
    square[n(row) * width + i] += value * value;
  }
  double mean(std::int64_t row, std::size_t i, double count) const {
    return count > 0 ? sum[n(row) * width + i] / count : 0;
  }
  // Of the mean.
  double variance(std::int64_t row, std::size_t i, double count) const {
    if (count < 2) return 0;
    const double m = mean(row, i, count);
    return std::max(0.0, square[n(row) * width + i] / count - m * m) / (count - 1);
  }
  std::size_t width;
  std::vector<double> sum, square;
};

// What one environment's rows become: kept, or summed where environments share them.
template <class T>
struct Shaped {
  Shaped(std::int64_t rows, std::size_t width)
      : rows_(n(rows)), width_(width), mean(rows_ * width), variance(rows_ * width) {}
  void add(std::int64_t environment, std::size_t i, double value, double spread) {
    const std::size_t at = (rows_ == 1 ? 0 : n(environment)) * width_ + i;
    mean[at] += value;
    variance[at] += spread;
  }
  template <class U>
  static std::vector<U> as(const std::vector<double>& from) {
    return {from.begin(), from.end()};
  }
  std::size_t rows_, width_;
  std::vector<double> mean, variance;
};

template <class T>
class Smoothing {
 public:
  Smoothing(const Trajectory<T>& trajectory, std::span<const T> states_bar, const Smoothed& how,
            const PullbackOptions& options)
      : trajectory_(trajectory),
        run_(trajectory.run()),
        bar_(states_bar),
        how_(how),
        options_(options),
        inputs_(n(run_.steps) * n(run_.system.inputs().size())),
        alive_(n(run_.batch * how.samples), 1),
        value_(n(run_.batch * how.samples)),
        x0_(run_.batch, options.x0 ? run_.system.states().size() : 0),
        tangent_(run_.batch, options.x0 ? run_.system.states().tangent_size() : 0),
        controls_(run_.batch, wants_first() ? static_cast<std::int64_t>(inputs_) : 0),
        params_(run_.batch, options.params ? run_.system.parameters().size() : 0) {
    if (run_.system.inputs().size() == 0) {
      throw Error(
          message("a smoothed gradient is that of a mean over noise on the inputs, and "
                  "system \"",
                  run_.system.name(), "\" has none"));
    }
    for (std::int64_t i = 0; i < run_.system.inputs().size(); ++i) {
      scale_.push_back(how.sigma * run_.system.input_width(i));
    }
  }

  Gradient<T> gradient() {
    const std::int64_t row = std::max<std::int64_t>(1, static_cast<std::int64_t>(inputs_));
    const std::int64_t rows = std::max(engine_of<T>(run_.system).at_once(run_),
                                       std::min(kRowsAtOnce, kInputsAtOnce / row));
    const std::int64_t each = std::clamp<std::int64_t>(rows / run_.batch, 1, how_.samples);
    for (std::int64_t first = 0; first < how_.samples; first += each) {
      run_samples(first, std::min<std::int64_t>(each, how_.samples - first));
    }
    return collect();
  }

 private:
  bool wants_first() const { return options_.controls && how_.order != Smoothed::Order::zeroth; }

  // Calls visit(i, ε) for the noise on input i of an environment's run, in one order.
  template <class Visit>
  void noise(std::int64_t environment, std::int64_t sample, Visit visit) const {
    RandomStream random(how_.seed, static_cast<std::uint32_t>(environment),
                        static_cast<std::uint64_t>(sample));
    for (std::size_t i = 0; i < inputs_; ++i) visit(i, random.normal());
  }
  double scale(std::size_t i) const { return scale_[i % scale_.size()]; }
  std::size_t at(std::int64_t environment, std::int64_t sample) const {
    return n(environment * how_.samples + sample);
  }

  // The run of some samples, environment after environment.
  Run<T> noisy_run(std::int64_t first, std::int64_t count) const {
    Run<T> run = run_;
    run.batch = run_.batch * count;
    run.order.clear();
    const auto repeat = [&](auto& rows, std::int64_t& have) {
      if (have <= 1) return;
      const std::size_t width = rows.size() / n(have);
      auto more = rows;
      more.resize(width * n(run.batch));
      for (std::size_t r = 0; r < n(run.batch); ++r) {
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(r / n(count) * width), width,
                    more.begin() + static_cast<std::ptrdiff_t>(r * width));
      }
      rows = std::move(more);
    };
    repeat(run.x0_raw, run.x0_rows);
    if (run.x0_rows > 1) run.x0_rows = run.batch;
    repeat(run.x0, run.start_rows);
    if (run.start_rows > 1) run.start_rows = run.batch;
    repeat(run.parameters, run.parameter_rows);
    if (!run.arrays.empty()) repeat(run.arrays, run.parameter_rows);
    if (run.parameter_rows > 1) run.parameter_rows = run.batch;
    run.controls.resize(n(run.batch) * inputs_);
    run.control_rows = run.batch;
    for (std::int64_t r = 0; r < run.batch; ++r) {
      const std::int64_t e = r / count;
      const std::size_t from = run_.control_rows > 1 ? n(e) * inputs_ : 0;
      T* const out = run.controls.data() + n(r) * inputs_;
      noise(e, first + r % count, [&](std::size_t i, double epsilon) {
        const double u = run_.control_rows == 0 ? 0 : static_cast<double>(run_.controls[from + i]);
        out[i] = static_cast<T>(u + scale(i) * epsilon);
      });
    }
    return run;
  }

  void run_samples(std::int64_t first, std::int64_t count) {
    Run<T> run = noisy_run(first, count);
    engine_of<T>(run.system).plan(run, run.memory);
    const Trajectory<T> many = roll_out(std::move(run), options_.keep_going);
    const auto sample = [&](std::int64_t row) { return at(row / count, first + row % count); };
    for (const auto& f : many.report().failed) alive_[sample(f.environment)] = 0;
    for (const auto& u : many.report().unsolved) alive_[sample(u.environment)] = 0;
    const std::size_t width = trajectory_.states().size() / n(run_.batch);
    std::vector<T> bars(many.states().size());
    for (std::int64_t r = 0; r < many.batch(); ++r) {
      const T *bar = bar_.data() + n(r / count) * width,
              *mean = trajectory_.states().data() + n(r / count) * width,
              *moved = many.states().data() + n(r) * width;
      double value = 0;  // J_k less J without noise
      for (std::size_t i = 0; i < width; ++i) {
        value += static_cast<double>(bar[i]) *
                 (static_cast<double>(moved[i]) - static_cast<double>(mean[i]));
      }
      value_[sample(r)] = value;
      std::copy_n(bar, width, bars.begin() + static_cast<std::ptrdiff_t>(n(r) * width));
    }
    if (!options_.x0 && !options_.params && !wants_first() &&
        (many.report().failed.empty() || options_.failed == PullbackOptions::Failed::skip)) {
      return;
    }
    PullbackOptions exact = options_;
    exact.gradient = ExactGradient{};
    exact.controls = wants_first();
    exact.each = true;
    const Gradient<T> g = many.pullback(bars, exact);  // (2)
    recomputed_ += g.recomputed_steps;
    for (std::int64_t r = 0; r < many.batch(); ++r) {
      if (!alive_[sample(r)]) continue;
      const std::int64_t e = r / count;
      if (options_.x0) {
        x0_.add(e, g.x0.data() + n(r) * x0_.width);
        tangent_.add(e, g.x0_tangent.data() + n(r) * tangent_.width);
      }
      if (wants_first()) controls_.add(e, g.controls.data() + n(r) * inputs_);
      if (options_.params) params_.add(e, g.params.data() + n(r) * params_.width);
    }
  }

  // (3), and its sum of squares.
  void add_zeroth(std::int64_t environment, double count, Moments& sums) const {
    double total = 0;
    for (std::int64_t k = 0; k < how_.samples; ++k) {
      if (alive_[at(environment, k)]) total += value_[at(environment, k)];
    }
    for (std::int64_t k = 0; k < how_.samples; ++k) {
      if (!alive_[at(environment, k)]) continue;
      const double own = value_[at(environment, k)],
                   others = (total - own) / (count - 1);  // J̄_k
      noise(environment, k, [&](std::size_t i, double epsilon) {
        sums.add(0, i, (own - others) * epsilon / scale(i));
      });
    }
  }

  // (4) for one environment.
  void mix(std::int64_t environment, double count, Shaped<T>& out) const {
    Moments zeroth(1, static_cast<std::int64_t>(inputs_));
    if (how_.order != Smoothed::Order::first) add_zeroth(environment, count, zeroth);
    const bool mixes = how_.order == Smoothed::Order::mix;
    std::vector<double> t_square(mixes ? inputs_ : 0);
    for (std::size_t i = 0; i < t_square.size(); ++i) {
      const double difference = controls_.mean(environment, i, count) - zeroth.mean(0, i, count);
      const double both = controls_.variance(environment, i, count) + zeroth.variance(0, i, count);
      t_square[i] = both > 0 ? difference * difference / both : 0;
    }
    const double most = differs_from(t_square, count);
    for (std::size_t i = 0; i < inputs_; ++i) {
      const double g0 = zeroth.mean(0, i, count), v0 = zeroth.variance(0, i, count);
      if (how_.order == Smoothed::Order::zeroth || (mixes && t_square[i] > most)) {
        out.add(environment, i, g0, v0);
        continue;
      }
      const double g1 = controls_.mean(environment, i, count),
                   v1 = controls_.variance(environment, i, count);
      if (!mixes || v0 + v1 == 0) {
        out.add(environment, i, g1, v1);
      } else {
        out.add(environment, i, (v0 * g1 + v1 * g0) / (v0 + v1), v0 * v1 / (v0 + v1));
      }
    }
  }

  // The t² above which the two orders differ: (5), or none where they differ altogether (6).
  static double differs_from(const std::vector<double>& t_square, double count) {
    double sum = 0, numbers = 0;
    for (const double t : t_square) sum += t, numbers += t > 0;
    if (numbers == 0) return 0;
    const double nu = count - 1;
    if (nu > 4) {
      const double mean = numbers * nu / (nu - 2), k = numbers * (nu - 4) / (nu - 1),
                   spread = 2 / (9 * k);
      if (std::cbrt(sum / mean) > 1 - spread + 3 * std::sqrt(spread)) return -1;
    }
    return nu * std::expm1((9 + 2 * std::log(numbers)) / nu);
  }

  Gradient<T> collect() const {
    const auto rows = [&](std::int64_t own) { return options_.each ? run_.batch : own; };
    Shaped<T> x0(rows(run_.x0_rows), x0_.width), tangent(rows(run_.x0_rows), tangent_.width),
        controls(rows(std::max<std::int64_t>(1, run_.control_rows)),
                 options_.controls ? inputs_ : 0),
        params(rows(run_.parameter_rows), params_.width);
    for (std::int64_t e = 0; e < run_.batch; ++e) {
      double count = 0;
      for (std::int64_t k = 0; k < how_.samples; ++k) count += alive_[at(e, k)];
      if (count < 2) continue;
      const auto take = [&](const Moments& from, Shaped<T>& to) {
        for (std::size_t i = 0; i < from.width; ++i) {
          to.add(e, i, from.mean(e, i, count), from.variance(e, i, count));
        }
      };
      take(x0_, x0);
      take(tangent_, tangent);
      take(params_, params);
      if (options_.controls) mix(e, count, controls);
    }
    const auto gradient = [&](bool spread) {
      Gradient<T> g;
      const auto part = [&](const Shaped<T>& s) { return spread ? s.variance : s.mean; };
      g.x0 = Shaped<T>::template as<T>(part(x0));
      g.x0_tangent = Shaped<T>::template as<T>(part(tangent));
      g.controls = Shaped<T>::template as<T>(part(controls));
      g.params = part(params);
      g.recomputed_steps = recomputed_;
      return g;
    };
    Gradient<T> g = gradient(false);
    g.variance = std::make_shared<const Gradient<T>>(gradient(true));
    return g;
  }

  const Trajectory<T>& trajectory_;
  const Run<T>& run_;
  std::span<const T> bar_;
  const Smoothed& how_;
  const PullbackOptions& options_;
  std::size_t inputs_;  // of a run
  std::vector<double> scale_;
  std::vector<char> alive_;    // (batch, samples)
  std::vector<double> value_;  // (batch, samples) J_k
  Moments x0_, tangent_, controls_, params_;
  std::int64_t recomputed_ = 0;
};

}  // namespace

template <class T>
Gradient<T> pull_back_smoothed(const Trajectory<T>& trajectory, std::span<const T> states_bar,
                               const Smoothed& how, const PullbackOptions& options) {
  return Smoothing<T>(trajectory, states_bar, how, options).gradient();
}

template Gradient<float> pull_back_smoothed(const Trajectory<float>&, std::span<const float>,
                                            const Smoothed&, const PullbackOptions&);
template Gradient<double> pull_back_smoothed(const Trajectory<double>&, std::span<const double>,
                                             const Smoothed&, const PullbackOptions&);

}  // namespace cycloid::inline adjoint
