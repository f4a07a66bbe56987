#include "cli/law_options.h"

#include <cstdio>
#include <filesystem>
#include <map>

#include "cli/command_line.h"
#include "cycloid/base/core_count.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/model/model_file.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/system/systems.h"
#if CYCLOID_HAS_IO
#include "cycloid/io/load.h"
#endif

namespace cycloid::cli {
namespace {

constexpr std::int64_t kMostMasses = 100'000;
constexpr std::int64_t kMostEnvironments = 1'000'000'000;

bool is_law(const std::string& model) {
  const std::vector<std::string>& names = systems::names();
  return std::find(names.begin(), names.end(), model) != names.end();
}

bool is_file(const std::string& model) {
  std::error_code unreadable;
  return std::filesystem::exists(model, unreadable);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// A name without a folder or a suffix that is no file either was meant as a law.
void check_model(const std::string& model) {
  if (model.empty()) {
    throw UsageError(message("MODEL is missing; there are ", listed(systems::names())));
  }
  if (is_law(model) || is_file(model)) return;
  if (model.find_first_of("/.") != std::string::npos) {
    throw FileNotFound(message("there is no file \"", model, "\""));
  }
  throw ModelError(message("there is no law \"", model, "\" and no such file",
                           did_you_mean(model, systems::names())));
}

std::map<std::string, std::vector<double>> parse_values(const std::vector<std::string>& settings) {
  std::map<std::string, std::vector<double>> values;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(
          message("--set: expected name=value or name=value,value,…, got \"", setting, "\""));
    }
    const std::string name = setting.substr(0, equals);
    const auto numbers =
        parse_numbers(std::string_view(setting).substr(equals + 1), "--set " + name);
    if (!values.emplace(name, numbers).second) {
      throw UsageError(message("--set: \"", name, "\" is given twice"));
    }
  }
  return values;
}

}  // namespace

void LawOptions::declare(Options& options, const char* positional) {
  options.positional(
      positional, model,
      "a closed-form law (`cycloid info` lists them),\nor a robot's file: MJCF, URDF "
      "or .cym");
  options.number("--dt", dt, "length of a step [s] (default 0.01, or the file's own)");
  std::vector<std::string> integrators = systems::integrators();
  integrators.push_back("implicit");
  integrators.push_back("implicitfast");
  options.choice("--integrator", integrator, integrators,
                 "euler, semi_implicit, verlet, rk4 (default),\nimplicit_midpoint, dopri5 or "
                 "sdirk4; of a file\neuler, implicit, implicitfast or rk4 (default: its own)");
  options.number("--rtol", rtol, "relative tolerance of dopri5 and sdirk4 (default 1e-9)");
  options.number("--atol", atol, "... and absolute, in the units of the state (default 1e-11)");
  options.flag("--no-constraints", no_constraints,
               "leave out a file's contacts, limits, dry friction and equalities");
  options.choice("--noslip", noslip, {"refuse", "ignore"},
                 "a file that asks for the noslip solver: refuse it (default),\nor ignore: run "
                 "without it");
  options.choice("--contact", contact, {"mujoco", "hunt_crossley"},
                 "a file's law of contacts: mujoco (default), or the compliant\nhunt_crossley, "
                 "whose numbers --set knows: contact.stiffness\n(else each pair's solref), "
                 "contact.dissipation,\ncontact.stiction");
  options.number("--refine", refine,
                 "divide a file's steps to this relative error, with contacts that\ncome and go "
                 "found to rounding (default: steps as they are)");
  options.choice("--dtype", dtype, {"float32", "float64"}, "float32 or float64");
  options.texts(
      "--set", "NAME=VALUE", set,
      "a parameter, as in mass=2 or wind=1,0,0;\nmay be repeated; `cycloid info MODEL` lists them");
  options.count("--n", n, 1, kMostMasses, "masses of spring_chain (default 3)");
  options.numbers("--x", x, "state at the start (default: the law's own)");
}

Model LawOptions::file() const {
  std::vector<std::string> warnings;
#if CYCLOID_HAS_IO
  LoadOptions loading;
  loading.constraints = !no_constraints;
  loading.noslip = noslip == "ignore" ? Noslip::ignore : Noslip::refuse;
  loading.warnings = &warnings;
  Model loaded = load_model(model, loading);
#else
  if (!is_model_file(model)) {
    throw ModelError(message("\"", model,
                             "\" is a file, and this program was built without MuJoCo's compiler "
                             "(CYCLOID_MUJOCO): it knows files that were saved by cycloid (.cym), ",
                             listed(systems::names())));
  }
  SavedModel saved = read_model(model);
  warnings = saved.notes;
  Model loaded = std::move(saved.model);
  loaded.options.acting.constraints &= !no_constraints;
#endif
  for (const std::string& text : warnings) {
    std::fprintf(stderr, "cycloid: warning: %s\n", text.c_str());
  }
  return loaded;
}

System LawOptions::robot() const {
  Model loaded = file();
  if (dt) loaded.options.timestep = *dt;
  static const std::map<std::string, RigidIntegrator> known = {
      {"euler", RigidIntegrator::euler},
      {"implicit", RigidIntegrator::implicit},
      {"implicitfast", RigidIntegrator::implicitfast},
      {"rk4", RigidIntegrator::rk4}};
  if (!integrator.empty() && !known.contains(integrator)) {
    throw UsageError(message("a robot has no integrator \"", integrator,
                             "\"; there are euler, implicit, implicitfast and rk4"));
  }
  if (rtol || atol) {
    throw UsageError("--rtol and --atol are for laws with dopri5 or sdirk4; a robot has none");
  }
  if (!integrator.empty()) loaded.options.integrator = known.at(integrator);
  for (const auto& [name, value] : known) {
    if (value == loaded.options.integrator) used_integrator_ = name;
  }
  RobotOptions options;
  options.precision = dtype == "float32" ? Precision::float32 : Precision::float64;
  options.values = parse_values(set);
  if (contact == "hunt_crossley") {
    HuntCrossley law;
    const auto given = options.values.find("contact.stiffness");
    if (given != options.values.end() && given->second.size() == 1)
      law.stiffness = given->second[0];
    options.contact = law;
  }
  options.refine = refine;
  stepped_ = loaded;
  return make_robot(loaded, options);
}

