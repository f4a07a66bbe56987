#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/adjoint/run_inputs.h"
#include "cycloid/adjoint/sweep.h"
#include "cycloid/base/error.h"
#include "cycloid/math/dual.h"
#include "cycloid/system/interpolation.h"

namespace cycloid::inline adjoint {
namespace {

// When environments share their inputs, the inputs' gradient is a sum over all of them. Chunks are
// then summed in at most this many groups, and the groups in their order: the same sum for any
// number of threads.
constexpr std::int64_t kGroups = 64;

// A run that was stepped back and misses its start by more is not the run that was made.
constexpr double kMostDrift = 1e-3;
constexpr char kDrifted = 2;

// add_coordinate_bar for lanes of values and, `width` behind them, their tangents (pushforward.h).
void add_paired_bar(const Space& space, std::int64_t width, const double* x, const double* bar,
                    double* x_bar) {
  using D = Dual<double, 1>;
  std::vector<D> row(static_cast<std::size_t>(space.size())), row_bar(row),
      tangent(static_cast<std::size_t>(space.tangent_size()));
  const auto pair = [&](const double* lanes, std::size_t i, std::int64_t l) {
    const double* at = lanes + static_cast<std::int64_t>(i) * 2 * width + l;
    return D::make(at[0], [&](int) { return at[width]; });
  };
  for (std::int64_t l = 0; l < width; ++l) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = pair(x, i, l);
      row_bar[i] = pair(bar, i, l);
    }
    std::fill(tangent.begin(), tangent.end(), D(0.0));
    space.to_tangent(row.data(), row_bar.data(), tangent.data());
    for (std::size_t i = 0; i < tangent.size(); ++i) {
      double* to = x_bar + static_cast<std::int64_t>(i) * 2 * width + l;
      to[0] += tangent[i].value;
      to[width] += tangent[i].tangent[0];
    }
  }
}

// Adds the cotangent of the states x in coordinates to x_bar, which is in tangents; all in lanes.
template <class T>
void add_coordinate_bar(const Run<T>& run, int W, const T* x, const T* bar, T* x_bar) {
  const Space& space = run.system.states();
  const std::int64_t n = space.size();
  if (space.flat()) {
    for (std::int64_t i = 0; i < n * W; ++i) x_bar[i] += bar[i];
    return;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (run.pair_width > 0) return add_paired_bar(space, run.pair_width, x, bar, x_bar);
  }
  std::vector<T> row(static_cast<std::size_t>(n)), row_bar(row),
      tangent(static_cast<std::size_t>(space.tangent_size()));
  for (int l = 0; l < W; ++l) {
    for (std::int64_t i = 0; i < n; ++i) {
      row[static_cast<std::size_t>(i)] = x[i * W + l];
      row_bar[static_cast<std::size_t>(i)] = bar[i * W + l];
    }
    std::fill(tangent.begin(), tangent.end(), T(0));
    space.to_tangent(row.data(), row_bar.data(), tangent.data());
    for (std::size_t i = 0; i < tangent.size(); ++i) {
      x_bar[static_cast<std::int64_t>(i) * W + l] += tangent[i];
    }
  }
}

// Brings the cotangents of saved states into lanes, a block at a time, and adds them to x_bar.
template <class T>
class StateBarReader {
 public:
  StateBarReader(const Run<T>& run, const LaneMap& map, const T* states_bar)
      : run_(run),
        map_(map),
        rows_(states_bar),
        numbers_(run.stepper->sizes().state),
        saved_(static_cast<std::int64_t>(run.saved.size())),
        next_(saved_ - 1),
        first_(saved_),
        lanes_(static_cast<std::size_t>(std::min(kInputBlock, saved_) * numbers_ * map.lanes)) {}

  // To be called with k = T, T-1, …, 0 and the state's lanes at k.
  void add(std::int64_t k, const T* x, T* x_bar) {
    if (next_ < 0 || run_.saved[static_cast<std::size_t>(next_)] != k) return;
    if (next_ < first_) {
      first_ = std::max<std::int64_t>(0, next_ + 1 - kInputBlock);
      gather(map_, rows_, saved_ * numbers_, first_ * numbers_, (next_ + 1 - first_) * numbers_,
             lanes_.data());
    }
    const T* bar = lanes_.data() + (next_-- - first_) * numbers_ * map_.lanes;
    add_coordinate_bar(run_, map_.lanes, x, bar, x_bar);
  }

