#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/training_loss.h"
#include "cycloid/learn/window_terms.h"
#include "cycloid/learn/windows.h"

namespace cycloid::inline learn {
namespace {

constexpr std::uint32_t kWindowStream = 0x77696e64;

template <class T>
class WindowLoss final : public TrainingLoss {
 public:
  WindowLoss(const System& system, WindowedRecordings data, const LossOptions& options)
      : system_(system),
        data_(std::move(data)),
        windows_(data_.windows),
        options_(options),
        terms_(system, options),
        nx_(system.states().size()),
        nu_(system.inputs().size()),
        around_(static_cast<std::size_t>(nx_), false) {
    if (const LearnedLaw* law = learned_law(system)) {
      for (const int a : law->angles) around_[static_cast<std::size_t>(a)] = true;
    }
  }

  std::int64_t samples() const override { return static_cast<std::int64_t>(windows_.size()); }

  void split(double share, std::vector<std::int64_t>& learn,
             std::vector<std::int64_t>& validate) const override {
    data_.split(share, learn, validate);
  }

  std::vector<double> own_numbers() const override {
    std::vector<double> starts;
    for (std::size_t w = 0; w < windows_.size() && shooting(); ++w) {
      const double* const row = measured_at(windows_[w], 0);
      starts.insert(starts.end(), row, row + nx_);
    }
    return starts;
  }

  double value(std::span<const double> all, const LossCall& call,
               std::vector<double>* p_bar) override {
    const std::size_t numbers = static_cast<std::size_t>(system_.parameters().size());
    const std::span<const double> p = all.first(numbers);
    Inputs in = inputs(all, call);
    const Trajectory<T> run = rollout(system_, std::span<const T>(in.x0), in.controls(nu_), p,
                                      {.threads = options_.threads});
    if (!run.report().failed.empty()) return std::numeric_limits<double>::infinity();
    std::vector<T> bar(p_bar ? run.states().size() : 0, T(0));
    std::vector<double> own_bar(p_bar ? all.size() - numbers : 0, 0.0);
    double loss = 0;
    for (const Compared& c : compared(call, in.steps)) {
      const double off = c.weight * difference(c, run.states(), all);
      loss += off * off;
      if (!p_bar) continue;
      bar[c.place] += static_cast<T>(2 * off * c.weight);
      if (c.own != kMeasured) own_bar[c.own] -= 2 * off * c.weight;
    }
    std::vector<double> more;  // what terms add to the parameters' gradient
    const std::int64_t B = static_cast<std::int64_t>(call.chosen.size());
    if (call.step >= 0 && !terms_.empty()) {
      const std::vector<double> x(run.states().begin(), run.states().end()),
          u(in.u.begin(), in.u.end());
      std::vector<double> x_bar(x.size(), 0.0);
      loss += terms_.value(p, {x, u, B, in.steps}, x_bar, p_bar ? &more : nullptr);  // (3)
      for (std::size_t i = 0; i < bar.size(); ++i) bar[i] += static_cast<T>(x_bar[i]);
    }
    if (!p_bar) return loss;
    if (options_.clip_each > 0) cut_windows(run, B, bar);
    PullbackOptions back;
    back.x0 = own_starts(call), back.controls = false;
    Gradient<T> g = run.pullback(std::span<const T>(bar), back);
    *p_bar = std::move(g.params);
    for (std::size_t i = 0; i < more.size(); ++i) (*p_bar)[i] += more[i];
    if (back.x0) add_starts(call, g.x0, own_bar);
    p_bar->insert(p_bar->end(), own_bar.begin(), own_bar.end());
    return loss;
  }

