// A robot with sensors of every kind as a function of one flat row, for tests.
//
// The row is [ d (2 nv + na) | u | p ]: the state is x₀ ⊕ d, u holds every kind of input, p the raw
// parameters.
#pragma once

#include <vector>

#include "cycloid/rigid/sense/sense_pullback.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::test {

// with_cables, and: geoms and cameras, sites on the world and on a body that stands still, a mocap
// body with a site, and a sensor of every kind at several places. Its parts, by index:
// joints 0 free, 1 2 hinges, 3 ball, 4 5 6 slides, 7 8 hinges; sites 5 world, 6 post, 7 mocap.
struct SensorModel {
  SensorModel() : model(with_cables()) {
    Named<Body> target;
    target.name = "target";
    target.mocap = 0;
    target.pos = {0.4, -0.2, 0.7};
    target.quat = {0.5, 0.5, -0.5, 0.5};
    target.mass = 0.7;
    target.com = {0.1, -0.05, 0.2};
    target.first_joint = static_cast<int>(model.joints.size());
    target.first_dof = model.nv;
    model.bodies.push_back(target);
    model.nmocap = 1;
    for (const int body : {0, 6, 9}) model.sites.push_back({{body, {0.1, 0.2, -0.1}, kTurn}});
    for (const int body : {0, 2, 7}) {
      Named<Geom> g;
      g.body = body;
      g.pos = {0.2, 0.1, 0.3};
      g.quat = kTurn;
      model.geoms.push_back(g);
    }
    for (const int body : {1, 8}) model.cameras.push_back({{body, {0.1, 0.3, -0.2}, kTurn}});
    for (Body& b : model.bodies) b.inertia_quat = kTurn;
  }

  void add(SensorKind kind, int object, ObjectKind type = ObjectKind::site, int reference = -1,
           ObjectKind reference_type = ObjectKind::xbody) {
    ListedSensor s;
    s.name = "sensor" + std::to_string(model.sensors.size());
    s.type = static_cast<int>(kind);
    s.object_type = static_cast<int>(type);
    s.object = object;
    s.reference_type = static_cast<int>(reference_type);
    s.reference = reference;
    const bool quaternion =
        kind == SensorKind::frame_quaternion || kind == SensorKind::ball_quaternion;
    const bool one = (kind >= SensorKind::joint_position && kind < SensorKind::ball_quaternion) ||
                     kind >= SensorKind::potential_energy;
    s.dimension = quaternion ? 4 : one ? 1 : 3;
    model.sensors.push_back(s);
  }

  // Alone and with references in the same tree, in another one, at rest and in a mocap body.
  void add_frames(SensorKind kind, bool references) {
    const int n = static_cast<int>(kind);  // the objects change from kind to kind
    add(kind, 1 + n % 8, ObjectKind::body);
    add(kind, n % 2 == 0 ? 4 : 2, ObjectKind::xbody);
    add(kind, n % 5);
    add(kind, 1 + n % 2, ObjectKind::geom);
    add(kind, 6);
    if (!references) return;
    add(kind, 4, ObjectKind::body, 3, ObjectKind::site);
    add(kind, 1, ObjectKind::site, 5, ObjectKind::xbody);
    add(kind, 0, ObjectKind::camera, 7, ObjectKind::site);
    add(kind, 7, ObjectKind::site, 1, ObjectKind::camera);
    add(kind, 8, ObjectKind::xbody, 6, ObjectKind::site);
    add(kind, 3, ObjectKind::xbody, 0, ObjectKind::geom);
  }
  void add_position_frames() {
    using enum SensorKind;
    for (const SensorKind k :
         {frame_position, frame_quaternion, frame_x_axis, frame_y_axis, frame_z_axis}) {
      add_frames(k, true);
    }
  }
  void add_velocity_frames() {
    using enum SensorKind;
    for (const SensorKind k : {frame_linear_velocity, frame_angular_velocity}) add_frames(k, true);
    for (int site = 0; site < 8; site += 2) add(velocimeter, site), add(gyro, site + 1);
  }
  void add_accelerations() {
    using enum SensorKind;
    for (const SensorKind k : {frame_linear_acceleration, frame_angular_acceleration}) {
      add_frames(k, false);
    }
    for (int site = 0; site < 8; ++site) add(accelerometer, site);
  }
  void add_rows() {
    using enum SensorKind;
    for (const int joint : {1, 4, 5, 8}) {
      for (const SensorKind k : {joint_position, joint_velocity, joint_actuator_force}) {
        add(k, joint);
      }
    }
    add(ball_quaternion, 3);
    add(ball_angular_velocity, 3);
    for (const int tendon : {0, 1}) {
      for (const SensorKind k : {tendon_position, tendon_velocity, tendon_actuator_force}) {
        add(k, tendon);
      }
    }
    for (int a = 0; a < static_cast<int>(model.actuators.size()); ++a) {
      for (const SensorKind k : {actuator_position, actuator_velocity, actuator_force}) add(k, a);
    }
  }
  void add_subtrees() {
    using enum SensorKind;
    for (const int body : {0, 1, 2, 4, 6, 7, 9}) {
      for (const SensorKind k : {subtree_com, subtree_linear_velocity, subtree_angular_momentum}) {
        add(k, body);
      }
    }
  }