 private:
  const Run<T>& run_;
  const LaneMap& map_;
  const T* rows_;
  std::int64_t numbers_, saved_, next_, first_;
  LaneBuffer<T> lanes_;
};

// Pulls the cotangents of states inside steps back to the steps' beginnings.
template <class T>
class SampleBars {
 public:
  SampleBars(const Run<T>& run, const LaneMap& map, const T* states_bar)
      : run_(run), map_(map), rows_(states_bar) {
    if (run.samples.empty()) return;
    const StepperSizes& s = run.stepper->sizes();
    const std::size_t W = static_cast<std::size_t>(map.lanes);
    bar_ = LaneBuffer<T>(W * s.state);
    tangent_ = LaneBuffer<T>(W * s.tangent);
    state_ = LaneBuffer<T>(W * s.state);
    record_ = LaneBuffer<T>(W * s.record);
    if (s.gives_samples) within_ = LaneBuffer<T>(W * s.state * run.most_samples_in_a_step());
  }

  // The cotangents of samples that the stepper gives and pulls back itself.
  const T* of(const typename Sweep<T>::SamplesWithin& within) {
    const std::int64_t n = run_.stepper->sizes().state;
    gather(map_, rows_, std::ssize(run_.samples) * n, within.first * n,
           std::ssize(within.samples.offsets) * n, within_.data());
    return within_.data();
  }

  // Of the sample `number`, at the end of a part of its step.
  void pull_back(std::int64_t number, const StepInput<T>& part, T* x_bar, T* u_bar,
                 std::byte* workspace) {
    run_.stepper->step(part, state_.data(), record_.data(), workspace);
    std::fill_n(tangent_.data(), run_.stepper->sizes().tangent * map_.lanes, T(0));
    add(number, state_.data(), tangent_.data());
    run_.stepper->pullback(part, record_.data(), tangent_.data(), x_bar, u_bar, workspace);
  }
  // Adds the cotangent of the sample `number`, whose state is x, to x_bar.
  void add(std::int64_t number, const T* x, T* x_bar) {
    const std::int64_t n = run_.stepper->sizes().state;
    gather(map_, rows_, static_cast<std::int64_t>(run_.samples.size()) * n, number * n, n,
           bar_.data());
    add_coordinate_bar(run_, map_.lanes, x, bar_.data(), x_bar);
  }

 private:
  const Run<T>& run_;
  const LaneMap& map_;
  const T* rows_;
  LaneBuffer<T> bar_, tangent_, state_, record_, within_;
};

// Pulls the cotangents of states on the path between the ends x and x⁺ of a step back to these.
//
// A sample stays at its time t while the length h of the steps changes, so that
//   θ = (t - t0)/h - k,   h̄ = -θ̄ (k + θ)/h                                                    (1)
template <class T>
class PathBars {
 public:
  PathBars(const Run<T>& run, const LaneMap& map, SampleBars<T>& bars)
      : run_(run), map_(map), bars_(bars) {
    if (!run.interpolates()) return;
    const StepperSizes& s = run.stepper->sizes();
    const std::size_t W = static_cast<std::size_t>(map.lanes);
    x_next_ = LaneBuffer<T>(W * s.state);
    sample_ = LaneBuffer<T>(W * s.state);
    tangent_ = LaneBuffer<T>(W * s.tangent);
    theta_bar_ = LaneBuffer<T>(W);
    h_bar_.assign(W, 0.0);
  }

  // To be called with k = T-1, …, 0, before the pullback of step k: adds to the cotangents of both
  // its ends.
  void pull_back(const Sweep<T>& sweep, const StepInput<T>& in, T* x_bar, T* x_next_bar) {
    if (in.step + 1 == run_.steps) {
      run_.stepper->step(in, x_next_.data(), nullptr, sweep.workspace());
    }
    sweep.for_each_sample(in, [&](std::int64_t number, const StepInput<T>&) {
      pull_back_one(number, in, x_bar, x_next_bar);
    });
    std::copy_n(in.x, run_.stepper->sizes().state * map_.lanes, x_next_.data());
  }

