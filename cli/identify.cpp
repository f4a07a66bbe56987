// cycloid identify: parameters of a model from a recording.

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command_line.h"
#include "cli/law_options.h"
#include "cli/progress.h"
#include "cli/text_table.h"
#include "cycloid/optimise/fit/fit_page.h"
#include "cycloid/optimise/fit/verify_fit.h"
#include "cycloid/optimise/identify.h"
#include "cycloid/record/hdf5_file.h"

namespace cycloid::cli {
namespace {

constexpr FitMethod kMethods[] = {FitMethod::automatic, FitMethod::lm, FitMethod::lbfgs,
                                  FitMethod::adam};

struct IdentifyWords {
  LawOptions law;
  std::string data, params, report, x0 = "free", loss = "squared", method = "auto";
  std::vector<std::string> guess, bounds, sigma;
  std::vector<std::string> held_out;
  double shooting = 0;
  std::int64_t restarts = 0, seed = 0, iterations = 100, threads = 0;
};

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// "name=1,2" as a name and its numbers.
std::pair<std::string, std::vector<double>> assigned(const std::string& word, const char* option) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(message(option, ": expected name=value, got \"", word, "\""));
  }
  return {word.substr(0, equals),
          parse_numbers(std::string_view(word).substr(equals + 1), message(option, " ", word))};
}

// Every parameter that is asked for, with its guess where there is one.
std::vector<UnknownRequest> requests_of(const IdentifyWords& words) {
  std::vector<UnknownRequest> requests;
  for (const std::string& name : names_in(words.params)) requests.push_back({{name}});
  if (requests.empty()) {
    throw UsageError("--params: name the parameters to fit, as in --params length,damping");
  }
  for (const std::string& word : words.guess) {
    const auto [name, numbers] = assigned(word, "--guess");
    const auto at = std::find_if(requests.begin(), requests.end(),
                                 [&n = name](const UnknownRequest& r) { return r.names[0] == n; });
    if (at == requests.end()) {
      throw UsageError(message("--guess: \"", name, "\" is not among --params"));
    }
    at->guess = numbers;
  }
  return requests;
}

IdentifyOptions options_of(const IdentifyWords& words) {
  IdentifyOptions options;
  options.x0.known = words.x0 == "known";
  for (const Loss loss : {Loss::squared, Loss::huber, Loss::cauchy}) {
    if (words.loss == name(loss)) options.loss = loss;
  }
  for (const FitMethod method : kMethods) {
    if (words.method == name(method)) options.method = method;
  }
  for (const std::string& word : words.bounds) {
    const auto [name, numbers] = assigned(word, "--bounds");
    if (numbers.size() != 2) {
      throw UsageError(message("--bounds: expected name=low,high, got \"", word, "\""));
    }
    options.unknowns.bounds.push_back({name, {numbers[0]}, {numbers[1]}});
  }
  options.shooting = words.shooting;
  options.restarts = static_cast<int>(words.restarts);
  options.seed = static_cast<std::uint64_t>(words.seed);
  options.iterations = static_cast<int>(words.iterations);
  options.threads = static_cast<int>(words.threads);
  return options;
}

Recording recording_at(const System& system, const std::string& path, const IdentifyWords& words,
                       std::vector<std::string>& notes) {
  Recording r = read_recording(system, path, &notes, hdf5_reader());
  if (!words.sigma.empty()) r.sigma.clear();
  for (const std::string& word : words.sigma) {
    const std::vector<double> numbers = parse_numbers(word, "--sigma");
    r.sigma.insert(r.sigma.end(), numbers.begin(), numbers.end());
  }
  return r;
}

// All parameters before the fit.
std::vector<double> guess_of(const System& system, const std::vector<UnknownRequest>& requests) {
  std::vector<UnknownRequest> own;
  for (const UnknownRequest& r : requests) {
    if (!r.names.front().starts_with("output:")) own.push_back(r);
  }
  const Unknowns unknowns(system, own);
  return unknowns.parameters(unknowns.start());
}

// The numbers of one name: a number, or a list of them.
Json value_json(const FitParameter& p, const std::vector<double>& numbers) {
  const auto from = numbers.begin() + p.place;
  if (p.shape.empty()) return *from;
  return std::vector<double>(from, from + p.size);
}

