#include "cycloid/rigid/force/passive.h"

#include "cycloid/rigid/tree/rigid_case_test.h"

namespace cycloid::passive_test {

using test::Numbers;
using test::RigidCase;

TEST_CASE("add_springs: pullback equals dual numbers for every joint kind") {
  const RigidCase c(test::two_trees());
  const int nv = c.nv();
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const test::Prepared<S> p(c.tree, in + 2 * nv);
    const std::vector<S> qpos = c.qpos_of(in);
    set_zero(out, nv);
    add_springs(c.tree, static_cast<const S*>(p.p.data()), qpos.data(), out);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const test::Prepared<S> p(c.tree, in + 2 * nv);
    const std::vector<S> qpos = c.qpos_of(in);
    std::vector<S> p_bar(p.p.size(), S(0));
    add_springs_pullback(c.tree, static_cast<const S*>(p.p.data()), qpos.data(), out_bar, in_bar,
                         p_bar.data());
    p.add_raw(c.tree, in + 2 * nv, p_bar, in_bar + 2 * nv);
  };
  test::check_pullback("add_springs", nv, value, pullback, {c.point});
}

TEST_CASE("add_dampers: pullback of force and slope equals dual numbers, fast, slow and at rest") {
  Model m = test::two_trees();
  m.actuators[0].damping = {0.2, 0.1, 0.05};
  const RigidCase c(m), fast(m, 3.0);
  const int nv = c.nv();
  Numbers rest = c.point;
  std::fill(rest.begin() + nv, rest.begin() + 2 * nv, 0.0);
  const auto value = [&](const auto* in, auto* out) {
    set_zero(out, 2 * nv);
    add_dampers(c.tree, in + 2 * nv, in + nv, out);
    add_damper_slopes(c.tree, in + 2 * nv, in + nv, out + nv);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    add_dampers_pullback(c.tree, in + 2 * nv, in + nv, out_bar, out_bar + nv, in_bar + nv,
                         in_bar + 2 * nv);
  };
  test::check_pullback("add_dampers", 2 * nv, value, pullback, {c.point, fast.point, rest});
}

TEST_CASE("add_springs, add_dampers: a disabled force does not act") {
  Model m = test::two_trees();
  m.options.acting.springs = m.options.acting.dampers = false;
  const RigidCase c(m);
  Numbers tau(static_cast<std::size_t>(c.nv()), 0.0);
  const double* p = c.tree.parameters.default_values().data();
  add_springs(c.tree, p, c.q0.data(), tau.data());
  add_dampers(c.tree, p, c.point.data() + c.nv(), tau.data());
  CHECK(test::largest(tau) == 0);
}

}  // namespace cycloid::passive_test
