#include "cycloid/rigid/dynamics.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::dynamics_test {

using test::RigidCase;

TEST_CASE(
    "smooth_acceleration: pullback equals dual numbers for configuration, velocity, parameters") {
  const RigidCase c(test::with_cables());
  const int nv = c.nv();
  const InputPlaces inputs;
  const std::vector<double> act0(static_cast<std::size_t>(c.tree.model.na), 0.2);
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    test::RigidMemory<S> memory(c.tree);
    const test::Prepared<S> p(c.tree, in + 2 * nv);
    const std::vector<S> qpos = c.qpos_of(in), act(act0.begin(), act0.end());
    const Robot<S, S> r{c.tree, inputs, p.p.data(), Implicit::nothing};
    smooth_acceleration(r, Instant<S>{qpos.data(), in + nv, act.data(), nullptr}, memory.work, out);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    test::RigidMemory<S> memory(c.tree);
    const test::Prepared<S> p(c.tree, in + 2 * nv);
    const std::vector<S> qpos = c.qpos_of(in), act(act0.begin(), act0.end());
    const Robot<S, S> r{c.tree, inputs, p.p.data(), Implicit::nothing};
    const Instant<S> at{qpos.data(), in + nv, act.data(), nullptr};
    std::vector<S> qacc(static_cast<std::size_t>(nv)), act_bar(act.size(), S(0)),
        p_bar(p.p.size(), S(0));
    smooth_acceleration(r, at, memory.work, qacc.data());
    for (int k = 0; k < nv; ++k) memory.work.mu[k] = out_bar[k];
    S h_bar(0);
    smooth_acceleration_pullback(
        r, at, memory.work, static_cast<const S*>(qacc.data()), static_cast<const S*>(nullptr),
        static_cast<const S*>(nullptr),
        InstantBars<S>{in_bar, in_bar + nv, act_bar.data(), nullptr, p_bar.data(), h_bar});
    p_bar[static_cast<std::size_t>(c.tree.options.timestep)] += h_bar;
    p.add_raw(c.tree, in + 2 * nv, p_bar, in_bar + 2 * nv);
  };
  // As for a step: the mass matrix's condition costs two digits.
  test::check_pullback("smooth_acceleration", nv, value, pullback, {c.point},
                       {.tolerance = 1e-9, .lane_tolerance = 1e-10});
}

}  // namespace cycloid::dynamics_test
