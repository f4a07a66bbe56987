#include "cycloid/optimise/fit/unknowns.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/system/systems.h"

namespace cycloid::unknowns_test {

using Numbers = std::vector<double>;

System pendulum() { return systems::pendulum(); }
System projectile() { return systems::projectile(); }

std::string refused(const System& system, const std::vector<UnknownRequest>& requests,
                    const UnknownOptions& options = {}) {
  try {
    Unknowns(system, requests, options);
  } catch (const ParameterError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("unknowns: names become numbers, whole and by component, in the order of the caller") {
  const Unknowns unknowns(projectile(), {{{"wind[2]"}, {3.0}}, {{"mass"}}});
  CHECK(unknowns.names() == std::vector<std::string>{"wind[2]", "mass"});
  CHECK(unknowns.start() == Numbers{3, 1});
  const Numbers p = unknowns.parameters(Numbers{4, 2});
  const Parameters& registry = unknowns.system().parameters();
  CHECK(p[static_cast<std::size_t>(registry.find("wind").offset + 2)] == 4);
  CHECK(p[static_cast<std::size_t>(registry.find("mass").offset)] == 2);
  CHECK(Unknowns(projectile(), {{{"wind"}}}).names() ==
        std::vector<std::string>{"wind[0]", "wind[1]", "wind[2]"});
}

TEST_CASE("unknowns: directions and pullback are each other's transposes") {
  const Unknowns unknowns(projectile(), {{{"drag"}}, {{"wind[0]", "wind[1]"}}});
  const Numbers z = unknowns.start(), rows = unknowns.directions(z);
  const std::size_t np = static_cast<std::size_t>(unknowns.system().parameters().size());
  Numbers p_bar(np), z_bar(2, 0.0);
  for (std::size_t i = 0; i < np; ++i) p_bar[i] = std::sin(1.0 + static_cast<double>(i));
  unknowns.pull_parameters(z, p_bar, z_bar);
  for (std::size_t j = 0; j < 2; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < np; ++i) sum += rows[j * np + i] * p_bar[i];
    CHECK(z_bar[j] == doctest::Approx(sum).epsilon(1e-15));
    CHECK(sum != 0);
  }
}

TEST_CASE("unknowns: a positive number comes near to zero in a step, never to it") {
  const Unknowns unknowns(pendulum(), {{{"length"}}, {{"damping"}, {0.5}}});
  Numbers to{-3, -3};
  unknowns.project(Numbers{2, 0.5}, to);
  CHECK(to[0] == doctest::Approx(0.2));
  CHECK(to[1] == 0);
  CHECK(unknowns.refusal(to).empty());
  CHECK_FALSE(unknowns.refusal(Numbers{-1, 0}).empty());
}

TEST_CASE("unknowns: bounds hold, also of one component") {
  UnknownOptions options;
  options.bounds = {{"wind[1]", {-1}, {1}}, {"mass", {0.5}, {2}}};
  const Unknowns unknowns(projectile(), {{{"wind"}}, {{"mass"}}}, options);
  Numbers to{5, 5, -5, 5};
  unknowns.project(unknowns.start(), to);
  CHECK(to == Numbers{5, 1, -5, 2});
}

TEST_CASE("unknowns: what cannot be is refused with its name") {
  CHECK(says(refused(pendulum(), {{{"lenght"}}}), "length"));
  CHECK(says(refused(pendulum(), {{{"length"}}, {{"length"}}}), "twice"));
  CHECK(says(refused(projectile(), {{{"wind[3]"}}}), "3 numbers"));
  CHECK(says(refused(projectile(), {{{"wind"}}, {{"wind[1]"}}}), "twice"));
  CHECK(says(refused(pendulum(), {{{"length"}, {-1.0}}}), "positive"));
  CHECK(says(refused(pendulum(), {{{"option.timestep"}}}), "steps"));
  CHECK(says(refused(pendulum(), {{{"length"}, {NAN}}}), "finite"));
  CHECK(says(refused(projectile(), {{{"wind"}, {1.0, 2.0}}}), "3 numbers"));
  UnknownOptions options;
  options.bounds = {{"length", {2}, {3}}};
  CHECK(says(refused(pendulum(), {{{"length"}}}, options), "exclude the start"));
  options.bounds = {{"length", {3}, {2}}};
  CHECK(says(refused(pendulum(), {{{"length"}}}, options), "low"));
  options.bounds = {{"mas", {0}, {2}}};
  CHECK(says(refused(pendulum(), {{{"mass"}}}, options), "mass"));
  options.bounds = {};
  options.priors = {{"mass", {1}, {0}}};
  CHECK(says(refused(pendulum(), {{{"mass"}}}, options), "positive standard deviation"));
}

TEST_CASE("unknowns: stars of tied patterns stand for the same") {
  const std::vector<std::string> names{"left_arm.mass", "left_leg.mass", "left_leg.com", "x"};
  const auto found = match_names("left_*.mass", names);
  REQUIRE(found.size() == 2);
  CHECK(found[1].stars == std::vector<std::string>{"leg"});
  CHECK(match_names("*_*.mass", names).size() == 2);
  CHECK(match_names("x", names).size() == 1);
  CHECK(match_names("x*x", names).empty());
  CHECK(tied_names(pendulum(), {"mass", "length"}).size() == 1);
  CHECK_THROWS_AS(tied_names(pendulum(), {"ma*", "len*"}), ParameterError);
  const auto numbers = tied_names(systems::double_pendulum(), {"len*[0]", "len*[1]"});
  REQUIRE(numbers.size() == 1);
  CHECK(numbers[0] == std::vector<std::string>{"lengths[0]", "lengths[1]"});
  CHECK_THROWS_AS(tied_names(pendulum(), {"zz*", "len*"}), ParameterError);
  const Unknowns tied(pendulum(), {{{"mass", "length"}, {2.0}}});
  CHECK(tied.size() == 1);
  CHECK(tied.parameters(tied.start())[0] == 2);
  CHECK(tied.parameters(tied.start())[1] == 2);
}

}  // namespace cycloid::unknowns_test
