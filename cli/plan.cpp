// cycloid plan: inputs that bring a model where it is wanted.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/command_line.h"
#include "cli/law_options.h"
#include "cli/progress.h"
#include "cli/text_table.h"
#include "cycloid/optimise/planning/free_time.h"
#include "cycloid/optimise/planning/plan_page.h"
#include "cycloid/optimise/verify.h"

namespace cycloid::cli {
namespace {

struct PlanCommandOptions {
  LawOptions law;
  std::vector<std::string> targets;  // "name=1,2" or "name=1,2@all"
  std::int64_t steps = 100, iterations = 200, seed = 0, threads = 0;
  double weight = 100, effort = 1e-3, smooth = 0;
  std::string method = "ilqr", report;
  std::vector<double> low, high, free_time;
  double time_weight = 0;
  std::optional<double> time_limit;
};

Reach target_of(const std::string& text, double weight) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw UsageError(message("--target: expected name=number,…, got \"", text, "\""));
  }
  std::string numbers = text.substr(equals + 1);
  When when = When::end();
  if (const std::size_t at = numbers.find('@'); at != std::string::npos) {
    const std::string word = numbers.substr(at + 1);
    numbers.resize(at);
    if (word == "all") {
      when = When::all();
    } else if (word != "end") {
      std::vector<std::int64_t> steps;
      for (const double t : parse_numbers(word, "--target: the steps behind @")) {
        if (t != std::floor(t)) throw UsageError("--target: steps behind @ are whole numbers");
        steps.push_back(static_cast<std::int64_t>(t));
      }
      when = When::at(std::move(steps));
    }
  }
  return {text.substr(0, equals), parse_numbers(numbers, "--target"), {weight}, std::move(when)};
}

std::vector<double> limits(const std::vector<double>& given, std::size_t inputs, const char* name) {
  if (given.size() == inputs) return given;
  if (given.size() == 1) return std::vector<double>(inputs, given[0]);
  throw UsageError(message(name, ": expected one number or ", inputs, ", got ", given.size()));
}

Json rows(const std::vector<double>& numbers, std::size_t width) {
  Json all = Json::array();
  for (std::size_t i = 0; i + width <= numbers.size(); i += width) {
    all.push_back(std::vector<double>(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                                      numbers.begin() + static_cast<std::ptrdiff_t>(i + width)));
  }
  return all;
}

