// cycloid simulate: a batch of environments, with random starts and inputs.
//
// The run is cut into segments, each of which starts where the one before it ended: inputs then
// need little memory, and progress can be shown. Where the cuts lie depends on what is asked for
// alone, never on the clock. What a run has come to after a segment is in run_so_far.h.
//
// A recording has a checkpoint at the end of a segment: a run that goes on from there is, bit for
// bit, the run that was never interrupted. A run that ends within a segment has one at the
// segment's beginning too, for a longer run.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command_line.h"
#include "cli/law_options.h"
#include "cli/memory_need.h"
#include "cli/progress.h"
#include "cli/random_inputs.h"
#include "cli/robot_tables.h"
#include "cli/run_so_far.h"
#include "cli/text_table.h"
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
                      : std::min(options.environments.value_or(batch_), batch_)),
        so_far_(system, batch_) {
    require_memory(static_cast<double>(batch_) * system.states().size() * sizeof(T) * 6 +
                   segment_bytes());
    if (!options.output.empty()) file_.emplace(options.output, system);
    so_far_.x = options.random.starts<T>(system, options.law.start(system), batch_);
    if (!options.recording.empty()) open_recording();
    if (so_far_.steps_done == 0 && saved_rows_ == 0) record(0, so_far_.x, {0});
  }

  Simulation run(const Terminal& terminal) {
    const double total = static_cast<double>(options_.run.steps) * static_cast<double>(batch_);
    Progress progress(terminal, "simulating " + system_.name(), total, "steps");
    const std::int64_t all = options_.run.steps, most = segment_steps();
    while (so_far_.steps_done < all && !so_far_.all_failed()) {
      try {
        const std::int64_t steps = std::min(most, all - so_far_.steps_done);
        // Where a run of more steps would go on.
        if (recorder_ && steps < most) recorder_->keep(checkpoint());
        advance(steps, progress.keep_going());
        progress.reached(static_cast<double>(so_far_.steps_done) * static_cast<double>(batch_));
      } catch (const Interrupted&) {
        close_recording();
        throw Interrupted(message("interrupted after ", so_far_.steps_done, " of ", all, " steps",
                                  recorder_ ? "; --resume goes on from there" : ""));
      }
    }
    if (file_) file_->close();
    close_recording();
    Simulation out = so_far_.result();
    out.seconds = seconds_;
    out.resumed_at = resumed_at_;
    out.report.lanes = lanes_;
    out.report.instruction_set = instruction_set_;
    return out;
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
    const std::int64_t first = so_far_.steps_done;
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
        rollout(system_, std::span<const T>(so_far_.x),
                u.empty() ? Controls<T>(steps) : Controls<T>(u, steps), {}, options);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

    lanes_ = run.report().lanes;
    instruction_set_ = run.report().instruction_set;
    const std::string notes = so_far_.take(run, steps);
    if (recorder_) recorder_->add_notes(notes);
    noted_ += std::ssize(notes);
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
    recorder_.emplace(RunRecorder::resume(options_.recording, header(), options_.run.steps,
                                          segment_steps(), last));
    so_far_.go_on_from(last.step, last.numbers, recorder_->notes());
    resumed_at_ = last.step;
    noted_ = last.notes;
    saved_rows_ = last.rows;
    if (last.step == options_.run.steps) return;
    // The last step of a shorter run may have a row that this one does not have.
    saved_rows_ = std::min(last.rows, last.step / options_.every + 1);
    if (saved_rows_ == last.rows) return;
    recorder_->cut_states(saved_rows_);
    recorder_->keep(checkpoint());
  }

  // What was complete stays as it is: with the checkpoint before its end.
  void close_recording() {
    if (recorder_ && so_far_.steps_done > resumed_at_) recorder_->close(checkpoint());
  }

  RunCheckpoint checkpoint() const {
    return {.step = so_far_.steps_done,
            .rows = saved_rows_,
            .notes = noted_,
            .numbers = so_far_.numbers()};
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
    h.x0.assign(so_far_.x.begin(), so_far_.x.begin() + static_cast<std::ptrdiff_t>(numbers));
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
        const bool gone = so_far_.diverged_before(e, step);
        if (gone) row = so_far_.diverged_state(e);
        if (e < tabled_ && !gone) file_->write(e, step, row);
        if (e < recorded_) all.insert(all.end(), row.begin(), row.end());
      }
      if (recorder_) {
        recorder_->add_state(step, static_cast<double>(step) * system_.timestep(), all);
        ++saved_rows_;
      }
    }
  }

  const System& system_;
  const SimulateOptions& options_;
  const std::int64_t batch_, tabled_, recorded_;
  std::int64_t saved_rows_ = 0, noted_ = 0;  // of the recording: rows, and bytes of notes
  std::int64_t resumed_at_ = 0;
  std::optional<TrajectoryFile> file_;
  std::optional<RunRecorder> recorder_;
  RunSoFar<T> so_far_;
  double seconds_ = 0;
  int lanes_ = 1;
  std::string instruction_set_;
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
  options.output("--output", o->output, "write the motion as CSV");
  options.output("--record", o->recording,
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
