// cycloid view: a page on which a model moves. The Python package makes it (python_command.h).

#include <memory>
#include <optional>

#include "cli/command_line.h"
#include "cli/python_command.h"

namespace cycloid::cli {
namespace {

struct ViewOptions {
  std::string model, output, title, keyframe;
  std::int64_t steps = 500;
  std::vector<double> x;
  std::vector<std::string> set;
  bool live = false;
};

std::vector<std::string> words_of(const ViewOptions& o) {
  std::vector<std::string> words = {"view", o.model, "--steps", std::to_string(o.steps)};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back(message(name, "=", value));
  };
  add("--output", o.output);
  add("--title", o.title);
  add("--keyframe", o.keyframe);
  std::string start;
  for (const double number : o.x) start += message(start.empty() ? "" : ",", number);
  add("--x", start);
  for (const std::string& setting : o.set) add("--set", setting);
  if (o.live) words.push_back("--live");
  return words;
}

// What the package refused, as what the program calls it.
[[noreturn]] void refuse(const std::string& text, const std::string& kind) {
  if (kind == "usage") throw UsageError(text);
  if (kind == "file_not_found") throw FileNotFound(text);
  if (kind == "model") throw ModelError(text);
  if (kind == "parameter") throw ParameterError(text);
  if (kind == "gradient") throw GradientError(text);
  throw Error(text);
}

Answer view(const ViewOptions& o, const Terminal& terminal) {
  if (o.model.empty()) throw UsageError("MODEL is missing: a law, a file of a robot, or of a run");
  if (o.output.empty() && !o.live) throw UsageError("--output FILE is missing, such as run.html");
  std::vector<std::string> words = words_of(o);
  if (terminal.json || !o.live) words.push_back("--json");
  if (o.live) become_python(words);
  const PythonAnswer answer = run_python(words);
  const Json json = Json::parse(answer.output, nullptr, false);
  if (answer.status != kSuccess || json.is_discarded()) {
    std::string text = json.is_object() && json.contains("error")
                           ? json["error"].get<std::string>()
                           : answer.errors.substr(0, answer.errors.find_last_not_of('\n') + 1);
    if (text.empty()) text = "Python ended without an answer";
    refuse(text, json.is_object() ? json.value("kind", "") : "");
  }
  std::string text =
      message(json["output"].get<std::string>(), ": ", json["system"].get<std::string>(), ", ",
              json["frames"].get<std::int64_t>(), " frames\n");
  for (const Json& note : json.value("notes", Json::array())) {
    text += message("  note: ", note.get<std::string>(), "\n");
  }
  return {json, text, kSuccess};
}

Run declare_view(Options& options) {
  const auto o = std::make_shared<ViewOptions>();
  options.positional("MODEL", o->model,
                     "a closed-form law, a robot's file (MJCF, URDF, .cym),\n"
                     "a learned law's (.cyl), or a run's (.h5, .npz, .mcap, .bag)");
  options.count("--steps", o->steps, 1, INT64_MAX, "steps, with inputs of zero");
  options.text("-o,--output", "FILE", o->output, "the page, such as run.html");
  options.text("--keyframe", "NAME", o->keyframe, "of a robot: where it begins");
  options.numbers("--x", o->x, "state at the start (default: the model's own)");
  options.texts("--set", "NAME=VALUE", o->set, "a parameter; may be repeated");
  options.text("--title", "TEXT", o->title, "of the page");
  options.flag("--live", o->live,
               "serve the page on this machine until Ctrl-C; prints its address");
  return [o](const Terminal& terminal) { return view(*o, terminal); };
}

}  // namespace

const Command kView = {
    "view", "write a page on which a model moves",
    "Runs a model and writes one HTML file on which it moves: shapes, plots, time\n"
    "slider; it needs no network. The Python package does the work.",
    "cycloid view pendulum --steps 200 --output pendulum.html", declare_view};

}  // namespace cycloid::cli
