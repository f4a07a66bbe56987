// cycloid train: a learned law from recordings, as a file says.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include "cli/command_line.h"
#include "cli/progress.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/learn/law_file.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/train_page.h"
#include "cycloid/page/number_text.h"
#include "cycloid/record/csv.h"
#include "cycloid/record/hdf5_file.h"
#include "cycloid/record/record_file.h"

namespace cycloid::cli {
namespace {

struct TrainWords {
  std::string config, output, report, resume;
  std::int64_t threads = 0;
};

// A part of the file. Every key that is there must be asked for.
class Part {
 public:
  Part(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw UsageError(message(where_, " must be an object, {…}"));
  }
  template <class T>
  void take(const char* key, T& value) {
    known_.push_back(key);
    if (!json_.contains(key)) return;
    try {
      value = json_.at(key).get<T>();
    } catch (const nlohmann::json::exception&) {
      throw UsageError(message(where_, ".", key, ": ", json_.at(key).dump(), " makes no sense"));
    }
  }
  // One of these words, as its place among them.
  void choose(const char* key, const std::vector<std::string>& words, int& place) {
    std::string word;
    take(key, word);
    if (word.empty()) return;
    const auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end()) {
      throw UsageError(
          message(where_, ".", key, ": there is no \"", word, "\"", did_you_mean(word, words)));
    }
    place = static_cast<int>(at - words.begin());
  }
  void finish() const {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      throw UsageError(message(where_, " has no \"", key, "\"", did_you_mean(key, known_)));
    }
  }

 private:
  const Json& json_;
  std::string where_;
  std::vector<std::string> known_;
};

// Points of a constrained law: distances are [point, point, length], anchors [x, y].
void read_points(Part& part, LearnedLaw& law) {
  std::vector<std::vector<double>> distances, anchors;
  part.take("masses", law.masses), part.take("dimension", law.dimension);
  part.take("distances", distances), part.take("anchors", anchors);
  part.take("stabilisation", law.stabilisation);
  for (const auto& d : distances) {
    const auto is_point = [](double i) { return i >= 0 && i < 65536 && i == std::floor(i); };
    if (d.size() != 3 || !is_point(d[0]) || !is_point(d[1])) {
      throw UsageError("law.distances: each is [point, point, length]");
    }
    law.distances.push_back({static_cast<int>(d[0]), static_cast<int>(d[1])});
    law.lengths.push_back(d[2]);
  }
  for (const auto& a : anchors) {
    if (static_cast<int>(a.size()) != law.dimension) {
      throw UsageError(message("law.anchors: each has ", law.dimension, " coordinates"));
    }
    law.anchors.insert(law.anchors.end(), a.begin(), a.end());
  }
  law.n = law.dimension * static_cast<int>(law.masses.size());
}

System law_of(const Json& json) {
  LearnedLaw law;
  systems::Settings settings;
  Part part(json, "law");
  int kind = -1, matrix = -1, precision = 1;
  part.choose("kind", {"neural_ode", "hamiltonian", "lagrangian", "deep_lagrangian", "constrained"},
              kind);
  if (kind < 0) throw UsageError("law.kind is missing: neural_ode, hamiltonian, lagrangian, …");
  law.kind = static_cast<LearnedKind>(kind);
  std::string activation = law.second_order() ? "softplus" : "tanh";
  if (law.kind == LearnedKind::constrained) read_points(part, law);
  else part.take("n", law.n), part.take("angles", law.angles);
  part.take("inputs", law.inputs), part.take("hidden", law.hidden);
  part.take("side_hidden", law.side_hidden), part.take("activation", activation);
  part.take("dissipation", law.dissipation), part.take("separable", law.separable);
  part.take("seed", law.seed);
  part.choose("input_matrix", {"identity", "constant", "network"}, matrix);
  part.take("dt", settings.dt), part.take("integrator", settings.integrator);
  part.take("rtol", settings.rtol), part.take("atol", settings.atol);
  part.choose("dtype", {"float32", "float64"}, precision);
  part.finish();
  law.activation = activation_of(activation);
  if (matrix >= 0) law.input_matrix = static_cast<InputMatrix>(matrix);
  else if (law.second_order() && law.inputs == law.n) law.input_matrix = InputMatrix::identity;
  settings.precision = precision == 0 ? Precision::float32 : Precision::float64;
  return make_learned(law, settings);
}

