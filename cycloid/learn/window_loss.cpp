#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cycloid/adjoint/observe.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/training_loss.h"

namespace cycloid::inline learn {
namespace {

constexpr std::uint32_t kWindowStream = 0x77696e64;

// A recording as rows of the whole state, at steps of the System.
struct Measured {
  std::vector<double> rows;           // (samples, states); NaN: not measured
  std::vector<std::int64_t> steps;    // (samples) since the first
  std::vector<double> controls = {};  // (samples, inputs); empty: zeros
};

struct Window {
  int recording, sample;
};

// Places in the state of the recording's columns.
std::vector<int> places_of(const System& system, const Recording& r, const std::string& label) {
  std::vector<int> places;
  if (r.names.empty()) {
    for (int i = 0; i < system.states().size(); ++i) places.push_back(i);
    return places;
  }
  for (const RecordedOutput& o : outputs_of(system, r)) {
    const Block* found = nullptr;
    for (const Block& b : system.states().blocks()) {
      if (b.name == o.name) found = &b;
    }
    if (!found) {
      throw Error(message(label, ": \"", o.name,
                          "\" is no block of the state; windows begin at measured states"));
    }
    for (int i = 0; i < found->size; ++i) places.push_back(found->offset + i);
  }
  std::vector<int> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < system.states().size(); ++i) {
    if (i < static_cast<int>(sorted.size()) && sorted[static_cast<std::size_t>(i)] == i) continue;
    throw Error(message(label, ": \"", system.states().block_of(i).name,
                        "\" was not recorded; windows begin at measured states, so that all of "
                        "the state is needed"));
  }
  return places;
}

Measured measured(const System& system, const Recording& r, const std::string& label) {
  check_recording(system, r, label);
  const std::vector<int> places = places_of(system, r, label);
  const std::size_t nx = static_cast<std::size_t>(system.states().size()), S = r.samples();
  Measured m;
  m.rows.resize(S * nx);
  for (std::size_t s = 0; s < S; ++s) {
    for (std::size_t c = 0; c < places.size(); ++c) {
      m.rows[s * nx + static_cast<std::size_t>(places[c])] = r.values[s * places.size() + c];
    }
    const double steps = (r.times[s] - r.times[0]) / system.timestep();
    const std::int64_t whole = std::llround(steps);
    if (std::abs(steps - static_cast<double>(whole)) > 1e-4) {
      throw Error(message(label, ": times must be multiples of the time step, ", system.timestep(),
                          " s, after the first; sample ", s, " is at ", r.times[s] - r.times[0],
                          " s: resample, or choose a dt that divides the sampling interval"));
    }
    if (s > 0 && whole <= m.steps.back()) {
      throw Error(message(label, ": samples ", s - 1, " and ", s, " lie within one time step, ",
                          system.timestep(), " s"));
    }
    m.steps.push_back(whole);
  }
  m.controls = r.controls;
  return m;
}

template <class T>
class WindowLoss final : public TrainingLoss {
 public:
  WindowLoss(const System& system, std::vector<Measured> data, std::vector<Window> windows,
             const LossOptions& options)
      : system_(system),
        data_(std::move(data)),
        windows_(std::move(windows)),
        options_(options),
        nx_(system.states().size()),
        nu_(system.inputs().size()),
        around_(static_cast<std::size_t>(nx_), false) {
    if (const LearnedLaw* law = learned_law(system)) {
      for (const int a : law->angles) around_[static_cast<std::size_t>(a)] = true;
    }
    for (const LossTerm& t : options.terms) {
      if (t.kind == LossTerm::Kind::energy) {
        energy_ =
            std::make_unique<Observer>(system.in_double(), std::vector<std::string>{"energy"});
      }
    }
  }

  std::int64_t samples() const override { return static_cast<std::int64_t>(windows_.size()); }

  void split(double share, std::vector<std::int64_t>& learn,
             std::vector<std::int64_t>& validate) const override {
    const int held = static_cast<int>(std::llround(share * static_cast<double>(data_.size())));
    const bool whole = data_.size() > 1 && held > 0 && held < static_cast<int>(data_.size());
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      const Window& at = windows_[w];
      const auto index = static_cast<std::int64_t>(w);
      if (share <= 0) {
        learn.push_back(index);
      } else if (whole) {
        (at.recording >= static_cast<int>(data_.size()) - held ? validate : learn).push_back(index);
      } else {
        // The end of each recording; windows across the cut belong to neither.
        const double S =
            static_cast<double>(data_[static_cast<std::size_t>(at.recording)].steps.size());
        const double cut = S * (1 - share);
        if (at.sample + options_.horizon < cut) learn.push_back(index);
        else if (at.sample >= cut) validate.push_back(index);
      }
    }
    if (learn.empty()) throw Error("nothing is left to learn from; validate with a smaller share");
    if (share > 0 && validate.empty()) {
      throw Error(
          "nothing is left to validate with: the recordings are too short for windows of "
          "this horizon; validate with a larger share");
    }
  }

