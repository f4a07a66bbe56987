// The cotangents of a chunk's inputs, on their way to the user's rows.
#pragma once

#include "cycloid/adjoint/engine/sweep.h"

namespace cycloid::inline adjoint {

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

}  // namespace cycloid::inline adjoint