  // Of the length of the steps, per lane; empty: samples had no part in it.
  const std::vector<double>& h_bar() const { return h_bar_; }

 private:
  void pull_back_one(std::int64_t number, const StepInput<T>& in, T* x_bar, T* x_next_bar) {
    const Space& space = run_.system.states();
    const int W = map_.lanes;
    const Sample& sample = run_.samples[static_cast<std::size_t>(number)];
    const T theta = static_cast<T>(sample.share);
    const T* y = x_next_.data();
    if (sample.share != 1 && !space.flat()) {
      interpolate(space, W, in.x, x_next_.data(), theta, sample_.data());
      y = sample_.data();
    }
    std::fill_n(tangent_.data(), space.tangent_size() * W, T(0));
    bars_.add(number, y, tangent_.data());
    std::fill_n(theta_bar_.data(), W, T(0));
    interpolate_pullback(space, W, in.x, x_next_.data(), theta, tangent_.data(), x_bar, x_next_bar,
                         theta_bar_.data());
    const double by_h =
        -(static_cast<double>(in.step) + sample.share) * sample.share / sample.part;  // (1)
    for (int l = 0; l < W; ++l) {
      h_bar_[static_cast<std::size_t>(l)] += by_h * static_cast<double>(theta_bar_.data()[l]);
    }
  }

  const Run<T>& run_;
  const LaneMap& map_;
  SampleBars<T>& bars_;
  LaneBuffer<T> x_next_, sample_, tangent_, theta_bar_;
  std::vector<double> h_bar_;
};

// Takes the inputs' cotangents, step by step backwards, to rows of their own or to a sum over
// lanes.
template <class T>
class InputBarWriter {
 public:
  // rows: (batch, T, inputs) or null; sum: (T, inputs) or null.
  InputBarWriter(const Run<T>& run, const LaneMap& map, const char* left_out, T* rows, double* sum)
      : run_(run),
        map_(map),
        left_out_(left_out),
        rows_(rows),
        sum_(sum),
        numbers_(run.stepper->sizes().input),
        lanes_(static_cast<std::size_t>(kInputBlock * numbers_ * run.lanes())),
        nothing_(static_cast<std::size_t>(run.lanes())) {
    std::fill_n(nothing_.data(), run.lanes(), T(0));
    for (int l = 0; l < map.active; ++l) {
      some_left_out_ = some_left_out_ || left_out[map.environment(l)] != 0;
    }
  }

  // The lanes for the cotangent of step k, cleared before its pullback.
  T* at(std::int64_t k) { return lanes_.data() + k % kInputBlock * numbers_ * run_.lanes(); }
  T* cleared(std::int64_t k) {
    std::fill_n(at(k), numbers_ * run_.lanes(), T(0));
    return at(k);
  }

  // After the pullback of step k: the steps of a block go on together.
  void done(std::int64_t k) {
    if (k % kInputBlock != 0) return;
    const std::int64_t count = std::min(kInputBlock, run_.steps - k) * numbers_;
    if (rows_) {
      note_not_finite(lanes_.data(), count);
      scatter(map_, lanes_.data(), count, rows_, run_.steps * numbers_, k * numbers_);
    }
    for (std::int64_t i = 0; i < count && sum_; ++i) {
      const double s = sum_of_lanes(lanes_.data() + i * map_.lanes);
      if (!std::isfinite(s)) note_not_finite(lanes_.data() + i * map_.lanes, 1);
      sum_[k * numbers_ + i] += s;
    }
  }

  // Whether all that came by in this lane was finite.
  bool finite(int lane) const { return nothing_.data()[lane] == T(0); }

