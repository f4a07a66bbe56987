// cycloid doctor: does this installation work here, and as fast as it could? Each examination ends
// well, with a warning, or with a failure, and says what to do about it.

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "cli/command_line.h"
#include "cli/memory_need.h"
#include "cli/progress.h"
#include "cli/python_command.h"
#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/base/byte_size.h"
#include "cycloid/base/core_count.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/record/run_recorder.h"
#include "cycloid/system/systems.h"

namespace cycloid::cli {
namespace {

enum class Health { ok, warning, failed };

const char* name(Health health) {
  return health == Health::ok ? "ok" : health == Health::warning ? "warning" : "failed";
}

struct Finding {
  std::string subject;
  Health health = Health::ok;
  std::string found, advice;
};

Finding examine_build() {
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  return {"build", Health::ok,
          message("Cycloid ", CYCLOID_VERSION, ", gcc ", __VERSION__, ", optimised"), ""};
#else
  return {"build", Health::warning,
          message("Cycloid ", CYCLOID_VERSION, ", not an optimised build"),
          "for speed: make build, or cmake --preset release"};
#endif
}

Finding examine_instruction_set() {
  Finding finding{"instruction set", Health::ok, "", ""};
  const std::vector<InstructionSet>& available = available_instruction_sets();
  const InstructionSet active = active_instruction_set();
  finding.found = message("in use: ", active, "; available: ", available);
  if (active != available.back()) {
    finding.health = Health::warning;
    finding.advice = "CYCLOID_INSTRUCTION_SET chooses a narrower one: unset it for speed";
  }
  return finding;
}

Finding examine_processor() {
  std::string features;
  const auto add = [&](bool there, const char* name) {
    if (there) features += message(features.empty() ? "" : ", ", name);
  };
#if defined(__x86_64__)
  add(__builtin_cpu_supports("avx2"), "AVX2");
  add(__builtin_cpu_supports("fma"), "FMA");
  add(__builtin_cpu_supports("avx512f"), "AVX-512");
#endif
  return {"processor", Health::ok,
          features.empty() ? std::string("no wide vectors: the portable set is used") : features,
          ""};
}

// What only parts of Cycloid need. A Python that cannot be asked is no failure of the program.
Finding examine_packages() {
  Finding finding{"packages", Health::ok, "", ""};
  finding.found = can_record_runs() ? "libhdf5" : "no libhdf5 (simulate --record needs it)";
  const PythonAnswer answer = run_python({"packages"});
  const Json found = Json::parse(answer.output, nullptr, false);
  if (answer.status != kSuccess || !found.is_object()) {
    finding.found += "; no Python package cycloid here";
    finding.advice = "`cycloid view` needs it: make build, or pip install .";
    finding.health = Health::warning;
    return finding;
  }
  for (const auto& [name, version] : found.items()) {
    const bool there = version.is_string();
    finding.found += message("; ", there ? "" : "no ", name,
                             there ? " " + version.get<std::string>() : std::string());
  }
  return finding;
}

Finding examine_gpu() {
  std::error_code unreadable;
  const bool there = std::filesystem::exists("/dev/nvidia0", unreadable) ||
                     std::filesystem::exists("/dev/dxg", unreadable);
  return {
      "GPU", Health::ok,
      there ? "there is one; this release computes on processors" : "none found; none is needed",
      ""};
}

Finding examine_threads() {
  const int physical = physical_cores(), allowed = affinity_cores(), quota = quota_cores();
  const int usable = std::min({physical, allowed, quota}), threads = default_threads();
  const auto count = [](int n) { return n == INT_MAX ? std::string("no limit") : message(n); };
  Finding finding{"threads", Health::ok,
                  message(threads, " by default; cores: ", count(physical), " physical, ",
                          count(allowed), " allowed, quota: ", count(quota)),
                  ""};
  if (threads > usable) {
    finding.health = Health::warning;
    finding.advice = message("CYCLOID_THREADS asks for more threads than the ", usable,
                             " cores here: they will wait for each other");
  } else if (threads < usable) {
    finding.health = Health::warning;
    finding.advice = "CYCLOID_THREADS leaves cores unused: unset it for speed";
  }
  return finding;
}

Finding examine_load() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return {"load", Health::ok, "unknown", ""};
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", load);
  Finding finding{"load", Health::ok, message(text, " processes wanted to run in the last minute"),
                  ""};
  constexpr double kBusy = 1.2;  // this program itself counts
  if (load > kBusy * std::max(1, std::min(physical_cores(), affinity_cores()))) {
    finding.health = Health::warning;
    finding.advice = "the machine is busy: timings will be worse than they could be, and vary";
  }
  return finding;
}

Finding examine_memory() {
  const std::optional<std::uint64_t> free = free_memory();
  if (!free) return {"memory", Health::warning, "unknown", "the free memory cannot be read here"};
  Finding finding{"memory", Health::ok, print_byte_size(*free) + " free", ""};
  constexpr std::uint64_t kLittle = std::uint64_t{1} << 30;
  if (*free < kLittle) {
    finding.health = Health::warning;
    finding.advice = "large batches may not fit: give rollouts a budget, as in memory=\"64MB\"";
  }
  return finding;
}

// The shortest time that the clock of all our timings can tell apart.
Finding examine_clock() {
  using Clock = std::chrono::steady_clock;
  double tick = std::numeric_limits<double>::infinity();
  bool backwards = false;
  Clock::time_point last = Clock::now();
  for (int i = 0; i < 20'000; ++i) {
    const Clock::time_point now = Clock::now();
    const double passed = std::chrono::duration<double>(now - last).count();
    backwards = backwards || passed < 0;
    if (passed > 0) tick = std::min(tick, passed);
    last = now;
  }
  Finding finding{"clock", Health::ok, "", ""};
  char text[64];
  std::snprintf(text, sizeof text, "steady, tells %.0f ns apart", 1e9 * tick);
  finding.found = text;
  constexpr double kCoarse = 1e-6;
  if (backwards) {
    finding = {"clock", Health::failed, "the steady clock runs backwards",
               "timings are worthless here"};
  } else if (!(tick < kCoarse)) {
    finding.health = Health::warning;
    finding.advice = "the clock is coarse: measure for longer (cycloid bench --seconds)";
  }
  return finding;
}

// A batch that fills a chunk of lanes and begins another, so that packed and padded lanes are
// checked.
constexpr int kBatch = 17, kSteps = 20;

std::vector<double> starts(const System& system) {
  std::vector<double> rows;
  for (int e = 0; e < kBatch; ++e) {
    for (const double number : system.initial_state()) rows.push_back(number + 0.01 * e);
  }
  return rows;
}

Finding examine_gradient(InstructionSet set, Precision precision, const KeepGoing& keep_going) {
  const ScopedInstructionSet scope(set);
  const System system = systems::make("pendulum", {{"damping", {0.1}}}, {.precision = precision});
  CheckOptions options;
  options.numbers_per_block = 4;
  options.keep_going = keep_going;
  const GradientCheck check = check_gradient(system, starts(system), kSteps, {}, options);
  char error[64];
  std::snprintf(error, sizeof error, "relative error %.1e, tolerance %.0e",
                check.max_relative_error, check.tolerance);
  return {message("gradient, ", set, ", ", precision), check.ok ? Health::ok : Health::failed,
          error,
          check.ok ? ""
                   : "wrong derivatives on this machine: please report it, with the output of "
                     "cycloid doctor --json"};
}

// All instruction sets tell the same story, to rounding.
Finding examine_agreement() {
  constexpr double kTolerance = 1e-12 * kSteps;
  std::vector<double> reference;
  double largest = 0;
  for (const InstructionSet set : available_instruction_sets()) {
    const ScopedInstructionSet scope(set);
    const System system = systems::make("double_pendulum");
    const Trajectory<double> run = rollout(system, starts(system), kSteps);
    if (reference.empty()) reference.assign(run.states().begin(), run.states().end());
    for (std::size_t i = 0; i < reference.size(); ++i) {
      const double difference =
          std::abs(run.states()[i] - reference[i]) / std::max(1.0, std::abs(reference[i]));
      largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
    }
  }
  char text[64];
  std::snprintf(text, sizeof text, "differ by at most %.1e", largest);
  const bool ok = largest <= kTolerance;
  return {"instruction sets agree", ok ? Health::ok : Health::failed, text,
          ok ? ""
             : "results are wrong on one of them: please report it, with the output of cycloid "
               "doctor --json"};
}

// An examination that cannot be made is a failure with a reason, not the end of the others.
template <class F>
void examine(std::vector<Finding>& findings, const char* subject, F&& examination) {
  try {
    findings.push_back(examination());
  } catch (const Error& error) {
    findings.push_back({subject, Health::failed, error.what(), ""});
  }
}

std::vector<Finding> examine_all(const Terminal& terminal) {
  Progress progress(terminal, "examining");
  std::vector<Finding> findings;
  examine(findings, "build", examine_build);
  examine(findings, "instruction set", examine_instruction_set);
  examine(findings, "processor", examine_processor);
  examine(findings, "threads", examine_threads);
  examine(findings, "load", examine_load);
  examine(findings, "memory", examine_memory);
  examine(findings, "clock", examine_clock);
  examine(findings, "packages", examine_packages);
  examine(findings, "GPU", examine_gpu);
  for (const InstructionSet set : available_instruction_sets()) {
    for (const Precision precision : {Precision::float64, Precision::float32}) {
      examine(findings, "gradient",
              [&] { return examine_gradient(set, precision, progress.keep_going()); });
    }
  }
  examine(findings, "instruction sets agree", examine_agreement);
  return findings;
}

Answer doctor(const Terminal& terminal) {
  const std::vector<Finding> findings = examine_all(terminal);
  Health worst = Health::ok;
  Json json = {{"ok", true}, {"version", CYCLOID_VERSION}, {"checks", Json::array()}};
  std::string text;
  for (const Finding& f : findings) {
    worst = std::max(worst, f.health);
    json["checks"].push_back({{"name", f.subject},
                              {"status", name(f.health)},
                              {"found", f.found},
                              {"advice", f.advice}});
    const std::string padded =
        message(name(f.health), std::string(9 - std::string(name(f.health)).size(), ' '));
    text += (f.health == Health::ok        ? terminal.good(padded)
             : f.health == Health::warning ? terminal.warning(padded)
                                           : terminal.bad(padded)) +
            f.subject + ": " + f.found + "\n";
    if (!f.advice.empty()) text += "         " + f.advice + "\n";
  }
  json["ok"] = worst != Health::failed;
  text += worst == Health::ok        ? "\nAll is well.\n"
          : worst == Health::warning ? "\nCycloid works here; see the warnings.\n"
                                     : "\nCycloid does not work properly here; see what failed.\n";
  return {json, text, worst == Health::failed ? kAnswerIsNo : kSuccess};
}

Run declare_doctor(Options&) { return doctor; }

}  // namespace

const Command kDoctor = {
    "doctor", "examine this installation and say what to do",
    "Examines this installation: build, processor, threads, memory, clock, packages, and the\n"
    "gradient in every instruction set. Says what is wrong and what to do. Warnings are\n"
    "about speed; only a failure makes the exit status 1.",
    "cycloid doctor", declare_doctor};

}  // namespace cycloid::cli
