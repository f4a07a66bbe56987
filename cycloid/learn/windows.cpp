#include "cycloid/learn/windows.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline learn {
namespace {

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

MeasuredRows measured(const System& system, const Recording& r, const std::string& label) {
  check_recording(system, r, label);
  const std::vector<int> places = places_of(system, r, label);
  const std::size_t nx = static_cast<std::size_t>(system.states().size()), S = r.samples();
  MeasuredRows m;
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

}  // namespace

WindowedRecordings::WindowedRecordings(const System& system, const std::vector<Recording>& given,
                                       int horizon_ahead, int apart)
    : states(system.states().size()), horizon(horizon_ahead) {
  std::size_t longest = 0;
  const std::size_t n = static_cast<std::size_t>(states), h = static_cast<std::size_t>(horizon);
  for (std::size_t r = 0; r < given.size(); ++r) {
    recordings.push_back(measured(system, given[r], message("recording ", r)));
    const MeasuredRows& m = recordings.back();
    longest = std::max(longest, m.steps.size());
    for (std::size_t s = 0; s + h < m.steps.size(); s += static_cast<std::size_t>(apart)) {
      const double* const row = m.rows.data() + s * n;
      const bool complete = std::all_of(row, row + n, [](double x) { return std::isfinite(x); });
      if (complete) windows.push_back({static_cast<int>(r), static_cast<int>(s)});
    }
  }
  if (h >= longest) {
    throw Error(message("a window of ", horizon,
                        " samples ahead is longer than every recording; the longest has ", longest,
                        " samples"));
  }
  if (windows.empty()) {
    throw Error(
        "no sample has its whole state measured with enough samples behind it; windows "
        "begin at measured states");
  }
}

void WindowedRecordings::split(double share, std::vector<std::int64_t>& learn,
                               std::vector<std::int64_t>& validate) const {
  const int held = static_cast<int>(std::llround(share * static_cast<double>(recordings.size())));
  const bool whole =
      recordings.size() > 1 && held > 0 && held < static_cast<int>(recordings.size());
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const Window& at = windows[w];
    const auto index = static_cast<std::int64_t>(w);
    if (share <= 0) {
      learn.push_back(index);
    } else if (whole) {
      (at.recording >= static_cast<int>(recordings.size()) - held ? validate : learn)
          .push_back(index);
    } else {
      // The end of each recording; windows across the cut belong to neither.
      const double S =
          static_cast<double>(recordings[static_cast<std::size_t>(at.recording)].steps.size());
      const double cut = S * (1 - share);
      if (at.sample + horizon < cut) learn.push_back(index);
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

}  // namespace cycloid::inline learn
