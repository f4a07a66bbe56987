// cycloid simulate: a batch of environments, with random starts and inputs.
//
// The run is cut into segments, each of which starts where the one before it ended: inputs then
// need little memory, and progress can be shown. Where the cuts lie depends on what is asked for
// alone, never on the clock. An environment that diverged stays at its last finite state in all
// segments that follow, one that an event ended where it ended.
//
// A recording has a checkpoint, at the end of a segment: a run that goes on from there is, bit for
// bit, the run that was never interrupted.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "cli/command_line.h"
#include "cli/free_memory.h"
#include "cli/law_options.h"
#include "cli/progress.h"
#include "cli/random_inputs.h"
#include "cli/robot_tables.h"
#include "cli/table.h"
#include "cli/trajectory_file.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/record/run_recorder.h"

namespace cycloid::cli {
namespace {

struct SimulateOptions {
  LawOptions law;
  BatchOptions run{.batch = 1, .steps = 1000};
  RandomInputs random;
  std::string output, recording;
  std::optional<std::int64_t> environments;  // to write; one in a table, all in a recording
  std::int64_t every = 1;
  bool full = false, resume = false;
};

struct Simulation {
  std::int64_t steps_done = 0;     // of each environment
  std::int64_t resumed_at = 0;     // those of them that a recording had already
  double seconds = 0;              // of stepping alone: drawing the inputs is not the engine's work
  Report report;                   // over all segments; its memory and contacts are not filled in
  std::vector<double> last_state;  // of environment 0
  std::map<std::string, std::int64_t> event_counts;  // of all environments
  std::vector<Event> events;                         // of environment 0
};

// Numbers that a segment may hold, and steps of environments it should have.
constexpr double kSegmentNumbers = 1 << 22, kSegmentSteps = 1 << 20;
// ... and where they go to a file that loses at most a second when the program is killed.
constexpr double kRecordedSteps = 1 << 11;

template <class T>
class Simulator {
 public:
  Simulator(const System& system, const SimulateOptions& options)
      : system_(system),
        options_(options),
        batch_(options.run.batch),
        tabled_(options.output.empty() ? 0 : std::min(options.environments.value_or(1), batch_)),
        recorded_(options.recording.empty()
                      ? 0
                      : std::min(options.environments.value_or(batch_), batch_)) {
    require_memory(static_cast<double>(batch_) * system.states().size() * sizeof(T) * 6 +
                   segment_bytes());
    if (!options.output.empty()) file_.emplace(options.output, system);
    x_ = options.random.starts<T>(system, options.law.start(system), batch_);
    if (!options.recording.empty()) open_recording();
    if (result_.steps_done == 0 && saved_rows_ == 0) record(0, x_, {0});
  }

  Simulation run(const Terminal& terminal) {
    const double total = static_cast<double>(options_.run.steps) * static_cast<double>(batch_);
    Progress progress(terminal, "simulating " + system_.name(), total, "steps");
    const std::int64_t all = options_.run.steps, most = segment_steps();
    while (result_.steps_done < all &&
           result_.report.failed.size() < static_cast<std::size_t>(batch_)) {
      try {
        advance(std::min(most, all - result_.steps_done), progress.keep_going());
        progress.reached(static_cast<double>(result_.steps_done) * static_cast<double>(batch_));
      } catch (const Interrupted&) {
        if (recorder_) recorder_->close(checkpoint());
        throw Interrupted(message("interrupted after ", result_.steps_done, " of ", all, " steps",
                                  recorder_ ? "; --resume goes on from there" : ""));
      }
    }
    if (file_) file_->close();
    if (recorder_) recorder_->close(checkpoint());
    for (const auto& [environment, row] : unsolved_) result_.report.unsolved.push_back(row);
    for (const auto& [environment, row] : crowded_) result_.report.crowded.push_back(row);
    const std::size_t nx = static_cast<std::size_t>(system_.states().size());
    result_.last_state.assign(x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(nx));
    return std::move(result_);
  }

