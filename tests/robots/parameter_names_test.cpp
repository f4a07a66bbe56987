// A model's parameters as a user names them: from XML, through room io, to the robot's registry.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cycloid/io/compile.h"
#include "cycloid/io/convert.h"
#include "cycloid/rigid/tree/tree.h"

namespace cycloid {
namespace {

constexpr const char* kModel = R"(<mujoco>
  <compiler angle="radian"/><option impratio="3"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" margin=".01"/>
    <geom name="sign" size=".1" contype="0" conaffinity="0"/>
    <body name="arm" pos="0 0 1">
      <joint name="elbow" range="-1 2" frictionloss=".5"/>
      <joint name="wrist" type="ball" range="0 1" frictionloss=".2"/>
      <geom name="foot" type="capsule" size=".1 .3" friction=".7 .02 .003" gap=".04"/>
      <geom type="box" size=".1 .2 .3" pos="1 0 0" solref="-100 -2" solimp=".5 .6 .01 .4 3"/>
      <site name="tip"/>
    </body>
    <body name="free" pos="3 0 1"><joint/><joint type="slide" axis="1 0 0"/><geom size=".1"/></body>
  </worldbody>
  <contact><pair name="own" geom1="foot" geom2="floor"/></contact>
  <tendon><fixed name="sum" range="-2 3" frictionloss=".6"><joint joint="elbow" coef="2"/></fixed>
    <fixed><joint joint="elbow" coef="1"/></fixed></tendon>
  <equality>
    <connect name="pin" body1="arm" anchor=".1 .2 .3" solref=".05 .8"/>
    <tendon tendon1="sum" polycoef=".1 .2 .3 .4 .5"/>
    <joint name="idle" joint1="elbow" active="false"/>
  </equality>
</mujoco>)";

// The registry that a robot has.
Parameters registry(const LoadOptions& options = {}) {
  const CompiledModel compiled = compile_model(kModel, options);
  return Tree(convert(*compiled, options)).parameters;
}

using Values = std::vector<double>;

Values value(const Parameters& all, const std::string& name) {
  const Parameter& p = all.find(name);
  const double* first = all.default_values().data() + p.offset;
  return {first, first + p.size};
}

TEST_CASE("parameters: those of constraints have the contract's names, shapes and values") {
  const Parameters s = registry();
  CHECK(value(s, "geom:foot.pos") == Values{0, 0, 0});
  CHECK(value(s, "geom:foot.quat") == Values{1, 0, 0, 0});
  CHECK(value(s, "geom:foot.size") == Values{.1, .3, 0});
  CHECK(value(s, "geom:foot.friction") == Values{.7, .02, .003});
  CHECK(value(s, "geom:foot.solref") == Values{.02, 1});
  CHECK(value(s, "geom:foot.solimp") == Values{.9, .95, .001, .5, 2});
  CHECK(value(s, "geom:foot.margin") == Values{0});
  CHECK(value(s, "geom:foot.gap") == Values{.04});
  CHECK(value(s, "geom:floor.margin") == Values{.01});
  CHECK(s.find("geom:foot.margin").shape.empty());
  CHECK(s.find("geom:foot.friction").shape == std::vector<int>{3});
  CHECK(value(s, "joint:elbow.range") == Values{-1, 2});
  CHECK(value(s, "joint:elbow.frictionloss") == Values{.5});
  CHECK(value(s, "joint:wrist.range") == Values{0, 1});
  CHECK(value(s, "joint:wrist.frictionloss") == Values{.2, .2, .2});
  CHECK(value(s, "tendon:sum.range") == Values{-2, 3});
  CHECK(value(s, "tendon:sum.frictionloss") == Values{.6});
  CHECK(value(s, "equality:pin.solref") == Values{.05, .8});
  CHECK(value(s, "equality:pin.solimp").size() == 5);
  CHECK(value(s, "equality:pin.data").size() == mjNEQDATA);
  CHECK(value(s, "equality:pin.data")[2] == .3);
  CHECK(value(s, "option.impratio") == Values{3});
}

TEST_CASE("parameters: an element without a name is called by its index") {
  const Parameters s = registry();
  CHECK(value(s, "geom:#3.pos") == Values{1, 0, 0});
  CHECK(value(s, "geom:#3.size") == Values{.1, .2, .3});
  CHECK(value(s, "geom:#3.solref") == Values{-100, -2});
  CHECK(value(s, "geom:#3.solimp") == Values{.5, .6, .01, .4, 3});
  CHECK(value(s, "geom:#4.size")[0] == .1);
  CHECK(value(s, "equality:#1.data")[4] == .5);
}

TEST_CASE("parameters: what does not act has no name") {
  const Parameters with = registry(), without = registry({.constraints = false});
  const auto has = [](const Parameters& s, const char* name) { return s.contains(name); };
  for (const char* name : {"geom:foot.friction", "joint:elbow.range", "joint:elbow.frictionloss",
                           "tendon:sum.range", "equality:pin.data", "option.impratio"}) {
    INFO(name);
    CHECK(has(with, name));
    CHECK_FALSE(has(without, name));
  }
  CHECK_FALSE(has(with, "geom:sign.friction"));  // touches nothing
  CHECK_FALSE(has(with, "joint:#2.range"));      // is not limited
  CHECK_FALSE(has(with, "tendon:#1.frictionloss"));
  CHECK_FALSE(has(with, "equality:idle.data"));
  CHECK(has(without, "body:arm.mass"));
}

}  // namespace
}  // namespace cycloid