 private:
  void note_not_finite(const T* lanes, std::int64_t count) {
    // Where W divides kTogether, place j of a group always belongs to lane j mod W.
    constexpr int kTogether = 16;
    const std::int64_t numbers = count * map_.lanes;
    const std::int64_t whole = kTogether % map_.lanes == 0 ? numbers / kTogether * kTogether : 0;
    T sum[kTogether] = {};
    for (std::int64_t i = 0; i < whole; i += kTogether) {
      for (int j = 0; j < kTogether; ++j) sum[j] += T(0) * lanes[i + j];
    }
    for (int j = 0; j < kTogether; ++j) nothing_.data()[j % map_.lanes] += sum[j];
    for (std::int64_t i = whole; i < numbers; ++i) {
      nothing_.data()[i % map_.lanes] += T(0) * lanes[i];
    }
  }

  // Over the environments that are not left out, in four interleaved sums.
  double sum_of_lanes(const T* lanes) const {
    double s[4] = {0, 0, 0, 0};
    int l = 0;
    for (; l + 4 <= map_.active && !some_left_out_; l += 4) {
      for (int j = 0; j < 4; ++j) s[j] += static_cast<double>(lanes[l + j]);
    }
    for (; l < map_.active; ++l) {
      if (!left_out_[map_.environment(l)]) s[l % 4] += static_cast<double>(lanes[l]);
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
  }

  const Run<T>& run_;
  const LaneMap& map_;
  const char* left_out_;
  bool some_left_out_ = false;
  T* rows_;
  double* sum_;
  std::int64_t numbers_;
  LaneBuffer<T> lanes_;
  LaneBuffer<T> nothing_;  // sums of 0 · ū: zero until one is not finite
};

// Where chunks put their parts of the gradient.
template <class T>
struct Parts {
  std::vector<T> x0_tangent;     // (batch, tangents)
  std::vector<T> controls;       // (batch, T, inputs), when each environment has its own
  std::vector<double> sums;      // (groups, T, inputs), when they share
  std::vector<double> params;    // (batch, parameters), or (chunks, parameters) when they share
  std::vector<char> left_out;    // (batch): failed or unsolved forward, or not finite backward
  std::vector<char> not_finite;  // (batch): found on this way back; or kDrifted
  std::vector<std::int64_t> recomputed;  // (chunks)
  std::vector<double> drift;             // (batch), where the way back was by stepping back
};

template <class T>
struct Pullback {
  const Trajectory<T>& trajectory;
  const Run<T>& run;
  const PullbackOptions& options;
  const T* states_bar;
  std::vector<std::vector<double>> times_bar;  // of each chunk's events, in the tape's order
  Parts<T> parts;
  std::int64_t groups = 1;

  Pullback(const Trajectory<T>& t, std::span<const T> bar, const PullbackOptions& o);
  void run_all();
  template <class Observe>
  void pull_chunk(std::int64_t chunk, SweepBuffers<T>& buffers, double* group_sum,
                  const StopToken& stop, Observe&& observe);
  void finish_chunk(const Sweep<T>& sweep, std::int64_t chunk, const T* x_bar,
                    const std::vector<double>& h_bar, const InputBarWriter<T>& inputs);
  void add_own_parameters(const LaneMap& map, const double* p_bar);
  void add_shared_parameters(const LaneMap& map, std::int64_t chunk, const double* p_bar);
  std::string name_not_finite(std::int64_t environment);
  Gradient<T> take_gradient();

