#include "cycloid/rigid/tree/bias_slope.h"

#include "cycloid/rigid/step_case_test.h"
#include "cycloid/rigid/tree/energy.h"

namespace cycloid::bias_slope_test {

using test::Numbers;
using test::StepCase;

// A step's tolerance: step_test.cpp.
constexpr test::PullbackOptions kStep{.tolerance = 1e-10, .lane_tolerance = 1e-11};

Model moving(RigidIntegrator integrator, bool cables) {
  return cables ? test::with_cables(integrator) : test::two_trees(integrator);
}

TEST_CASE("bias_slope: the integrator's matrix times what a solve gives is the right-hand side") {
  const Model m = test::two_trees(RigidIntegrator::implicit);
  const test::RigidCase c(m, 0.8);
  const int nv = c.nv();
  test::RigidMemory<double> memory(c.tree);
  Workspace<double>& w = memory.work;
  const test::Prepared<double> prepared(c.tree, c.point.data() + 2 * nv);
  const InputPlaces none;
  const Robot<double, double> r{c.tree, none, prepared.p.data(), Implicit::bias_too};
  const std::vector<double> qpos = c.qpos_of(c.point.data());
  const double* v = c.point.data() + nv;
  const Numbers act(static_cast<std::size_t>(m.na), 0.0);
  const Instant<double> at{qpos.data(), v, act.data(), nullptr};
  const Numbers x = test::FixedNumbers(3).vector(static_cast<std::size_t>(nv));
  const double h = r.timestep();

  place_bodies(r, at, w);
  // What the bodies' inertia asks for at a velocity, without gravity.
  const auto bias = [&](const Numbers& rate, Numbers& out, double sign) {
    Numbers tau(rate.size(), 0.0);
    motion_fields(c.tree, w.frames.column, rate.data(), static_cast<const double*>(nullptr),
                  Vec3<double>{}, w.v, w.a);
    subtract_body_forces(c.tree, w.frames.column, w.inertia,
                         static_cast<const Motion<double>*>(w.v), w.a,
                         static_cast<Force<double>*>(nullptr), w.force, tau.data());
    for (std::size_t k = 0; k < tau.size(); ++k) out[k] -= sign * tau[k];
  };
  Numbers b(x.size(), 0.0), rate(v, v + nv), moved(x.size()), sum(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) moved[k] = h * x[k], sum[k] = rate[k] + moved[k];
  bias(sum, b, 1), bias(rate, b, -1), bias(moved, b, -1);  // (3)
  place_bodies(r, at, w);
  inertia_matrix(r, w, w.LD);
  Numbers Mx(x.size());
  multiply_matrix(c.tree, static_cast<const double*>(w.LD), x.data(), Mx.data());
  implicit_slopes(r, at, w);
  for (std::size_t k = 0; k < x.size(); ++k) b[k] += Mx[k] + h * w.slope[k] * x[k];

  factor_inertia(r, at, w);
  Numbers solved = b;
  solve_inertia(r, w, false, solved.data());
  for (std::size_t k = 0; k < x.size(); ++k)
    CHECK(solved[k] == doctest::Approx(x[k]).epsilon(1e-9));
  // The transposed solve belongs to it.
  Numbers y = test::FixedNumbers(5).vector(static_cast<std::size_t>(nv)), back = y;
  solve_inertia(r, w, true, back.data());
  double left = 0, right = 0;
  for (std::size_t k = 0; k < x.size(); ++k) left += y[k] * solved[k], right += back[k] * b[k];
  CHECK(left == doctest::Approx(right).epsilon(1e-11));
}

TEST_CASE("bias_slope: a step's pullback equals dual numbers, also with tendons and a medium") {
  for (const bool cables : {false, true}) {
    StepCase c(moving(RigidIntegrator::implicit, cables), 0.8);
    const StepCase fast(moving(RigidIntegrator::implicitfast, cables), 0.8);
    double apart = 0;  // the slope of the bias does something
    for (std::size_t i = 0; i < c.next0.size(); ++i) {
      apart = std::max(apart, std::abs(c.next0[i] - fast.next0[i]));
    }
    CHECK(apart > 1e-6);
    test::check_pullback(
        "bias_slope", c.tangents, [&](const auto* in, auto* out) { c.value(in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) { c.pullback(in, out_bar, in_bar); },
        {c.point}, kStep);
  }
}

}  // namespace cycloid::bias_slope_test
