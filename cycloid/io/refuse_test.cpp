#include "cycloid/io/refuse.h"

#include <doctest/doctest.h>

#include <string>

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"
#include "cycloid/io/convert.h"
#include "cycloid/io/load.h"

namespace cycloid {
namespace {

constexpr std::string_view kTree = R"(<worldbody>
  <geom name="wrapped" type="sphere" size=".05" pos="0 0 .5" contype="0" conaffinity="0"/>
  <site name="anchor"/>
  <body name="arm"><joint name="hinge"/><geom name="bar" size=".1" contype="0" conaffinity="0"/>
    <site name="tip" pos="1 0 0"/><site name="slider" pos="1 1 0"/>
    <body name="hand" pos="1 0 0"><joint name="ball" type="ball"/>
<geom size=".1" contype="0" conaffinity="0"/></body>
  </body></worldbody>)";

std::string with(std::string_view parts, std::string_view tree = kTree) {
  return "<mujoco>" + std::string(tree) + std::string(parts) + "</mujoco>";
}

// "" when the model loads.
std::string refusal(const std::string& text, bool constraints = false) {
  try {
    load_model(text, {.constraints = constraints});
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

void check_refused(const std::string& text, std::string_view element, std::string_view what) {
  const std::string said = refusal(text);
  INFO(text << "\n" << said);
  CHECK(said.starts_with(element));
  CHECK(said.find(what) != said.npos);
  CHECK(said.find("is not supported; ") != said.npos);  // a hint follows
}

TEST_CASE("refuse_unsupported: actuators by name") {
  const auto actuator = [](std::string_view xml) {
    return with("<actuator>" + std::string(xml) + "</actuator>");
  };
  check_refused(actuator("<general name='u' joint='hinge' dyntype='user'/>"), "actuator \"u\"",
                "user");
  check_refused(actuator("<general name='u' joint='hinge' gaintype='user'/>"), "actuator \"u\"",
                "user");
  check_refused(actuator("<general joint='hinge' biastype='user'/>"), "actuator #0", "user");
  check_refused(actuator("<general name='a' body='arm' biastype='affine' biasprm='1'/>"),
                "actuator \"a\"", "adhesion actuator whose gain");
  CHECK(refusal("<mujoco><worldbody><body name='b'><joint actuatorfrcrange='-1 1'/><geom "
                "size='.1'/></body></worldbody><actuator><adhesion body='b' ctrlrange='0 1'/>"
                "</actuator></mujoco>") == "");
  check_refused(actuator("<motor name='d' joint='hinge' nsample='3' delay='.004'/>"),
                "actuator \"d\"", "history");
  check_refused(actuator("<general name='m' joint='hinge' biastype='dcmotor'/>"), "actuator \"m\"",
                "DC motor's gain, bias or dynamics together with those of another");
  CHECK(
      refusal("<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody>"
              "<tendon><fixed name='t' actuatorfrcrange='-1 1'><joint joint='j' coef='1'/></fixed>"
              "</tendon><actuator><dcmotor tendon='t' motorconst='1' resistance='1' "
              "cogging='.1 3 0'/></actuator></mujoco>") == "");
}

TEST_CASE("refuse_unsupported: tendons, springs, flexes by name") {
  check_refused(with("<tendon><fixed name='y' stiffness='1' springyield='.1'><joint "
                     "joint='hinge' coef='1'/></fixed></tendon>"),
                "tendon \"y\"", "plastic");
  check_refused(
      "<mujoco><worldbody><body><joint name='j' stiffness='1' springyield='.1'/><geom "
      "size='.1'/></body></worldbody></mujoco>",
      "joint \"j\"", "plastic");
  check_refused(
      "<mujoco><worldbody><body name='b' pos='0 0 1'><flexcomp name='rag' type='grid' count='3 3 "
      "1' "
      "spacing='.1 .1 .1' mass='1' dim='2' radius='.01'/></body></worldbody></mujoco>",
      "flex \"rag\"", "flex");
}

TEST_CASE("refuse_unsupported: a step of time is positive") {
  for (const char* dt : {"0", "-0.002"}) {
    const std::string said = refusal(with("<option timestep='" + std::string(dt) + "'/>"));
    CHECK(said.starts_with("options: timestep is "));
    CHECK(said.find("expected a positive number") != said.npos);
  }
}

TEST_CASE("refuse_unsupported: integrators and sleeping") {
  check_refused(with("<option integrator='discrete'/>"), "options", "discrete");
  check_refused(with("<option><flag sleep='enable'/></option>"), "body \"arm\"", "sleeping");
  for (const char* fine : {"Euler", "implicit", "implicitfast", "RK4"}) {
    CHECK(refusal(with(std::string("<option integrator='") + fine + "'/>")) == "");
  }
  // Nothing sleeps here: the flag changes nothing.
  CHECK(refusal("<mujoco><option><flag sleep='enable'/></option><worldbody><body "
                "sleep='never'><joint/><geom size='.1'/></body></worldbody></mujoco>") == "");
}

TEST_CASE("refuse_unsupported: nothing that only constraints use, and nothing merely unusual") {
  for (const std::string_view parts : {
           "<option noslip_iterations='3'><flag diagexact='enable' speculative='enable' "
           "override='enable' energy='enable' fwdinv='enable' invdiscrete='enable'/></option>",
           "<equality><weld body1='arm'/></equality>",
           "<contact><pair geom1='bar' geom2='wrapped'/></contact>",
           "<tendon><fixed limited='true' range='0 1' frictionloss='1' armature='.1' damping='1 2 "
           "3' stiffness='1 2 3'><joint joint='hinge' coef='2'/></fixed></tendon>",
           "<actuator><motor joint='hinge' armature='1' damping='1 2 3' gear='2'/><motor "
           "jointinparent='ball' gear='1 0 0'/><motor site='tip' refsite='anchor' gear='1 0 0 0 0 "
           "0'/></actuator>",
           "<sensor><touch site='tip'/><rangefinder site='tip'/><jointpos joint='hinge' "
           "nsample='4' "
           "delay='.002'/><user dim='3'/></sensor>",
       }) {
    CHECK(refusal(with(parts)) == "");
  }
  CHECK(refusal(R"(<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
      <hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset><worldbody>
      <geom type="hfield" hfield="h"/>
      <body gravcomp="1"><freejoint/>
<geom type="mesh" mesh="m" surfacevel="1 0 0 0 0 0" adhesion="1"/></body>
      <body><joint stiffness="1 2 3" damping="1 2 3" limited="true" range="0 1" frictionloss="1"
        actuatorgravcomp="true" actuatorfrcrange="-1 1"/><geom size=".1"/></body>
      </worldbody></mujoco>)") == "");
}

// One body over a floor, with what each test adds.
std::string constrained(std::string_view joint, std::string_view parts = "",
                        std::string_view geom = "contype='0' conaffinity='0'") {
  return with(parts,
              "<worldbody><geom name='floor' type='plane' size='1 1 1'/><body name='b' "
              "pos='0 0 1'><joint name='j' " +
                  std::string(joint) + "/><geom name='g' size='.1' " + std::string(geom) +
                  "/></body></worldbody>");
}

TEST_CASE("refuse_unsupported: contacts, limits, dry friction and equalities are no reason") {
  const std::string held = constrained("limited='true' range='0 1' frictionloss='1'",
                                       "<equality><joint joint1='j'/></equality>", "");
  CHECK(refusal(held, true) == "");
  CHECK(refusal(held, false) == "");
}

// With constraints, where the model does not disable them.
std::string constrained_refusal(const std::string& text) {
  const CompiledModel m = compile_model(text, {});
  try {
    refuse_unsupported(*m, constraints_act(*m, {}));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("refuse_unsupported: with constraints, what changes their optimum or has none") {
  const auto option = [](const std::string& xml) { return constrained("", xml, ""); };
  CHECK(constrained_refusal(option("<option><flag diagexact='enable'/></option>")) == "");
  CHECK(constrained_refusal(
            constrained("", "<option><flag diagexact='enable'/></option>", "adhesion='1'")) == "");
  CHECK(constrained_refusal(option("<option noslip_iterations='3'/>")) ==
        "options: the noslip solver is not supported; set noslip_iterations to 0, load with "
        "noslip=\"ignore\", which runs without it, or load with "
        "constraints=False");
  CHECK(constrained_refusal(option("<option impratio='0'/>")) ==
        "options: impratio is 0; expected a positive number");
  CHECK(constrained_refusal(option("<option><flag speculative='enable'/></option>"))
            .starts_with("options: the flag speculative"));
  CHECK(constrained_refusal(option("<option noslip_iterations='3'><flag diagexact='enable' "
                                   "constraint='disable'/></option>")) == "");
  // Contacts are judged only where they act.
  CHECK(constrained_refusal(option("<option><flag speculative='enable' contact='disable'/>"
                                   "</option>")) == "");
  CHECK(constrained_refusal(constrained("", "", "adhesion='1' surfacevel='1 0 0 0 0 0'")) == "");
}

TEST_CASE("load_model: runs without noslip on request, and says so where it would act") {
  const auto warned = [](const std::string& option, bool constraints) {
    std::vector<std::string> warnings;
    load_model(constrained("", option, ""),
               {.constraints = constraints, .warnings = &warnings, .noslip = Noslip::ignore});
    return warnings;
  };
  const std::string noslip = "<option noslip_iterations='3'/>";
  REQUIRE(warned(noslip, true).size() == 1);
  CHECK(warned(noslip, true)[0].starts_with("the noslip solver (noslip_iterations 3) is left out"));
  CHECK(warned(noslip, false).empty());
  CHECK(warned("", true).empty());
}

TEST_CASE("refuse_unsupported: with constraints, not what only leads to the optimum") {
  for (const char* options :
       {"solver='PGS'", "solver='CG'",
        "iterations='1' tolerance='1' ls_iterations='1' "
        "ls_tolerance='1'",
        "jacobian='sparse'", "cone='elliptic' impratio='10'",
        "ccd_iterations='3' ccd_tolerance='.1' sdf_iterations='1' sdf_initpoints='1'",
        "noslip_tolerance='1' sleep_tolerance='1' o_margin='1'"}) {
    CHECK(constrained_refusal(constrained("", std::string("<option ") + options + "/>", "")) == "");
  }
  for (const char* flags :
       {"warmstart='disable'", "island='disable'", "autoreset='disable'", "midphase='disable'",
        "refsafe='disable'", "filterparent='disable'", "sensor='disable'", "override='enable'",
        "energy='enable' fwdinv='enable' invdiscrete='enable'", "eulerdamp='disable'",
        "nativeccd='disable' multiccd='disable'"}) {
    CHECK(constrained_refusal(
              constrained("", "<option><flag " + std::string(flags) + "/></option>", "")) == "");
  }
}

TEST_CASE("refuse_unsupported: an equality of another kind, where equalities act") {
  const CompiledModel m =
      compile_model(constrained("", "<equality><joint name='e' joint1='j'/></equality>"), {});
  m->eq_type[0] = mjEQ_DISTANCE;
  CHECK_THROWS_WITH_AS(refuse_unsupported(*m, true),
                       "equality \"e\": an equality of this type is not supported; use connect, "
                       "weld, joint or tendon, or load with constraints=False",
                       ModelError);
  CHECK_NOTHROW(refuse_unsupported(*m, false));
  m->opt.disableflags |= mjDSBL_EQUALITY;
  CHECK_NOTHROW(refuse_unsupported(*m, true));
  CHECK_FALSE(convert(*m, {}).equalities[0].active);
}

}  // namespace
}  // namespace cycloid