  std::size_t residual_count(const LossCall& call) const override {
    return options_.terms.empty() ? compared(call, longest(call)).size() : 0;
  }
  bool residuals(std::span<const double> all, const LossCall& call, std::span<double> r,
                 double* jacobian) override {
    const std::size_t numbers = static_cast<std::size_t>(system_.parameters().size()),
                      B = call.chosen.size();
    const std::span<const double> p = all.first(numbers);
    Inputs in = inputs(all, call);
    // With a row of parameters of its own, each window has a gradient of its own.
    std::vector<double> rows;
    for (std::size_t b = 0; b < (jacobian ? B : 1); ++b)
      rows.insert(rows.end(), p.begin(), p.end());
    const Trajectory<T> run = rollout(system_, std::span<const T>(in.x0), in.controls(nu_),
                                      std::span<const double>(rows), {.threads = options_.threads});
    if (!run.report().failed.empty()) return false;
    const std::vector<Compared> list = compared(call, in.steps);
    for (std::size_t k = 0; k < list.size(); ++k) {
      r[k] = std::sqrt(2.0) * list[k].weight * difference(list[k], run.states(), all);
    }
    if (jacobian) fill_jacobian(call, in.steps, run, list, all.size(), jacobian);
    return true;
  }

 private:
  std::int64_t ahead(const Window& w, int samples) const { return data_.ahead(w, samples); }

  // What runs from where.
  struct Inputs {
    std::int64_t steps = 1;
    std::vector<T> x0, u;
    Controls<T> controls(int inputs) const {
      return inputs > 0 ? Controls<T>(std::span<const T>(u), steps) : Controls<T>(steps);
    }
  };
  // A number of the runs' states and what it is compared with.
  struct Compared {
    std::size_t place, own;  // own: number of the starts, or kMeasured
    double target, weight;
    bool around;
  };
  static constexpr std::size_t kMeasured = static_cast<std::size_t>(-1);

  bool shooting() const { return options_.shooting > 0; }
  // Whether runs begin at states of their own: what is held back begins where it was measured.
  bool own_starts(const LossCall& call) const { return shooting() && call.step >= 0; }
  const double* measured_at(const Window& w, int ahead_by) const { return data_.row(w, ahead_by); }
  std::int64_t longest(const LossCall& call) const {
    std::int64_t steps = 1;
    for (const std::int64_t w : call.chosen) {
      const Window& at = windows_[static_cast<std::size_t>(w)];
      steps = std::max(steps, ahead(at, call.horizon) - ahead(at, 0));
    }
    return steps;
  }
  Inputs inputs(std::span<const double> all, const LossCall& call) const {
    Inputs in;
    const std::int64_t B = static_cast<std::int64_t>(call.chosen.size());
    in.steps = longest(call);
    in.x0.resize(static_cast<std::size_t>(B * nx_));
    in.u.assign(static_cast<std::size_t>(B * in.steps * nu_), T(0));
    const double* const own = all.data() + system_.parameters().size();
    for (std::int64_t b = 0; b < B; ++b) {
      begin(call, b, in.steps, in.x0, in.u);
      if (!own_starts(call)) continue;
      const double* const from = own + call.chosen[static_cast<std::size_t>(b)] * nx_;
      for (int i = 0; i < nx_; ++i) {
        in.x0[static_cast<std::size_t>(b * nx_ + i)] = static_cast<T>(from[i]);
      }
    }
    return in;
  }

  // The window that begins where this one ends, or -1; windows are in the order of their samples.
  std::int64_t next_of(std::int64_t w) const {
    const std::size_t next = static_cast<std::size_t>(w) + 1;
    const Window& at = windows_[static_cast<std::size_t>(w)];
    if (next >= windows_.size() || windows_[next].recording != at.recording) return -1;
    return windows_[next].sample == at.sample + options_.horizon ? w + 1 : -1;
  }

