#include "cycloid/rigid/robot_variant.h"

namespace cycloid::inline rigid {
namespace {

constexpr RigidIntegrator kIntegrators[] = {RigidIntegrator::euler, RigidIntegrator::implicit,
                                            RigidIntegrator::implicitfast, RigidIntegrator::rk4};
constexpr const char *kSoft = "soft", *kHard = "hard", *kCompliant = "compliant",
                     *kMujoco = "mujoco";

double factor_of(const std::string& contact) {
  return contact == kSoft ? 2 : contact == kHard ? 0.5 : 1;
}

bool is_contact(const std::string& parameter) {
  return parameter.starts_with("geom:") && parameter.ends_with(".solref");
}

}  // namespace

const char* name(RigidIntegrator integrator) {
  switch (integrator) {
    case RigidIntegrator::euler: return "euler";
    case RigidIntegrator::implicitfast: return "implicitfast";
    case RigidIntegrator::implicit: return "implicit";
    default: return "rk4";
  }
}

Ways robot_ways(const Model& model, const ContactChoice& contact) {
  Ways ways;
  ways.integrator = name(model.options.integrator);
  for (const RigidIntegrator kind : kIntegrators) ways.integrators.emplace_back(name(kind));
  const Acting& acting = model.options.acting;
  if (acting.constraints && acting.contacts && !model.geoms.empty()) {
    const bool mujoco = std::holds_alternative<MujocoContact>(contact);
    ways.contacts = {kSoft, kHard, mujoco ? kCompliant : kMujoco};
  }
  return ways;
}

ContactChoice varied_contact(const ContactChoice& contact, const Variant& variant) {
  if (variant.contact == kCompliant) return HuntCrossley{};
  if (variant.contact == kMujoco) return MujocoContact{};
  return contact;
}

std::array<double, 2> scaled_solref(const std::array<double, 2>& solref, double factor) {
  if (solref[0] > 0) return {factor * solref[0], solref[1]};
  return {solref[0] / (factor * factor), solref[1] / factor};
}

Model varied_model(Model model, const Variant& variant) {
  if (variant.dt != 0) model.options.timestep = variant.dt;
  for (const RigidIntegrator kind : kIntegrators) {
    if (variant.integrator == name(kind)) model.options.integrator = kind;
  }
  const double f = factor_of(variant.contact);
  const auto scale = [f](std::array<double, 2>& solref) { solref = scaled_solref(solref, f); };
  for (Geom& g : model.geoms) scale(g.soft.solref);
  for (GivenPair& p : model.pairs) scale(p.soft.solref), scale(p.solref_friction);
  return model;
}

std::map<std::string, std::vector<double>> varied_values(const Parameters& parameters,
                                                         const Variant& variant) {
  const double f = factor_of(variant.contact);
  std::map<std::string, std::vector<double>> values =
      parameters.unpack(parameters.default_values());
  for (auto& [name, value] : values) {
    if (!is_contact(name)) continue;
    const std::array<double, 2> scaled = scaled_solref({value[0], value[1]}, f);
    value = {scaled[0], scaled[1]};
  }
  if (variant.contact == kMujoco) {
    std::erase_if(values, [](const auto& entry) { return entry.first.starts_with("contact."); });
  }
  return values;
}

}  // namespace cycloid::inline rigid
