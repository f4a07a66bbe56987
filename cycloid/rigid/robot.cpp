#include "cycloid/rigid/robot.h"

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/rigid/refined_stepper.h"
#include "cycloid/rigid/robot_counters.h"
#include "cycloid/rigid/robot_source.h"
#include "cycloid/rigid/robot_steppers.h"
#include "cycloid/rigid/robot_variant.h"
#include "cycloid/rigid/sense/robot_observables.h"
#include "cycloid/rigid/still_stepper.h"

namespace cycloid::inline rigid {
namespace {

std::vector<BlockSpec> qpos_pieces(const Model& m) {
  std::vector<BlockSpec> pieces;
  const auto vector = [&](int n) {
    if (!pieces.empty() && pieces.back().kind == BlockKind::vector) {
      pieces.back().size += n;
    } else {
      pieces.push_back({"", n, "", BlockKind::vector});
    }
  };
  for (const Joint& j : m.joints) {
    visit_joint(
        j, [&](int, int, int n) { vector(n); },
        [&](int, int) { pieces.push_back({"", 4, "", BlockKind::quaternion}); });
  }
  return pieces;
}

Space state_space(const Model& m) {
  std::vector<MixedBlockSpec> blocks;
  if (m.nq > 0) blocks.push_back({"qpos", "m, rad", qpos_pieces(m)});
  if (m.nv > 0) blocks.push_back({"qvel", "m/s, rad/s", {{"", m.nv, ""}}});
  if (m.na > 0) blocks.push_back({"act", "1", {{"", m.na, ""}}});
  return Space(blocks);
}

struct InputLayout {
  InputPlaces places;
  Space space;
};

InputLayout input_space(const Model& m, const std::vector<std::string>& names) {
  static const std::vector<std::string> known = {"ctrl", "qfrc_applied", "xfrc_applied",
                                                 "mocap_pos", "mocap_quat"};
  InputLayout out;
  std::vector<MixedBlockSpec> blocks;
  int offset = 0;
  for (const std::string& name : names) {
    int* place = nullptr;
    int size = 0;
    const char* unit = "";
    std::vector<BlockSpec> pieces;
    if (name == "ctrl") {
      place = &out.places.ctrl, size = m.nu, unit = "1";
    } else if (name == "qfrc_applied") {
      place = &out.places.qfrc_applied, size = m.nv, unit = "N, N·m";
    } else if (name == "xfrc_applied") {
      place = &out.places.xfrc_applied, size = 6 * static_cast<int>(m.bodies.size());
      unit = "N, N·m";
    } else if (name == "mocap_pos") {
      place = &out.places.mocap_pos, size = 3 * m.nmocap, unit = "m";
    } else if (name == "mocap_quat") {
      place = &out.places.mocap_quat, size = 4 * m.nmocap, unit = "1";
    } else {
      throw ModelError(message("no input is called \"", name, "\"", did_you_mean(name, known)));
    }
    if (*place >= 0) throw ModelError(message("input \"", name, "\" is given twice"));
    if (size == 0) continue;
    *place = offset;
    offset += size;
    blocks.push_back({name, unit, {{"", size, ""}}});
  }
  out.space = Space(blocks);
  return out;
}

// Of controls with a range.
std::vector<Bounds> input_bounds(const Model& m, const InputLayout& inputs) {
  std::vector<Bounds> bounds(static_cast<std::size_t>(inputs.space.size()));
  if (inputs.places.ctrl < 0) return bounds;
  for (const Actuator& a : m.actuators) {
    for (int k = 0; k < a.controls; ++k) {
      const Range& range = control_range(a, k);
      if (a.control < 0 || !range.on) continue;
      bounds[static_cast<std::size_t>(inputs.places.ctrl + a.control + k)] = {range.low,
                                                                              range.high};
    }
  }
  return bounds;
}

template <class T>
void stand_still(const RobotKey& key, Steppers<T>& steppers) {
  std::vector<std::int64_t> arrays;
  for (const Parameter& p : key.tree->parameters.all()) {
    if (p.array) arrays.push_back(p.size);
  }
  steppers.one = std::make_shared<StillStepper<T>>(key.input_size, key.tree->parameters.lane_size(),
                                                   std::move(arrays));
  steppers.packed = steppers.one;
}

template <class T>
void choose_plain_steppers(const RobotKey& key, Steppers<T>& out) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::robot_steppers(key, out);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::robot_steppers(key, out);
#endif
    default: return isa::narrowest::robot_steppers(key, out);
  }
}

