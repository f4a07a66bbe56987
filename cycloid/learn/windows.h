// Recordings in windows: which samples a run begins at, and what it is compared with.
//
// A recording becomes rows of the whole state at steps of the System. A window begins at each
// sample whose whole state was measured and that has `horizon` samples behind it; with multiple
// shooting at every horizon-th, so that windows lie end to end.
#pragma once

#include <cstdint>
#include <vector>

#include "cycloid/record/recording.h"

namespace cycloid::inline learn {

// A recording as rows of the whole state, at steps of the System.
struct MeasuredRows {
  std::vector<double> rows;           // (samples, states); NaN: not measured
  std::vector<std::int64_t> steps;    // (samples) since the first
  std::vector<double> controls = {};  // (samples, inputs); empty: zeros
};

struct Window {
  int recording, sample;
};

struct WindowedRecordings {
  // `apart`: samples from one window to the next. Throws Error on recordings that do not fit, and
  // where there is no window.
  WindowedRecordings(const System& system, const std::vector<Recording>& recordings, int horizon,
                     int apart);

  // Steps from the recording's first sample to one of a window.
  std::int64_t ahead(const Window& w, int samples) const {
    return recordings[static_cast<std::size_t>(w.recording)]
        .steps[static_cast<std::size_t>(w.sample + samples)];
  }
  const double* row(const Window& w, int samples) const {
    return recordings[static_cast<std::size_t>(w.recording)].rows.data() +
           (w.sample + samples) * states;
  }
  // Indices of windows, as TrainingLoss::split gives them.
  void split(double share, std::vector<std::int64_t>& learn,
             std::vector<std::int64_t>& validate) const;

  int states, horizon;
  std::vector<MeasuredRows> recordings = {};
  std::vector<Window> windows = {};
};

}  // namespace cycloid::inline learn