 private:
  double numbers_per_step() const {
    const int states = written() > 0 ? system_.states().size() : 1;
    return static_cast<double>(batch_) * std::max({1, system_.inputs().size(), states});
  }
  std::int64_t segment_steps() const {
    const double most = options_.recording.empty() ? kSegmentSteps : kRecordedSteps;
    const double steps =
        std::min(kSegmentNumbers / numbers_per_step(), most / static_cast<double>(batch_));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
  }
  double segment_bytes() const {
    return static_cast<double>(segment_steps()) * numbers_per_step() * sizeof(T) * 3;
  }

  void advance(std::int64_t steps, const KeepGoing& keep_going) {
    const std::int64_t first = result_.steps_done;
    const int threads = options_.run.thread_count();
    const std::vector<T> u =
        options_.random.inputs<T>(system_, batch_, first, steps, threads, keep_going);
    RolloutOptions options;
    options.threads = threads;
    options.t0 = static_cast<double>(first) * system_.timestep();
    options.keep_going = keep_going;
    const std::vector<std::int64_t> saved = saved_steps(first, steps);
    options.save = Save::at(saved);

    const auto begin = std::chrono::steady_clock::now();
    const Trajectory<T> run =
        rollout(system_, std::span<const T>(x_),
                u.empty() ? Controls<T>(steps) : Controls<T>(u, steps), {}, options);
    result_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

    result_.steps_done += steps;
    result_.report.lanes = run.report().lanes;
    result_.report.instruction_set = run.report().instruction_set;
    take_shortfalls(run.report(), first);
    take_failures(run, first);
    take_events(run, first);
    take_states(run);
    if (recorder_ && !u.empty()) record_inputs(u, steps);
    record(first, run.states(), saved);
    if (recorder_ && recorder_->due()) recorder_->keep(checkpoint());
  }

  std::int64_t written() const { return std::max(tabled_, recorded_); }

  // A new file, or with --resume the one that is there.
  void open_recording() {
    RunCheckpoint last = checkpoint();
    if (!options_.resume || !std::filesystem::exists(options_.recording)) {
      recorder_.emplace(options_.recording, header(), last);
      return;
    }
    recorder_.emplace(RunRecorder::resume(options_.recording, header(), last));
    go_on_from(last);
    if (result_.steps_done > options_.run.steps) {
      throw Error(message("\"", options_.recording, "\" has ", result_.steps_done,
                          " steps already, --steps asks for ", options_.run.steps));
    }
  }

  // Of every environment its state, then the step at which it stopped, and why.
  static constexpr double kRunning = 0, kDiverged = 1, kEnded = 2;
  RunCheckpoint checkpoint() const {
    RunCheckpoint out{.step = result_.steps_done, .rows = saved_rows_};
    const std::int64_t nx = system_.states().size();
    for (std::int64_t e = 0; e < batch_; ++e) {
      out.numbers.insert(out.numbers.end(), x_.begin() + e * nx, x_.begin() + (e + 1) * nx);
      const auto frozen = frozen_.find(e);
      const bool diverged = frozen != frozen_.end();
      out.numbers.push_back(diverged ? static_cast<double>(frozen->second.step) : 0);
      out.numbers.push_back(diverged ? kDiverged : ended_.contains(e) ? kEnded : kRunning);
    }
    return out;
  }

  void go_on_from(const RunCheckpoint& last) {
    result_.steps_done = result_.resumed_at = last.step;
    saved_rows_ = last.rows;
    const std::size_t nx = static_cast<std::size_t>(system_.states().size());
    for (std::int64_t e = 0; e < batch_; ++e) {
      const auto row = std::span(last.numbers).subspan(static_cast<std::size_t>(e) * (nx + 2));
      const std::vector<T> state(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(nx));
      std::copy(state.begin(), state.end(), x_.begin() + e * static_cast<std::int64_t>(nx));
      const std::int64_t step = static_cast<std::int64_t>(row[nx]);
      if (row[nx + 1] == kEnded) ended_[e] = state;
      if (row[nx + 1] != kDiverged) continue;
      frozen_[e] = {step, state};
      result_.report.failed.push_back({.environment = e,
                                       .step = step,
                                       .stage = "simulate",
                                       .body = "",
                                       .reason = "it diverged before the run was interrupted"});
    }
  }

