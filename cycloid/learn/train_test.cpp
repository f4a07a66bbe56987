#include "cycloid/learn/train.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/learn/law_file.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/train_page.h"
#include "tests/support/pullback_check.h"
#include "tests/support/scratch_folder.h"

namespace cycloid {
namespace {

System spring_law(Precision precision = Precision::float64) {
  LearnedLaw law;
  law.kind = LearnedKind::hamiltonian, law.hidden = {16, 16}, law.dissipation = true;
  systems::Settings settings;
  settings.precision = precision;
  return make_learned(law, settings);
}

Derivatives spring_rows() {
  Derivatives data;
  data.x = test::FixedNumbers(1).vector(400);
  for (std::size_t i = 0; i < 400; i += 2) {
    data.x_dot.push_back(data.x[i + 1]), data.x_dot.push_back(-data.x[i]);
  }
  return data;
}

}  // namespace

TEST_CASE("train: a Hamiltonian learns a spring, in float and double, by each method") {
  for (const Precision precision : {Precision::float64, Precision::float32}) {
    for (const TrainMethod method : {TrainMethod::adam, TrainMethod::adamw, TrainMethod::lbfgs}) {
      const System system = spring_law(precision);
      const auto loss = derivative_loss(system, spring_rows(), {});
      TrainOptions options;
      options.steps = 150, options.method = method, options.learning_rate = 1e-2;
      options.schedule = RateSchedule::cosine, options.validation = 0.25;
      const TrainRun run = train(system, *loss, options);
      REQUIRE(run.state.history.size() > 2);
      CHECK(run.state.history.back().loss < 0.02 * run.state.history.front().loss);
      CHECK(run.state.best_loss < 0.02 * run.state.history.front().validation);
      CHECK(run.params[0] == system.timestep());  // is not trained
    }
  }
}

TEST_CASE("train: a run that is saved goes on as if it had not stopped") {
  const test::ScratchFolder folder;
  const System system = spring_law();
  const auto loss = derivative_loss(system, spring_rows(), {});
  TrainOptions options;
  options.steps = 40, options.batch = 32, options.validation = 0.2;
  const TrainRun whole = train(system, *loss, options);
  TrainOptions half = options;
  int asked = 0;
  half.watch = [&](const TrainProgress&) { return ++asked < 1; };
  const TrainRun first = train(system, *loss, half);
  REQUIRE(first.state.step < 40);
  const auto path = folder.path("law.cyl");
  save_law(path, system, first.params, &first.state);
  const LoadedLaw loaded = load_law(path);
  REQUIRE(loaded.state);
  CHECK(loaded.system.parameters().default_values() == first.params);
  CHECK(learned_law(loaded.system)->dissipation);
  const TrainRun rest = train(system, *loss, options, &*loaded.state);
  CHECK(rest.params == whole.params);
  CHECK(rest.state.m == whole.state.m);
  CHECK(train_page(rest.state, "A training", rest.message).html().find("A training") !=
        std::string::npos);
  const System other = systems::pendulum();
  CHECK_THROWS_WITH_AS(load_law(path, &other), doctest::Contains("has none such"), Error);
}

TEST_CASE("train: L-BFGS and Gauss-Newton go on with what they remember, bit for bit") {
  const test::ScratchFolder folder;
  LearnedLaw small;
  small.kind = LearnedKind::hamiltonian, small.hidden = {6};
  const System system = make_learned(small, {});
  const auto loss = derivative_loss(system, spring_rows(), {});
  for (const TrainMethod method : {TrainMethod::lbfgs, TrainMethod::gauss_newton}) {
    TrainOptions options;
    options.steps = 14, options.method = method, options.validation = 0.2;
    const TrainRun whole = train(system, *loss, options);
    TrainOptions some = options;
    some.steps = 6;  // ends by itself, and is then asked for more
    const TrainRun first = train(system, *loss, some);
    const auto path = folder.path("law.cyl");
    save_law(path, system, first.params, &first.state);
    const LoadedLaw loaded = load_law(path);
    REQUIRE(loaded.state->memory == first.state.memory);
    const TrainRun rest = train(system, *loss, options, &*loaded.state);
    CHECK(rest.params == whole.params);
    CHECK(rest.state.z == whole.state.z);
    CHECK(rest.state.memory == whole.state.memory);
    TrainState forgetful = *loaded.state;
    forgetful.memory.clear();
    CHECK(train(system, *loss, options, &forgetful).state.z != whole.state.z);
    options.method = TrainMethod::adam;  // another's memory is none of its
    CHECK_NOTHROW(train(system, *loss, options, &*loaded.state));
  }
}

TEST_CASE("train: parameters by name or beginning, others stay, unknown ones are named") {
  const System system = spring_law();
  const auto loss = derivative_loss(system, spring_rows(), {});
  TrainOptions options;
  options.steps = 3, options.params = {"dissipation"};
  const TrainRun run = train(system, *loss, options);
  const auto& all = system.parameters();
  bool moved = false;
  for (const Parameter& p : all.all()) {
    for (int i = p.offset; i < p.offset + p.size; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const bool same = run.params[k] == all.default_values()[k];
      if (p.name.starts_with("dissipation.")) moved = moved || !same;
      else CHECK(same);
    }
  }
  CHECK(moved);
  options.params = {"disipation.weight0"};
  CHECK_THROWS_WITH_AS(train(system, *loss, options), doctest::Contains("dissipation.weight0"),
                       ParameterError);
  options.params = {}, options.learning_rate = -1;
  CHECK_THROWS_AS(train(system, *loss, options), Error);
}

}  // namespace cycloid
