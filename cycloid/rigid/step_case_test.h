// A step as a function of one flat row, for tests of steps and their derivatives.
#pragma once

#include "cycloid/rigid/rk4_step.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::test {

// Which inputs a step takes, whether direct actuators take their short form, and how contacts push.
struct StepKind {
  bool wrenches = true, shortcut = false;
  ContactChoice contact = {};
};

inline InputPlaces inputs_of(const Model& m, const StepKind& kind, int& size) {
  InputPlaces at;
  at.ctrl = 0;
  at.qfrc_applied = m.nu;
  size = m.nu + m.nv;
  if (kind.wrenches) {
    at.xfrc_applied = size;
    size += 6 * static_cast<int>(m.bodies.size());
  }
  return at;
}

// A step as a function of [ d (2 nv + na) | u | p ], where the state is x₀ ⊕ d; it gives the
// tangents of the new state about the one of d = 0, whose derivatives are those of tangents about
// the new state itself, as a pullback takes them.
// Kit: what makes the dynamics of a step, from a Tree; Kit::Hold<S> has the memory of one.
struct SmoothKit {
  explicit SmoothKit(const Tree&) {}
  template <class S>
  struct Hold {
    Hold(const SmoothKit&, const Tree&, bool) {}
    SmoothDynamics dynamics() { return {}; }
  };
};

template <class Kit>
struct StepCaseOf {
  explicit StepCaseOf(const Model& m, double spread = 0.4, const StepKind& of = {})
      : tree(m, true, of.contact), kit(tree), shape(tree), kind(of) {
    inputs = inputs_of(m, kind, input_size);
    tangents = 2 * m.nv + m.na;
    RandomStream random(12);
    x0 = RigidCase(m, spread).q0;
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
      case RigidIntegrator::implicit: return Implicit::bias_too;
      default: return Implicit::dampers;
    }
  }

  template <class S>
  struct Memory : RigidMemory<S> {
    explicit Memory(const StepCaseOf& c)
        : RigidMemory<S>(c.tree), hold(c.kit, c.tree, c.implicit() != Implicit::nothing) {
      const int euler = hold.dynamics().record_numbers(c.tree);
      const int stage = rk4_record_per_stage(c.tree, hold.dynamics());
      record.resize(static_cast<std::size_t>(std::max(euler, 4 * stage)) + 1);
    }
    typename Kit::template Hold<S> hold;
    std::vector<S> record;
  };
  template <class S>
  Robot<S, S> robot(const Prepared<S>& prepared) const {
    return {tree, inputs, prepared.p.data(), implicit(), kind.shortcut};
  }
  bool rk4() const { return tree.model.options.integrator == RigidIntegrator::rk4; }

  template <class S>
  std::vector<S> step(const S* in) const {
    Memory<S> memory(*this);
    const std::vector<S> x = moved_state(tree, x0, in);
    std::vector<S> next(x.size());
    const S* u = in + tangents;
    const Prepared<S> prepared(tree, u + input_size);
    const Robot<S, S> r = robot(prepared);
    if (rk4()) {
      rk4_step(r, x.data(), u, memory.work, next.data(), memory.record.data(),
               memory.hold.dynamics());
    } else {
      euler_step(r, x.data(), u, memory.work, next.data(), memory.record.data(),
                 memory.hold.dynamics());
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
      const Quat<S> there{S(primal(q[0])), S(primal(q[1])), S(primal(q[2])), S(primal(q[3]))};
      store(out + j.dof + linear, difference(base, there) + difference(there, load_quat(q)));
    }
    for (int i = 0; i < shape.nv + shape.na; ++i) {
      out[shape.nv + i] = next[static_cast<std::size_t>(shape.nq + i)];
    }
  }

  template <class S>
  void pullback(const S* in, const S* out_bar, S* in_bar) const {
    Memory<S> memory(*this);
    const std::vector<S> x = moved_state(tree, x0, in);
    std::vector<S> next(x.size());
    const S *u = in + tangents, *p = u + input_size;
    const Prepared<S> prepared(tree, p);
    const Robot<S, S> r = robot(prepared);
    S h_bar(0);
    std::vector<S> p_bar(static_cast<std::size_t>(tree.parameters.size()), S(0));
    if (rk4()) {
      rk4_step(r, x.data(), u, memory.work, next.data(), memory.record.data(),
               memory.hold.dynamics());
      rk4_step_pullback(r, x.data(), u, static_cast<const S*>(memory.record.data()), memory.work,
                        out_bar, in_bar, in_bar + tangents, p_bar.data(), h_bar,
                        memory.hold.dynamics());
    } else {
      euler_step(r, x.data(), u, memory.work, next.data(), memory.record.data(),
                 memory.hold.dynamics());
      euler_step_pullback(r, x.data(), u, static_cast<const S*>(memory.record.data()), memory.work,
                          out_bar, in_bar, in_bar + tangents, p_bar.data(), h_bar,
                          memory.hold.dynamics());
    }
    p_bar[static_cast<std::size_t>(tree.options.timestep)] += h_bar;
    prepared.add_raw(tree, p, p_bar, in_bar + tangents + input_size);
  }

  Tree tree;
  Kit kit;
  StepShape shape;
  StepKind kind;
  InputPlaces inputs;
  int input_size = 0, tangents = 0;
  Numbers x0, point, next0;
};

using StepCase = StepCaseOf<SmoothKit>;

// A step of euler or implicitfast that was made at the case's point, as its Jacobians look at it.
template <class S>
struct MadeStep {
  explicit MadeStep(const StepCase& c)
      : in(c.point.begin(), c.point.end()),
        u(in.data() + c.tangents),
        x(moved_state(c.tree, c.x0, in.data())),
        memory(c),
        prepared(c.tree, u + c.input_size),
        robot(c.robot(prepared)) {
    std::vector<S> next(x.size());
    euler_step(robot, x.data(), u, memory.work, next.data(), memory.record.data());
  }
  const S* record() const { return memory.record.data(); }

  std::vector<S> in;
  const S* u;
  std::vector<S> x;
  typename StepCase::Memory<S> memory;
  Prepared<S> prepared;
  Robot<S, S> robot;
};

}  // namespace cycloid::test
