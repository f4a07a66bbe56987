#include "cycloid/base/nearest_name.h"

#include <doctest/doctest.h>

#include <vector>

using cycloid::did_you_mean;
using cycloid::edit_distance;
using cycloid::nearest_name;

namespace {

const std::vector<std::string> kPendulum = {"length", "mass", "damping", "gravity"};
const std::vector<std::string> kRobot = {"body:torso.mass", "body:pole.mass", "body:pole.com",
                                         "joint:hinge.damping"};

}  // namespace

TEST_CASE("edit_distance: counts insertions, deletions, substitutions and exchanges") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("lenght", "length") == 1);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("ca", "abc") == 3);  // no further change inside an exchange
  CHECK(edit_distance("Mass", "mASS") == 0);
  CHECK(edit_distance("sitting", "kitten") == edit_distance("kitten", "sitting"));
}

TEST_CASE("nearest_name: finds what was meant, and nothing where nothing is near") {
  CHECK(nearest_name("lenght", kPendulum) == "length");
  CHECK(nearest_name("Mass", kPendulum) == "mass");
  CHECK(nearest_name("dampign", kPendulum) == "damping");
  CHECK(nearest_name("body:poel.mass", kRobot) == "body:pole.mass");
  CHECK(nearest_name("pole.mass", kRobot) == "body:pole.mass");
  CHECK(nearest_name("hinge", kRobot) == "joint:hinge.damping");
  CHECK_FALSE(nearest_name("temperature", kPendulum));
  CHECK_FALSE(nearest_name("g", kPendulum));
  CHECK_FALSE(nearest_name("", kPendulum));
  CHECK_FALSE(nearest_name("mass", {}));
}

TEST_CASE("nearest_name: prefers the nearest, and the first of equals") {
  const std::vector<std::string> names = {"hip_lift", "hip_lefts", "hip_left", "hip_left2"};
  CHECK(nearest_name("hip_left", names) == "hip_left");
  CHECK(nearest_name("hip_leftt", names) == "hip_lefts");
}

TEST_CASE("did_you_mean: suggests, lists a few, samples many") {
  CHECK(did_you_mean("lenght", kPendulum) == "; did you mean \"length\"?");
  CHECK(did_you_mean("temperature", kPendulum) ==
        "; there are \"length\", \"mass\", \"damping\" and \"gravity\"");
  CHECK(did_you_mean("temperature", std::vector<std::string>{"mass"}) ==
        "; there is only \"mass\"");
  CHECK(did_you_mean("mass", {}) == "; there are none");
  std::vector<std::string> many;
  for (int i = 0; i < 213; ++i) many.push_back("parameter" + std::to_string(i));
  CHECK(did_you_mean("temperature", many) ==
        "; there are 213 names, among them \"parameter0\", \"parameter1\", \"parameter2\", "
        "\"parameter3\", \"parameter4\"");
}
