// cycloid bench: what a step costs, forward, with its gradient, and linearised.
//
// Medians over rounds. Every round measures all three in turn, so that a machine that grows slower
// or busier affects them alike. A rollout's cost includes what a user pays for it: checks, copies
// and the tape.

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/command_line.h"
#include "cli/law_options.h"
#include "cli/memory_need.h"
#include "cli/progress.h"
#include "cli/random_inputs.h"
#include "cli/text_table.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/rollout.h"

namespace cycloid::cli {
namespace {

struct BenchOptions {
  LawOptions law;
  BatchOptions run{.batch = 1024, .steps = 200, .threads = 1};
  RandomInputs random;
  double seconds = 1;
};

constexpr std::size_t kLeastRounds = 5;

// Microseconds per environment and step, one number per round.
struct Costs {
  std::vector<double> forward, forward_backward, linearise;
  Report report;  // of the last round's run

  void forget() {
    for (auto* values : {&forward, &forward_backward, &linearise}) values->clear();
  }
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Half the width of the middle half of the values, relative to their median.
double relative_noise(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return 0.5 * (values[3 * (n - 1) / 4] - values[(n - 1) / 4]) / values[n / 2];
}

template <class T>
class Bench {
 public:
  Bench(const System& system, const BenchOptions& options)
      : system_(system),
        options_(options),
        x_(options.random.starts<T>(system, options.law.start(system), options.run.batch)),
        u_(options.random.inputs<T>(system, options.run.batch, 0, options.run.steps, 0)),
        u_first_(options.random.inputs<T>(system, options.run.batch, 0, 1, 0)),
        states_bar_(x_.size(), T(1)) {
    rollout_options_.save = Save::last();
    rollout_options_.threads = options.run.thread_count();
  }

  Costs measure(const Terminal& terminal) {
    Progress progress(terminal, "measuring " + system_.name(), options_.seconds);
    round(progress.keep_going());  // warms up, and does not count
    costs_.forget();
    const Clock::time_point start = Clock::now();
    double elapsed = 0;
    while (elapsed < options_.seconds || costs_.forward.size() < kLeastRounds) {
      round(progress.keep_going());
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
      progress.reached(elapsed);
    }
    return std::move(costs_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <class F>
  static double microseconds(F&& f) {
    const Clock::time_point start = Clock::now();
    f();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }

  Trajectory<T> roll_out() const {
    const std::int64_t steps = options_.run.steps;
    return rollout(system_, std::span<const T>(x_),
                   u_.empty() ? Controls<T>(steps) : Controls<T>(u_, steps), {}, rollout_options_);
  }

  void round(const KeepGoing& keep_going) {
    rollout_options_.keep_going = keep_going;
    PullbackOptions pullback_options;
    pullback_options.keep_going = keep_going;
    const double env_steps =
        static_cast<double>(options_.run.batch) * static_cast<double>(options_.run.steps);
    costs_.forward.push_back(microseconds([&] { check(roll_out()); }) / env_steps);
    // An environment that is not solved costs as much as another.
    if (!costs_.report.unsolved.empty()) pullback_options.failed = PullbackOptions::Failed::skip;
    costs_.forward_backward.push_back(
        microseconds([&] { roll_out().pullback(states_bar_, pullback_options); }) / env_steps);
    const UnwatchedCall unwatched;
    LineariseOptions options;
    options.threads = options_.run.thread_count();
    costs_.linearise.push_back(microseconds([&] {
                                 linearise(system_, std::span<const T>(x_),
                                           std::span<const T>(u_first_), {}, options);
                               }) /
                               static_cast<double>(options_.run.batch));
  }

  // A frozen environment costs as much as another, but says nothing about the law.
  void check(const Trajectory<T>& run) {
    costs_.report = run.report();
    if (run.report().failed.empty()) return;
    throw Error(message("the run to be measured diverges: ", describe(run.report().failed.front()),
                        "; take fewer --steps, a smaller --dt or a smaller --push"));
  }

  const System& system_;
  const BenchOptions& options_;
  std::vector<T> x_, u_, u_first_, states_bar_;
  RolloutOptions rollout_options_;
  Costs costs_;
};

Answer bench(const BenchOptions& options, const Terminal& terminal) {
  const System system = options.law.system();
  if (!(options.seconds >= 0)) {
    throw UsageError(message("--seconds: expected 0 or a positive number, got ", options.seconds));
  }
  const double batch = static_cast<double>(options.run.batch),
               steps = static_cast<double>(options.run.steps);
  const double nx = system.states().size(), nu = system.inputs().size();
  require_memory(sizeof(double) * batch * (2.5 * steps * nu + nx * (8 + nx + nu)));
  const Costs costs = in_precision_of(
      system, [&](auto zero) { return Bench<decltype(zero)>(system, options).measure(terminal); });

  Json json = options.law.described(system);
  json["batch"] = options.run.batch;
  json["steps"] = options.run.steps;
  json["threads"] = options.run.threads_used();
  json["instruction_set"] = costs.report.instruction_set;
  json["lanes"] = costs.report.lanes;
  json["forward_us"] = median(costs.forward);
  json["forward_backward_us"] = median(costs.forward_backward);
  json["linearise_us"] = median(costs.linearise);
  json["contacts"] = costs.report.mean("contacts");
  json["unsolved"] = costs.report.unsolved.size();
  json["crowded"] = costs.report.crowded.size();
  json["noise"] = std::max({relative_noise(costs.forward), relative_noise(costs.forward_backward),
                            relative_noise(costs.linearise)});
  json["rounds"] = costs.forward.size();

  Table table({Table::Align::left, Table::Align::right, Table::Align::left, Table::Align::right});
  const auto line = [&](const char* name, const std::vector<double>& values) {
    char noise[32];
    std::snprintf(noise, sizeof noise, "± %.1f %%", 100 * relative_noise(values));
    table.row({name, shown(1e3 * median(values)), "ns", noise});
  };
  line("forward", costs.forward);
  line("forward and backward", costs.forward_backward);
  line("linearise", costs.linearise);
  std::string text = message(
      options.law.headline(system), "batch ", options.run.batch, ", ",
      counted(options.run.steps, "step"), ", threads ", options.run.threads_used(), " (",
      costs.report.instruction_set, ", ", counted(costs.report.lanes, "lane"),
      "); per environment and step, median of ", costs.forward.size(), " rounds:\n\n", table.text(),
      "\ncontacts: ", shown(costs.report.mean("contacts")), " per environment and step\n");
  if (const std::string advice = costs.report.advice(); !advice.empty()) {
    text += message(counted(static_cast<std::int64_t>(costs.report.unsolved.size()), "environment"),
                    " not solved, ", costs.report.crowded.size(), " crowded. ", advice, "\n");
  }
  return {json, text};
}

Run declare_bench(Options& options) {
  const auto o = std::make_shared<BenchOptions>();
  o->law.declare(options);
  o->run.declare(options);
  o->random.declare(options);
  options.number("--seconds", o->seconds, "how long to measure, at least");
  return [o](const Terminal& terminal) {
    o->random.seed = static_cast<std::uint64_t>(o->run.seed);
    return bench(*o, terminal);
  };
}

}  // namespace

const Command kBench = {
    "bench", "what a step costs, with and without its gradient",
    "Measures what a step costs per environment: forward (\"forward_us\"), together with\n"
    "its gradient (\"forward_backward_us\"), and linearised (\"linearise_us\"); and counts\n"
    "what touches (\"contacts\").",
    "cycloid bench pendulum --batch 1024 --dtype float32 --threads 1 --json", declare_bench};

}  // namespace cycloid::cli
