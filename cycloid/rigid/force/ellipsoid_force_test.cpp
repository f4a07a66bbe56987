#include "cycloid/rigid/force/ellipsoid_force.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::ellipsoid_force_test {

using test::Numbers;
using test::Scene;

// Geoms of every shape on bodies of both trees, two of them on one body.
Model swimmers() {
  Model m = test::TwoTrees::make().model;
  const auto add = [&](const char* name, int body, Shape shape, std::array<double, 3> size) {
    Named<Geom> g;
    g.name = name;
    g.body = body;
    g.pos = {0.1, -0.05, 0.02 * body};
    g.quat = {0.8, 0.1 * body, -0.3, 0.2};
    g.shape = shape;
    g.data = shape == Shape::mesh ? 0 : -1;
    g.size = size;
    g.fluid = {1, 0.4, 0.3, 1.2, 0.9, 1.1, 3e-3, 1e-3, 8e-3, 2e-5, 3e-5, 1e-5};
    m.geoms.push_back(g);
  };
  m.meshes.emplace_back();
  add("wing", 3, Shape::ellipsoid, {0.2, 0.1, 0.03});
  add("tip", 3, Shape::box, {0.1, 0.2, 0.15});
  add("tool", 4, Shape::mesh, {0.05, 0.1, 0.2});
  add("side", 5, Shape::capsule, {0.1, 0.2, 0});
  add("drone", 6, Shape::sphere, {0.15, 0, 0});
  add("rotor", 7, Shape::cylinder, {0.2, 0.05, 0});
  add("post", 1, Shape::sphere, {0.2, 0, 0});  // stands still
  return m;
}

// Σ of W·m.
template <class S>
S power_of_medium(const Tree& tree, const S* in) {
  const Scene<S> at(tree, in);
  S sum(0);
  for (const int g : tree.fluid_geoms) {
    const int b = tree.model.geoms[static_cast<std::size_t>(g)].body;
    sum += power(ellipsoid_wrench(tree, at.p.data(), g, at.frames, at.v.data()),
                 at.m[last_link(tree, b)]);
  }
  return sum;
}

// -h μᵀ D q̈ or with D_s, through the matrices.
template <class S>
S form(const Tree& tree, const S* in, const S& h, bool whole) {
  const Scene<S> at(tree, in);
  std::vector<SpatialDamping<S>> even(at.pos.size());
  std::vector<SpatialSpin<S>> odd(at.pos.size());
  for (const int g : tree.fluid_geoms) {
    const std::size_t b =
        static_cast<std::size_t>(tree.model.geoms[static_cast<std::size_t>(g)].body);
    add_ellipsoid_damping(tree, at.p.data(), g, at.frames, at.v.data(), even[b], odd[b]);
  }
  const std::size_t entries = static_cast<std::size_t>(tree.entries());
  std::vector<S> M(entries, S(0)), L(entries, S(0)), U(entries, S(0));
  const test::FixedField<S> y(at);
  add_damping_matrix(tree, h, at.column.data(), even.data(), M.data());
  S sum = -test::matrix_form(tree, M, at.mu, y.x);
  if (!whole) return sum;
  composite_spins(tree, odd.data());
  add_spin_matrix(tree, h, at.column.data(), odd.data(), L.data(), U.data());
  int at_entry = 0;
  for (int i = 0; i < tree.model.nv; ++i) {
    for (int j = i; j >= 0; j = tree.parent_dof[static_cast<std::size_t>(j)], ++at_entry) {
      const std::size_t row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j),
                        e = static_cast<std::size_t>(at_entry);
      sum -= at.mu[row] * L[e] * y.x[column] + at.mu[column] * U[e] * y.x[row];
    }
  }
  return sum;
}

TEST_CASE("ellipsoid_wrench: geoms on what stands still are left out, and bodies lose their box") {
  const Tree tree(swimmers());
  CHECK(tree.fluid_geoms.size() == 6);
  CHECK(tree.fluid_by_geoms[3]);
  CHECK_FALSE(tree.fluid_by_geoms[2]);
  CHECK_FALSE(tree.fluid_by_geoms[1]);
  CHECK(tree.geoms[2].size < 0);  // a mesh has no size of its own
}

TEST_CASE("ellipsoid_wrench: pullback equals dual numbers in pose, velocity, shape and medium") {
  const Tree tree(swimmers());
  const bool passed = test::check_pullback(
      "ellipsoid_wrench", 1, [&](const auto* in, auto* out) { out[0] = power_of_medium(tree, in); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const Scene<S> at(tree, in);
        test::SceneBars<S> bars(at, in);
        for (const int g : tree.fluid_geoms) {
          ellipsoid_wrench_pullback(tree, at.p.data(), g, at.frames, at.v.data(), at.m.data(),
                                    bars.bodies, bars.p_bar.data());
        }
        std::vector<S> own(Scene<S>::inputs(tree), S(0));
        bars.add_to_inputs(own.data());
        for (std::size_t k = 0; k < own.size(); ++k) in_bar[k] += own[k] * out_bar[0];
      },
      test::scene_points(tree));
  if (passed) test::mark_operator_tested("half_axes");
}

