// The cotangents of the states that the user saved, on their way into a chunk's lanes.
//
//   StateBarReader   of states at the ends of steps
//   SampleBars       of states inside steps, after a part of the step (rollout's `times`)
//   PathBars         of states on the path between the ends of a step (interpolation.h)
#pragma once

#include "cycloid/adjoint/engine/sweep.h"
#include "cycloid/math/dual.h"
#include "cycloid/system/integrator/interpolation.h"

namespace cycloid::inline adjoint {

// add_coordinate_bar for lanes of values and, `width` behind them, their tangents (pushforward.h).
inline void add_paired_bar(const Space& space, std::int64_t width, const double* x,
                           const double* bar, double* x_bar) {
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
    state_ = LaneBuffer<T>(W * s.kept());
    record_room_ = LaneBuffer<std::byte>(run.stepper->record_bytes());
    record_.data = record_room_.data();
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
                 StepWorkspace& workspace) {
    record_.bytes = run_.stepper->record_bytes();
    run_.stepper->step(part, state_.data(), &record_, workspace);
    std::fill_n(tangent_.data(), run_.stepper->sizes().tangent * map_.lanes, T(0));
    add(number, state_.data(), tangent_.data());
    run_.stepper->pullback(part, record_, tangent_.data(), x_bar, u_bar, workspace);
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
  LaneBuffer<T> bar_, tangent_, state_, within_;
  LaneBuffer<std::byte> record_room_;
  StepRecord record_;
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
    x_next_ = LaneBuffer<T>(W * s.kept());
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

}  // namespace cycloid::inline adjoint
