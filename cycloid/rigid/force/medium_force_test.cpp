#include "cycloid/rigid/force/medium_force.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::medium_force_test {

using test::Numbers;
using test::Scene;

// Σ over the moving bodies of W·m.
template <class S>
S fluid_power(const Tree& tree, const S* in) {
  const Scene<S> at(tree, in);
  S sum(0);
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    const int i = static_cast<int>(b);
    sum +=
        power(fluid_wrench(tree, at.p.data(), i, at.frames, at.v.data()), at.m[last_link(tree, i)]);
  }
  return sum;
}

template <class S>
void fluid_power_pullback(const Tree& tree, const S* in, const S& bar, S* in_bar) {
  const Scene<S> at(tree, in);
  test::SceneBars<S> bars(at, in);
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    fluid_wrench_pullback(tree, at.p.data(), static_cast<int>(b), at.frames, at.v.data(),
                          at.m.data(), bars.bodies, bars.p_bar.data());
  }
  std::vector<S> own(Scene<S>::inputs(tree), S(0));
  bars.add_to_inputs(own.data());
  for (std::size_t k = 0; k < own.size(); ++k) in_bar[k] += own[k] * bar;
}

// A free cube of side a and mass one whose axes are the world's, at the centre of its frame.
Model cube(double a) {
  test::ModelBuilder b;
  b.body("cube", 0, {}, {1, 0, 0, 0});
  b.joint("free", JointKind::free, {}, {});
  Body& body = b.model.bodies[1];
  body.mass = 1;
  body.com = {};
  body.inertia = {a * a / 6, a * a / 6, a * a / 6, 0, 0, 0};
  body.inertia_quat = {1, 0, 0, 0};
  b.model.options.density = 1.2;
  b.model.options.viscosity = 0.5;
  return b.model;
}

Force<double> wrench_at(const Tree& tree, const Numbers& in) {
  const Scene<double> at(tree, in.data());
  Force<double> W = fluid_wrench(tree, at.p.data(), 1, at.frames, at.v.data());
  W.torque = rotate_inverse(at.link_quat.back(), W.torque);
  W.force = rotate_inverse(at.link_quat.back(), W.force);
  return W;
}

Numbers cube_inputs(const Tree& tree) {
  Numbers in(12, 0.0);
  in.insert(in.end(), tree.parameters.default_values().begin(),
            tree.parameters.default_values().end());
  return in;
}

TEST_CASE("fluid_wrench: a cube turns and moves against the closed form of its box") {
  const double a = 0.3, pi = 3.14159265358979323846;
  const Tree tree(cube(a));
  Numbers in = cube_inputs(tree);
  in[6 + 3] = 2;  // about the body's x
  const double n = -(pi * a * a * a * 0.5 + 1.2 * a * 2 * a * a * a * a / 64 * 2) * 2;
  const Force<double> turning = wrench_at(tree, in);
  CHECK(turning.torque.x == doctest::Approx(n).epsilon(1e-14));
  CHECK(std::abs(turning.torque.y) + norm(turning.force) < 1e-15);
  in[6 + 3] = 0;
  const double speed = 3;  // along the body's y, against the wind's frame
  const Vec3<double> along =
      rotate(Scene<double>(tree, in.data()).link_quat.back(), Vec3<double>{0, -speed, 0});
  for (int k = 0; k < 3; ++k) {
    in[12 + static_cast<std::size_t>(tree.options.wind + k)] = along[k];
  }
  const double f = -(3 * pi * a * 0.5 + 1.2 * a * a / 2 * speed) * speed;
  const Force<double> moving = wrench_at(tree, in);
  CHECK(moving.force.y == doctest::Approx(f).epsilon(1e-13));
  CHECK(std::abs(moving.force.x) + std::abs(moving.force.z) + norm(moving.torque) < 1e-14);
}

TEST_CASE("fluid_wrench: pullback equals dual numbers in pose, velocity, box and medium") {
  const Tree tree(test::TwoTrees::make().model);
  const bool passed = test::check_pullback(
      "fluid_wrench", 1, [&](const auto* in, auto* out) { out[0] = fluid_power(tree, in); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        fluid_power_pullback(tree, in, out_bar[0], in_bar);
      },
      test::scene_points(tree));
  if (passed) {  // parts of it, which have no meaning of their own
    test::mark_operator_tested("fluid_box");
    test::mark_operator_tested("fluid_point");
  }
}

