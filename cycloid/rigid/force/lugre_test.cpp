#include "cycloid/rigid/force/lugre.h"

#include "tests/support/pullback_check.h"

namespace cycloid::lugre_test {

using test::Numbers;

template <class S>
BristleLaw<S> law_of(const S* in) {
  return {in[0], in[1], in[2], in[3], in[4]};
}

TEST_CASE("bristle_friction: pullback equals dual numbers, moving both ways") {
  const auto value = [](const auto* in, auto* out) {
    const auto b = bristle_friction(law_of(in), in[5], in[6], in[7]);
    out[0] = b.friction, out[1] = b.z_dot, out[2] = b.z_next;
  };
  const auto pullback = [](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const BristleLaw<S> law = law_of(in);
    Bristle<S> bar;
    bar.friction = out_bar[0], bar.z_dot = out_bar[1], bar.z_next = out_bar[2];
    BristleLaw<S> law_bar;
    bristle_friction_pullback(law, in[5], in[6], in[7], bristle_friction(law, in[5], in[6], in[7]),
                              bar, law_bar, in_bar[5], in_bar[6], in_bar[7]);
    in_bar[0] += law_bar.coulomb, in_bar[1] += law_bar.stick, in_bar[2] += law_bar.stribeck;
    in_bar[3] += law_bar.stiffness, in_bar[4] += law_bar.damping;
  };
  const Numbers ahead = {0.1, 0.16, 0.2, 60, 0.8, 0.35, 0.001, 0.01};
  Numbers back = ahead, slow = ahead;
  back[5] = -0.15;
  slow[5] = 1e-4;
  test::check_pullback("bristle_friction", 3, value, pullback, {ahead, back, slow});
}

TEST_CASE("bristle_friction: at a steady speed it tends to Stribeck's curve") {
  const BristleLaw<double> law{0.1, 0.16, 0.2, 60, 0.8};
  double z = 0;
  for (int i = 0; i < 2000; ++i) z = bristle_friction(law, 0.3, z, 0.01).z_next;
  CHECK(bristle_friction(law, 0.3, z, 0.01).friction ==
        doctest::Approx(0.1 + 0.06 * std::exp(-2.25)).epsilon(1e-9));
  CHECK(bristle_friction(law, 0.0, 0.002, 0.01).z_next == 0.002);  // at rest bristles stay
}

}  // namespace cycloid::lugre_test
