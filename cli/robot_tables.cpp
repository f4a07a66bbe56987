#include "cli/robot_tables.h"

#include "cli/text_table.h"
#include "cycloid/base/error.h"

namespace cycloid::cli {
namespace {

constexpr std::size_t kRows = 24;  // of a short table

const char* kind_name(JointKind kind) {
  switch (kind) {
    case JointKind::free: return "free";
    case JointKind::ball: return "ball";
    case JointKind::slide: return "slide";
    case JointKind::hinge: return "hinge";
  }
  return "";
}

const char* unit_of(JointKind kind) {
  return kind == JointKind::hinge ? "rad" : kind == JointKind::slide ? "m" : "";
}

template <class Elements>
std::string label(const Elements& all, int i) {
  return i < 0 ? std::string() : Model::label(all, i);
}

std::string numbers(std::span<const double> values) {
  std::string text;
  for (const double v : values) text += message(text.empty() ? "" : " ", shown(v));
  return text;
}

std::string shown_range(const Range& range) {
  return range.on ? message(shown(range.low), " … ", shown(range.high)) : "";
}

std::string target_of(const Model& model, const Actuator& a) {
  switch (a.transmission) {
    case TransmissionKind::joint:
    case TransmissionKind::joint_in_parent: return message("joint ", label(model.joints, a.target));
    case TransmissionKind::tendon: return message("tendon ", label(model.tendons, a.target));
    case TransmissionKind::body: return message("body ", label(model.bodies, a.target));
    case TransmissionKind::site:
    case TransmissionKind::slider_crank: return message("site ", label(model.sites, a.target));
    case TransmissionKind::orientation: return "an orientation";
  }
  return "";
}

// Calls f for each index of a table that is shown, and says how many there are and are not.
template <class F>
std::string section(const char* title, std::size_t count, bool full, const Table& table, F&& f) {
  Table filled = table;
  const std::size_t shown_rows = full ? count : std::min(count, kRows);
  for (std::size_t i = 0; i < shown_rows; ++i) f(filled, static_cast<int>(i));
  std::string text = message("\n", count, " ", title, "\n");
  if (count > 0) text += filled.text();
  if (shown_rows < count) {
    text += message("  … and ", count - shown_rows, " more (--full)\n");
  }
  return text;
}

using Align = Table::Align;

std::span<const double> positions(const Joint& j, std::span<const double> state) {
  return state.subspan(static_cast<std::size_t>(j.qpos),
                       static_cast<std::size_t>(qpos_numbers(j.kind)));
}
std::span<const double> velocities(const Model& model, const Joint& j,
                                   std::span<const double> state) {
  return state.subspan(static_cast<std::size_t>(model.nq + j.dof),
                       static_cast<std::size_t>(dof_numbers(j.kind)));
}

}  // namespace

std::string joint_table(const Model& model, std::span<const double> state, bool full) {
  const Table columns({Align::left, Align::left, Align::left, Align::left});
  return section("joints: position, velocity", model.joints.size(), full, columns,
                 [&](Table& table, int i) {
                   const Joint& j = model.joints[static_cast<std::size_t>(i)];
                   const auto q = positions(j, state), v = velocities(model, j, state);
                   const bool floats = j.kind == JointKind::free;
                   const std::string name = label(model.joints, i);
                   table.row({name, kind_name(j.kind), numbers(floats ? q.first(3) : q),
                              numbers(floats ? v.first(3) : v)});
                   if (floats) {
                     table.row({"", "turned", numbers(q.subspan(3)), numbers(v.subspan(3))});
                   }
                 });
}

std::string robot_tables(const Model& model, std::span<const double> state, bool full) {
  const Table four({Align::left, Align::left, Align::left, Align::left});
  std::string text =
      section("joints: kind, body, start, range", model.joints.size(), full,
              Table({Align::left, Align::left, Align::left, Align::left, Align::left}),
              [&](Table& table, int i) {
                const Joint& j = model.joints[static_cast<std::size_t>(i)];
                const std::string range = shown_range(j.range);
                table.row({label(model.joints, i), kind_name(j.kind), label(model.bodies, j.body),
                           numbers(positions(j, state)),
                           range.empty() ? "" : message(range, " ", unit_of(j.kind))});
              });
  text += section("bodies: parent, mass [kg]", model.bodies.size(), full,
                  Table({Align::left, Align::left, Align::right}), [&](Table& table, int i) {
                    const Body& b = model.bodies[static_cast<std::size_t>(i)];
                    table.row({label(model.bodies, i), i == 0 ? "" : label(model.bodies, b.parent),
                               i == 0 ? "" : shown(b.mass)});
                  });
  text += section("actuators: what they drive, gear, range of the control", model.actuators.size(),
                  full, four, [&](Table& table, int i) {
                    const Actuator& a = model.actuators[static_cast<std::size_t>(i)];
                    table.row({label(model.actuators, i), target_of(model, a), shown(a.gear[0]),
                               shown_range(a.control_range)});
                  });
  text += section("sensors: numbers", model.sensors.size(), full,
                  Table({Align::left, Align::right, Align::left}), [&](Table& table, int i) {
                    const ListedSensor& s = model.sensors[static_cast<std::size_t>(i)];
                    table.row({label(model.sensors, i), message(s.dimension),
                               s.unsupported.empty() ? "" : "not supported"});
                  });
  return text;
}

void put_elements(const Model& model, Json& json) {
  json["joints"] = json["bodies"] = json["actuators"] = json["sensors"] = Json::array();
  for (std::size_t i = 0; i < model.joints.size(); ++i) {
    const Joint& j = model.joints[i];
    Json range = j.range.on ? Json{j.range.low, j.range.high} : Json(nullptr);
    json["joints"].push_back({{"name", label(model.joints, static_cast<int>(i))},
                              {"kind", kind_name(j.kind)},
                              {"body", label(model.bodies, j.body)},
                              {"qpos", j.qpos},
                              {"dof", j.dof},
                              {"range", range}});
  }
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const Body& b = model.bodies[i];
    json["bodies"].push_back({{"name", label(model.bodies, static_cast<int>(i))},
                              {"parent", label(model.bodies, b.parent)},
                              {"mass", b.mass}});
  }
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const Actuator& a = model.actuators[i];
    Json range =
        a.control_range.on ? Json{a.control_range.low, a.control_range.high} : Json(nullptr);
    json["actuators"].push_back({{"name", label(model.actuators, static_cast<int>(i))},
                                 {"drives", target_of(model, a)},
                                 {"range", range}});
  }
  for (std::size_t i = 0; i < model.sensors.size(); ++i) {
    json["sensors"].push_back({{"name", label(model.sensors, static_cast<int>(i))},
                               {"size", model.sensors[i].dimension},
                               {"supported", model.sensors[i].unsupported.empty()}});
  }
}

}  // namespace cycloid::cli
