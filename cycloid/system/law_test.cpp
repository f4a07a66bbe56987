#include "cycloid/system/law.h"

#include <doctest/doctest.h>

#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/test_laws.h"

namespace cycloid::law_test {

// No input, no parameters.
struct Drift {
  static constexpr const char* kName = "drift";
  static constexpr std::array kState = {BlockSpec{"x", 3, "m"}};
  template <class S>
  void x_dot(const S&, const S*, const S*, const S*, S* dx) const {
    for (int i = 0; i < 3; ++i) dx[i] = S(1);
  }
};

struct Doubling {
  static constexpr const char* kName = "doubling";
  static constexpr std::array kState = {BlockSpec{"x", 1, "1"}};
  template <class S>
  void step(const S&, const S&, const S* x, const S*, const S*, S* x_next) const {
    x_next[0] = S(2) * x[0];
  }
};

// A pullback whose arguments are not those of law.h.
struct Misspelt : Drift {
  template <class S>
  void x_dot_pullback(const S*, S*) const {}
};

template <class Law>
constexpr bool has_sizes(int states, int tangents, int inputs, int parameters, int saved) {
  using Shape = LawShape<Law>;
  return Shape::kStates == states && Shape::kTangents == tangents && Shape::kInputs == inputs &&
         Shape::kParameters == parameters && Shape::saved == saved;
}

TEST_CASE("LawShape: sizes are constants of the type, with quaternions, without inputs") {
  static_assert(has_sizes<Pendulum>(2, 2, 1, 4, 2));
  static_assert(has_sizes<test::Dipole>(7, 6, 3, 4, 0));
  static_assert(has_sizes<Drift>(3, 3, 0, 0, 0));
  static_assert(LawShape<Pendulum>::kFlat);
  static_assert(!LawShape<test::Dipole>::kFlat);
  static_assert(LawShape<SpringChain>::kStates == kDynamic);
}

TEST_CASE("LawShape: sizes of a law that knows them at run time only") {
  const LawShape<SpringChain> shape(SpringChain{7});
  CHECK(shape.states == 14);
  CHECK(shape.tangents == 14);
  CHECK(shape.inputs == 7);
  CHECK(shape.parameters == 3);
  CHECK(shape.saved == 0);
}

TEST_CASE("Law: concepts tell continuous from discrete, and who brings a pullback") {
  static_assert(ContinuousLaw<Pendulum> && ContinuousLaw<SpringChain> && ContinuousLaw<Drift>);
  static_assert(!ContinuousLaw<Doubling>);
  static_assert(HasPullback<Pendulum> && HasPullback<SpringChain>);
  static_assert(!HasPullback<Drift> && !HasPullback<test::DipoleByDuals>);
  static_assert(NamesPullback<Misspelt> && !HasPullback<Misspelt>);
  static_assert(SecondOrder<Pendulum> && !SecondOrder<Drift>);
  static_assert(StaticLaw<Pendulum> && !StaticLaw<SpringChain>);
}

TEST_CASE("Law: its specs come as vectors from either form") {
  CHECK(state_specs(Pendulum{}).size() == 2);
  CHECK(input_specs(Pendulum{}).size() == 1);
  CHECK(parameter_specs(Pendulum{}).size() == 4);
  CHECK(input_specs(Drift{}).empty());
  CHECK(parameter_specs(Drift{}).empty());
  CHECK(state_specs(SpringChain{3})[1].size == 3);
  CHECK(input_specs(SpringChain{3})[0].size == 3);
  CHECK(parameter_specs(SpringChain{3})[2].unit == std::string("N·s/m"));
}

TEST_CASE("LocalArray: pieces of the scratch memory follow one another") {
  alignas(double) std::byte memory[10 * sizeof(double)];
  Scratch scratch{memory};
  LocalArray<double, kDynamic> a(scratch, 4), b(scratch, 6);
  CHECK(b.data() == a.data() + 4);
  CHECK(scratch.next == memory + sizeof(memory));
  LocalArray<double, 4> c(scratch, 4);
  set_zero(c.data(), 4);
  CHECK(c[3] == 0);
  CHECK(scratch.next == memory + sizeof(memory));
}

}  // namespace cycloid::law_test