Answer identify_command(const IdentifyWords& words, const Terminal& terminal) {
  const System system = words.law.system();
  if (words.data.empty()) throw UsageError("DATA is missing: what was recorded (.csv, .npz, .h5)");
  const std::vector<UnknownRequest> requests = requests_of(words);
  IdentifyOptions options = options_of(words);
  options.unknowns.parameters = system.parameters().default_values();
  std::vector<std::string> notes;
  const Recording recording = recording_at(system, words.data, words, notes);
  Fit fit;
  std::vector<Recording> held;
  std::vector<Fit> held_fits;
  Trust trust;
  bool interrupted = false;
  {
    cli::Progress progress(terminal, "fitting " + system.name(),
                           static_cast<double>(words.iterations), "iterations");
    options.keep_going = progress.keep_going();
    options.watch = [&](const optimise::Progress& now) {
      if (progress.interrupted()) return false;
      progress.reached(now.iteration);
      return true;
    };
    for (const std::string& path : words.held_out) {
      held.push_back(recording_at(system, path, words, notes));
    }
    fit = identify(system, {recording}, requests, options);
    try {
      progress.reached(fit.iterations);
      for (const Recording& r : held) {
        held_fits.push_back(fit_start(system, r, fit.flat, start_options(system, fit, r, options)));
      }
      trust = verify_fit(system, fit, held.empty() ? std::vector{recording} : held,
                         guess_of(system, requests), options,
                         {.threads = options.threads, .keep_going = options.keep_going});
    } catch (const Interrupted&) {
      trust.verdict = "interrupted: the best so far, not examined";
      held.resize(held_fits.size());
    }
    interrupted = progress.interrupted();
  }
  Json json = words.law.described(system);
  json["samples"] = recording.samples();
  json["params"] = json["std"] = Json::object();
  for (const FitParameter& p : fit.parameters) {
    json["params"][p.name] = value_json(p, fit.values);
    json["std"][p.name] = value_json(p, fit.std);
  }
  json["rms"] = json["whiteness"] = Json::object();
  for (const FitOutput& o : fit.outputs) {
    json["rms"][o.name] = o.rms;
    json["whiteness"][o.name] = o.whiteness;
  }
  json["converged"] = fit.converged;
  json["message"] = fit.message;
  json["weak"] = fit.weak;
  json["iterations"] = fit.iterations;
  json["steps"] = fit.steps;
  json["seconds"] = fit.seconds;
  json["notes"] = notes;
  json["verdict"] = trust.verdict;
  Table numbers({Table::Align::left, Table::Align::right, Table::Align::left, Table::Align::right});
  for (std::size_t i = 0; i < fit.names.size(); ++i) {
    numbers.row({fit.names[i], shown(fit.values[i]), "±", shown(fit.std[i])});
  }
  std::string text = message(
      words.law.headline(system), counted(static_cast<std::int64_t>(recording.samples()), "sample"),
      ": ", fit.converged ? terminal.good("converged") : terminal.bad("not converged"), " after ",
      counted(fit.iterations, "iteration"), "\n\n", numbers.text(), "\n");
  for (const FitOutput& o : fit.outputs) {
    text +=
        message("  ", o.name, ": rms ", shown(o.rms), ", residuals ",
                o.whiteness >= 0.05 ? "white" : "not white", " (p = ", shown(o.whiteness), ")\n");
  }
  if (!held.empty()) json["held_out"] = Json::array();
  for (std::size_t i = 0; i < held.size(); ++i) {
    Json rms = Json::object();
    for (const FitOutput& o : held_fits[i].outputs) {
      rms[o.name] = o.rms;
      text += message("  held out ", words.held_out[i], ": ", o.name, " rms ", shown(o.rms), "\n");
    }
    json["held_out"].push_back(rms);
  }
  for (const std::string& sentence : fit.weak) text += message("  weak: ", sentence, "\n");
  for (const std::string& note : notes) text += message("  note: ", note, "\n");
  if (!fit.converged) text += message("  ", fit.message, "\n");
  text += message("  ", trust.verdict, "\n");
  if (!words.report.empty()) {
    std::vector<FitPicture> pictures{{words.data, recording, fit.shown[0]}};
    for (std::size_t i = 0; i < held.size(); ++i) {
      pictures.push_back(
          {message("Held out: ", words.held_out[i]), held[i], held_fits[i].shown[0]});
    }
    fit_page(system, fit, pictures, trust.verdict).write(words.report);
    json["report"] = std::filesystem::absolute(words.report).string();
    text += message("  report: ", words.report, "\n");
  }
  if (interrupted) return {json, text, kInterrupted};
  return {json, text, fit.converged ? kSuccess : kAnswerIsNo};
}

Run declare_identify(Options& options) {
  const auto o = std::make_shared<IdentifyWords>();
  o->law.declare(options);
  options.positional("[DATA]", o->data,
                     "what was recorded: a table (.csv) with a column t [s], outputs\nand inputs "
                     "by name (angle, qpos[1], torque), or arrays\n(.npz, .h5) as Recording.save "
                     "writes them");
  options.text("--params", "NAMES", o->params, "parameters to fit, separated by commas");
  options.texts("--guess", "NAME=VALUE", o->guess, "where to begin (default: the model's value)");
  options.texts("--bounds", "NAME=LOW,HIGH", o->bounds, "where an estimate must lie");
  options.texts(
      "--sigma", "VALUES", o->sigma,
      "noise of the outputs, one number or one per column\n(default: from the residuals)");
  options.choice("--x0", o->x0, {"free", "known"}, "the state at the start: free, or known");
  options.choice("--loss", o->loss, {"squared", "huber", "cauchy"}, "squared, huber or cauchy");
  options.choice("--method", o->method, {"auto", "lm", "lbfgs", "adam"},
                 "lm with the Jacobian, lbfgs or adam with the gradient;\nauto: by the number of "
                 "unknowns");
  options.number("--shooting", o->shooting, "length of segments [s]; 0: the whole recording");
  options.count("--restarts", o->restarts, 0, 10'000, "further starts, the best of a Sobol set");
  options.count("--seed", o->seed, 0, 1'000'000'000, "of the Sobol set");
  options.count("--iterations", o->iterations, 1, 1'000'000'000, "at most");
  options.count("--threads", o->threads, 0, 1024, "0: as many as the machine offers");
  options.texts("--held-out", "FILE", o->held_out,
                "a recording to judge the fit by; may be repeated");
  options.output("--report", o->report, "a page with plots (.html)");
  return [o](const Terminal& terminal) { return identify_command(*o, terminal); };
}

}  // namespace

const Command kIdentify = {
    "identify", "parameters of a model from a recording, with error bars",
    "Fits parameters of a model to a recording: estimates with standard errors, what\n"
    "the data do not determine, and whether residuals are white. Ctrl-C ends it with\n"
    "the best so far. The exit status is 1 when it did not converge.\n"
    "The table of the example may come from `cycloid simulate pendulum --output run.csv`.",
    "cycloid identify pendulum run.csv --params length", declare_identify};

}  // namespace cycloid::cli
