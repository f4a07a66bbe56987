#include "cycloid/system/law/law_observer.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/make_system.h"
#include "tests/support/law_steps.h"

namespace cycloid::law_observer_test {

using test::Numbers;

// A spinning body: a quaternion and its rates, so that states and tangents differ.
struct Spinner {
  static constexpr const char* kName = "spinner";
  static constexpr std::array kState = {BlockSpec{"attitude", 4, "1", BlockKind::quaternion},
                                        BlockSpec{"rate", 3, "rad/s"}};
  static constexpr std::array kInput = {BlockSpec{"push", 1, "N"}};
  static constexpr std::array kParameters = {ParameterSpec{"inertia", 2.0, "kg·m²"}};
  static constexpr std::array kObservables = {BlockSpec{"tip", 3, "m"}, BlockSpec{"power", 1, "W"}};

  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    for (int i = 0; i < 3; ++i) dx[i] = x[4 + i];
    for (int i = 3; i < 6; ++i) dx[i] = S(0);
  }
  template <class S>
  S energy(const S* x, const S* p) const {
    return S(0.5) * p[0] * (x[4] * x[4] + x[5] * x[5] + x[6] * x[6]);
  }
  template <class S>
  void observe(const S& t, const S* x, const S* u, const S* p, S* y) const {
    store(y, rotate(load_quat(x), Vec3<S>{S(1), t, p[0]}));
    y[3] = u[0] * x[4];
  }
};

// [d (6), u, p] -> [energy, tip, power] at base ⊕ d.
const Numbers kBase = {0.5, 0.5, -0.5, 0.5, 0.3, -0.7, 1.1};

TEST_CASE("law_observe: pullback by dual numbers equals dual numbers, with a quaternion") {
  const Spinner law;
  const LawShape<Spinner> shape(law);
  const auto point = [&]<class S>(const S* in) {
    return LawPoint<Spinner, S>{law, shape, S(0.4), S(0), in + 6, in + 7, Scratch{nullptr}};
  };
  const auto f = [&]<class S>(const S* in, S* out) {
    law_observe(point(in), test::displaced(shape, kBase, in).data(), out);
  };
  const auto f_pullback = [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
    std::vector<S> x_bar(6, S(0));
    law_observe_pullback(point(in), test::displaced(shape, kBase, in).data(), out_bar, x_bar.data(),
                         in_bar + 6, in_bar + 7);
    test::displaced_pullback(shape, kBase, in, static_cast<const S*>(x_bar.data()), in_bar);
  };
  test::check_pullback("law_observe", 5, f, f_pullback,
                       {{0, 0, 0, 0, 0, 0, 0.7, 2.0}, {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 1.5, 0.3}});
}

TEST_CASE("law_observables: the energy comes first, then blocks, with their units") {
  std::string text;
  for (const Observable& o : law_observables<Spinner>()) text += o.name + " [" + o.unit + "] ";
  CHECK(text == "energy [J] tip [m] power [W] ");
  CHECK(law_values<Spinner> == 5);
  CHECK(make_system(Lorenz{}).observables() == nullptr);
}

TEST_CASE("LawObserver: lanes of any number show what scalars show, bit for bit") {
  const LawObservables<Spinner> observables{Spinner{}};
  const std::vector<std::string> names = {"power", "energy"};
  const int wide = 4 * kLawLanes<double>;
  const auto many = observables.float64(names, wide), one = observables.float64(names, 1);
  const auto single = observables.float32(names, 3 * kLawLanes<float>);
  CHECK(many->lanes() == wide);
  CHECK(single->lanes() == 3 * kLawLanes<float>);
  test::FixedNumbers random(4);
  const auto W = static_cast<std::size_t>(wide);
  const Numbers x = random.vector(7 * W), u = random.vector(W), p = random.vector(2 * W);
  Numbers y(2 * W);
  const auto space = many->make_workspace({}), own = one->make_workspace({});
  many->begin({p.data()}, *space);
  many->observe({x.data(), u.data(), 0.3}, y.data(), *space);
  for (std::size_t l = 0; l < W; ++l) {
    Numbers x_l, y_l(2);
    for (std::size_t i = 0; i < 7; ++i) x_l.push_back(x[i * W + l]);
    const Numbers p_l = {p[l], p[W + l]};
    one->begin({p_l.data()}, *own);
    one->observe({x_l.data(), &u[l], 0.3}, y_l.data(), *own);
    CHECK(y_l[0] == y[l]);
    CHECK(y_l[1] == y[W + l]);
  }
}

}  // namespace cycloid::law_observer_test