  bool sum_controls() const {
    return options.controls && !options.each && run.control_rows <= 1 && run.batch > 1;
  }
  bool own_parameters() const { return (options.each && options.params) || run.parameter_rows > 1; }
  std::size_t inputs_per_run() const {
    return static_cast<std::size_t>(run.steps) *
           static_cast<std::size_t>(run.stepper->sizes().input);
  }
  std::size_t batch() const { return static_cast<std::size_t>(run.batch); }
};

template <class T>
Pullback<T>::Pullback(const Trajectory<T>& t, std::span<const T> bar, const PullbackOptions& o)
    : trajectory(t), run(t.run()), options(o), states_bar(bar.data()) {
  if (sum_controls()) groups = std::min(kGroups, run.chunks());
  parts.left_out.assign(batch(), 0);
  const auto leave_out = [&](const auto& rows) {
    for (const auto& row : rows) parts.left_out[static_cast<std::size_t>(row.environment)] = 1;
  };
  leave_out(t.report().failed);
  leave_out(t.report().unsolved);
  for (const Event& e : t.events()) {
    if (e.grazing) parts.left_out[static_cast<std::size_t>(e.environment)] = 1;
  }
  if (options.event_times_bar.empty()) return;
  for (const auto& events : t.tape().events) times_bar.emplace_back(events.size(), 0.0);
  for (std::size_t i = 0; i < t.events().size(); ++i) {
    const Event& e = t.events()[i];
    times_bar[static_cast<std::size_t>(e.chunk)][static_cast<std::size_t>(e.place)] =
        options.event_times_bar[i];
  }
}

// Clears the parts and pulls every chunk back.
template <class T>
void Pullback<T>::run_all() {
  const StepperSizes& sizes = run.stepper->sizes();
  const std::size_t np = static_cast<std::size_t>(sizes.parameters);
  const std::size_t chunks = static_cast<std::size_t>(run.chunks());
  parts.x0_tangent.assign(batch() * static_cast<std::size_t>(sizes.tangent), T(0));
  if (options.controls && !sum_controls()) parts.controls.assign(batch() * inputs_per_run(), T(0));
  if (sum_controls()) parts.sums.assign(static_cast<std::size_t>(groups) * inputs_per_run(), 0.0);
  parts.params.assign((own_parameters() ? batch() : chunks) * np, 0.0);
  parts.not_finite.assign(batch(), 0);
  parts.recomputed.assign(chunks, 0);
  parts.drift.assign(run.plan.reversible ? batch() : 0, 0.0);

  const std::int64_t tasks = sum_controls() ? groups : run.chunks();
  for_each_task(run, tasks, options.keep_going,
                [&](std::int64_t task, SweepBuffers<T>& buffers, const StopToken& stop) {
                  double* sum =
                      sum_controls()
                          ? parts.sums.data() + static_cast<std::size_t>(task) * inputs_per_run()
                          : nullptr;
                  const std::int64_t begin = task * run.chunks() / tasks;
                  const std::int64_t end = (task + 1) * run.chunks() / tasks;
                  for (std::int64_t c = begin; c < end && !stop.stop_requested(); ++c) {
                    pull_chunk(c, buffers, sum, stop,
                               [](std::int64_t, const LaneMap&, const T*, const T*) {});
                  }
                });
}

// Calls observe(k, map, x_bar, u_bar) with the cotangents of state and input k of every step k.
template <class T>
template <class Observe>
void Pullback<T>::pull_chunk(std::int64_t chunk, SweepBuffers<T>& buffers, double* group_sum,
                             const StopToken& stop, Observe&& observe) {
  const StepperSizes& sizes = run.stepper->sizes();
  Sweep<T> sweep(run, trajectory.tape(), buffers, chunk, stop);
  sweep.want_parameters(options.params);
  if (!times_bar.empty()) {
    sweep.give_event_times_bar(times_bar[static_cast<std::size_t>(chunk)].data());
  }
  const LaneMap& map = sweep.map();
  const bool flat = run.system.states().flat();
  StateBarReader<T> reader(run, map, states_bar);
  InputBarWriter<T> writer(run, map, parts.left_out.data(),
                           parts.controls.empty() ? nullptr : parts.controls.data(), group_sum);

  const std::size_t tangents = static_cast<std::size_t>(sizes.tangent) * map.lanes;
  LaneBuffer<T> bar(tangents), next_bar(tangents),
      last_state(flat ? 0 : static_cast<std::size_t>(sizes.state) * map.lanes);
  T *x_bar = bar.data(), *x_next_bar = next_bar.data();
  std::fill_n(x_bar, tangents, T(0));
  SampleBars<T> samples(run, map, states_bar);
  PathBars<T> paths(run, map, samples);
  sweep.reverse([&](StepInput<T> in, const T* record) {
    auto within = sweep.samples_within(in.step);
    if (!within.samples.offsets.empty()) {
      within.samples.bar = samples.of(within);
      in.samples = &within.samples;
    }
    if (in.step + 1 == run.steps && run.samples.empty()) {
      if (!flat) run.stepper->step(in, last_state.data(), nullptr, sweep.workspace());
      reader.add(run.steps, last_state.data(), x_bar);
    }
    std::swap(x_bar, x_next_bar);
    std::fill_n(x_bar, tangents, T(0));
    if (run.interpolates()) paths.pull_back(sweep, in, x_bar, x_next_bar);
    run.stepper->pullback(in, record, x_next_bar, x_bar, writer.cleared(in.step),
                          sweep.workspace());
    if (!run.interpolates()) {
      sweep.for_each_sample(in, [&](std::int64_t number, const StepInput<T>& part) {
        samples.pull_back(number, part, x_bar, writer.at(in.step), sweep.workspace());
      });
    }
    writer.done(in.step);
    observe(in.step, map, static_cast<const T*>(x_bar), static_cast<const T*>(writer.at(in.step)));
    if (run.plan.cut > 0 && in.step > 0 && in.step % run.plan.cut == 0) {
      std::fill_n(x_bar, tangents, T(0));
    }
    if (run.samples.empty()) {
      reader.add(in.step, in.x, x_bar);
    } else if (in.step == 0) {
      for (std::int64_t s = 0; s < run.samples_at_start(); ++s) samples.add(s, in.x, x_bar);
    }
  });
  if (!sweep.stopped()) finish_chunk(sweep, chunk, x_bar, paths.h_bar(), writer);
}

template <class T>
void Pullback<T>::finish_chunk(const Sweep<T>& sweep, std::int64_t chunk, const T* x_bar,
                               const std::vector<double>& h_bar, const InputBarWriter<T>& inputs) {
  const StepperSizes& sizes = run.stepper->sizes();
  const LaneMap& map = sweep.map();
  parts.recomputed[static_cast<std::size_t>(chunk)] = sweep.recomputed_steps();
  LaneBuffer<double> p_bar(static_cast<std::size_t>(sizes.parameters) * map.lanes);
  run.stepper->finish(sweep.workspace(), p_bar.data());
  const Parameters& registry = run.system.parameters();
  if (!h_bar.empty() && registry.contains(kTimestepName)) {
    double* const own = p_bar.data() + registry.find(kTimestepName).offset * map.lanes;
    for (std::size_t l = 0; l < h_bar.size(); ++l) own[l] += h_bar[l];
  }
  for (int l = 0; l < map.active; ++l) {
    const std::size_t environment = static_cast<std::size_t>(map.environment(l));
    if (parts.left_out[environment]) continue;
    bool finite = inputs.finite(l);
    for (int i = 0; i < sizes.tangent; ++i) {
      const T v = x_bar[i * map.lanes + l];
      finite = finite && std::isfinite(v);
      parts.x0_tangent[environment * static_cast<std::size_t>(sizes.tangent) + i] = v;
    }
    if (!finite) parts.not_finite[environment] = 1;
    if (!run.plan.reversible) continue;
    parts.drift[environment] = sweep.drift(l);
    if (!(sweep.drift(l) <= kMostDrift)) parts.not_finite[environment] = kDrifted;
  }
  if (own_parameters()) {
    add_own_parameters(map, p_bar.data());
  } else {
    add_shared_parameters(map, chunk, p_bar.data());
  }
}

// Parameters of each environment's own.
template <class T>
void Pullback<T>::add_own_parameters(const LaneMap& map, const double* p_bar) {
  const std::size_t n = static_cast<std::size_t>(run.stepper->sizes().parameters);
  for (int l = 0; l < map.active; ++l) {
    const std::size_t environment = static_cast<std::size_t>(map.environment(l));
    if (parts.left_out[environment]) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const double v = p_bar[i * static_cast<std::size_t>(map.lanes) + static_cast<std::size_t>(l)];
      parts.params[environment * n + i] += v;
      if (!std::isfinite(v)) parts.not_finite[environment] = 1;
    }
  }
}