// refine: the tolerance of substeps, if there are to be some.
template <class T>
void choose_steppers(const RobotKey& key, std::optional<double> refine, Steppers<T>& out) {
  const ModelView& m = key.tree->model;
  if (m.nq + m.nv + m.na == 0) return stand_still(key, out);
  choose_plain_steppers(key, out);
  if (!refine) return;
  out.one = refined_stepper(std::dynamic_pointer_cast<const SubstepStepper<T>>(out.one), key.tree,
                            key.constraints != nullptr, *refine);
  out.packed = out.one;
}

void choose_steppers(const RobotKey& key, std::optional<double> refine, SystemParts& parts) {
  choose_steppers(key, refine, parts.float32);
  choose_steppers(key, refine, parts.float64);
}

// The robot of a varied model, with the defaults and the initial state of `of`.
void compute_otherwise(const Model& model, RobotOptions options, const Variant& variant,
                       SystemParts& of) {
  Variant now = variant;
  if (now.integrator.empty()) now.integrator = of.ways.integrator;
  options.values = varied_values(of.parameters, variant);
  options.contact = varied_contact(options.contact, variant);
  SystemParts other = make_robot(varied_model(model, now), options).parts();
  other.timestep = of.timestep;
  other.initial_state = std::move(of.initial_state);
  of = std::move(other);
}

}  // namespace

std::vector<double> initial_state(const Model& m, const Keyframe* keyframe) {
  std::vector<double> x = keyframe ? keyframe->qpos : m.qpos0;
  x.resize(static_cast<std::size_t>(m.nq), 0.0);
  std::vector<double> v = keyframe ? keyframe->qvel : std::vector<double>();
  v.resize(static_cast<std::size_t>(m.nv), 0.0);
  std::vector<double> act = keyframe ? keyframe->act : std::vector<double>();
  act.resize(static_cast<std::size_t>(m.na), 0.0);
  x.insert(x.end(), v.begin(), v.end());
  x.insert(x.end(), act.begin(), act.end());
  return x;
}

System make_robot(const Model& model, const RobotOptions& options) {
  SystemParts parts;
  parts.name = model.name.empty() ? "model" : model.name;
  parts.precision = options.precision;
  parts.timestep = model.options.timestep;
  parts.states = state_space(model);
  const InputLayout inputs = input_space(model, options.inputs);
  parts.inputs = inputs.space;
  parts.input_bounds = input_bounds(model, inputs);
  RobotKey key;
  check_contact(options.contact);
  if (options.refine) {
    check_refinement(*options.refine, model.options.integrator, options.precision);
  }
  key.tree = std::make_shared<const Tree>(model, true, options.contact);
  key.constraints = constraint_plan(*key.tree);
  if (options.refine && key.tree->has_adhesion) {
    throw ModelError(
        "refine: contacts that adhere act before they touch, and how they come and go is not "
        "differentiated; remove adhesion from geoms, pairs and actuators, or leave refine out");
  }
  key.inputs = inputs.places;
  key.input_size = inputs.space.size();
  key.vary = !options.vary.empty();
  parts.parameters = with_defaults(key.tree->parameters, options.values);
  parts.vary = options.vary;
  parts.initial_state = initial_state(model);
  if (key.constraints) {
    parts.counters.assign(std::begin(kRobotCounters), std::end(kRobotCounters));
  }
  if (options.refine && parts.states.size() > 0) parts.counters.push_back("substeps");
  parts.observables = std::make_shared<RobotObservables>(
      ObserverKey{key.tree, key.constraints, key.inputs, key.input_size, {}});
  choose_steppers(key, options.refine, parts);
  if (key.constraints && !key.constraints->contacts.pairs.empty()) {
    parts.feel_distance = [key, refine = options.refine, precision = options.precision](
                              double width, SystemParts& of) {
      RobotKey felt = key;
      felt.near_width = width;
      choose_steppers(felt, refine, of);
      if (width > 0) of.kernels = nullptr;  // kernels have no rows of near pairs
      if (precision == Precision::float64) of.float32 = {};
    };
  }
  if (!options.refine) parts.kernels = std::make_shared<RobotSource>(key);
  parts.ways = robot_ways(model, options.contact);
  parts.ways.use = [tree = key.tree, options](const Variant& variant, SystemParts& of) {
    compute_otherwise(tree->source, options, variant, of);
  };
  // Dual numbers do not carry tangents of substeps: the Jacobians of the steps take their place.
  if (parts.states.size() > 0 && !options.refine) parts.float64.dual = dual_stepper(key);
  if (options.precision == Precision::float64) parts.float32 = {};
  return System(std::move(parts));
}

}  // namespace cycloid::inline rigid
