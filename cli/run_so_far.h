// What a run in segments has come to: states, environments that stopped, what is reported.
//
// An environment that diverged stays at its last finite state in all segments that follow, one that
// an event ended where it ended.
//
// A checkpoint is made of it, from which a run goes on as if it had never been interrupted, its
// report included. It has two parts. Numbers, always as many: of every environment its state, then
//   the step at which it stopped, and why (0: it runs, 1: it diverged, 2: an event ended it),
//   of steps that were not solved the first, how many, and the largest residual,
//   of steps with too many contacts the first, and how many;
// and how often each event of the System happened. Notes, lines of JSON that are only appended:
// failures in words, events of environment 0.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cycloid/adjoint/rollout.h"

namespace cycloid::cli {

struct Simulation {
  std::int64_t steps_done = 0;     // of each environment
  std::int64_t resumed_at = 0;     // those of them that a recording had already
  double seconds = 0;              // of stepping alone: drawing the inputs is not the engine's work
  Report report;                   // over all segments; its memory and contacts are not filled in
  std::vector<double> last_state;  // of environment 0
  std::map<std::string, std::int64_t> event_counts;  // of all environments
  std::vector<Event> events;                         // of environment 0
};

template <class T>
class RunSoFar {
 public:
  std::int64_t steps_done = 0;
  std::vector<T> x;  // (batch, states)

  RunSoFar(const System& system, std::int64_t batch) : system_(system), batch_(batch) {}

  bool all_failed() const { return std::ssize(failed_) >= batch_; }
  bool diverged_before(std::int64_t environment, std::int64_t step) const {
    const auto frozen = frozen_.find(environment);
    return frozen != frozen_.end() && step > frozen->second.step;
  }
  const std::vector<T>& diverged_state(std::int64_t environment) const {
    return frozen_.at(environment).state;
  }

  // A segment that began here; returns its notes.
  std::string take(const Trajectory<T>& run, std::int64_t steps) {
    const std::int64_t first = steps_done;
    std::string notes;
    take_shortfalls(run.report(), first);
    take_failures(run, first, notes);
    take_events(run, first, notes);
    take_states(run);
    steps_done += steps;
    return notes;
  }

  Simulation result() const {
    Simulation out;
    out.steps_done = steps_done;
    out.event_counts = event_counts_;
    out.events = events_;
    out.report.failed = failed_;
    for (const auto& [environment, row] : unsolved_) out.report.unsolved.push_back(row);
    for (const auto& [environment, row] : crowded_) out.report.crowded.push_back(row);
    out.last_state.assign(x.begin(), x.begin() + system_.states().size());
    return out;
  }

  std::vector<double> numbers() const {
    std::vector<double> out;
    const std::int64_t nx = system_.states().size();
    for (std::int64_t e = 0; e < batch_; ++e) {
      out.insert(out.end(), x.begin() + e * nx, x.begin() + (e + 1) * nx);
      const auto frozen = frozen_.find(e);
      const bool diverged = frozen != frozen_.end();
      const Unsolved unsolved = unsolved_.contains(e) ? unsolved_.at(e) : Unsolved{};
      const Crowded crowded = crowded_.contains(e) ? crowded_.at(e) : Crowded{};
      out.push_back(diverged ? static_cast<double>(frozen->second.step) : 0);
      out.push_back(diverged ? kDiverged : ended_.contains(e) ? kEnded : kRunning);
      out.push_back(static_cast<double>(unsolved.step));
      out.push_back(static_cast<double>(unsolved.count));
      out.push_back(unsolved.residual);
      out.push_back(static_cast<double>(crowded.step));
      out.push_back(static_cast<double>(crowded.count));
    }
    for (const EventSpec& event : system_.events()) {
      const auto count = event_counts_.find(event.name);
      out.push_back(count == event_counts_.end() ? 0 : static_cast<double>(count->second));
    }
    return out;
  }

  void go_on_from(std::int64_t step, const std::vector<double>& numbers, const std::string& notes) {
    steps_done = step;
    const std::size_t nx = static_cast<std::size_t>(system_.states().size());
    std::span<const double> left(numbers);
    for (std::int64_t e = 0; e < batch_; ++e) {
      const std::vector<T> state(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(nx));
      std::copy(state.begin(), state.end(), x.begin() + e * static_cast<std::int64_t>(nx));
      restore(e, state, left.subspan(nx, kNumbers));
      left = left.subspan(nx + kNumbers);
    }
    for (const EventSpec& event : system_.events()) {
      if (left[0] > 0) event_counts_[event.name] = static_cast<std::int64_t>(left[0]);
      left = left.subspan(1);
    }
    std::istringstream lines(notes);
    for (std::string line; std::getline(lines, line);) restore(Json::parse(line));
  }

