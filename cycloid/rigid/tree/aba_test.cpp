#include "cycloid/rigid/tree/aba.h"

#include "cycloid/rigid/tree/crba.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

using namespace cycloid;
using test::Numbers;
using test::RigidCase;

namespace {

// Rows [ d (nv) | qvel (nv) | p | τ (nv) ].
template <class S>
struct Point {
  Point(const RigidCase& c, const S* in)
      : memory(c.tree),
        own(c.tree),
        p(c.tree, in + 2 * c.nv()),
        qpos(c.qpos_of(in)),
        tau(in + 2 * c.nv() + c.tree.parameters.size()),
        at{c.tree,
           memory.work.frames,
           memory.work.inertia,
           memory.work.v,
           qpos.data(),
           in + c.nv(),
           vec3_of<S>(p.p.data() + c.tree.options.gravity)} {
    const Workspace<S>& w = memory.work;
    kinematics(c.tree, p.p.data(), qpos.data(), static_cast<S*>(nullptr), w.frames);
    for (std::size_t b = 1; b < c.tree.model.bodies.size(); ++b) {
      if (c.tree.model.bodies[b].tree < 0) continue;
      w.inertia[b] = body_inertia(c.tree.bodies[b], p.p.data(), w.frames.R[b], w.frames.pos[b]);
    }
    velocity_field(c.tree, w.frames.column, in + c.nv(), w.v);
  }
  const S* parameters() const { return p.p.data(); }

  test::RigidMemory<S> memory;
  test::CarvedMemory<AbaSpace<S>> own;
  test::Prepared<S> p;
  std::vector<S> qpos;
  const S* tau;
  AbaPoint<S> at;
};

// Rows for the same robot: at rest, moving, and turned far.
std::vector<Numbers> points(const RigidCase& c) {
  const std::size_t nv = static_cast<std::size_t>(c.nv());
  std::vector<Numbers> rows;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    test::FixedNumbers random(seed);
    Numbers row = c.point;
    for (std::size_t k = 0; k < nv; ++k) {
      if (seed == 1) row[nv + k] = 0;
      if (seed == 3) row[k] = 0.8 * random.next(), row[nv + k] *= 5;
    }
    for (std::size_t k = 0; k < nv; ++k) row.push_back(random.next());
    rows.push_back(row);
  }
  return rows;
}

void check(const Model& model) {
  const RigidCase c(model);
  const int nv = c.nv();
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const Point<S> x(c, in);
    aba(x.at, x.parameters(), x.tau, x.own.work, out);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const Point<S> x(c, in);
    const int np = c.tree.parameters.size();
    std::vector<S> qacc(static_cast<std::size_t>(nv)), p_bar(x.p.p.size(), S(0)),
        q_bar(qacc.size(), S(0));
    aba(x.at, x.parameters(), x.tau, x.own.work, qacc.data());
    Vec3<S> gravity_bar{};
    aba_pullback(x.at, x.parameters(), static_cast<const S*>(qacc.data()), x.own.work, out_bar,
                 in_bar + 2 * nv + np, q_bar.data(), in_bar + nv, gravity_bar, p_bar.data(),
                 x.memory.work.mocap_bar);
    add_to(p_bar.data() + c.tree.options.gravity, gravity_bar);
    for (const Link& link : c.tree.links) {  // from tangents at q to the displacement
      if (link.kind != LinkKind::ball) continue;
      Vec3<S> base{}, moved{};
      retract_tangent_pullback(Quat<S>{}, load_vec3(in + link.dof),
                               load_vec3(q_bar.data() + link.dof), base, moved);
      store(q_bar.data() + link.dof, moved);
    }
    for (int k = 0; k < nv; ++k) in_bar[k] += q_bar[static_cast<std::size_t>(k)];
    x.p.add_raw(c.tree, in + 2 * nv, p_bar, in_bar + 2 * nv);
  };
  test::check_pullback("aba", nv, value, pullback, points(c));
}

}  // namespace

TEST_CASE("aba: pullback equals dual numbers for configuration, velocity, force and parameters") {
  check(test::two_trees());
  check(test::free_block());
}

TEST_CASE("aba: accelerations are those of the mass matrix, factored and solved") {
  for (const Model& model : {test::two_trees(), test::free_block()}) {
    const RigidCase c(model);
    for (const Numbers& row : points(c)) {
      const Point<double> x(c, row.data());
      const Tree& tree = c.tree;
      const Workspace<double>& w = x.memory.work;
      Numbers qacc(static_cast<std::size_t>(c.nv())), expected(x.tau, x.tau + c.nv());
      aba(x.at, x.parameters(), x.tau, x.own.work, qacc.data());

      composite_inertias(tree, static_cast<const SpatialInertia<double>*>(w.inertia), w.composite);
      for (int k = 0; k < c.nv(); ++k) {
        w.armature[k] = x.parameters()[tree.armature[static_cast<std::size_t>(k)]];
      }
      mass_matrix(tree, w.composite, w.frames.column, w.armature, w.LD);
      acceleration_field(tree, w.frames.column, x.at.qvel, static_cast<const double*>(nullptr), w.v,
                         x.at.gravity, w.a);
      for (std::size_t l = 0; l < tree.links.size(); ++l) {
        const std::size_t b = static_cast<std::size_t>(tree.links[l].body);
        const bool heavy = tree.links[l].last && tree.model.bodies[b].tree >= 0;
        w.force[l] = heavy ? body_force(w.inertia[b], w.v[l], w.a[l]) : Force<double>{};
      }
      subtract_joint_forces(tree, w.frames.column, w.force, expected.data());
      factor(tree, w.LD);
      solve(tree, w.LD, expected.data());
      CHECK(test::relative_error(qacc, expected) < 1e-12);  // the condition of M is about 1e3
      CHECK(test::largest(qacc) > 1);
    }
  }
}

// A free body falls and turns by Euler's equations: J ω̇ = -ω × Jω about its centre of mass.
TEST_CASE("aba: a free body obeys Newton and Euler") {
  test::RobotBuilder builder;
  builder.joint(builder.body(0, 0), JointKind::free);
  Model& m = builder.model;
  m.bodies[1].com = {};
  m.bodies[1].inertia = {0.1, 0.2, 0.3, 0, 0, 0};
  m.options.gravity = {0, 0, -9.81};
  for (Dof& d : m.dofs) d.armature = 0;
  const RigidCase c(m);
  Numbers row = c.point;
  const Numbers omega = {0.7, -1.1, 0.9};
  for (std::size_t i = 0; i < 3; ++i) row[6 + 3 + i] = omega[i];
  row.resize(row.size() + 6, 0.0);
  const Point<double> x(c, row.data());
  Numbers qacc(6);
  aba(x.at, x.parameters(), x.tau, x.own.work, qacc.data());
  CHECK(qacc[0] == doctest::Approx(0).epsilon(1e-13));
  CHECK(qacc[2] == doctest::Approx(-9.81).epsilon(1e-13));
  CHECK(qacc[3] == doctest::Approx((0.2 - 0.3) * omega[1] * omega[2] / 0.1).epsilon(1e-12));
  CHECK(qacc[4] == doctest::Approx((0.3 - 0.1) * omega[2] * omega[0] / 0.2).epsilon(1e-12));
  CHECK(qacc[5] == doctest::Approx((0.1 - 0.2) * omega[0] * omega[1] / 0.3).epsilon(1e-12));
}