Answer make_plan(const PlanCommandOptions& o, const Terminal& terminal) {
  const System system = o.law.system();
  const std::vector<double> x0 = o.law.start(system);
  const std::size_t nu = static_cast<std::size_t>(system.inputs().size()),
                    nx = static_cast<std::size_t>(system.states().size());
  if (o.targets.empty()) {
    throw UsageError("--target is needed: what is to be reached, as name=number,…");
  }
  Cost cost;
  for (const std::string& text : o.targets) cost = cost + target_of(text, o.weight);
  if (o.effort > 0) cost = cost + Effort{{o.effort}};
  if (o.smooth > 0) cost = cost + Smooth{{o.smooth}};

  PlanOptions options;
  options.method = o.method;
  options.iterations = static_cast<int>(o.iterations);
  options.seed = static_cast<std::uint64_t>(o.seed);
  options.threads = static_cast<int>(o.threads);
  options.time_limit = o.time_limit;
  for (std::size_t i = 0; i < nu; ++i) {
    options.low.push_back(system.input_bounds(static_cast<int>(i)).low);
    options.high.push_back(system.input_bounds(static_cast<int>(i)).high);
  }
  if (!o.low.empty()) options.low = limits(o.low, nu, "--low");
  if (!o.high.empty()) options.high = limits(o.high, nu, "--high");
  Progress progress(terminal, "planning", static_cast<double>(o.iterations), "iterations");
  options.keep_going = progress.keep_going();
  options.watch = [&](const optimise::Progress& now) {
    if (progress.interrupted()) return false;
    progress.reached(now.iteration);
    return true;
  };
  Plan found;
  if (o.free_time.empty()) {
    found = plan(system, x0, cost, o.steps, options);
  } else {
    if (o.free_time.size() != 2) throw UsageError("--free-time: expected two times, low,high [s]");
    TimedPlan timed = plan_with_free_time(system, x0, cost, o.steps,
                                          {o.free_time[0], o.free_time[1], o.time_weight}, options);
    found = std::move(timed.plan);
    options.params = std::move(timed.params);
  }
  const double step = options.params.empty() ? system.timestep()
                                             : with_parameters(system, options.params).timestep();
  Trust trust;
  try {
    progress.reached(found.iterations);
    trust = verify(system, x0, cost, found, options,
                   {.threads = options.threads, .keep_going = options.keep_going});
  } catch (const Interrupted&) {
    trust.verdict = "interrupted: the best so far, not examined";
  }

  Json json = o.law.described(system);
  json["method"] = o.method;
  json["steps"] = o.steps;
  json["cost"] = found.cost;
  json["converged"] = found.converged;
  json["message"] = found.message;
  json["iterations"] = found.iterations;
  json["simulated_steps"] = found.steps;
  json["seconds"] = found.seconds;
  json["history"] = found.history;
  json["end_time"] = static_cast<double>(o.steps) * step;
  json["verdict"] = trust.verdict;
  json["state_names"] = names_of(system.states());
  json["input_names"] = names_of(system.inputs());
  json["controls"] = rows(found.controls, nu);
  json["states"] = rows(found.states, nx);

  std::string text = o.law.headline(system);
  text += message("\n", found.message, "\n\ncost ", shown(found.history.front()), " -> ",
                  shown(found.cost), " in ", found.iterations, " iterations, ",
                  shown(found.seconds), " s (", found.steps, " simulated steps)\n\n");
  Table table({Table::Align::left, Table::Align::right, Table::Align::right});
  table.row({"state", "at the start", "at the end"});
  const std::vector<std::string> names = names_of(system.states());
  for (std::size_t i = 0; i < nx && i < 24; ++i) {
    table.row({names[i], shown(found.states[i]),
               shown(found.states[static_cast<std::size_t>(o.steps) * nx + i])});
  }
  text += table.text();
  if (nx > 24) text += message("… and ", nx - 24, " more; --json prints all\n");
  if (!o.free_time.empty()) {
    text += message("\nend time ", shown(static_cast<double>(o.steps) * step), " s\n");
  }
  text += message("\n", trust.verdict, "\n");
  if (!o.report.empty()) {
    plan_page(system, found, step, options.low, options.high, trust.verdict).write(o.report);
    json["report"] = std::filesystem::absolute(o.report).string();
    text += message("report: ", o.report, "\n");
  }
  if (progress.interrupted()) return {json, text, kInterrupted};
  return {json, text, found.converged ? kSuccess : kAnswerIsNo};
}

Run declare_plan(Options& options) {
  const auto o = std::make_shared<PlanCommandOptions>();
  o->law.declare(options);
  options.texts("--target", "NAME=…", o->targets,
                "what to reach: a state block, an observable or \"state\", and its\nnumbers; at "
                "the end, or behind @ \"all\" or steps\n(angle=3.1416@all); may be given several "
                "times");
  options.count("--steps", o->steps, 1, 10'000'000, "steps of the plan");
  options.number("--weight", o->weight, "of the squared distances to the targets");
  options.number("--effort", o->effort, "weight of the inputs' squares");
  options.number("--smooth", o->smooth, "weight of the squares of the inputs' changes");
  options.choice("--method", o->method, plan_methods(), "how it is found");
  options.numbers("--low", o->low, "least input, one or one for each (default: the model's)");
  options.numbers("--high", o->high, "largest input, likewise");
  options.count("--iterations", o->iterations, 0, 1'000'000, "at most");
  options.number("--time-limit", o->time_limit, "[s]; the iteration that it ends in is finished");
  options.numbers("--free-time", o->free_time, "low,high [s]: the end time is found too");
  options.number("--time-weight", o->time_weight, "what a second of it costs");
  options.output("--report", o->report, "a page with plots (.html)");
  options.count("--seed", o->seed, 0, std::int64_t{1} << 62, "of noise");
  options.count("--threads", o->threads, 0, 1024, "0: as many as the machine offers");
  return [o](const Terminal& terminal) { return make_plan(*o, terminal); };
}

}  // namespace

const Command kPlan = {
    "plan", "inputs that bring a model where it is wanted",
    "Plans the inputs of so many steps that bring the model to its targets at least\n"
    "cost, within the inputs' limits. The answer has controls and states, and the exit\n"
    "status is 0 where the plan has converged. Ctrl-C ends it with the best so far.",
    "cycloid plan pendulum --target state=3.14159,0 --steps 150 --low -8 --high 8", declare_plan};

}  // namespace cycloid::cli