// Parameters that all environments share: the chunk's sum over its lanes, in their order.
template <class T>
void Pullback<T>::add_shared_parameters(const LaneMap& map, std::int64_t chunk,
                                        const double* p_bar) {
  const std::size_t n = static_cast<std::size_t>(run.stepper->sizes().parameters);
  double* sum = parts.params.data() + static_cast<std::size_t>(chunk) * n;
  std::vector<int> lanes;  // that count
  for (int l = 0; l < map.active; ++l) {
    if (!parts.left_out[static_cast<std::size_t>(map.environment(l))]) lanes.push_back(l);
  }
  for (std::size_t i = 0; i < n; ++i, p_bar += map.lanes) {
    double s = 0;
    for (const int l : lanes) s += p_bar[l];
    sum[i] += s;
    if (std::isfinite(s)) continue;
    for (const int l : lanes) {
      const std::size_t environment = static_cast<std::size_t>(map.environment(l));
      if (!std::isfinite(p_bar[l])) parts.not_finite[environment] = 1;
    }
  }
}

// Goes back once more through the environment's chunk and says where its cotangent is first not
// finite.
template <class T>
std::string Pullback<T>::name_not_finite(std::int64_t environment) {
  SweepBuffers<T> buffers(run);
  const Space &states = run.system.states(), &inputs = run.system.inputs();
  const std::string who = message("environment ", run.user_environment(environment));
  std::string where;
  std::vector<double> sum(sum_controls() ? inputs_per_run() : 0);
  const std::int64_t place = run.place(environment);
  pull_chunk(place / run.lanes(), buffers, sum_controls() ? sum.data() : nullptr, StopToken(),
             [&](std::int64_t k, const LaneMap& map, const T* x_bar, const T* u_bar) {
               const int lane = static_cast<int>(place - map.first);
               const auto look = [&](const T* bar, int numbers, const auto& name) {
                 for (int i = 0; i < numbers && where.empty(); ++i) {
                   if (std::isfinite(bar[i * map.lanes + lane])) continue;
                   where = message(who, ": the cotangent of ", name(i), " at step ", k,
                                   " is not finite");
                 }
               };
               look(x_bar, states.tangent_size(), [&](int i) { return states.tangent_name(i); });
               if (!options.controls) return;
               look(u_bar, inputs.size(),
                    [&](int i) { return message("input ", inputs.block_of(i).name); });
             });
  return where.empty() ? message(who, ": the cotangent of a parameter is not finite") : where;
}

