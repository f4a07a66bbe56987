// cycloid evaluate: how far to believe a model, against another one or what was recorded.

#include "cycloid/evaluate/evaluate.h"

#include <filesystem>
#include <memory>

#include "cli/command_line.h"
#include "cli/law_options.h"
#include "cli/progress.h"
#include "cli/random_inputs.h"
#include "cycloid/learn/law_file.h"
#include "cycloid/record/hdf5_file.h"

namespace cycloid::cli {
namespace {

struct EvaluateWords {
  LawOptions law, truth;
  std::vector<std::string> truths;
  std::string beside, report;
  RandomInputs random;
  std::int64_t runs = 16, steps = 200, seed = 0, threads = 0;
  bool no_timing = false;
};

bool is_learned(const std::string& path) { return path.ends_with(".cyl"); }

bool is_recording(const std::string& path) {
  for (const char* end : {".csv", ".npz", ".h5", ".hdf5"}) {
    if (path.ends_with(end)) return true;
  }
  return false;
}

Candidate candidate(const LawOptions& options) {
  const System system =
      is_learned(options.model) ? load_law(options.model).system : options.system();
  return {is_learned(options.model) ? std::filesystem::path(options.model).filename().string()
                                    : system.name(),
          system};
}

Scorecard card_of(const EvaluateWords& words, const Candidate& model, const KeepGoing& keep_going,
                  std::vector<std::string>& notes) {
  EvaluateOptions options;
  options.seed = static_cast<std::uint64_t>(words.seed);
  options.threads = static_cast<int>(words.threads);
  options.keep_going = keep_going;
  options.timing = !words.no_timing;
  if (is_recording(words.truths.front())) {
    std::vector<Recording> recordings;
    for (const std::string& path : words.truths) {
      recordings.push_back(read_recording(*model.system, path, &notes, hdf5_reader()));
    }
    return evaluate_model(model, recordings, options);
  }
  if (words.truths.size() > 1) throw UsageError("--truth: one model, or several recordings");
  LawOptions own = words.truth;
  own.model = words.truths.front();
  const System truth = candidate(own).system->in_double();
  RandomInputs random = words.random;
  random.seed = options.seed;
  const std::vector<double> x0 = random.starts<double>(truth, words.law.start(truth), words.runs);
  const std::vector<double> u =
      random.inputs<double>(truth, words.runs, 0, words.steps, options.threads, keep_going);
  return evaluate_model(
      model, truth, x0,
      u.empty() ? Controls<double>(words.steps) : Controls<double>(u, words.steps), options);
}

Answer evaluate_command(const EvaluateWords& words, const Terminal& terminal) {
  if (words.truths.empty()) {
    throw UsageError(
        "--truth: name the truth, a law or file as MODEL may be, or recordings (.csv, .npz, .h5)");
  }
  std::vector<std::string> notes;
  std::vector<Scorecard> cards;
  {
    cli::Progress progress(terminal, "evaluating", 1, "models");
    cards.push_back(card_of(words, candidate(words.law), progress.keep_going(), notes));
    if (!words.beside.empty()) {
      LawOptions second = words.law;
      second.model = words.beside;
      cards.push_back(card_of(words, candidate(second), progress.keep_going(), notes));
    }
  }
  Json json = Json::parse(cards.front().json());
  if (cards.size() > 1) json["beside"] = Json::parse(cards.back().json());
  std::string text;
  for (const Scorecard& card : told_apart(cards)) {
    text += message("  ", card.model, ": ", card.verdict(), "\n");
  }
  text += "\n" + scorecard_table(cards);
  for (const Scorecard& card : cards) {
    for (const std::string& note : card.notes) text += message("  note: ", note, "\n");
  }
  for (const std::string& note : notes) text += message("  note: ", note, "\n");
  if (!words.report.empty()) {
    scorecard_page(cards).write(words.report);
    json["report"] = std::filesystem::absolute(words.report).string();
    text += message("  report: ", words.report, "\n");
  }
  return {json, text, kSuccess};
}

Run declare_evaluate(Options& options) {
  const auto o = std::make_shared<EvaluateWords>();
  o->random.spread = 0.5, o->random.push = 0;
  o->law.declare(options);
  options.texts("--truth", "WHAT", o->truths,
                "a law or a file, as MODEL may be, or a recording (.csv, .npz,\n.h5), which may be "
                "repeated; MODEL and --truth may be learned (.cyl)");
  options.texts("--truth-set", "NAME=VALUE", o->truth.set, "a parameter of the truth, as --set");
  options.number("--truth-dt", o->truth.dt, "the truth's step [s] (default 0.01, or its file's)");
  options.text("--truth-integrator", "NAME", o->truth.integrator,
               "the truth's integrator (default rk4, or its file's)");
  options.text("--beside", "MODEL", o->beside, "a second model, with the same options");
  options.count("--runs", o->runs, 1, 1'000'000, "from random starts");
  options.count("--steps", o->steps, 1, 1'000'000'000, "of the truth in each run");
  o->random.declare(options);
  options.count("--seed", o->seed, 0, 1'000'000'000, "of starts, inputs and the bootstrap");
  options.count("--threads", o->threads, 0, 1024, "0: as many as the machine offers");
  options.flag("--no-timing", o->no_timing,
               "leave out what differs from one time to the next: seconds\nand speedup");
  options.output("--report", o->report, "a page with plots (.html)");
  return [o](const Terminal& terminal) { return evaluate_command(*o, terminal); };
}

}  // namespace

const Command kEvaluate = {
    "evaluate", "how far to believe a model, against a truth",
    "Scores a model against a truth from random starts: errors, physics that is kept,\n"
    "generalisation, gradients, cost, each with an interval, and a verdict in words.\n"
    "docs/scorecard.schema.json describes the JSON.",
    "cycloid evaluate pendulum --dt 0.04 --truth pendulum --runs 4 --steps 100", declare_evaluate};

}  // namespace cycloid::cli
