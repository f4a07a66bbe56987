#include "cycloid/adjoint/observe.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/systems.h"

namespace cycloid::observe_test {

using Numbers = std::vector<double>;

Numbers some(std::size_t n, double seed) {
  Numbers out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(std::sin(seed + 1.7 * static_cast<double>(i)));
  return out;
}

// Shows the sum of the state times an array that all share, which lanes add to.
class FieldObserver final : public DifferentiableObserver {
 public:
  explicit FieldObserver(int cells) : DifferentiableObserver(2, 1), cells_(cells) {}
  struct Workspace final : StepWorkspace {
    StepParameters<double> p;
  };
  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    return std::make_unique<Workspace>();
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    static_cast<Workspace&>(w).p = p;
  }
  void observe(const ObservedPoint<double>& at, double* y, StepWorkspace& w) const override {
    const StepParameters<double>& p = static_cast<Workspace&>(w).p;
    for (int l = 0; l < 2; ++l) {
      y[l] = 0;
      for (int i = 0; i < cells_; ++i) y[l] += p.arrays[0][i] * at.x[2 * i + l];
      notes_[l].residual = y[l] < -0.5 ? 1 : 0;
    }
  }
  void pullback(const ObservedPoint<double>& at, const double* y_bar, double* x_bar, double*,
                StepWorkspace& w) const override {
    const StepParameters<double>& p = static_cast<Workspace&>(w).p;
    for (int l = 0; l < 2; ++l) {
      for (int i = 0; i < cells_; ++i) {
        x_bar[2 * i + l] += y_bar[l] * p.arrays[0][i];
        if (!p.left_out[l]) p.arrays_bar[0][i] += y_bar[l] * at.x[2 * i + l];
      }
    }
  }
  void finish(StepWorkspace&, double* p_bar) const override { p_bar[0] = p_bar[1] = 0; }
  const LaneNote* notes(const StepWorkspace&) const override { return notes_; }

 private:
  int cells_;
  mutable LaneNote notes_[2];  // for a test on one thread
};

class FieldObservables final : public Observables {
 public:
  std::vector<Observable> listed() const override { return {{"sum", "K", {1}}}; }
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>&,
                                                      int) const override {
    return nullptr;
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int) const override {
    return differentiable(names);
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>&) const override {
    return std::make_shared<FieldObserver>(3);
  }
};

// Stands still; its parameters are a number and an array of three.
class Still final : public Stepper<double> {
 public:
  Still() : Stepper<double>(sizes()) {}
  static StepperSizes sizes() {
    StepperSizes s;
    s.lanes = 1;
    s.state = s.tangent = 3;
    s.parameters = 1;
    s.arrays = {3};
    return s;
  }
  void begin(const StepParameters<double>&, StepWorkspace&) const override {}
  StepStatus step(const StepInput<double>& in, double* x, StepRecord*,
                  StepWorkspace&) const override {
    std::copy_n(in.x, 3, x);
    return StepStatus::ok;
  }
  void pullback(const StepInput<double>&, const StepRecord&, const double*, double*, double*,
                StepWorkspace&) const override {}
  void finish(StepWorkspace&, double* p_bar) const override { p_bar[0] = 0; }
  StepTrouble explain(const StepInput<double>&, int, StepWorkspace&) const override { return {}; }
};

System field_system() {
  SystemParts parts;
  parts.name = "field";
  parts.states = Space(std::vector<BlockSpec>{{"cells", 3, "K"}});
  parts.initial_state = {0, 0, 0};
  Parameter number, array;
  number.name = "number", array.name = "array";
  array.shape = {3}, array.array = true, array.size = 3;
  parts.parameters.add(number, Numbers{1.0});
  parts.parameters.add(array, Numbers{1, 2, 3});
  parts.float64.one = parts.float64.packed = std::make_shared<Still>();
  parts.observables = std::make_shared<FieldObservables>();
  return System(std::move(parts));
}

TEST_CASE("observe: a law's energy and blocks of its state, in the order of names") {
  const System system = systems::pendulum({.length = 2, .mass = 3, .gravity = 10});
  const Observer observer(system, {{"angular_velocity", "energy", "angle"}});
  CHECK(observer.names() == std::vector<std::string>{"angular_velocity", "energy", "angle"});
  const Numbers x = {0.0, 1.0, 0.5, -2.0};
  const Observation seen = observe(observer, {.states = x});
  REQUIRE(seen.rows() == 2);
  CHECK(seen.values()[0] == 1.0);
  CHECK(seen.values()[1] == doctest::Approx(0.5 * 12 - 60).epsilon(1e-14));
  CHECK(seen.values()[5] == 0.5);
  const Numbers bar = {1, 2, 3, 0, 1, 0};
  const ObservationGradient g = seen.pullback(bar);
  CHECK(g.states[0] == doctest::Approx(3.0));         // at rest of the potential
  CHECK(g.states[1] == doctest::Approx(1 + 2 * 12));  // ω̄ + 2 J ω
  CHECK(g.states[2] == doctest::Approx(60 * std::sin(0.5)));
  CHECK(g.parameters[3] == doctest::Approx(-2 * 6 - 6 * std::cos(0.5)));  // gravity
  CHECK(g.parameters.size() == 5);
  CHECK(Observer(system).names() ==
        std::vector<std::string>{"angle", "angular_velocity", "energy"});
  CHECK_THROWS_AS(Observer(system, {{"enrgy"}}), ModelError);
}