template <class T>
Gradient<T> Pullback<T>::take_gradient() {
  const StepperSizes& sizes = run.stepper->sizes();
  const Space& space = run.system.states();
  Gradient<T> g;
  for (const std::int64_t n : parts.recomputed) g.recomputed_steps += n;
  for (const double d : parts.drift) g.drift = std::max(g.drift, d);

  if (options.x0) {
    const std::size_t nt = static_cast<std::size_t>(sizes.tangent);
    const std::size_t given = static_cast<std::size_t>(run.x0_rows);
    const std::size_t rows = options.each ? batch() : given;
    g.x0_tangent.assign(rows * nt, T(0));
    std::vector<double> sum(nt, 0.0);
    for (std::size_t e = 0; e < batch(); ++e) {
      for (std::size_t i = 0; i < nt; ++i) {
        if (rows == batch()) g.x0_tangent[e * nt + i] = parts.x0_tangent[e * nt + i];
        sum[i] += static_cast<double>(parts.x0_tangent[e * nt + i]);
      }
    }
    if (rows < batch())
      std::transform(sum.begin(), sum.end(), g.x0_tangent.begin(),
                     [](double v) { return static_cast<T>(v); });
    const std::size_t nx = static_cast<std::size_t>(sizes.state);
    g.x0.assign(rows * nx, T(0));
    for (std::size_t r = 0; r < rows; ++r) {
      const T* raw = run.x0_raw.data() + (given == 1 ? 0 : r * nx);
      space.to_coordinates(raw, g.x0_tangent.data() + r * nt, g.x0.data() + r * nx);
    }
  }
  if (options.controls) {
    g.controls = std::move(parts.controls);
    if (sum_controls()) {
      g.controls.assign(inputs_per_run(), T(0));
      for (std::size_t i = 0; i < inputs_per_run(); ++i) {
        double sum = 0;
        for (std::int64_t group = 0; group < groups; ++group) {
          sum += parts.sums[static_cast<std::size_t>(group) * inputs_per_run() + i];
        }
        g.controls[i] = static_cast<T>(sum);
      }
    }
    if (!sum_controls()) {
      for (std::size_t e = 0; e < batch(); ++e) {
        if (!parts.left_out[e]) continue;
        std::fill_n(g.controls.begin() + static_cast<std::ptrdiff_t>(e * inputs_per_run()),
                    inputs_per_run(), T(0));
      }
    }
  }
  if (options.params) {
    const std::size_t np = static_cast<std::size_t>(sizes.parameters);
    if (own_parameters()) {
      g.params = std::move(parts.params);
    } else {
      g.params.assign(np, 0.0);
      for (std::size_t i = 0; i < parts.params.size(); ++i) g.params[i % np] += parts.params[i];
    }
    const Parameters& registry = run.system.parameters();
    for (std::size_t i = 0; i < g.params.size(); ++i) {
      if (!registry.holding(static_cast<int>(i % np)).not_differentiable.empty()) {
        g.params[i] = std::nan("");
      }
    }
  }
  return g;
}

}  // namespace