  static constexpr std::array<double, 4> kTurn = {0.5, -0.1, 0.7, 0.5};  // of unit length
  Model model;
};

// Every sensor of the model.
struct SenseCase {
  explicit SenseCase(const Model& m, double spread = 0.4)
      : tree(m), shape(tree), plan(constraint_plan(tree)) {
    inputs.ctrl = 0;
    inputs.qfrc_applied = m.nu;
    inputs.xfrc_applied = m.nu + m.nv;
    inputs.mocap_pos = inputs.xfrc_applied + 6 * static_cast<int>(m.bodies.size());
    inputs.mocap_quat = inputs.mocap_pos + 3 * m.nmocap;
    input_size = inputs.mocap_quat + 4 * m.nmocap;
    tangents = 2 * m.nv + m.na;
    for (const Sensor& s : m.sensors) list.add(s);
    list.look_at(tree);
    RandomStream random(12);
    x0 = RigidCase(m, spread).q0;
    for (int i = 0; i < m.nv + m.na; ++i) x0.push_back(spread * random.uniform(-1.0, 1.0));
    point.assign(static_cast<std::size_t>(tangents), 0.0);
    for (int i = 0; i < input_size; ++i) point.push_back(random.uniform(-1.0, 1.0));
    for (const double p : tree.parameters.default_values()) point.push_back(p);
  }

  template <class S>
  using Memory = CarvedMemory<SenseSpace<S>>;

  template <class S>
  Instant<S> instant(const std::vector<S>& x, const S* u) const {
    return {x.data(), x.data() + shape.nq, x.data() + shape.nq + shape.nv, u};
  }

  template <class S>
  void value(const S* in, S* out) const {
    Memory<S> memory(tree, plan.get());
    const std::vector<S> x = moved_state(tree, x0, in);
    const S* u = in + tangents;
    const Prepared<S> prepared(tree, u + input_size);
    const Robot<S, S> r{tree, inputs, prepared.p.data(), Implicit::nothing};
    sense(r, list, instant(x, u), S(0.7), memory.work, out);
  }

  template <class S>
  void pullback(const S* in, const S* out_bar, S* in_bar) const {
    Memory<S> memory(tree, plan.get());
    const std::vector<S> x = moved_state(tree, x0, in);
    const S *u = in + tangents, *p = u + input_size;
    const Prepared<S> prepared(tree, p);
    const Robot<S, S> r{tree, inputs, prepared.p.data(), Implicit::nothing};
    S h_bar(0);
    std::vector<S> p_bar(static_cast<std::size_t>(tree.parameters.size()), S(0));
    const InstantBars<S> bar{
        in_bar, in_bar + shape.nv, in_bar + 2 * shape.nv, in_bar + tangents, p_bar.data(), h_bar};
    sense_pullback(r, list, instant(x, u), memory.work, out_bar, bar);
    p_bar[static_cast<std::size_t>(tree.options.timestep)] += h_bar;
    prepared.add_raw(tree, p, p_bar, in_bar + tangents + input_size);
  }

  Numbers values() const {
    Numbers out(static_cast<std::size_t>(list.size));
    value(point.data(), out.data());
    return out;
  }

  Tree tree;
  StepShape shape;
  std::shared_ptr<const ConstraintPlan> plan;
  InputPlaces inputs;
  SensorList list;
  int input_size = 0, tangents = 0;
  Numbers x0, point;
};

// Sums over a few dozen terms per body; accelerations lose two digits to the mass matrix.
inline constexpr PullbackOptions kSense{.tolerance = 1e-10, .lane_tolerance = 1e-11};

inline void check_sense(const char* name, const Model& m) {
  const SenseCase c(m);
  check_pullback(
      name, c.list.size, [&](const auto* in, auto* out) { c.value(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
      {c.point}, kSense);
}

}  // namespace cycloid::test