  // (2) and (4): the loss is the sum of the squares of weight × difference.
  std::vector<Compared> compared(const LossCall& call, std::int64_t steps) const {
    std::vector<Compared> list;
    const auto place = [&](std::size_t b, std::int64_t t, int i) {
      return static_cast<std::size_t>((static_cast<std::int64_t>(b) * (steps + 1) + t) * nx_ + i);
    };
    for (std::size_t b = 0; b < call.chosen.size(); ++b) {
      const Window& at = windows_[static_cast<std::size_t>(call.chosen[b])];
      for (int k = own_starts(call) ? 0 : 1; k <= call.horizon; ++k) {
        for (int i = 0; i < nx_; ++i) {
          const double y = measured_at(at, k)[i];
          if (std::isnan(y)) continue;
          list.push_back({place(b, ahead(at, k) - ahead(at, 0), i), kMeasured, y, 1 / scale(i),
                          around_[static_cast<std::size_t>(i)]});
        }
      }
    }
    weigh(1, 0, list);
    const std::size_t measured = list.size();
    for (std::size_t b = 0; b < call.chosen.size() && own_starts(call); ++b) {
      const std::int64_t w = call.chosen[b], next = next_of(w);
      if (next < 0) continue;
      const Window& at = windows_[static_cast<std::size_t>(w)];
      for (int i = 0; i < nx_; ++i) {
        list.push_back({place(b, ahead(at, options_.horizon) - ahead(at, 0), i),
                        static_cast<std::size_t>(next * nx_ + i), 0, 1 / scale(i),
                        around_[static_cast<std::size_t>(i)]});
      }
    }
    weigh(options_.shooting, measured, list);
    return list;
  }
  double scale(int i) const {
    return options_.scale.empty() ? 1 : options_.scale[static_cast<std::size_t>(i)];
  }
  // A mean, times `by`, of those from the first on.
  static void weigh(double by, std::size_t first, std::vector<Compared>& list) {
    const double factor = std::sqrt(by / static_cast<double>(list.size() - first));
    for (std::size_t k = first; k < list.size(); ++k) list[k].weight *= factor;
  }
  double difference(const Compared& c, std::span<const T> states,
                    std::span<const double> all) const {
    const std::size_t numbers = static_cast<std::size_t>(system_.parameters().size());
    const double off = static_cast<double>(states[c.place]) -
                       (c.own == kMeasured ? c.target : all[numbers + c.own]);
    return c.around ? std::remainder(off, 2 * std::numbers::pi) : off;
  }

  // Adds what came back to the starts of the chosen windows.
  void add_starts(const LossCall& call, const std::vector<T>& x0_bar,
                  std::vector<double>& own_bar) const {
    for (std::size_t b = 0; b < call.chosen.size(); ++b) {
      for (int i = 0; i < nx_; ++i) {
        own_bar[static_cast<std::size_t>(call.chosen[b] * nx_ + i)] += static_cast<double>(
            x0_bar[b * static_cast<std::size_t>(nx_) + static_cast<std::size_t>(i)]);
      }
    }
  }

  // Cotangents of windows whose gradient by the first state is much longer than the median's.
  void cut_windows(const Trajectory<T>& run, std::int64_t B, std::vector<T>& bar) const {
    PullbackOptions back;
    back.controls = back.params = false;
    const std::vector<T> x0 = run.pullback(std::span<const T>(bar), back).x0;
    std::vector<double> lengths;
    for (std::int64_t b = 0; b < B; ++b) {
      double sum = 0;
      for (int i = 0; i < nx_; ++i) {
        const double g = static_cast<double>(x0[static_cast<std::size_t>(b * nx_ + i)]);
        sum += g * g;
      }
      lengths.push_back(std::sqrt(sum));
    }
    std::vector<double> sorted = lengths;
    std::nth_element(sorted.begin(), sorted.begin() + B / 2, sorted.end());
    const double most = options_.clip_each * sorted[static_cast<std::size_t>(B / 2)];
    const std::size_t row = bar.size() / static_cast<std::size_t>(B);
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      if (!(lengths[b] > most) || most <= 0) continue;
      for (std::size_t i = b * row; i < (b + 1) * row; ++i) {
        bar[i] *= static_cast<T>(most / lengths[b]);
      }
    }
  }

