#include "cycloid/system/system.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid::system_test {

// A stepper of the given sizes that is never run.
template <class T>
class Sizes final : public Stepper<T> {
 public:
  explicit Sizes(const StepperSizes& sizes) : Stepper<T>(sizes) {}
  void begin(const StepParameters<T>&, StepWorkspace&) const override {}
  StepStatus step(const StepInput<T>&, T*, StepRecord*, StepWorkspace&) const override {
    return StepStatus::ok;
  }
  void pullback(const StepInput<T>&, const StepRecord&, const T*, T*, T*,
                StepWorkspace&) const override {}
  void finish(StepWorkspace&, double*) const override {}
  StepTrouble explain(const StepInput<T>&, int, StepWorkspace&) const override { return {}; }
};

StepperSizes sizes(int lanes) {
  StepperSizes s;
  s.lanes = lanes;
  s.state = 5;
  s.tangent = 4;
  s.input = 2;
  s.parameters = 4;
  return s;
}

template <class T>
Steppers<T> steppers(const StepperSizes& one = sizes(1)) {
  return {std::make_shared<Sizes<T>>(one), std::make_shared<Sizes<T>>(sizes(8)),
          std::make_shared<Sizes<T>>(sizes(16))};
}

SystemParts parts() {
  SystemParts p;
  p.name = "toy";
  p.timestep = 0.005;
  p.states = Space({{"q", 4, "1", BlockKind::quaternion}, {"v", 1, "m/s"}});
  p.inputs = Space({{"u", 2, "N"}});
  Parameter mass, wind;
  mass.name = "mass";
  wind.name = "wind";
  wind.shape = {3};
  p.parameters.add(mass, std::vector<double>{1.0});
  p.parameters.add(wind, std::vector<double>{1.0, 2.0, 3.0});
  p.initial_state = {1, 0, 0, 0, 0};
  p.float64 = steppers<double>();
  return p;
}

TEST_CASE("System: shows its parts, describes itself, and copies share them") {
  SystemParts p = parts();
  p.vary = {"wind"};
  const System system(std::move(p));
  CHECK(system.name() == "toy");
  CHECK(system.states().tangent_size() == 4);
  CHECK(system.parameters().size() == 4);
  CHECK(system.timestep() == 0.005);
  CHECK(system.precision() == Precision::float64);
  CHECK_FALSE(system.varies(0));
  CHECK(system.varies(1));
  CHECK(system.varies(3));
  CHECK(system.describe() == "System toy: 5 states, 2 inputs, dt 5 ms");
  const System copy = system;
  CHECK(&copy.parameters() == &system.parameters());
  CHECK(std::string(name(Precision::float32)) == "float32");
}

TEST_CASE("System: refuses steppers that do not fit its spaces, each by each") {
  const auto with = [](int StepperSizes::* field, int value) {
    SystemParts p = parts();
    StepperSizes s = sizes(1);
    s.*field = value;
    p.float64 = steppers<double>(s);
    return p;
  };
  for (const auto field : {&StepperSizes::state, &StepperSizes::tangent, &StepperSizes::input,
                           &StepperSizes::parameters}) {
    CHECK_THROWS_AS(System(with(field, 7)), ModelError);
  }
  SystemParts narrow = parts();
  narrow.float64.dual = std::make_shared<Sizes<double>>(sizes(1));
  CHECK_THROWS_AS(System(std::move(narrow)), ModelError);
}

TEST_CASE("System: needs steppers of its precision, and an initial state of its size") {
  SystemParts p = parts();
  p.precision = Precision::float32;
  CHECK_THROWS_WITH_AS(System(std::move(p)), "system \"toy\" has no steppers for float32",
                       ModelError);
  p = parts();
  p.float64.packed = nullptr;
  CHECK_THROWS_AS(System(std::move(p)), ModelError);
  p = parts();
  p.initial_state.pop_back();
  CHECK_THROWS_WITH_AS(System(std::move(p)),
                       "system \"toy\": the initial state has 4 numbers, the state space 5",
                       ModelError);
  p = parts();
  p.vary = {"wnid"};
  CHECK_THROWS_WITH_AS(System(std::move(p)),
                       "no parameter is called \"wnid\"; did you mean \"wind\"?", ParameterError);
}

TEST_CASE("System: gives kernels of its own precision only, and turns into double") {
  SystemParts p = parts();
  p.float32 = steppers<float>();
  p.precision = Precision::float32;
  const System single(std::move(p));
  CHECK(single.describe() == "System toy: 5 states, 2 inputs, dt 5 ms, float32");
  CHECK(single.steppers<float>().packed->sizes().lanes == 8);
  CHECK_THROWS_AS(single.steppers<double>(), Error);
  const System twice = single.in_double();
  CHECK(twice.precision() == Precision::float64);
  CHECK(twice.steppers<double>().one->sizes().lanes == 1);
  CHECK_THROWS_AS(twice.steppers<float>(), Error);
  CHECK(&twice.in_double().parameters() == &twice.parameters());

  SystemParts only = parts();
  only.float32 = steppers<float>();
  only.float64 = {};
  only.precision = Precision::float32;
  CHECK_THROWS_AS(System(std::move(only)).in_double(), ModelError);
}

}  // namespace cycloid::system_test
