#include "cycloid/io/builder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/model/model_file.h"

namespace cycloid {
namespace {

// Every field of the model, bit for bit.
std::string bytes_of(const Model& m) { return model_to_bytes({m, {}}); }

TEST_CASE("Builder: a cart-pole is the one that is written as XML, bit for bit") {
  Builder b("cart_pole", {{"timestep", 0.01}, {"integrator", "RK4"}});
  const Builder::Body cart = b.body("cart", {{"pos", {0, 0, 0.1}}});
  cart.joint({{"name", "rail"}, {"type", "slide"}, {"axis", {1, 0, 0}}, {"range", {-1.5, 1.5}}})
      .geom({{"type", "box"}, {"size", {0.2, 0.1, 0.05}}, {"mass", 1.1}});
  cart.body("pole")
      .joint({{"name", "hinge"}, {"axis", {0, 1, 0}}, {"range", {-170, 170}}, {"damping", 1e-3}})
      .geom({{"type", "capsule"}, {"fromto", {0, 0, 0, 0, 0, 0.6}}, {"size", 0.02}});
  b.actuator("motor", {{"name", "push"},
                       {"joint", "rail"},
                       {"gear", 10},
                       {"ctrllimited", true},
                       {"ctrlrange", {-1, 1}}});
  const Model written = load_model(R"(
    <mujoco model="cart_pole"> <option timestep="0.01" integrator="RK4"/>
      <worldbody> <body name="cart" pos="0 0 0.1">
        <joint name="rail" type="slide" axis="1 0 0" range="-1.5 1.5"/>
        <geom type="box" size="0.2 0.1 0.05" mass="1.1"/>
        <body name="pole"> <joint name="hinge" axis="0 1 0" range="-170 170" damping="0.001"/>
          <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.02"/> </body> </body> </worldbody>
      <actuator> <motor name="push" joint="rail" gear="10" ctrllimited="true" ctrlrange="-1 1"/>
      </actuator> </mujoco>)");
  CHECK(bytes_of(b.build()) == bytes_of(written));
  CHECK(bytes_of(b.build()) == bytes_of(written));  // again
  CHECK(written.joints.size() == 2);
  CHECK(b.describe() == "Builder cart_pole: 2 bodies, 2 joints, 2 geoms, 1 actuator");
  CHECK(Builder("empty").describe() == "Builder empty: 0 bodies");
}

TEST_CASE("Builder: tendons, equalities, sensors, keyframes, pairs, defaults, settings, assets") {
  Builder b("all & <sundry>", {{"gravity", {0, 0, -1.62}}});
  b.setting("compiler", {{"angle", "radian"}, {"autolimits", true}});
  b.setting("flag", {{"eulerdamp", "disable"}});
  b.setting("size", {{"nkey", 2}});
  b.setting("statistic", {{"meaninertia", 0.7}});
  b.defaults("joint", {{"armature", 0.01}});
  b.defaults("joint", {{"damping", 0.3}}, "loose");
  b.asset("mesh", {{"name", "wedge"}, {"vertex", {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}}});
  b.world()
      .geom({{"name", "floor"}, {"type", "plane"}, {"size", {1, 1, 1}}})
      .site({{"name", "base"}});
  const Builder::Body arm = b.body("arm", {{"pos", {0, 0, 1}}, {"euler", {0, 0.5, 0}}});
  arm.joint({{"name", "hip"}, {"range", {-1, 1}}, {"class", "loose"}});
  arm.geom({{"name", "bar"}, {"size", 0.1}}).site({{"name", "tip"}, {"pos", {0, 0, 0.3}}});
  b.body("hand", "arm", {{"pos", {0, 0, 0.3}}})
      .joint({{"name", "wrist"}, {"axis", {1, 0, 0}}})
      .inertial({{"mass", 0.2}, {"pos", {0, 0, 0}}, {"diaginertia", {1e-3, 1e-3, 1e-3}}})
      .geom({{"type", "mesh"}, {"mesh", "wedge"}, {"contype", 0}, {"conaffinity", 0}})
      .camera({{"name", "eye"}});
  b.body("free").freejoint({{"name", "loose"}}).geom({{"name", "ball"}, {"size", 0.2}});
  b.contact("pair", {{"geom1", "floor"}, {"geom2", "ball"}, {"condim", 6}});
  b.contact("exclude", {{"body1", "arm"}, {"body2", "free"}});
  b.tendon("fixed", {{"joint", {{"joint", "hip"}, {"coef", 0.5}}}}, {{"name", "link"}});
  const auto site = [](const char* name) { return Builder::Along("site", {{"site", name}}); };
  b.tendon("spatial",
           {site("tip"), site("base"), {"pulley", {{"divisor", 2}}}, site("tip"), site("base")},
           {{"name", "cable"}, {"stiffness", 2}});
  b.equality("joint", {{"joint1", "hip"}, {"joint2", "wrist"}, {"polycoef", {0, 2, 0, 0, 0}}});
  b.actuator("position", {{"joint", "wrist"}, {"kp", 5}, {"dampratio", 1}});
  b.sensor("framepos", {{"name", "place"}, {"objtype", "site"}, {"objname", "tip"}});
  b.keyframe({{"name", "bent"}, {"qpos", {0.5, 0.25, 0, 0, 1, 1, 0, 0, 0}}});
  const Model written = load_model(R"(
    <mujoco model="all &amp; &lt;sundry>"> <option gravity="0 0 -1.62"> <flag eulerdamp="disable"/>
      </option> <compiler angle="radian" autolimits="true"/> <size nkey="2"/>
      <statistic meaninertia="0.7"/>
      <default> <joint armature="0.01"/> <default class="loose"> <joint damping="0.3"/> </default>
      </default>
      <asset> <mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/> </asset>
      <worldbody> <geom name="floor" type="plane" size="1 1 1"/> <site name="base"/>
        <body name="arm" pos="0 0 1" euler="0 0.5 0">
          <joint name="hip" range="-1 1" class="loose"/> <geom name="bar" size="0.1"/>
          <site name="tip" pos="0 0 0.3"/>
          <body name="hand" pos="0 0 0.3"> <joint name="wrist" axis="1 0 0"/>
            <inertial mass="0.2" pos="0 0 0" diaginertia="1e-3 1e-3 1e-3"/>
            <geom type="mesh" mesh="wedge" contype="0" conaffinity="0"/> <camera name="eye"/>
          </body> </body>
        <body name="free"> <freejoint name="loose"/> <geom name="ball" size="0.2"/> </body>
      </worldbody>
      <contact> <pair geom1="floor" geom2="ball" condim="6"/>
        <exclude body1="arm" body2="free"/> </contact>
      <tendon> <fixed name="link"> <joint joint="hip" coef="0.5"/> </fixed>
        <spatial name="cable" stiffness="2"> <site site="tip"/> <site site="base"/>
          <pulley divisor="2"/> <site site="tip"/> <site site="base"/> </spatial> </tendon>
      <equality> <joint joint1="hip" joint2="wrist" polycoef="0 2 0 0 0"/> </equality>
      <actuator> <position joint="wrist" kp="5" dampratio="1"/> </actuator>
      <sensor> <framepos name="place" objtype="site" objname="tip"/> </sensor>
      <keyframe> <key name="bent" qpos="0.5 0.25 0 0 1 1 0 0 0"/> </keyframe> </mujoco>)");
  CHECK(bytes_of(b.build()) == bytes_of(written));
  CHECK(written.name == "all & <sundry>");
  CHECK(written.keyframes.size() == 2);
}

TEST_CASE("AttributeValue: numbers read back as they were, counts are whole") {
  CHECK(AttributeValue({0.1, 1.0 / 3, -0.0, 1e-300}).text() == "0.1 0.3333333333333333 -0 1e-300");
  CHECK(AttributeValue(100000).text() == "100000");
  CHECK(AttributeValue(1e22).text() == "1e+22");
  CHECK(AttributeValue(true).text() == "true");
  CHECK(AttributeValue("a b").text() == "a b");
  CHECK(AttributeValue(std::numeric_limits<double>::infinity()).text() == "inf");
  CHECK_THROWS_AS(AttributeValue("a\nb").text(), ModelError);
  CHECK_THROWS_AS(AttributeValue(std::numeric_limits<double>::quiet_NaN()).text(), ModelError);
}

void check_refused(const std::function<void(Builder&)>& build, const char* words) {
  Builder b("arm");
  const Builder::Body leg = b.body("leg");
  leg.joint({{"name", "hip"}}).geom({{"size", 0.1}}).site({{"name", "tip"}});
  std::string said;
  try {
    build(b);
    b.build();
  } catch (const ModelError& error) {
    said = error.what();
  }
  INFO(words << " | " << said);
  CHECK(said.find(words) != said.npos);
}

TEST_CASE("Builder: what is wrong is said with the element and the nearest name") {
  check_refused([](Builder& b) { b.body("foot", {{"poss", 1}}); },
                "body \"foot\": no attribute is called \"poss\"; did you mean \"pos\"?");
  check_refused([](Builder& b) { b.body("foot").joint({{"type", "hinge"}, {"dampin", 1}}); },
                "joint #0 of body \"foot\": no attribute is called \"dampin\"; did you mean "
                "\"damping\"?");
  check_refused([](Builder& b) { b.world().geom({{"seize", 1}}); },
                "geom #0 of the world: no attr");
  check_refused([](Builder& b) { b.body("foot", "lag", {}); },
                "body \"foot\": no body is called \"lag\"; did you mean \"leg\"?");
  check_refused([](Builder& b) { b.actuator("moter", {}); },
                "no actuator is called \"moter\"; did you mean \"motor\"?");
  check_refused([](Builder& b) { b.actuator("motor", {{"joint", "hipp"}}); },
                "motor #0: no joint is called \"hipp\"; did you mean \"hip\"?");
  check_refused([](Builder& b) { b.equality("weld", {{"body1", "leg"}, {"body2", "lex"}}); },
                "weld #0: no body is called \"lex\"; did you mean \"leg\"?");
  check_refused([](Builder& b) { b.tendon("spatial", {{"site", {{"site", "top"}}}}); },
                "site #0 of spatial #0: no site is called \"top\"; did you mean \"tip\"?");
  check_refused([](Builder& b) { b.tendon("fixed", {{"site", {}}}); }, "no tendon/fixed is called");
  check_refused([](Builder& b) { b.setting("compilr", {}); }, "did you mean \"compiler\"?");
  check_refused([](Builder& b) { b.setting("option", {{"timstep", 1}}); },
                "option: no attribute is called \"timstep\"; did you mean \"timestep\"?");
  check_refused([](Builder& b) { b.setting("flag", {{"gravty", "disable"}}); }, "flag: no attrib");
  check_refused([](Builder& b) { b.body("foot", {{"pos", {1, NAN, 2}}}); },
                "body \"foot\": pos is nan; expected a number");
  check_refused([](Builder& b) { b.body("foot", {{"pos", {1, 2, 3}}, {"pos", {1, 2, 3}}}); },
                "body \"foot\": \"pos\" is given twice");
  // What only MuJoCo's reader and compiler know.
  check_refused([](Builder& b) { b.body("foot").joint({{"name", "toe"}, {"axis", {0, 1}}}); },
                "cannot build \"arm\": joint \"toe\": attribute 'axis' does not have enough data; "
                "it is \"0 1\"");
  check_refused([](Builder& b) { b.body("foot").joint({{"type", "hing"}}); },
                "cannot build \"arm\": joint #0 of body \"foot\": invalid keyword: 'hing'");
  check_refused([](Builder& b) { b.body("foot").joint({}); },
                "cannot build \"arm\": body \"foot\": mass and inertia of moving bodies");
  check_refused([](Builder& b) { b.body("leg"); }, "repeated name 'leg' in body");
  check_refused([](Builder& b) { b.actuator("motor", {{"name", "m"}}); },
                "cannot build \"arm\": motor \"m\": missing transmission target");
  // What room io refuses keeps its words.
  check_refused([](Builder& b) { b.setting("option", {{"integrator", "discrete"}}); },
                "options: the integrator discrete is not supported");
}

TEST_CASE("Builder: an element that is refused is not there afterwards") {
  Builder b("arm");
  const Builder::Body leg = b.body("leg").joint().geom({{"size", 0.1}});
  CHECK_THROWS_AS(leg.geom({{"seize", 1}}), ModelError);
  CHECK_THROWS_AS(leg.body("foot", {{"x", 1}}), ModelError);
  CHECK_THROWS_AS(b.actuator("motor", {{"x", 1}}), ModelError);
  CHECK_THROWS_AS(b.tendon("fixed", {{"joint", {{"x", 1}}}}), ModelError);
  const Model m = b.build();
  CHECK(m.bodies.size() == 2);
  CHECK(m.geoms.size() == 1);
  CHECK(m.actuators.empty());
  CHECK(m.tendons.empty());
}

TEST_CASE("Builder: a file that an asset names is missed by name") {
  Builder b("arm");
  b.asset("mesh", {{"name", "m"}, {"file", "none.stl"}});
  b.body("leg").joint().geom({{"type", "mesh"}, {"mesh", "m"}});
  CHECK_THROWS_WITH_AS(b.build(), doctest::Contains("cannot build \"arm\": there is no file"),
                       FileNotFound);
}

}  // namespace
}  // namespace cycloid