  // Rows of ∂r/∂(p, starts): a pullback of all windows for each number of a window's states.
  void fill_jacobian(const LossCall& call, std::int64_t steps, const Trajectory<T>& run,
                     const std::vector<Compared>& list, std::size_t columns,
                     double* jacobian) const {
    const std::size_t row = static_cast<std::size_t>((steps + 1) * nx_),
                      numbers = static_cast<std::size_t>(system_.parameters().size()),
                      n = static_cast<std::size_t>(nx_);
    std::vector<std::vector<std::size_t>> of(row);  // residuals of each number of a window
    for (std::size_t k = 0; k < list.size(); ++k) of[list[k].place % row].push_back(k);
    std::fill_n(jacobian, list.size() * columns, 0.0);
    PullbackOptions back;
    back.x0 = own_starts(call), back.controls = false;
    for (std::size_t j = 0; j < row; ++j) {
      if (of[j].empty()) continue;
      std::vector<T> bar(run.states().size(), T(0));
      for (const std::size_t k : of[j]) bar[list[k].place] = T(1);
      const Gradient<T> g = run.pullback(std::span<const T>(bar), back);
      for (const std::size_t k : of[j]) {
        const std::size_t b = list[k].place / row;
        const double weight = std::sqrt(2.0) * list[k].weight;
        double* const to = jacobian + k * columns;
        for (std::size_t i = 0; i < numbers; ++i) to[i] = weight * g.params[b * numbers + i];
        if (list[k].own != kMeasured) to[numbers + list[k].own] -= weight;
        for (std::size_t i = 0; i < n && back.x0; ++i) {
          to[numbers + static_cast<std::size_t>(call.chosen[b]) * n + i] +=
              weight * static_cast<double>(g.x0[b * n + i]);
        }
      }
    }
  }

  void begin(const LossCall& call, std::int64_t b, std::int64_t steps, std::vector<T>& x0,
             std::vector<T>& u) const {
    const std::int64_t window = call.chosen[static_cast<std::size_t>(b)];
    const Window& at = windows_[static_cast<std::size_t>(window)];
    const MeasuredRows& m = data_.recordings[static_cast<std::size_t>(at.recording)];
    RandomStream random(options_.seed ^ kWindowStream, static_cast<std::uint32_t>(window),
                        static_cast<std::uint64_t>(call.step));
    for (int i = 0; i < nx_; ++i) {
      double x = m.rows[static_cast<std::size_t>(at.sample * nx_ + i)];
      if (!options_.noise.empty() && call.step >= 0) {
        x += options_.noise[static_cast<std::size_t>(i)] * random.normal();
      }
      x0[static_cast<std::size_t>(b * nx_ + i)] = static_cast<T>(x);
    }
    if (m.controls.empty()) return;
    std::size_t row = static_cast<std::size_t>(at.sample);
    for (std::int64_t t = 0; t < steps; ++t) {
      while (row + 1 < m.steps.size() && m.steps[row + 1] - ahead(at, 0) <= t) ++row;
      for (int i = 0; i < nu_; ++i) {
        u[static_cast<std::size_t>((b * steps + t) * nu_ + i)] = static_cast<T>(
            m.controls[row * static_cast<std::size_t>(nu_) + static_cast<std::size_t>(i)]);
      }
    }
  }

  System system_;
  WindowedRecordings data_;
  const std::vector<Window>& windows_;
  LossOptions options_;
  WindowTerms terms_;
  int nx_, nu_;
  std::vector<bool> around_;
};

}  // namespace

std::unique_ptr<TrainingLoss> window_loss(const System& system,
                                          const std::vector<Recording>& recordings,
                                          const LossOptions& options) {
  if (recordings.empty()) throw Error("there is no recording to learn from");
  if (!system.states().flat()) {
    throw Error(message("system \"", system.name(),
                        "\" has quaternions in its state; training takes flat states"));
  }
  if (options.horizon < 1)
    throw Error(message("horizon must be at least 1; got ", options.horizon));
  if (!(options.shooting >= 0) || !std::isfinite(options.shooting)) {
    throw Error(message("shooting must be zero or more, and finite; got ", options.shooting));
  }
  if (!(options.clip_each >= 0) || !std::isfinite(options.clip_each)) {
    throw Error(message("clip_each must be zero or more, and finite; got ", options.clip_each));
  }
  WindowedRecordings data(system, recordings, options.horizon,
                          options.shooting > 0 ? options.horizon : 1);
  if (system.precision() == Precision::float32) {
    return std::make_unique<WindowLoss<float>>(system, std::move(data), options);
  }
  return std::make_unique<WindowLoss<double>>(system, std::move(data), options);
}

}  // namespace cycloid::inline learn
