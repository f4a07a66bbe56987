#include "cycloid/learn/learned_law.h"

#include <cmath>

#include "cycloid/learn/laws_test.h"
#include "tests/support/conformance.h"

namespace cycloid {

TEST_CASE("learned laws keep what every System must keep, with several integrators") {
  int k = 0;
  for (const auto& [what, law] : test::small_laws()) {
    CAPTURE(what);
    systems::Settings settings;
    settings.dt = 0.05;
    const char* const all[] = {"rk4", "implicit_midpoint", "euler", "dopri5"};
    settings.integrator = law.second_order() && k % 2 ? "verlet" : all[k % 4];
    if (law.separable) settings.integrator = "verlet";
    ++k;
    const System system = make_learned(law, settings);
    test::ConformOptions options;
    options.lacks = {{"failed", "no finite start makes its bounded networks fail"}};
    if (settings.integrator == "implicit_midpoint") options.lanes_tolerance = 1e-9;
    test::conform(test::rollout_case<double>(system, 19, 3), options);
  }
}

TEST_CASE("learned laws with jumps keep what every System must keep, with every integrator") {
  for (const LearnedKind kind : {LearnedKind::hamiltonian, LearnedKind::lagrangian}) {
    for (const std::string& integrator : systems::integrators()) {
      LearnedLaw law;
      law.kind = kind, law.n = 1, law.hidden = {6}, law.seed = 4;
      law.activation = Activation::softplus;
      // Starts lie around zero and move: some fall through -0.05, some through 0.1 upwards.
      law.jumps = {{"floor", {1, 0}, -0.05, 0.7, {0, 1}, {0, 1}},
                   {"ceiling", {-1, 0}, -2.5, 0.6, {0, 1}, {0, 1}}};
      systems::Settings settings;
      settings.dt = 0.05, settings.integrator = integrator;
      CAPTURE(integrator);
      const System system = make_learned(law, settings);
      CHECK(system.parameters().find("floor.restitution").size == 1);
      test::ConformOptions options;
      options.lacks = {{"failed", "no finite start makes its bounded networks fail"},
                       {"dot test", "laws with events have no pushforward"}};
      test::RolloutCase<double> c = test::rollout_case<double>(system, 5, 12);
      for (std::size_t i = 0; i + 1 < c.x0.size(); i += 2) {
        c.x0[i] = 0.1 + 0.3 * std::abs(c.x0[i]), c.x0[i + 1] = -1 - std::abs(c.x0[i + 1]);
      }
      test::conform(c, options);
    }
  }
}

TEST_CASE("learned laws in float follow those in double") {
  for (const std::size_t k : {0u, 2u, 5u, 6u}) {
    const auto [what, law] = test::small_laws()[k];
    CAPTURE(what);
    systems::Settings settings;
    settings.precision = Precision::float32;
    test::conform(test::rollout_case<float>(make_learned(law, settings), 37, 3),
                  {.lacks = {{"failed", "no finite start makes its bounded networks fail"}}});
  }
}

TEST_CASE("learned laws name their parameters, and what cannot be is refused") {
  LearnedLaw law;
  law.kind = LearnedKind::hamiltonian, law.n = 2, law.inputs = 1, law.dissipation = true;
  law.hidden = {7};
  const System system = make_learned(law);
  CHECK(system.parameters().find("hamiltonian.weight0").shape == std::vector<int>{7, 4});
  CHECK(system.parameters().find("dissipation.bias0").size == 32);
  CHECK(system.parameters().find("input.matrix").shape == std::vector<int>{2, 1});
  CHECK(learned_law(system)->n == 2);
  CHECK(system.variant({0, "implicit_midpoint"}).ways().integrator == "implicit_midpoint");
  law.angles = {2};
  CHECK_THROWS_WITH_AS(make_learned(law), doctest::Contains("angle 2"), ModelError);
  law.angles = {}, law.separable = true, law.kind = LearnedKind::lagrangian;
  CHECK_THROWS_WITH_AS(make_learned(law), doctest::Contains("separable"), ModelError);
  law.separable = false, law.input_matrix = InputMatrix::identity;
  CHECK_THROWS_WITH_AS(make_learned(law), doctest::Contains("input matrix"), ModelError);
  law.input_matrix = InputMatrix::constant, law.jumps = {{"floor", {1, 0}, 0, 1, {0, 1}, {1, 0}}};
  CHECK_THROWS_WITH_AS(make_learned(law), doctest::Contains("each of the 4 states"), ModelError);
  law.jumps = {{"floor", {1, 0, 0, 0}, 0, 1, {0, 0, 1, 0}, {1, 0, 0, 0}}};
  CHECK_THROWS_WITH_AS(make_learned(law), doctest::Contains("does not change"), ModelError);
  LearnedLaw rods = test::small_laws().back().second;
  rods.distances[1] = {2, 3};
  CHECK_THROWS_WITH_AS(make_learned(rods), doctest::Contains("joins two of the 3 points"),
                       ModelError);
  rods.distances.resize(1);
  CHECK_THROWS_WITH_AS(make_learned(rods), doctest::Contains("masses and lengths"), ModelError);
  systems::Settings verlet;
  verlet.integrator = "verlet";
  CHECK_THROWS_WITH_AS(make_learned(LearnedLaw{}, verlet), doctest::Contains("second order"),
                       ModelError);
}

}  // namespace cycloid