  RunHeader header() const {
    RunHeader h = options_.law.run_header(system_);
    h.texts["options"] = Json{{"batch", batch_},
                              {"every", options_.every},
                              {"spread", options_.random.spread},
                              {"push", options_.random.push}}
                             .dump();
    const std::size_t numbers = static_cast<std::size_t>(recorded_ * system_.states().size());
    h.environments = recorded_;
    h.seed = options_.run.seed;
    h.single = std::is_same_v<T, float>;
    h.x0.assign(x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(numbers));
    return h;
  }

  void record_inputs(const std::vector<T>& u, std::int64_t steps) {
    const std::int64_t numbers = recorded_ * steps * system_.inputs().size();
    recorder_->add_inputs(std::vector<double>(u.begin(), u.begin() + numbers), steps);
  }

  // Steps of the segment to be recorded, then its last one. Step 0 of a segment is the last of the
  // one before.
  std::vector<std::int64_t> saved_steps(std::int64_t first, std::int64_t steps) const {
    std::vector<std::int64_t> saved;
    for (std::int64_t k = 1; written() > 0 && k < steps; ++k) {
      if ((first + k) % options_.every == 0) saved.push_back(k);
    }
    saved.push_back(steps);
    return saved;
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

  void take_failures(const Trajectory<T>& run, std::int64_t first) {
    for (Failure failure : run.report().failed) {
      if (frozen_.contains(failure.environment)) continue;
      const std::span<const T> state = run.state(failure.environment, -1);
      frozen_[failure.environment] = {first + failure.step, {state.begin(), state.end()}};
      failure.step += first;
      result_.report.failed.push_back(std::move(failure));
    }
  }

  // Of environments that had neither diverged nor ended before.
  void take_events(const Trajectory<T>& run, std::int64_t first) {
    std::map<std::int64_t, std::vector<T>> ended;
    for (Event event : run.events()) {
      const std::int64_t e = event.environment;
      const auto frozen = frozen_.find(e);
      if (ended_.contains(e)) continue;
      if (frozen != frozen_.end() && first + event.step > frozen->second.step) continue;
      event.step += first;
      ++result_.event_counts[event.name];
      if (ends(event.name)) ended[e] = {run.state(e, -1).begin(), run.state(e, -1).end()};
      if (e == 0) result_.events.push_back(std::move(event));
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
      std::copy(state.begin(), state.end(), x_.begin() + e * nx);
    }
  }

  // `rows` are (batch, saved, states); saved steps are counted from `first`.
  void record(std::int64_t first, std::span<const T> rows, const std::vector<std::int64_t>& saved) {
    const std::size_t nx = static_cast<std::size_t>(system_.states().size());
    const std::int64_t count = static_cast<std::int64_t>(saved.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t step = first + saved[static_cast<std::size_t>(i)];
      if (step % options_.every != 0 && step != options_.run.steps) continue;
      std::vector<double> all;
      for (std::int64_t e = 0; e < written(); ++e) {
        std::span<const T> row = rows.subspan(static_cast<std::size_t>(e * count + i) * nx, nx);
        const auto frozen = frozen_.find(e);
        const bool gone = frozen != frozen_.end() && step > frozen->second.step;
        if (gone) row = frozen->second.state;
        if (e < tabled_ && !gone) file_->write(e, step, row);
        if (e < recorded_) all.insert(all.end(), row.begin(), row.end());
      }
      if (recorder_) {
        recorder_->add_state(step, static_cast<double>(step) * system_.timestep(), all);
        ++saved_rows_;
      }
    }
  }

  struct Frozen {
    std::int64_t step;
    std::vector<T> state;
  };

  const System& system_;
  const SimulateOptions& options_;
  const std::int64_t batch_, tabled_, recorded_;
  std::int64_t saved_rows_ = 0;  // of the recording
  std::optional<TrajectoryFile> file_;
  std::optional<RunRecorder> recorder_;
  std::vector<T> x_;
  std::map<std::int64_t, Frozen> frozen_;         // environments that diverged
  std::map<std::int64_t, std::vector<T>> ended_;  // by an event, and where
  std::map<std::int64_t, Unsolved> unsolved_;
  std::map<std::int64_t, Crowded> crowded_;
  Simulation result_;
};

// "Events: 5 impact. Of environment 0: impact at 0.4515 s, …"; nothing where there were none.
std::string events_in_words(const Simulation& run) {
  if (run.event_counts.empty()) return {};
  std::string text;
  for (const auto& [name, count] : run.event_counts) {
    text += message(text.empty() ? "Events: " : ", ", count, " ", name);
  }
  constexpr std::size_t kNamed = 4;
  for (std::size_t i = 0; i < std::min(kNamed, run.events.size()); ++i) {
    text += message(i == 0 ? ". Of environment 0: " : ", ", run.events[i].name, " at ",
                    shown(run.events[i].time), " s");
  }
  return text + (run.events.size() > kNamed ? ", …\n" : "\n");
}

std::string files_in_words(const SimulateOptions& options) {
  std::string text;
  if (!options.output.empty()) text += message("\nTrajectory: ", options.output, "\n");
  if (!options.recording.empty()) text += message("\nRecording: ", options.recording, "\n");
  return text;
}

// "Resumed at step 2048 of 5000."; nothing where the run began here.
std::string resumed_in_words(const SimulateOptions& options, const Simulation& run) {
  if (run.resumed_at == 0) return {};
  return message("Resumed at step ", run.resumed_at, " of ", options.run.steps, ".\n");
}

std::string in_words(const SimulateOptions& options, const System& system, const Simulation& run,
                     double rate, const Terminal& terminal) {
  const double duration = static_cast<double>(options.run.steps) * system.timestep();
  std::string text = options.law.headline(system);
  text += message(counted(options.run.batch, "environment"), ", ",
                  counted(options.run.steps, "step"), " (", shown(duration), " s) each: ");
  if (run.resumed_at == options.run.steps) {
    text += "the recording was complete\n";
  } else {
    text += message(terminal.strong(short_number(rate) + " steps per second"), " (",
                    run.report.instruction_set, ", ", counted(run.report.lanes, "lane"), ")\n");
    text += resumed_in_words(options, run);
  }
  const auto name_first = [&](const char* what, const auto& rows) {
    constexpr std::size_t kNamed = 5;
    std::size_t named = 0;
    for (const auto& row : rows) {
      if (named++ == kNamed) break;
      bool stopped = false;  // rather than diverged
      if constexpr (requires { row.stage; }) stopped = row.stage == kEventStage;
      text += terminal.bad(stopped ? "stopped: " : what) + describe(row) + "\n";
    }
    if (rows.size() > kNamed) {
      text += message("… and ", rows.size() - kNamed, " more (--json lists all)\n");
    }
  };
  name_first("diverged: ", run.report.failed);
  name_first("not solved: ", run.report.unsolved);
  name_first("crowded: ", run.report.crowded);
  if (const std::string advice = run.report.advice(); !advice.empty()) text += advice + "\n";
  text += events_in_words(run);
  text += message("\nEnvironment 0 at the end:\n");
  if (const Model* robot = options.law.robot_model(); robot && !options.full) {
    text += joint_table(*robot, run.last_state, false).substr(1);
    return text + files_in_words(options);
  }
  Table table({Table::Align::left, Table::Align::right, Table::Align::left});
  const std::vector<NamedNumber> numbers = numbers_of(system.states());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    table.row({numbers[i].name, shown(run.last_state[i]), numbers[i].unit});
  }
  return text + table.text() + files_in_words(options);
}

void check_files(const SimulateOptions& options) {
  if (!options.resume) return;
  if (options.recording.empty()) throw UsageError("--resume needs --record FILE");
  if (!options.output.empty()) {
    throw UsageError("a table cannot be resumed: leave out --output, or --resume");
  }
}

Answer simulate(const SimulateOptions& options, const Terminal& terminal) {
  check_files(options);
  const System system = options.law.system();
  const Simulation run = in_precision_of(
      system, [&](auto zero) { return Simulator<decltype(zero)>(system, options).run(terminal); });
  const double done =
      static_cast<double>(run.steps_done - run.resumed_at) * static_cast<double>(options.run.batch);
  const double rate = run.seconds > 0 ? done / run.seconds : 0;

  Json json = options.law.described(system);
  json["steps"] = options.run.steps;
  json["batch"] = options.run.batch;
  json["seed"] = options.run.seed;
  json["threads"] = options.run.threads_used();
  json["instruction_set"] = run.report.instruction_set;
  json["lanes"] = run.report.lanes;
  json["seconds"] = run.seconds;
  json["steps_per_second"] = rate;
  json["failed"] = Json::array();
  for (const Failure& f : run.report.failed) {
    json["failed"].push_back({{"environment", f.environment},
                              {"step", f.step},
                              {"stage", f.stage},
                              {"body", f.body},
                              {"reason", f.reason}});
  }
  json["unsolved"] = Json::array();
  for (const Unsolved& u : run.report.unsolved) {
    json["unsolved"].push_back({{"environment", u.environment},
                                {"step", u.step},
                                {"residual", u.residual},
                                {"count", u.count}});
  }
  json["crowded"] = Json::array();
  for (const Crowded& c : run.report.crowded) {
    json["crowded"].push_back(
        {{"environment", c.environment}, {"step", c.step}, {"count", c.count}});
  }
  json["event_counts"] = run.event_counts;
  json["events"] = Json::array();
  for (const Event& e : run.events) {
    json["events"].push_back({{"name", e.name}, {"step", e.step}, {"time", e.time}});
  }
  json["state_names"] = names_of(system.states());
  json["final_state"] = run.last_state;
  if (!options.output.empty()) json["output"] = options.output;
  if (!options.recording.empty()) json["recording"] = options.recording;
  if (options.resume) json["resumed_at"] = run.resumed_at;
  return {json, in_words(options, system, run, rate, terminal),
          run.report.failed.empty() ? kSuccess : kAnswerIsNo};
}

Run declare_simulate(Options& options) {
  const auto o = std::make_shared<SimulateOptions>();
  o->law.declare(options);
  o->run.declare(options);
  o->random.declare(options);
  options.text("--output", "FILE", o->output, "write the motion as CSV");
  options.text("--record", "FILE", o->recording,
               "write it as HDF5 while it runs, with inputs and model;\ncycloid.open reads it");
  options.flag("--resume", o->resume,
               "go on with --record FILE where it was interrupted;\nstart it where there is none");
  options.count("--environments", o->environments, 1, INT64_MAX,
                "environments to write (default: 1 with --output,\nall with --record)");
  options.flag("--full", o->full, "of a robot: every number of the last state");
  options.count("--every", o->every, 1, INT64_MAX, "write every N-th step");
  return [o](const Terminal& terminal) {
    o->random.seed = static_cast<std::uint64_t>(o->run.seed);
    return simulate(*o, terminal);
  };
}

}  // namespace

const Command kSimulate = {
    "simulate", "run a batch of environments and report its speed",
    "Runs a batch of environments from random starts, pushed by random inputs.\n\n"
    "The answer has the steps per second of all environments together, those that\n"
    "diverged, how many events there were (\"event_counts\"), and of the first\n"
    "environment its events and its last state (\"final_state\").",
    "cycloid simulate pendulum --steps 1000 --batch 64 --seed 0 --json", declare_simulate};

}  // namespace cycloid::cli