TEST_CASE("absent_medium: without density and viscosity their cotangents equal dual numbers") {
  Model model = test::TwoTrees::make().model;
  model.options.wind = {0.3, -0.2, 0.5};
  const Tree tree(model);
  std::vector<Numbers> points = test::scene_points(tree);
  for (Numbers& x : points) {
    const std::size_t p = 2 * static_cast<std::size_t>(tree.model.nv);
    x[p + static_cast<std::size_t>(tree.options.density)] = 0;
    x[p + static_cast<std::size_t>(tree.options.viscosity)] = 0;
  }
  test::check_pullback(
      "absent_medium", 1, [&](const auto* in, auto* out) { out[0] = fluid_power(tree, in); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in_bar)>;
        const Scene<S> at(tree, in);
        std::vector<S> p_bar(at.p.size(), S(0));
        for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
          if (tree.model.bodies[b].tree < 0) continue;
          absent_medium_pullback(tree, at.p.data(), static_cast<int>(b), at.frames, at.v.data(),
                                 at.m.data(), p_bar.data());
        }
        for (std::size_t k = 0; k < p_bar.size(); ++k) {
          in_bar[2 * at.qvel.size() + k] += p_bar[k] * out_bar[0];
        }
      },
      points);
}

TEST_CASE("fluid_wrench: the velocity Jacobian is the derivative of the wrench") {
  const Tree tree(test::TwoTrees::make().model);
  using D = Dual<double, 1>;
  const Numbers in = test::scene_points(tree)[1];
  const Scene<double> at(tree, in.data());
  const std::vector<D> in_dual(in.begin(), in.end());
  const Scene<D> dual(tree, in_dual.data());
  const int b = static_cast<int>(tree.model.bodies.size()) - 1;
  const std::size_t l = last_link(tree, b);
  const FluidSlope<double> slope =
      fluid_wrench_velocity_jacobian(tree, at.p.data(), b, at.frames, at.v.data());
  std::vector<Motion<D>> v = dual.v;
  const Motion<double>& dv = at.m[l];
  for (int k = 0; k < 3; ++k) v[l].angular[k].tangent[0] = dv.angular[k];
  for (int k = 0; k < 3; ++k) v[l].linear[k].tangent[0] = dv.linear[k];
  const Force<D> W = fluid_wrench(tree, dual.p.data(), b, dual.frames, v.data());
  const Force<double> dW = slope * dv;
  Numbers actual, reference;
  for (int k = 0; k < 3; ++k) {
    actual.push_back(dW.torque[k]);
    actual.push_back(dW.force[k]);
    reference.push_back(W.torque[k].tangent[0]);
    reference.push_back(W.force[k].tangent[0]);
  }
  CHECK(test::relative_error(actual, reference) < 1e-13);
}

TEST_CASE("fluid_wrench: at rest, without mass and for a box without thickness all is finite") {
  Model model = cube(0.3);
  model.bodies[1].inertia = {0.01, 0.02, 0.03, 0, 0, 0};  // of a plate: z has no thickness
  const Tree plate(model);
  Numbers in = cube_inputs(plate), in_bar(in.size(), 0.0);
  CHECK(test::largest(Numbers{fluid_power(plate, in.data())}) == 0);
  fluid_power_pullback(plate, in.data(), 1.0, in_bar.data());
  CHECK(std::isfinite(test::largest(in_bar)));
  CHECK(test::largest(in_bar) > 0);  // viscosity brakes at once
  model.bodies[1].mass = 0;
  const Tree massless(model);
  in = cube_inputs(massless);
  for (std::size_t k = 6; k < 12; ++k) in[k] = 1;
  std::fill(in_bar.begin(), in_bar.end(), 0.0);
  CHECK(fluid_power(massless, in.data()) == 0);
  fluid_power_pullback(massless, in.data(), 1.0, in_bar.data());
  CHECK(test::largest(in_bar) == 0);
}

}  // namespace cycloid::medium_force_test