TEST_CASE("absent_ellipsoid: without density and viscosity their cotangents equal dual numbers") {
  const Tree tree(swimmers());
  Numbers in = test::scene_points(tree)[0];
  const std::size_t p = 2 * static_cast<std::size_t>(tree.model.nv);
  const std::size_t rho = p + static_cast<std::size_t>(tree.options.density),
                    beta = p + static_cast<std::size_t>(tree.options.viscosity);
  in[rho] = in[beta] = 0;
  const Scene<double> at(tree, in.data());
  std::vector<double> p_bar(at.p.size(), 0.0);
  for (const int g : tree.fluid_geoms) {
    absent_ellipsoid_pullback(tree, at.p.data(), g, at.frames, at.v.data(), at.m.data(),
                              p_bar.data());
  }
  for (const std::size_t k : {rho, beta}) {
    std::vector<Dual<double, 1>> x(in.begin(), in.end());
    x[k].tangent[0] = 1;
    const double expected = power_of_medium(tree, x.data()).tangent[0];
    CHECK(p_bar[k - p] == doctest::Approx(expected).epsilon(1e-12));
    CHECK(expected != 0);
  }
  test::mark_operator_tested("absent_ellipsoid");
}

TEST_CASE("ellipsoid_damping: both parts together are minus the derivative of the wrench") {
  const Tree tree(swimmers());
  const Numbers in = test::scene_points(tree)[1];
  const Scene<double> at(tree, in.data());
  for (const int g : tree.fluid_geoms) {
    const int b = tree.model.geoms[static_cast<std::size_t>(g)].body;
    const std::size_t l = last_link(tree, b);
    const Motion<double>& y = at.m[l];
    SpatialDamping<double> even{};
    SpatialSpin<double> odd{};
    add_ellipsoid_damping(tree, at.p.data(), g, at.frames, at.v.data(), even, odd);
    const Force<double> D_y = even * y + odd * y;
    const double e = 1e-6;
    std::vector<Motion<double>> ahead = at.v, back = at.v;
    ahead[l] += y * e, back[l] -= y * e;
    const Force<double> dW = (ellipsoid_wrench(tree, at.p.data(), g, at.frames, ahead.data()) -
                              ellipsoid_wrench(tree, at.p.data(), g, at.frames, back.data())) *
                             (0.5 / e);
    CHECK(norm(D_y.torque + dW.torque) < 1e-7 * norm(dW.torque));
    CHECK(norm(D_y.force + dW.force) < 1e-7 * norm(dW.force));
    CHECK(std::abs(power(odd * y, y)) < 1e-13 * norm(dW.force));
  }
}

TEST_CASE("ellipsoid_damping: pullback equals dual numbers, whole and its symmetric part") {
  const Tree tree(swimmers());
  const double step = 0.3;
  for (const bool whole : {false, true}) {
    test::check_pullback(
        "ellipsoid_damping", 1,
        [&](const auto* in, auto* out) {
          using S = std::remove_cvref_t<decltype(*in)>;
          out[0] = form(tree, in, S(step), whole);
        },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          const test::FixedField<S> fixed(at);
          test::FieldSweepMemory<S> memory(tree);
          const FieldSweepSpace<S> space = memory.view();
          space.clear(tree);
          S h_bar(0);
          for (const int g : tree.fluid_geoms) {
            h_bar += ellipsoid_damping_pullback(tree, at.p.data(), g, whole, at.frames, at.v.data(),
                                                at.m.data(), fixed.y.data(), S(step), bars.bodies,
                                                space.bars.m, bars.p_bar.data());
          }
          field_sweep_pullback(tree, at.p.data(), at.frames, at.qpos.data(), fixed.x.data(),
                               fixed.y.data(), space, bars.q_bar.data(), bars.p_bar.data(),
                               static_cast<S*>(nullptr));
          // Φ is linear in h.
          CHECK(all(abs(h_bar * S(step) - form(tree, in, S(step), whole)) < S(1e-12)));
          std::vector<S> own(Scene<S>::inputs(tree), S(0));
          bars.add_to_inputs(own.data());
          for (std::size_t k = 0; k < own.size(); ++k) in_bar[k] += own[k] * out_bar[0];
        },
        test::scene_points(tree));
  }
}

}  // namespace cycloid::ellipsoid_force_test
