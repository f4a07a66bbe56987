// The laws that have kernels, by number (kernel_numbers.h), and the body behind each.
#pragma once

#include <type_traits>

#include "cycloid/device/kernel_numbers.h"
#include "cycloid/device/law_body.h"
#include "cycloid/system/integrator/rk4.h"
#include "cycloid/system/laws/double_pendulum.h"
#include "cycloid/system/laws/kepler.h"
#include "cycloid/system/laws/lorenz.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/projectile.h"
#include "cycloid/system/laws/spring_chain.h"

namespace cycloid::inline device {

template <class Law>
struct LawNumber;
template <>
struct LawNumber<Pendulum> {
  static constexpr int value = kFirstLaw;
};
template <>
struct LawNumber<DoublePendulum> {
  static constexpr int value = kFirstLaw + 1;
};
template <>
struct LawNumber<Projectile> {
  static constexpr int value = kFirstLaw + 2;
};
template <>
struct LawNumber<SpringChain> {
  static constexpr int value = kFirstLaw + 3;
};
template <>
struct LawNumber<Kepler> {
  static constexpr int value = kFirstLaw + 4;
};
template <>
struct LawNumber<Lorenz> {
  static constexpr int value = kFirstLaw + 5;
};

// visit(law) for every law that has a kernel.
template <class Visit>
void for_each_kernel_law(int masses, Visit visit) {
  visit(Pendulum{}), visit(DoublePendulum{}), visit(Projectile{}), visit(SpringChain{masses});
  visit(Kepler{}), visit(Lorenz{});
}

// A body, to be handed to a function as a value.
template <class B>
struct BodyTag {
  using Body = B;
};

// visit(BodyTag) for the law of this number in precision T; false: there is none.
template <class T, class Visit>
bool with_law_body(int kernel, Visit visit) {
  bool found = false;
  for_each_kernel_law(1, [&](const auto& law) {
    using Law = std::remove_cvref_t<decltype(law)>;
    if (LawNumber<Law>::value != kernel) return;
    visit(BodyTag<LawBody<Law, Rk4, T>>{});
    found = true;
  });
  return found;
}

}  // namespace cycloid::inline device
