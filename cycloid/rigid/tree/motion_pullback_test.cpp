#include "cycloid/rigid/tree/motion_pullback.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::motion_pullback_test {

using test::Numbers;
using test::RigidCase;

// Everything that the sweep looks at, for fixed q̈ and μ.
template <class S>
struct Point {
  Point(const RigidCase& c, const S* in) : memory(c.tree), p(c.tree, in + 2 * c.nv()) {
    Workspace<S>& w = memory.work;
    qpos = c.qpos_of(in);
    for (const double x : test::FixedNumbers(7).vector(static_cast<std::size_t>(c.nv()))) {
      qacc.push_back(S(x));
    }
    for (const double x : test::FixedNumbers(8).vector(static_cast<std::size_t>(c.nv()))) {
      mu.push_back(S(x));
    }
    kinematics(c.tree, p.p.data(), qpos.data(), static_cast<S*>(nullptr), w.frames);
    for (std::size_t b = 1; b < c.tree.model.bodies.size(); ++b) {
      if (c.tree.model.bodies[b].tree < 0) continue;
      w.inertia[b] = body_inertia(c.tree.bodies[b], p.p.data(), w.frames.R[b], w.frames.pos[b]);
    }
    const S* qvel = in + c.nv();
    velocity_field(c.tree, w.frames.column, qvel, w.v);
    velocity_field(c.tree, w.frames.column, static_cast<const S*>(mu.data()), w.m);
    acceleration_field(c.tree, w.frames.column, qvel, static_cast<const S*>(qacc.data()), w.v,
                       vec3_of<S>(p.p.data() + c.tree.options.gravity), w.a);
  }
  test::RigidMemory<S> memory;
  test::Prepared<S> p;
  std::vector<S> qpos, qacc, mu;
};

void check_sweep(const Model& m) {
  const RigidCase c(m);
  const int nv = c.nv();
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    Point<S> at(c, in);
    const Workspace<S>& w = at.memory.work;
    S sum(0);
    for (std::size_t b = 1; b < c.tree.model.bodies.size(); ++b) {
      if (c.tree.model.bodies[b].tree < 0) continue;
      const std::size_t l = static_cast<std::size_t>(c.tree.last_link[b]);
      sum -= power(body_force(w.inertia[b], w.v[l], w.a[l]), w.m[l]);
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(nv); ++k) {
      sum -= at.mu[k] * at.qacc[k] * at.p.p[static_cast<std::size_t>(c.tree.armature[k])];
    }
    out[0] = sum;
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    Point<S> at(c, in);
    const Workspace<S>& w = at.memory.work;
    w.bars.clear(c.tree.model.bodies.size());
    std::vector<S> own(2 * static_cast<std::size_t>(nv), S(0)), p_bar(at.p.p.size(), S(0));
    const SweepPoint<S> point{c.tree,         w.frames, w.inertia,      w.v,         w.a, w.m,
                              at.qpos.data(), in + nv,  at.qacc.data(), at.mu.data()};
    sweep_pullback(point, static_cast<const S*>(at.p.p.data()), w.bars, own.data(), own.data() + nv,
                   p_bar.data(), w.mocap_bar);
    add_to(p_bar.data() + c.tree.options.gravity, -w.bars.a[0].force);
    for (std::size_t i = 0; i < own.size(); ++i) in_bar[i] += own[i] * out_bar[0];
    for (S& x : p_bar) x *= out_bar[0];
    at.p.add_raw(c.tree, in + 2 * nv, p_bar, in_bar + 2 * nv);
  };
  test::check_pullback("sweep", 1, value, pullback, {c.point});
}

TEST_CASE("sweep: pullback equals dual numbers for configuration, velocity and every parameter") {
  check_sweep(test::two_trees());
}

TEST_CASE("sweep: ... where hinges turn about axes of the frame, with and without an offset") {
  Model m = test::two_trees();
  const std::array<double, 3> axes[] = {{0, 0, -1}, {1, 0, 0}, {0, -1, 0}, {0, 0, 1}};
  int turned = 0;
  for (Joint& j : m.joints) {
    if (j.kind == JointKind::hinge) j.axis = axes[turned++ % 4];
  }
  REQUIRE(turned >= 4);
  check_sweep(m);
  for (Body& b : m.bodies) b.quat = {1, 0, 0, 0};
  check_sweep(m);
  for (Joint& j : m.joints) j.pos = {};
  check_sweep(m);
}

}  // namespace cycloid::motion_pullback_test