  double value(std::span<const double> p, const LossCall& call,
               std::vector<double>* p_bar) override {
    const std::int64_t B = static_cast<std::int64_t>(call.chosen.size());
    const int h = call.horizon;
    std::int64_t steps = 1;
    for (const std::int64_t w : call.chosen) {
      const Window& at = windows_[static_cast<std::size_t>(w)];
      steps = std::max(steps, ahead(at, h) - ahead(at, 0));
    }
    std::vector<T> x0(static_cast<std::size_t>(B * nx_)),
        u(static_cast<std::size_t>(B * steps * nu_), T(0));
    for (std::int64_t b = 0; b < B; ++b) begin(call, b, steps, x0, u);
    RolloutOptions run_options;
    run_options.threads = options_.threads;
    const Controls<T> controls =
        nu_ > 0 ? Controls<T>(std::span<const T>(u), steps) : Controls<T>(steps);
    const Trajectory<T> run = rollout(system_, std::span<const T>(x0), controls, p, run_options);
    if (!run.report().failed.empty()) return std::numeric_limits<double>::infinity();
    std::vector<T> bar(p_bar ? run.states().size() : 0, T(0));
    double loss = squares(call, steps, run.states(), bar);
    std::vector<double> more;  // what terms add to the parameters' gradient
    if (call.step >= 0 && !options_.terms.empty()) {
      loss += terms(p, run.states(), u, B, steps, bar, p_bar ? &more : nullptr);
    }
    if (p_bar) {
      PullbackOptions back;
      back.x0 = back.controls = false;
      *p_bar = run.pullback(std::span<const T>(bar), back).params;
      for (std::size_t i = 0; i < more.size(); ++i) (*p_bar)[i] += more[i];
    }
    return loss;
  }

 private:
  std::int64_t ahead(const Window& w, int samples) const {
    return data_[static_cast<std::size_t>(w.recording)]
        .steps[static_cast<std::size_t>(w.sample + samples)];
  }