// `noise` and `scale`: one number or one per state.
std::vector<double> per_state(const std::vector<double>& given, int states, const char* what) {
  if (given.size() == 1) return std::vector<double>(static_cast<std::size_t>(states), given[0]);
  if (!given.empty() && given.size() != static_cast<std::size_t>(states)) {
    throw UsageError(message("train.", what, " takes one number or ", states));
  }
  return given;
}

void read_training(const Json& json, const System& system, TrainOptions& o, LossOptions& of_loss) {
  Part part(json, "train");
  int method = 0, schedule = 0;
  std::vector<double> noise, scale;
  double energy = 0, smooth = 0;
  part.take("steps", o.steps), part.take("batch", o.batch), part.take("horizon", o.horizon);
  part.take("grow_from", o.first_horizon), part.take("learning_rate", o.learning_rate);
  part.choose("method", {"adam", "adamw", "lbfgs", "gauss_newton"}, method);
  part.choose("schedule", {"constant", "cosine", "linear", "exponential"}, schedule);
  part.take("weight_decay", o.weight_decay), part.take("clip", o.clip);
  part.take("validation", o.validation), part.take("validate_every", o.validate_every);
  part.take("patience", o.patience), part.take("params", o.params), part.take("seed", o.seed);
  part.take("noise", noise), part.take("scale", scale);
  part.take("energy", energy), part.take("smoothness", smooth);
  part.take("clip_each", of_loss.clip_each), part.take("shooting", of_loss.shooting);
  part.finish();
  o.method = static_cast<TrainMethod>(method), o.schedule = static_cast<RateSchedule>(schedule);
  of_loss.horizon = o.horizon, of_loss.seed = o.seed;
  of_loss.noise = per_state(noise, system.states().size(), "noise");
  of_loss.scale = per_state(scale, system.states().size(), "scale");
  if (energy > 0) of_loss.terms.push_back({LossTerm::Kind::energy, energy, {}});
  if (smooth > 0) of_loss.terms.push_back({LossTerm::Kind::smooth, smooth, {}});
}