template <class T>
Gradient<T> Trajectory<T>::pullback(std::span<const T> states_bar,
                                    const PullbackOptions& options) const {
  if (states_bar.size() != states().size()) {
    throw Error(message("states_bar has ", states_bar.size(), " numbers, the saved states have ",
                        states().size(), " (", batch(), " environments, ", run_->saved.size(),
                        " saved steps, ", run_->stepper->sizes().state, " states)"));
  }
  check_finite(states_bar, "states_bar", run_->stepper->sizes().state, &system().states());
  if (!options.event_times_bar.empty() && options.event_times_bar.size() != events().size()) {
    throw Error(message("event_times_bar has ", options.event_times_bar.size(),
                        " numbers, the trajectory has ", events().size(), " events"));
  }
  check_finite(options.event_times_bar, "event_times_bar", 1, nullptr);
  const bool raise = options.failed == PullbackOptions::Failed::raise;
  if (raise && !report().failed.empty()) {
    throw GradientError(message("there is no gradient through an environment that failed: ",
                                describe(report().failed.front()),
                                "; pass failed = skip to give it a zero gradient"));
  }
  if (raise && !report().unsolved.empty()) {
    throw GradientError(message("there is no gradient through a step that is not solved: ",
                                describe(report().unsolved.front()),
                                "; pass failed = skip to give it a zero gradient"));
  }
  for (const Event& e : events()) {
    if (!raise || !e.grazing) continue;
    throw GradientError(message("there is no gradient through a grazing event: ", describe(e),
                                ", where the state hardly moves through the event's surface; pass "
                                "failed = skip to give it a zero gradient"));
  }
  Pullback<T> pullback(*this, states_bar, options);
  pullback.run_all();
  const auto& bad = pullback.parts.not_finite;
  const auto first = std::find_if(bad.begin(), bad.end(), [](char b) { return b != 0; });
  if (first != bad.end()) {
    if (raise && *first == kDrifted) {
      throw GradientError(message(
          "environment ", first - bad.begin(), ": steps run backwards miss the initial state by ",
          pullback.parts.drift[static_cast<std::size_t>(first - bad.begin())],
          " of its size: the motion is damped or chaotic, and what is lost on the way there cannot "
          "be found on the way back; use memory \"sqrt\", or pass failed = skip to give it a zero "
          "gradient"));
    }
    if (raise) {
      throw GradientError(message(pullback.name_not_finite(first - bad.begin()),
                                  "; diagnose says more, failed = skip gives it a zero gradient"));
    }
    for (std::size_t e = 0; e < bad.size(); ++e) pullback.parts.left_out[e] |= bad[e] != 0;
    pullback.run_all();
  }
  return pullback.take_gradient();
}

template Gradient<float> Trajectory<float>::pullback(std::span<const float>,
                                                     const PullbackOptions&) const;
template Gradient<double> Trajectory<double>::pullback(std::span<const double>,
                                                       const PullbackOptions&) const;

}  // namespace cycloid::inline adjoint
