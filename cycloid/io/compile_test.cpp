#include "cycloid/io/compile.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/io/mujoco_library.h"
#include "tests/support/scratch_folder.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace cycloid {
namespace {

constexpr const char* kArm = R"(<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0 0"/><mass value="2"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="package://arm/meshes/upper.MESH"/></geometry></collision>
  </link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="1"/></joint>
</robot>)";

std::string arm(const std::string& extension) {
  std::string text = kArm;
  return text.replace(text.find("MESH"), 4, extension);
}

template <class Failure>
std::string failure(const std::string& what, const LoadOptions& options = {}) {
  try {
    compile_model(what, options);
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("is_xml_text and root_element look past spaces, declarations and comments") {
  CHECK(is_xml_text(" \n<mujoco/>"));
  CHECK(is_xml_text("\xef\xbb\xbf<mujoco/>"));
  CHECK_FALSE(is_xml_text("robot.xml"));
  CHECK_FALSE(is_xml_text("  "));
  CHECK(root_element("<?xml version='1.0'?><!-- <mujoco> --><!DOCTYPE x><robot name='a'/>") ==
        "robot");
  CHECK(root_element("<mujoco/>") == "mujoco");
  CHECK(root_element("<!-- never closed <robot/>") == "");
  CHECK(root_element("nothing") == "");
}

TEST_CASE("compile_model: package:// meshes are found in search paths and above the model") {
  const test::ScratchFolder here;
  here.write("packages/arm/meshes/upper.obj", test::kTetrahedron);
  const LoadOptions search{.search_paths = {here.path("packages")}};
  CHECK(compile_model(arm("obj"), search)->nmesh == 1);
  CHECK(compile_model(here.write("packages/arm/urdf/arm.urdf", arm("obj")), {})->nmesh == 1);
  CHECK(compile_model(here.write("elsewhere/arm.urdf", arm("obj")), search)->nmesh == 1);
  const std::string text = failure<FileNotFound>(arm("obj"));
  CHECK(text.find("upper.obj") != text.npos);
  CHECK(text.find("search_paths") != text.npos);
}

TEST_CASE("compile_model: without constraints a URDF does without meshes, and moves the same") {
  const test::ScratchFolder here;
  here.write("arm/meshes/upper.obj", test::kTetrahedron);
  here.write("arm/meshes/upper.dae", "<COLLADA/>");  // a kind that MuJoCo does not read
  const std::vector<std::string> folders{here.path("")};
  const CompiledModel whole = compile_model(arm("obj"), {false, folders});
  CHECK(whole->ngeom == 1);
  for (const CompiledModel& bare : {compile_model(arm("obj"), {.constraints = false}),
                                    compile_model(arm("dae"), {false, folders})}) {
    CHECK(bare->ngeom == 0);
    REQUIRE(bare->nbody == whole->nbody);
    CHECK(bare->body_mass[1] == 2);
    for (int i = 0; i < 3; ++i) CHECK(bare->body_inertia[3 + i] == whole->body_inertia[3 + i]);
    for (int i = 0; i < 4; ++i) CHECK(bare->body_iquat[4 + i] == whole->body_iquat[4 + i]);
  }
  CHECK(failure<ModelError>(arm("dae"), {true, folders}) != "");
}

TEST_CASE("compile_model: a mesh that a link's mass comes from is never left out") {
  std::string text = arm("obj");
  const auto begin = text.find("<inertial>"), end = text.find("</inertial>") + 11;
  text.erase(begin, end - begin);
  CHECK(failure<FileNotFound>(text, {.constraints = false}) != "");
}

TEST_CASE("compile_model: a missing file, a missing include and a missing mesh are not found") {
  CHECK(failure<FileNotFound>("no such robot.xml") == "there is no file \"no such robot.xml\"");
  CHECK(failure<FileNotFound>("<mujoco><include file='gone.xml'/></mujoco>").find("gone.xml") !=
        std::string::npos);
  CHECK(failure<FileNotFound>("<mujoco><asset><mesh file='gone.stl'/></asset></mujoco>")
            .find("gone.stl") != std::string::npos);
}

TEST_CASE("compile_model: a missing picture is no reason to fail") {
  const CompiledModel model = compile_model(
      "<mujoco><asset><texture name='t' type='2d' file='gone.png'/><material name='m' "
      "texture='t'/></asset><worldbody><geom size='1' material='m'/></worldbody></mujoco>",
      {});
  CHECK(model->ntex == 1);
}

TEST_CASE("compile_model: errors are one sentence with MuJoCo's words and line") {
  CHECK(failure<ModelError>("<mujoco>\n<worldbody>\n<bod/></worldbody></mujoco>") ==
        "cannot load the XML text: Schema violation: unrecognized element (element 'bod', line 3)");
  CHECK(failure<ModelError>("<mujoco><worldbody>").find("not well formed") != std::string::npos);
  CHECK(failure<ModelError>(
            "<mujoco><worldbody><body name='b'><freejoint/></body></worldbody></mujoco>")
            .find("'b'") != std::string::npos);
  CHECK(failure<ModelError>("  ") != "");
  CHECK(failure<ModelError>(std::string("<mujoco/>\0x", 11)) != "");
  CHECK(failure<ModelError>(std::filesystem::temp_directory_path()).find("is a folder") !=
        std::string::npos);
}

TEST_CASE("compile_model: warnings come back once each, and only to those who ask") {
  const char* text =
      "<mujoco><compiler settotalmass='3'/><worldbody><body><joint/><geom size='.1'/></body>"
      "</worldbody></mujoco>";
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  compile_model(text, options);
  compile_model(text, options);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("settotalmass") != std::string::npos);
  CHECK_NOTHROW(compile_model(text, {}));
}

TEST_CASE("compile_model: an exception that escapes from MuJoCo is an error like any other") {
  // MuJoCo 4.0.0 throws std::bad_optional_access here and catches it nowhere.
  const char* malformed =
      "<mujoco><worldbody><body name='b'><joint/><geom size='1'/></body></worldbody>"
      "<equality><connect body1='b' anchor=''/></equality></mujoco>";
  // MuJoCo loses the half-made specification on the way.
#ifdef __SANITIZE_ADDRESS__
  const __lsan::ScopedDisabler not_ours;
#endif
  for (int i = 0; i < 3; ++i) {
    CHECK(failure<ModelError>(malformed).find("MuJoCo") != std::string::npos);
  }
  std::vector<std::string> warnings;
  LoadOptions options;
  options.warnings = &warnings;
  compile_model("<mujoco><compiler settotalmass='3'/></mujoco>", options);
  CHECK(warnings.size() == 1);
}

int own_messages = 0;
void own_handler(const mjLogMessage*) { ++own_messages; }

TEST_CASE("compile_model: the program's own log handler is back after a load and after an error") {
  const MujocoLibrary& mujoco = mujoco_library();
  const mjfLogHandler before = mujoco.mju_setLogHandler(&own_handler);
  compile_model("<mujoco><compiler settotalmass='3'/></mujoco>", {});
  CHECK_THROWS_AS(compile_model("<mujoco><oops/></mujoco>", {}), ModelError);
  CHECK(own_messages == 0);
  const bool is_back = mujoco.mju_setLogHandler(before) == &own_handler;
  CHECK(is_back);
}

}  // namespace
}  // namespace cycloid