TEST_CASE("observe: no number depends on threads, nor a row's on its neighbours") {
  const System system = systems::double_pendulum();
  const Observer observer(system);
  const Numbers x = some(4 * 1003, 0.3), bar = some(5 * 1003, 0.8);
  const Observation one = observe(observer, {.states = x}, {.threads = 1});
  const ObservationGradient g = one.pullback(bar, {.threads = 1});
  CHECK(std::abs(g.parameters[0]) > 1e-3);
  for (const int threads : {2, 5}) {
    const Observation many = observe(observer, {.states = x}, {.threads = threads});
    CHECK(many.values() == one.values());
    const ObservationGradient other = many.pullback(bar, {.threads = threads});
    CHECK(other.states == g.states);
    CHECK(other.parameters == g.parameters);
  }
  const std::span<const double> alone = std::span(x).subspan(4 * 500, 4);
  const Numbers values = observe(observer, {.states = alone}).values();
  CHECK(Numbers(one.values().begin() + 5 * 500, one.values().begin() + 5 * 501) == values);
}

TEST_CASE("observe: parameters of each row have gradients of their own") {
  const System system = systems::kepler();
  const Observer observer(system, {{"energy"}});
  const Numbers x = {1, 0, 0, 1, 2, 0, 0, 1}, p = {1, 0.01, 3, 0.01};
  const Observation seen = observe(observer, {.states = x, .parameters = p});
  CHECK(seen.values() == Numbers{-0.5, -1.0});
  CHECK(seen.pullback(Numbers{1, 1}).parameters == Numbers{-1, 0, -0.5, 0});
  CHECK(observe(observer, {.states = x}).pullback(Numbers{1, 1}).parameters == Numbers{-1.5, 0});
}

TEST_CASE(
    "observe: arrays of parameters are shared, or each row's own, and so are their gradients") {
  const System system = field_system();
  const Observer observer(system);
  CHECK(observer.names() == std::vector<std::string>{"cells[0]", "cells[1]", "cells[2]", "sum"});
  const Numbers x = {1, 0, 0, 0, 1, 0, 0, 0, -1};
  const Observation seen = observe(observer, {.states = x}, {.threads = 1});
  CHECK(seen.values() == Numbers{1, 0, 0, 1, 0, 1, 0, 2, 0, 0, -1, -3});
  REQUIRE(seen.notes().size() == 1);
  CHECK(seen.notes()[0].row == 2);
  const Numbers bar = {0, 0, 0, 1, 0, 0, 0, 1, 5, 0, 0, 1};
  const ObservationGradient g = seen.pullback(bar, {.threads = 1});
  CHECK(g.parameters == Numbers{0, 1, 1, -1});
  CHECK(g.states == Numbers{1, 2, 3, 1, 2, 3, 6, 2, 3});
  const Numbers own = {1, 1, 2, 3, 1, 4, 5, 6, 1, 7, 8, 9};
  const Observation each = observe(observer, {.states = x, .parameters = own}, {.threads = 1});
  CHECK(each.values()[3] == 1);
  CHECK(each.values()[7] == 5);
  CHECK(each.values()[11] == -9);
  CHECK(each.pullback(bar, {.threads = 1}).parameters ==
        Numbers{0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1});
}

TEST_CASE("observe: rows that do not fit are refused") {
  const System system = systems::pendulum();
  const Observer observer(system);
  const Numbers x = {0.1, 0.2}, odd = {1, 2, 3}, bad = {NAN, 0};
  CHECK_THROWS_AS(observe(observer, {.states = odd}), Error);
  CHECK_THROWS_AS(observe(observer, {.states = bad}), Error);
  CHECK_THROWS_AS(observe(observer, {.states = x, .inputs = odd}), Error);
  CHECK_THROWS_AS(observe(observer, {.states = x, .parameters = odd}), ParameterError);
  CHECK_THROWS_AS(observe(observer, {.states = x}).pullback(x), Error);
  CHECK_THROWS_AS(observe(observer, {.states = x}, {.threads = -1}), Error);
}

}  // namespace cycloid::observe_test