System LawOptions::system() const {
  check_model(model);
  if (dt && !(*dt > 0)) {
    throw ParameterError(message("the time step dt must be positive [s]; got ", *dt));
  }
  if (!is_law(model) && !n) return robot();
  if (n && model != "spring_chain") {
    throw UsageError(
        message("--n is the number of masses of spring_chain; \"", model, "\" has none"));
  }
  if (contact != "mujoco" || refine) {
    throw UsageError(message(contact != "mujoco" ? "--contact" : "--refine",
                             " is for robots' files; \"", model, "\" is a law"));
  }
  systems::Settings settings;
  settings.dt = dt.value_or(0.01);
  settings.integrator = used_integrator_ = integrator.empty() ? "rk4" : integrator;
  settings.precision = dtype == "float32" ? Precision::float32 : Precision::float64;
  for (const auto& [name, value] : {std::pair{"--rtol", rtol}, {"--atol", atol}}) {
    if (value && !(*value > 0)) {
      throw ParameterError(message(name, " must be positive; got ", *value));
    }
  }
  settings.rtol = rtol.value_or(0);
  settings.atol = atol.value_or(0);
  return systems::make(model, parse_values(set), settings, static_cast<int>(n.value_or(3)));
}

std::vector<double> LawOptions::start(const System& system) const {
  if (x.empty()) return system.initial_state();
  if (x.size() != static_cast<std::size_t>(system.states().size())) {
    throw UsageError(message("--x: a state of \"", system.name(), "\" has ", system.states().size(),
                             " numbers (", listed(names_of(system.states())), "), got ", x.size()));
  }
  return x;
}

Json LawOptions::described(const System& system) const {
  return {{"model", system.name()},
          {"integrator", used_integrator_},
          {"dt", system.timestep()},
          {"dtype", name(system.precision())}};
}

std::string LawOptions::headline(const System& system) const {
  return message(system.describe(), ", ", used_integrator_, "\n");
}

RunHeader LawOptions::run_header(const System& system) const {
  RunHeader h;
  h.states = system.states().size();
  h.inputs = system.inputs().size();
  h.params = system.parameters().default_values();
  Json how = {{"name", system.name()},
              {"state_size", h.states},
              {"input_size", h.inputs},
              {"t0", 0.0},
              {"sampled", false}};
  if (is_law(model)) {
    how["kind"] = "law";
    how["recipe"] = {model,         parse_values(set), system.timestep(), used_integrator_, dtype,
                     Json::array(), n.value_or(3),     rtol.value_or(0),  atol.value_or(0)};
  } else {
    how["kind"] = "robot";
    how["dtype"] = dtype;
    how["inputs"] = {"ctrl"};
    how["vary"] = Json::array();
    how["contact"] = nullptr;
    if (contact == "hunt_crossley") {
      const HuntCrossley law;
      const auto values = parse_values(set);
      const auto given = values.find("contact.stiffness");
      how["contact"] = {given == values.end() ? Json(nullptr) : Json(given->second[0]),
                        law.exponent, law.dissipation, law.stiction};
    }
    how["refine"] = refine ? Json(*refine) : Json(nullptr);
    h.model = model_to_bytes({stepped_, {}});
  }
  const auto units = [](const Space& space) {
    Json all = Json::object();
    for (const Block& b : space.blocks()) all[b.name] = b.unit;
    return all;
  };
  h.texts["model"] = how.dump();
  h.texts["units"] =
      Json{{"times", "s"}, {"states", units(system.states())}, {"controls", units(system.inputs())}}
          .dump();
  Json names = Json::array();
  for (const Parameter& p : system.parameters().all()) names.push_back(p.name);
  constexpr std::size_t kLongest = 60'000;  // HDF5 keeps attributes below 64 kB
  const std::string listed = names.dump();
  h.texts["parameters"] = listed.size() < kLongest ? listed : "\"too long for an attribute\"";
  return h;
}

void BatchOptions::declare(Options& options) {
  options.count("--steps", steps, 1, INT64_MAX, "steps of each environment");
  options.count("--batch", batch, 1, kMostEnvironments,
                "environments; two or more run in SIMD lanes");
  options.count("--threads", threads, 0, kMaxThreads, "0 means as many as there are cores");
  options.count("--seed", seed, 0, INT64_MAX, "of everything random");
}

int BatchOptions::threads_used() const { return threads > 0 ? thread_count() : default_threads(); }

std::vector<NamedNumber> numbers_of(const Space& space) {
  std::vector<NamedNumber> numbers;
  for (const Block& b : space.blocks()) {
    for (int i = 0; i < b.size; ++i) {
      numbers.push_back({b.size == 1 ? b.name : message(b.name, "[", i, "]"), b.unit});
    }
  }
  return numbers;
}

std::vector<std::string> names_of(const Space& space) {
  std::vector<std::string> names;
  for (const NamedNumber& number : numbers_of(space)) names.push_back(number.name);
  return names;
}

}  // namespace cycloid::cli
