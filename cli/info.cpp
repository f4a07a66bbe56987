// cycloid info: this version and machine; or a law with its states, inputs and parameters.

#include <map>
#include <memory>
#include <set>

#include "cli/command_line.h"
#include "cli/law_options.h"
#include "cli/robot_tables.h"
#include "cli/text_table.h"
#include "cycloid/base/core_count.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/system/systems.h"

namespace cycloid::cli {
namespace {

Answer about_the_program() {
  Json json = {{"version", CYCLOID_VERSION},
               {"compiler", message("gcc ", __VERSION__)},
               {"instruction_set", name(active_instruction_set())},
               {"instruction_sets", Json::array()},
               {"threads", default_threads()},
               {"laws", systems::names()},
               {"integrators", systems::integrators()}};
  std::string sets;
  for (const InstructionSet set : available_instruction_sets()) {
    json["instruction_sets"].push_back(name(set));
    sets += message(sets.empty() ? "" : ", ", set);
  }
  std::string text = message("Cycloid ", CYCLOID_VERSION, "\n\n");
  Table machine({Table::Align::left, Table::Align::left});
  machine.row({"instruction sets", message(sets, "; in use: ", active_instruction_set())});
  machine.row({"threads", message(default_threads())});
  machine.row({"compiler", message("gcc ", __VERSION__)});
  text += machine.text() + "\nLaws:\n";
  Table laws({Table::Align::left, Table::Align::left});
  for (const std::string& law : systems::names()) {
    const System system = systems::make(law);
    const std::int64_t events = static_cast<std::int64_t>(system.events().size());
    laws.row({law, message(counted(system.states().size(), "state"), ", ",
                           counted(system.inputs().size(), "input"), ", ",
                           counted(system.parameters().size(), "parameter"),
                           events > 0 ? ", " + counted(events, "event") : "")});
  }
  return {json, text + laws.text() + "\ncycloid info LAW says more.\n"};
}

Json blocks(const Space& space) {
  Json all = Json::array();
  for (const Block& b : space.blocks()) {
    all.push_back({{"name", b.name},
                   {"size", b.size},
                   {"unit", b.unit},
                   {"kind", b.kind == BlockKind::quaternion ? "quaternion"
                            : b.kind == BlockKind::mixed    ? "mixed"
                                                            : "vector"}});
  }
  return all;
}

// Of long rows the first and the last.
std::string comma_separated(const std::vector<double>& values) {
  constexpr std::size_t kWhole = 6, kFirst = 3;
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.size() > kWhole && i == kFirst) {
      text += ",…";
      i = values.size() - 1;
    }
    text += message(text.empty() ? "" : ",", shown(values[i]));
  }
  return text;
}

const char* describe(EventDirection direction) {
  switch (direction) {
    case EventDirection::falling: return "falling";
    case EventDirection::rising: return "rising";
    default: return "both";
  }
}

// "426 parameters: of actuators biasprm, dynprm, …; of bodies com, …"
std::string parameters_in_words(const Parameters& parameters) {
  std::map<std::string, std::set<std::string>> fields;
  for (const Parameter& p : parameters.all()) {
    const std::string kind = p.name.substr(0, p.name.find_first_of(":."));
    fields[kind].insert(p.name.substr(p.name.rfind('.') + 1));
  }
  std::string text = message("\n", parameters.all().size(), " parameters (--full lists them)\n");
  Table table({Table::Align::left, Table::Align::left});
  for (const auto& [kind, names] : fields) {
    std::string listed;
    for (const std::string& name : names) listed += (listed.empty() ? "" : ", ") + name;
    table.row({kind, listed});
  }
  return text + table.text();
}

Answer about_the_law(const LawOptions& options, bool full) {
  const System system = options.system();
  const auto values = system.parameters().unpack(system.parameters().default_values());
  const std::vector<double> start = options.start(system);
  Json json = options.described(system);
  json["state_size"] = system.states().size();
  json["tangent_size"] = system.states().tangent_size();
  json["input_size"] = system.inputs().size();
  json["states"] = blocks(system.states());
  json["inputs"] = blocks(system.inputs());
  json["initial_state"] = start;
  json["events"] = Json::array();
  json["parameters"] = Json::array();

  Table table({Table::Align::left, Table::Align::right, Table::Align::left, Table::Align::left});
  table.row({"states", "start", "unit"});
  const std::vector<NamedNumber> states = numbers_of(system.states());
  for (std::size_t i = 0; i < states.size(); ++i) {
    table.row({"  " + states[i].name, shown(start[i]), states[i].unit});
  }
  table.row({"inputs"});
  for (const NamedNumber& input : numbers_of(system.inputs()))
    table.row({"  " + input.name, "", input.unit});
  if (system.inputs().size() == 0) table.row({"  none"});
  if (!system.events().empty()) table.row({"events"});
  for (const EventSpec& e : system.events()) {
    const bool ends = e.effect == EventEffect::end;
    json["events"].push_back({{"name", e.name},
                              {"direction", describe(e.direction)},
                              {"effect", ends ? "end" : "reset"}});
    table.row({message("  ", e.name), "", "", ends ? "ends the run" : "resets the state"});
  }
  table.row({"parameters", "value", "unit", "constraint"});
  for (const Parameter& p : system.parameters().all()) {
    const std::vector<double>& value = values.at(p.name);
    const bool differentiated = p.not_differentiable.empty();
    json["parameters"].push_back({{"name", p.name},
                                  {"shape", p.shape},
                                  {"unit", p.unit},
                                  {"constraint", describe(p.constraint)},
                                  {"value", p.shape.empty() ? Json(value[0]) : Json(value)},
                                  {"differentiable", differentiated}});
    table.row({"  " + p.name, comma_separated(value), p.unit,
               p.constraint == Constraint::none ? "" : describe(p.constraint)});
  }
  const Model* const robot = options.robot_model();
  if (!robot) return {json, options.headline(system) + "\n" + table.text()};
  put_elements(*robot, json);
  return {json, options.headline(system) + robot_tables(*robot, start, full) +
                    (full ? "\n" + table.text() : parameters_in_words(system.parameters()))};
}

Run declare_info(Options& options) {
  const auto o = std::make_shared<LawOptions>();
  const auto full = std::make_shared<bool>(false);
  o->declare(options, "[MODEL]");
  options.flag("--full", *full, "of a robot: every row of every table, and all parameters");
  return [o, full](const Terminal&) {
    return o->model.empty() ? about_the_program() : about_the_law(*o, *full);
  };
}

}  // namespace

const Command kInfo = {
    "info", "this version and machine, or a law and its parameters",
    "Says what this program is and found here. With MODEL: the states, inputs and\n"
    "parameters of a law, with units, constraints and values.",
    "cycloid info pendulum --set length=0.5", declare_info};

}  // namespace cycloid::cli
