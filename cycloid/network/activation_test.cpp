#include "cycloid/network/activation.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

using D1 = Dual<double, 1>;
using D2 = Dual<D1, 1>;
using D3 = Dual<D2, 1>;

}  // namespace

TEST_CASE("activations: derivatives up to the third equal nested dual numbers of the value") {
  for (const std::string& word : activation_names()) {
    with_activation(activation_of(word), [&]<Activation K>() {
      for (const double at : {-2.3, -0.4, 0.15, 0.9, 3.1}) {
        CAPTURE(word);
        CAPTURE(at);
        D3 z{D2{D1{at}}};
        z.tangent[0] = D2(D1(1.0));
        z.value.tangent[0] = D1(1.0);
        z.value.value.tangent[0] = 1.0;
        const D3 y = activate<K>(z).value;
        const Activated<double> a = activate<K>(at);
        CHECK(a.value == doctest::Approx(y.value.value.value).epsilon(1e-14));
        CHECK(first_derivative<K>(a.k0, a.k1) ==
              doctest::Approx(y.value.value.tangent[0]).epsilon(1e-12));
        CHECK(second_derivative<K>(a.k0, a.k1) ==
              doctest::Approx(y.value.tangent[0].tangent[0]).epsilon(1e-11));
        CHECK(third_derivative<K>(a.k0, a.k1) ==
              doctest::Approx(y.tangent[0].tangent[0].tangent[0]).epsilon(1e-10));
      }
    });
  }
}

TEST_CASE(
    "activations: softplus neither overflows nor loses small values; relu has 0 at its kink") {
  CHECK(activate<Activation::softplus>(800.0).value == 800.0);
  CHECK(activate<Activation::softplus>(-800.0).value == 0.0);
  CHECK(activate<Activation::softplus>(0.0).value == doctest::Approx(std::log(2.0)));
  const Activated<double> kink = activate<Activation::relu>(0.0);
  CHECK(first_derivative<Activation::relu>(kink.k0, kink.k1) == 0.0);
}

TEST_CASE("activations: an unknown name is refused with the nearest one") {
  CHECK(activation_of("silu") == Activation::silu);
  CHECK(name(Activation::sine) == "sine");
  CHECK_THROWS_WITH_AS(activation_of("tahn"), "unknown activation \"tahn\"; did you mean \"tanh\"?",
                       Error);
}

}  // namespace cycloid