  void begin(const LossCall& call, std::int64_t b, std::int64_t steps, std::vector<T>& x0,
             std::vector<T>& u) const {
    const std::int64_t window = call.chosen[static_cast<std::size_t>(b)];
    const Window& at = windows_[static_cast<std::size_t>(window)];
    const Measured& m = data_[static_cast<std::size_t>(at.recording)];
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

  // (2), and its cotangent unless bar is empty.
  double squares(const LossCall& call, std::int64_t steps, std::span<const T> states,
                 std::vector<T>& bar) const {
    double sum = 0;
    std::int64_t count = 0;
    for (const bool second : {false, true}) {  // first the count
      for (std::size_t b = 0; b < call.chosen.size(); ++b) {
        const Window& at = windows_[static_cast<std::size_t>(call.chosen[b])];
        const Measured& m = data_[static_cast<std::size_t>(at.recording)];
        for (int k = 1; k <= call.horizon; ++k) {
          const std::int64_t t = ahead(at, k) - ahead(at, 0);
          for (int i = 0; i < nx_; ++i) {
            const double y = m.rows[static_cast<std::size_t>((at.sample + k) * nx_ + i)];
            if (std::isnan(y)) continue;
            if (!second) {
              ++count;
              continue;
            }
            const std::size_t place = static_cast<std::size_t>(
                (static_cast<std::int64_t>(b) * (steps + 1) + t) * nx_ + i);
            const double scale =
                options_.scale.empty() ? 1 : 1 / options_.scale[static_cast<std::size_t>(i)];
            double off = static_cast<double>(states[place]) - y;
            if (around_[static_cast<std::size_t>(i)])
              off = std::remainder(off, 2 * std::numbers::pi);
            off *= scale;
            sum += off * off;
            if (!bar.empty()) {
              bar[place] += static_cast<T>(2 * off * scale / static_cast<double>(count));
            }
          }
        }
      }
    }
    return count > 0 ? sum / static_cast<double>(count) : 0;
  }

  double terms(std::span<const double> p, std::span<const T> states, const std::vector<T>& u,
               std::int64_t B, std::int64_t steps, std::vector<T>& bar,
               std::vector<double>* p_bar) const {
    const std::vector<double> x(states.begin(), states.end()), controls(u.begin(), u.end());
    std::vector<double> x_bar(x.size(), 0.0);
    double sum = 0;
    for (const LossTerm& t : options_.terms) {
      std::vector<double> own(x.size(), 0.0);
      double value = 0;
      switch (t.kind) {
        case LossTerm::Kind::energy:
          value = energy_term(p, x, B, steps, t.weight, own, p_bar);
          break;
        case LossTerm::Kind::smooth: value = smooth_term(x, B, steps, own); break;
        case LossTerm::Kind::function: value = t.function({x, controls, B, steps}, own); break;
      }
      sum += t.weight * value;  // (3)
      for (std::size_t i = 0; i < own.size(); ++i) x_bar[i] += t.weight * own[i];
    }
    for (std::size_t i = 0; i < bar.size(); ++i) bar[i] += static_cast<T>(x_bar[i]);
    return sum;
  }

  // Mean over runs and steps of (E(x_t) - E(x_0))².
  double energy_term(std::span<const double> p, const std::vector<double>& x, std::int64_t B,
                     std::int64_t steps, double weight, std::vector<double>& x_bar,
                     std::vector<double>* p_bar) const {
    ObservedRows at;
    at.states = x, at.parameters = p;
    ObserveOptions options;
    options.threads = options_.threads;
    const Observation seen = observe(*energy_, at, options);
    const std::vector<double>& E = seen.values();
    std::vector<double> E_bar(E.size(), 0.0);
    const double factor = 1 / static_cast<double>(B * steps);
    double sum = 0;
    for (std::int64_t b = 0; b < B; ++b) {
      const std::size_t first = static_cast<std::size_t>(b * (steps + 1));
      for (std::int64_t t = 1; t <= steps; ++t) {
        const std::size_t now = first + static_cast<std::size_t>(t);
        const double off = E[now] - E[first];
        sum += off * off * factor;
        E_bar[now] += 2 * off * factor, E_bar[first] -= 2 * off * factor;
      }
    }
    const ObservationGradient g = seen.pullback(E_bar, options);
    for (std::size_t i = 0; i < x_bar.size(); ++i) x_bar[i] += g.states[i];
    if (p_bar) {
      p_bar->resize(g.parameters.size(), 0.0);
      for (std::size_t i = 0; i < g.parameters.size(); ++i) (*p_bar)[i] += weight * g.parameters[i];
    }
    return sum;
  }

  // Mean over runs and steps of |x_{t+1} - 2 x_t + x_{t-1}|².
  double smooth_term(const std::vector<double>& x, std::int64_t B, std::int64_t steps,
                     std::vector<double>& x_bar) const {
    if (steps < 2) return 0;
    const double factor = 1 / static_cast<double>(B * (steps - 1));
    double sum = 0;
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t t = 1; t < steps; ++t) {
        for (int i = 0; i < nx_; ++i) {
          const std::size_t at = static_cast<std::size_t>((b * (steps + 1) + t) * nx_ + i),
                            n = static_cast<std::size_t>(nx_);
          const double bend = x[at + n] - 2 * x[at] + x[at - n];
          sum += bend * bend * factor;
          x_bar[at + n] += 2 * bend * factor, x_bar[at] -= 4 * bend * factor;
          x_bar[at - n] += 2 * bend * factor;
        }
      }
    }
    return sum;
  }

  System system_;
  std::vector<Measured> data_;
  std::vector<Window> windows_;
  LossOptions options_;
  int nx_, nu_;
  std::vector<bool> around_;
  std::unique_ptr<Observer> energy_;
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
  const int nx = system.states().size();
  std::vector<Measured> data;
  std::vector<Window> windows;
  std::size_t longest = 0;
  for (std::size_t r = 0; r < recordings.size(); ++r) {
    data.push_back(measured(system, recordings[r], message("recording ", r)));
    const Measured& m = data.back();
    longest = std::max(longest, m.steps.size());
    for (std::size_t s = 0; s + static_cast<std::size_t>(options.horizon) < m.steps.size(); ++s) {
      bool complete = true;
      for (int i = 0; i < nx; ++i) {
        complete =
            complete &&
            std::isfinite(m.rows[s * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)]);
      }
      if (complete) windows.push_back({static_cast<int>(r), static_cast<int>(s)});
    }
  }
  if (static_cast<std::size_t>(options.horizon) >= longest) {
    throw Error(message("a window of ", options.horizon,
                        " samples ahead is longer than every recording; the longest has ", longest,
                        " samples"));
  }
  if (windows.empty()) {
    throw Error(
        "no sample has its whole state measured with enough samples behind it; windows "
        "begin at measured states");
  }
  if (system.precision() == Precision::float32) {
    return std::make_unique<WindowLoss<float>>(system, std::move(data), std::move(windows),
                                               options);
  }
  return std::make_unique<WindowLoss<double>>(system, std::move(data), std::move(windows), options);
}

}  // namespace cycloid::inline learn
