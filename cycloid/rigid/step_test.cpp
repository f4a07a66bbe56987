#include "cycloid/rigid/step.h"

#include "cycloid/rigid/rigid_case_test.h"
#include "cycloid/rigid/rk4_step.h"

using namespace cycloid;
using test::Numbers;

namespace {

InputPlaces all_inputs(const Model& m, int& size) {
  InputPlaces at;
  at.ctrl = 0;
  at.qfrc_applied = m.nu;
  at.xfrc_applied = m.nu + m.nv;
  size = m.nu + m.nv + 6 * static_cast<int>(m.bodies.size());
  return at;
}

// A step as a function of [ d (2 nv + na) | u | p ], where the state is x₀ ⊕ d; it gives the
// tangents of the new state about the one of d = 0.
struct StepCase {
  explicit StepCase(const Model& m, double spread = 0.4) : tree(m), shape(tree) {
    inputs = all_inputs(m, input_size);
    tangents = 2 * m.nv + m.na;
    RandomStream random(12);
    x0 = test::RigidCase(m, spread).q0;
    for (int i = 0; i < m.nv + m.na; ++i) x0.push_back(spread * random.uniform(-1.0, 1.0));
    point.assign(static_cast<std::size_t>(tangents), 0.0);
    for (int i = 0; i < input_size; ++i) point.push_back(random.uniform(-1.0, 1.0));
    for (const double p : tree.parameters.default_values()) point.push_back(p);
    std::vector<double> next = step<double>(point.data());
    next0 = next;
  }

  Implicit implicit() const {
    switch (tree.model.options.integrator) {
      case RigidIntegrator::rk4: return Implicit::nothing;
      case RigidIntegrator::implicitfast: return Implicit::all_slopes;
      default: return Implicit::dampers;
    }
  }

  template <class S>
  struct Memory : test::RigidMemory<S> {
    explicit Memory(const Tree& t)
        : test::RigidMemory<S>(t),
          record(static_cast<std::size_t>(4 * rk4_record_per_stage(t)) + 1) {}
    std::vector<S> record;
  };
  template <class S>
  Robot<S, S> robot(const test::Prepared<S>& prepared) const {
    return {tree, inputs, prepared.p.data(), implicit()};
  }
  bool rk4() const { return tree.model.options.integrator == RigidIntegrator::rk4; }

  template <class S>
  std::vector<S> step(const S* in) const {
    Memory<S> memory(tree);
    const std::vector<S> x = test::moved_state(tree, x0, in);
    std::vector<S> next(x.size());
    const S* u = in + tangents;
    const test::Prepared<S> prepared(tree, u + input_size);
    const Robot<S, S> r = robot(prepared);
    if (rk4()) {
      rk4_step(r, x.data(), u, memory.work, next.data(), memory.record.data());
    } else {
      euler_step(r, x.data(), u, memory.work, next.data(), memory.record.data());
    }
    return next;
  }

  template <class S>
  void value(const S* in, S* out) const {
    const std::vector<S> next = step(in);
    for (const Joint& j : tree.model.joints) {
      const int linear = j.kind == JointKind::free ? 3 : j.kind == JointKind::ball ? 0 : 1;
      for (int i = 0; i < linear; ++i) {
        out[j.dof + i] = next[static_cast<std::size_t>(j.qpos + i)];
      }
      if (j.kind != JointKind::free && j.kind != JointKind::ball) continue;
      const double* q0 = next0.data() + j.qpos + linear;
      const Quat<S> base{S(q0[0]), S(q0[1]), S(q0[2]), S(q0[3])};
      const S* q = next.data() + j.qpos + linear;
      store(out + j.dof + linear, difference(base, load_quat(q)));
    }
    for (int i = 0; i < shape.nv + shape.na; ++i) {
      out[shape.nv + i] = next[static_cast<std::size_t>(shape.nq + i)];
    }
  }

  template <class S>
  void pullback(const S* in, const S* out_bar, S* in_bar) const {
    Memory<S> memory(tree);
    const std::vector<S> x = test::moved_state(tree, x0, in);
    std::vector<S> next(x.size());
    const S *u = in + tangents, *p = u + input_size;
    const test::Prepared<S> prepared(tree, p);
    const Robot<S, S> r = robot(prepared);
    S h_bar(0);
    std::vector<S> p_bar(static_cast<std::size_t>(tree.parameters.size()), S(0));
    if (rk4()) {
      rk4_step(r, x.data(), u, memory.work, next.data(), memory.record.data());
      rk4_step_pullback(r, x.data(), u, static_cast<const S*>(memory.record.data()), memory.work,
                        out_bar, in_bar, in_bar + tangents, p_bar.data(), h_bar);
    } else {
      euler_step(r, x.data(), u, memory.work, next.data(), memory.record.data());
      euler_step_pullback(r, x.data(), u, static_cast<const S*>(memory.record.data()), memory.work,
                          out_bar, in_bar, in_bar + tangents, p_bar.data(), h_bar);
    }
    p_bar[static_cast<std::size_t>(tree.options.timestep)] += h_bar;
    prepared.add_raw(tree, p, p_bar, in_bar + tangents + input_size);
  }

