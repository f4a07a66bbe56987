// cycloid gradcheck: the gradient of a rollout, held to central differences.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include "cli/command_line.h"
#include "cli/law_options.h"
#include "cli/memory_need.h"
#include "cli/progress.h"
#include "cli/random_inputs.h"
#include "cli/text_table.h"
#include "cycloid/adjoint/check_gradient.h"

namespace cycloid::cli {
namespace {

struct GradcheckOptions {
  LawOptions law;
  BatchOptions run{.batch = 2, .steps = 20};
  RandomInputs random;
  double tolerance = 0;
  bool full = false;
};

constexpr std::size_t kShownBlocks = 10;

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

// The worst blocks as a table, worst first, and how many are left out.
std::string worst_blocks(const GradientCheck& check) {
  if (check.by_block.size() <= kShownBlocks) return check.text;
  std::vector<std::pair<std::string, BlockCheck>> rows(check.by_block.begin(),
                                                       check.by_block.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.relative_error > b.second.relative_error;
  });
  using enum Table::Align;
  Table table({left, right, right, right});
  table.row({"block", "rel. error", "noise", "largest"});
  for (std::size_t i = 0; i < kShownBlocks; ++i) {
    const auto& [name, b] = rows[i];
    table.row({name, scientific(b.relative_error), scientific(b.noise), shown(b.largest)});
  }
  const auto rest = rows.begin() + kShownBlocks;
  const auto zero =
      std::count_if(rest, rows.end(), [](const auto& r) { return !r.second.largest; });
  std::string text = message(table.text(), "  … and ", rows.size() - kShownBlocks,
                             " blocks more, each within ", scientific(rest->second.relative_error),
                             "; ", zero, " of them have no gradient (--full)\n");
  // What the check says below its table.
  std::istringstream lines(check.text);
  std::string line;
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    if (i > check.by_block.size()) text += line + "\n";
  }
  return text;
}

GradientCheck checked(const System& system, const GradcheckOptions& options,
                      const Terminal& terminal) {
  const std::int64_t batch = options.run.batch, steps = options.run.steps;
  if (options.tolerance < 0) {
    throw UsageError(
        message("--tolerance: expected 0 or a positive number, got ", options.tolerance));
  }
  const double numbers = system.states().size() + system.inputs().size();
  require_memory(6 * sizeof(double) * numbers * static_cast<double>(batch) *
                 static_cast<double>(steps));

  Progress progress(terminal, "checking the gradient of " + system.name());
  const std::vector<double> x0 =
      options.random.starts<double>(system, options.law.start(system), batch);
  const std::vector<double> u = options.random.inputs<double>(
      system, batch, 0, steps, options.run.thread_count(), progress.keep_going());
  CheckOptions check_options;
  check_options.tolerance = options.tolerance;
  check_options.seed = options.random.seed;
  check_options.threads = options.run.thread_count();
  check_options.keep_going = progress.keep_going();
  const UnwatchedCall ends_at_once;  // its many short rollouts need not look for Ctrl-C
  return check_gradient(system, x0,
                        u.empty() ? Controls<double>(steps) : Controls<double>(u, steps), {},
                        check_options);
}

Answer gradcheck(const GradcheckOptions& options, const Terminal& terminal) {
  const System system = options.law.system();
  const std::int64_t batch = options.run.batch, steps = options.run.steps;
  const GradientCheck check = checked(system, options, terminal);

  Json json = options.law.described(system);
  json["steps"] = steps;
  json["batch"] = batch;
  json["seed"] = options.run.seed;
  json["ok"] = check.ok;
  json["max_relative_error"] = check.max_relative_error;
  json["tolerance"] = check.tolerance;
  json["by_block"] = Json::object();
  json["details"] = Json::object();
  for (const auto& [name, b] : check.by_block) {
    json["by_block"][name] = b.relative_error;
    json["details"][name] = {{"noise", b.noise},
                             {"largest", b.largest},
                             {"worst", b.worst},
                             {"gradient", b.gradient},
                             {"difference", b.difference}};
  }
  json["crowded"] = check.crowded.size();
  const std::string verdict = check.ok ? terminal.good("ok") : terminal.bad("not ok");
  return {json,
          message(options.law.headline(system), counted(steps, "step"), ", batch ", batch, ": ",
                  verdict, "\n\n", options.full ? check.text : worst_blocks(check)),
          check.ok ? kSuccess : kAnswerIsNo};
}

Run declare_gradcheck(Options& options) {
  const auto o = std::make_shared<GradcheckOptions>();
  o->law.declare(options);
  o->run.declare(options);
  o->random.declare(options);
  options.number("--tolerance", o->tolerance,
                 "largest relative error; 0 means 1e-6, or\n1e-3 in float32");
  options.flag("--full", o->full, "every block, not the worst ten");
  return [o](const Terminal& terminal) {
    o->random.seed = static_cast<std::uint64_t>(o->run.seed);
    return gradcheck(*o, terminal);
  };
}

}  // namespace

const Command kGradcheck = {
    "gradcheck", "hold the gradient of a rollout to central differences",
    "Holds the gradient of a rollout to central differences, block by block: initial\n"
    "state, inputs and every parameter. The exit status is 1 when they disagree.",
    "cycloid gradcheck pendulum --steps 200", declare_gradcheck};

}  // namespace cycloid::cli