Answer train_command(const TrainWords& words, const Terminal& terminal) {
  if (words.config.empty()) throw UsageError("CONFIG is missing: a file that says what to train");
  Json config;
  try {
    config = Json::parse(read_bytes(words.config));
  } catch (const nlohmann::json::exception& error) {
    // Without the library's own "[json.exception.…] " before it.
    std::string_view said = error.what();
    if (said.starts_with('[')) said.remove_prefix(std::min(said.find("] ") + 2, said.size()));
    throw UsageError(message("\"", words.config, "\" is no JSON: ", said));
  }
  Part part(config, "the file");
  Json law, training = Json::object();
  std::vector<std::string> data;
  std::string output, report;
  part.take("law", law), part.take("train", training), part.take("data", data);
  part.take("output", output), part.take("report", report);
  part.finish();
  if (!words.output.empty()) output = words.output;
  if (!words.report.empty()) report = words.report;
  if (!output.empty()) require_folder_of(output, "output");
  if (!report.empty()) require_folder_of(report, "report");
  if (data.empty()) throw UsageError("data is missing: a list of recordings (.csv, .npz, .h5)");

  const System system = law_of(law);
  TrainOptions options;
  LossOptions of_loss;
  read_training(training, system, options, of_loss);
  of_loss.threads = static_cast<int>(words.threads);
  std::vector<Recording> recordings;
  std::vector<std::string> notes;
  for (const std::string& path : data) {
    const auto beside = std::filesystem::path(words.config).parent_path() / path;
    recordings.push_back(read_recording(system, beside, &notes, hdf5_reader()));
  }
  std::optional<TrainState> from;
  if (!words.resume.empty()) from = load_law(words.resume, &system).state;
  const auto loss = window_loss(system, recordings, of_loss);
  TrainRun run;
  bool interrupted = false;
  {
    cli::Progress progress(terminal, "training " + system.name(),
                           static_cast<double>(options.steps), "steps");
    options.watch = [&](const TrainProgress& now) {
      if (progress.interrupted()) return false;
      progress.reached(static_cast<double>(now.step));
      return true;
    };
    run = train(system, *loss, options, from ? &*from : nullptr);
    interrupted = progress.interrupted();
    if (interrupted) {
      run.message = output.empty()
                        ? "interrupted; nothing is written without --output"
                        : message("interrupted; --resume ", output, " goes on from here");
    }
  }
  Json json;
  json["law"] = system.name(), json["windows"] = loss->samples();
  json["steps"] = run.state.step, json["seconds"] = run.state.seconds;
  const TrainRecord last =
      run.state.history.empty() ? TrainRecord{0, NAN, NAN, NAN, 0} : run.state.history.back();
  json["loss"] = last.loss, json["validation"] = last.validation;
  json["ended"] = run.ended, json["message"] = run.message, json["notes"] = notes;
  std::string text =
      message(system.describe(), "\n  ", run.state.step, " steps on ", loss->samples(),
              " windows in ", significant(run.state.seconds), " s: loss ", significant(last.loss),
              std::isnan(last.validation) ? std::string()
                                          : message(", held back ", significant(last.validation)),
              "\n  ", run.message, "\n");
  if (!output.empty()) {
    save_law(output, system, run.params, &run.state);
    json["output"] = std::filesystem::absolute(output).string();
    text += message("  law: ", output, "\n");
  }
  if (!report.empty()) {
    train_page(run.state, "Training of " + system.name(), run.message).write(report);
    json["report"] = std::filesystem::absolute(report).string();
    text += message("  report: ", report, "\n");
  }
  for (const std::string& note : notes) text += message("  note: ", note, "\n");
  if (interrupted) return {json, text, kInterrupted};
  return {json, text, std::isfinite(last.loss) ? kSuccess : kAnswerIsNo};
}

Run declare_train(Options& options) {
  const auto o = std::make_shared<TrainWords>();
  options.positional("[CONFIG]", o->config, "what to train on what, as JSON (see above)");
  options.output("--output", o->output, "where the trained law goes (safetensors)");
  options.output("--report", o->report, "a page with the losses (.html)");
  options.text("--resume", "FILE", o->resume, "a trained law, to go on from bit for bit");
  options.count("--threads", o->threads, 0, 1024, "0: as many as the machine offers");
  return [o](const Terminal& terminal) { return train_command(*o, terminal); };
}

}  // namespace

const Command kTrain = {
    "train", "a law made of networks, from recordings",
    "Trains a learned law on recordings of whole states, as a file says:\n"
    "  {\"law\": {\"kind\": \"lagrangian\", \"n\": 1, \"inputs\": 1, \"dt\": 0.01},\n"
    "   \"data\": [\"run.csv\"], \"train\": {\"steps\": 500, \"horizon\": 5},\n"
    "   \"output\": \"model.cyl\", \"report\": \"train.html\"}\n"
    "Keys of law and train are the keywords of Python's cycloid.learn; tables have a column\n"
    "t [s], states (q, velocity, p, x[0]) and inputs (u) by name, files .npz and .h5 are those\n"
    "of Recording.save. Ctrl-C ends it and writes what there is.",
    "cycloid train config.json", declare_train};

}  // namespace cycloid::cli