  Tree tree;
  StepShape shape;
  InputPlaces inputs;
  int input_size = 0, tangents = 0;
  Numbers x0, point, next0;
};

// A step sums over a few dozen terms per body; the mass matrix's condition costs two more digits.
constexpr test::PullbackOptions kStep{.tolerance = 1e-10, .lane_tolerance = 1e-11};

void check_step(const char* name, const Model& m, double spread = 0.4) {
  const StepCase c(m, spread);
  test::check_pullback(
      name, c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
      {c.point}, kStep);
}

}  // namespace

TEST_CASE("euler_step: pullback equals dual numbers for every state, input and parameter") {
  check_step("euler_step", test::two_trees());
}

TEST_CASE("euler_step: ... with actuators inside the implicit part") {
  check_step("euler_step", test::two_trees(RigidIntegrator::implicitfast));
}

TEST_CASE("rk4_step: pullback equals dual numbers for every state, input and parameter") {
  check_step("rk4_step", test::two_trees(RigidIntegrator::rk4), 0.3);
}

TEST_CASE("euler_step, rk4_step: ... with tendons, sites, joints that turn freely, and a medium") {
  check_step("euler_step", test::with_cables());
  check_step("euler_step", test::with_cables(RigidIntegrator::implicitfast));
  check_step("rk4_step", test::with_cables(RigidIntegrator::rk4), 0.3);
}

TEST_CASE("euler_step: ... where ranges hold controls, forces, activations, joints and tendons") {
  Model m = test::with_cables(RigidIntegrator::implicitfast);
  m.actuators[0].control_range = {true, -0.01, 0.01};
  m.actuators[1].force_range = {true, -0.02, 0.02};
  m.actuators[2].activation_range = {true, -0.001, 0.001};
  m.joints[1].actuator_force = m.joints[2].actuator_force = {true, -0.05, 0.05};
  m.joints[1].compensation_by_actuator = true;
  m.actuators[3].enabled = false;
  m.tendons[0].actuator_force = {true, -0.03, 0.03};
  check_step("euler_step", m);
}

TEST_CASE("free_body: a step's pullback equals dual numbers with its gyroscopic slope") {
  check_step("free_body", test::free_block(), 2.0);
}

TEST_CASE("retract_qpos, chart_velocity: pullbacks equal dual numbers") {
  const test::RigidCase c(test::two_trees());
  const int nv = c.nv();
  const Numbers point = test::FixedNumbers(2).vector(2 * static_cast<std::size_t>(nv));
  // [ d (displacement of q₀) | d of the retraction ], measured about the result at the point.
  const auto moved = [&](const auto* in) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const std::vector<S> q = c.qpos_of(in);
    std::vector<S> out(q.size());
    retract_qpos(c.tree, q.data(), in + nv, out.data());
    return out;
  };
  Numbers start(point);
  std::fill_n(start.begin(), nv, 0.0);
  const std::vector<double> base = moved(start.data());
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*out)>;
    const std::vector<S> next = moved(in);
    for (const Joint& j : c.tree.model.joints) {
      const int linear = j.kind == JointKind::free ? 3 : j.kind == JointKind::ball ? 0 : 1;
      for (int i = 0; i < linear; ++i) out[j.dof + i] = next[static_cast<std::size_t>(j.qpos + i)];
      if (j.kind != JointKind::free && j.kind != JointKind::ball) continue;
      const double* b = base.data() + j.qpos + linear;
      store(out + j.dof + linear, difference(Quat<S>{S(b[0]), S(b[1]), S(b[2]), S(b[3])},
                                             load_quat(next.data() + j.qpos + linear)));
    }
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const std::vector<S> q = c.qpos_of(in);
    retract_qpos_pullback(c.tree, q.data(), in + nv, out_bar, in_bar, in_bar + nv);
  };
  test::check_pullback("retract_qpos", nv, value, pullback, {start});

  const auto chart = [&](const auto* in, auto* out) { chart_velocity(c.tree, in, in + nv, out); };
  const auto chart_pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    chart_velocity_pullback(c.tree, in, in + nv, out_bar, in_bar, in_bar + nv);
  };
  test::check_pullback("chart_velocity", nv, chart, chart_pullback, {point});
}