 private:
  static constexpr double kRunning = 0, kDiverged = 1, kEnded = 2;
  static constexpr std::size_t kNumbers = 7;  // of an environment, besides its state

  struct Frozen {
    std::int64_t step;
    std::vector<T> state;
  };

  void restore(std::int64_t e, const std::vector<T>& state, std::span<const double> n) {
    const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(n[i]); };
    if (n[1] == kEnded) ended_[e] = state;
    if (n[1] == kDiverged) frozen_[e] = {whole(0), state};
    if (n[3] > 0) {
      unsolved_[e] = {.environment = e, .step = whole(2), .count = whole(3), .residual = n[4]};
    }
    if (n[6] > 0) crowded_[e] = {.environment = e, .step = whole(5), .count = whole(6)};
  }

  void restore(const Json& note) {
    if (note.contains("reason")) {
      failed_.push_back({.environment = note.at("environment"),
                         .step = note.at("step"),
                         .stage = note.at("stage"),
                         .body = note.at("body"),
                         .reason = note.at("reason")});
    } else {
      Event event;
      event.name = note.at("event");
      event.step = note.at("step");
      event.time = note.at("time");
      events_.push_back(event);
    }
  }

  // Of environments that had not diverged before; segments of one environment become one row.
  void take_shortfalls(const Report& report, std::int64_t first) {
    const auto take = [&](const auto& rows, auto& all) {
      for (auto row : rows) {
        if (frozen_.contains(row.environment)) continue;
        row.step += first;
        const auto [at, is_new] = all.try_emplace(row.environment, row);
        if (is_new) continue;
        at->second.count += row.count;
        if constexpr (requires { row.residual; }) {
          at->second.residual = std::max(at->second.residual, row.residual);
        }
      }
    };
    take(report.unsolved, unsolved_);
    take(report.crowded, crowded_);
  }

  void take_failures(const Trajectory<T>& run, std::int64_t first, std::string& notes) {
    for (Failure failure : run.report().failed) {
      if (frozen_.contains(failure.environment)) continue;
      const std::span<const T> state = run.state(failure.environment, -1);
      frozen_[failure.environment] = {first + failure.step, {state.begin(), state.end()}};
      failure.step += first;
      notes += Json{{"environment", failure.environment},
                    {"step", failure.step},
                    {"stage", failure.stage},
                    {"body", failure.body},
                    {"reason", failure.reason}}
                   .dump() +
               "\n";
      failed_.push_back(std::move(failure));
    }
  }

  // Of environments that had neither diverged nor ended before.
  void take_events(const Trajectory<T>& run, std::int64_t first, std::string& notes) {
    std::map<std::int64_t, std::vector<T>> ended;
    for (Event event : run.events()) {
      const std::int64_t e = event.environment;
      if (ended_.contains(e) || diverged_before(e, first + event.step)) continue;
      event.step += first;
      ++event_counts_[event.name];
      if (ends(event.name)) ended[e] = {run.state(e, -1).begin(), run.state(e, -1).end()};
      if (e != 0) continue;
      notes +=
          Json{{"event", event.name}, {"step", event.step}, {"time", event.time}}.dump() + "\n";
      events_.push_back(std::move(event));
    }
    ended_.merge(ended);
  }

  bool ends(const std::string& event) const {
    for (const EventSpec& known : system_.events()) {
      if (known.name == event) return known.effect == EventEffect::end;
    }
    return false;
  }

  void take_states(const Trajectory<T>& run) {
    const std::int64_t nx = system_.states().size();
    for (std::int64_t e = 0; e < batch_; ++e) {
      const auto frozen = frozen_.find(e);
      const auto ended = ended_.find(e);
      const std::span<const T> state = frozen != frozen_.end()
                                           ? std::span<const T>(frozen->second.state)
                                       : ended != ended_.end() ? std::span<const T>(ended->second)
                                                               : run.state(e, -1);
      std::copy(state.begin(), state.end(), x.begin() + e * nx);
    }
  }

  const System& system_;
  std::int64_t batch_;
  std::map<std::int64_t, Frozen> frozen_;         // environments that diverged
  std::map<std::int64_t, std::vector<T>> ended_;  // by an event, and where
  std::map<std::int64_t, Unsolved> unsolved_;
  std::map<std::int64_t, Crowded> crowded_;
  std::vector<Failure> failed_;
  std::map<std::string, std::int64_t> event_counts_;
  std::vector<Event> events_;
};

}  // namespace cycloid::cli
