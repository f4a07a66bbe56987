#include "cycloid/rigid/tree/inverse_dynamics.h"

#include "cycloid/rigid/tree/mass_force.h"
#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::inverse_dynamics_test {

using test::Numbers;
using test::RigidCase;

// A robot with its bodies placed, of a row [ d (nv) | qvel (nv) | p | q̈ (nv) ].
template <class S>
struct Placed {
  Placed(const RigidCase& c, const S* in)
      : memory(c.tree),
        p(c.tree, in + 2 * c.nv()),
        qpos(c.qpos_of(in)),
        r{c.tree, inputs, p.p.data(), Implicit::nothing},
        at{qpos.data(), in + c.nv(), nullptr, nullptr},
        qacc(in + 2 * c.nv() + c.tree.parameters.size()) {
    place_bodies(r, at, memory.work);
  }
  const Workspace<S>& work() const { return memory.work; }

  InputPlaces inputs;
  test::RigidMemory<S> memory;
  test::Prepared<S> p;
  std::vector<S> qpos;
  Robot<S, S> r;
  Instant<S> at;
  const S* qacc;
};

// Cotangents at the placed robot, carried to the row.
template <class S>
struct Bars {
  explicit Bars(const RigidCase& c, S* in_bar)
      : q(static_cast<std::size_t>(c.nv()), S(0)),
        p(static_cast<std::size_t>(c.tree.parameters.size()), S(0)),
        instant{q.data(), in_bar + c.nv(), nullptr, nullptr, p.data(), h} {}
  void add_to_row(const RigidCase& c, const Placed<S>& x, const S* in, S* in_bar) {
    for (const Link& link : c.tree.links) {  // from tangents at q to the displacement
      if (link.kind != LinkKind::ball) continue;
      Vec3<S> base{}, moved{};
      retract_tangent_pullback(Quat<S>{}, load_vec3(in + link.dof), load_vec3(q.data() + link.dof),
                               base, moved);
      store(q.data() + link.dof, moved);
    }
    for (std::size_t k = 0; k < q.size(); ++k) in_bar[k] += q[k];
    x.p.add_raw(c.tree, in + 2 * c.nv(), p, in_bar + 2 * c.nv());
  }
  std::vector<S> q, p;
  S h{0};
  InstantBars<S> instant;
};

// At rest, moving, and turned far.
std::vector<Numbers> points(const RigidCase& c) {
  const std::size_t nv = static_cast<std::size_t>(c.nv());
  std::vector<Numbers> rows;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    test::FixedNumbers random(seed);
    Numbers row = c.point;
    for (std::size_t k = 0; k < nv; ++k) {
      if (seed == 1) row[nv + k] = 0;
      if (seed == 3) row[k] = 0.8 * random.next(), row[nv + k] *= 3;
    }
    for (std::size_t k = 0; k < nv; ++k) row.push_back(random.next());
    rows.push_back(row);
  }
  return rows;
}

TEST_CASE("inverse_dynamics: pullback equals dual numbers in everything, tendons included") {
  const RigidCase c(test::with_cables());
  const int nv = c.nv();
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const Placed<S> x(c, in);
    inverse_dynamics(x.r, x.at, x.work(), x.qacc, out);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const Placed<S> x(c, in);
    Bars<S> bars(c, in_bar);
    inverse_dynamics_pullback(x.r, x.at, x.work(), x.qacc, out_bar,
                              in_bar + 2 * nv + c.tree.parameters.size(), bars.instant);
    bars.add_to_row(c, x, in, in_bar);
  };
  test::check_pullback("inverse_dynamics", nv, value, pullback, points(c));
}

TEST_CASE("mass_force: pullback equals dual numbers in everything, tendons included") {
  const RigidCase c(test::with_cables());
  const int nv = c.nv();
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const Placed<S> x(c, in);
    mass_force(x.r, x.work(), x.qacc, out);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const Placed<S> x(c, in);
    Bars<S> bars(c, in_bar);
    mass_force_pullback(x.r, x.at, x.work(), x.qacc, out_bar,
                        in_bar + 2 * nv + c.tree.parameters.size(), bars.instant);
    bars.add_to_row(c, x, in, in_bar);
  };
  test::check_pullback("mass_force", nv, value, pullback, points(c));
}

TEST_CASE("inertia_matrix: pullback equals dual numbers in every entry, tendons included") {
  const RigidCase c(test::with_cables());
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const Placed<S> x(c, in);
    inertia_matrix(x.r, x.work(), out);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const Placed<S> x(c, in);
    Bars<S> bars(c, in_bar);
    inertia_matrix_pullback(x.r, x.at, x.work(), out_bar, bars.instant);
    bars.add_to_row(c, x, in, in_bar);
  };
  test::check_pullback("inertia_matrix", c.tree.entries(), value, pullback, points(c));
}

TEST_CASE("inverse_dynamics: equals M q̈ + c, and the factor of M leads back to q̈") {
  for (const Model& model : {test::two_trees(), test::free_block(), test::with_cables()}) {
    const RigidCase c(model);
    const std::size_t nv = static_cast<std::size_t>(c.nv());
    for (const Numbers& row : points(c)) {
      const Placed<double> x(c, row.data());
      const Workspace<double>& w = x.work();
      Numbers bias(nv), tau(nv), Ma(nv);
      inverse_dynamics(x.r, x.at, w, static_cast<const double*>(nullptr), bias.data());
      inverse_dynamics(x.r, x.at, w, x.qacc, tau.data());
      inertia_matrix(x.r, w, w.LD);
      multiply_matrix(c.tree, static_cast<const double*>(w.LD), x.qacc, Ma.data());
      for (std::size_t k = 0; k < nv; ++k) Ma[k] += bias[k];
      CHECK(test::relative_error(tau, Ma) < 1e-13);
      factor(c.tree, w.LD);
      for (std::size_t k = 0; k < nv; ++k) tau[k] -= bias[k];
      solve(c.tree, w.LD, tau.data());
      CHECK(test::relative_error(tau, Numbers(x.qacc, x.qacc + nv)) < 1e-11);  // condition 1e3
    }
  }
}

}  // namespace cycloid::inverse_dynamics_test
