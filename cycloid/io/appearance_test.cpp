// Tests of appearance.h: colours of geoms and materials, groups, and meshes as they are drawn.
#include "cycloid/io/appearance.h"

#include <doctest/doctest.h>

#include "cycloid/io/compile.h"
#include "cycloid/io/load.h"

namespace cycloid {
namespace {

const char* const kScene = R"(<mujoco><asset>
  <material name="skin" rgba="0.25 0.5 0.75 1"/>
  <mesh name="dent" vertex="0 0 0 1 0 0 0 1 0 0 0 1 0.2 0.2 0.2"
        face="0 2 1 0 1 3 0 3 2 1 2 4 2 3 4 3 1 4"/>
  <mesh name="unseen" vertex="0 0 0 2 0 0 0 2 0 0 0 2"/></asset>
  <worldbody><body><freejoint/>
  <geom size="0.1"/>
  <geom size="0.1" rgba="1 0 0 0.5" group="3"/>
  <geom size="0.1" rgba="1 0 0 1" material="skin"/>
  <geom type="mesh" mesh="dent" contype="0" conaffinity="0"/>
  <geom type="mesh" mesh="unseen" rgba="1 1 1 0"/></body></worldbody></mujoco>)";

TEST_CASE("appearance_of: a material's colour before the geom's own, opacity, group") {
  const CompiledModel m = compile_model(kScene, {});
  const Appearance looks = appearance_of(*m);
  REQUIRE(looks.geoms.size() == 5);
  CHECK(looks.geoms[0].colour == std::array{0.5, 0.5, 0.5, 1.0});
  CHECK(looks.geoms[0].group == 0);
  CHECK(looks.geoms[1].colour == std::array{1.0, 0.0, 0.0, 0.5});
  CHECK(looks.geoms[1].group == 3);
  CHECK(looks.geoms[2].colour == std::array{0.25, 0.5, 0.75, 1.0});
}

TEST_CASE("appearance_of: meshes with all their faces, and none for what cannot be seen") {
  Appearance looks;
  LoadOptions options;
  options.appearance = &looks;
  load_model(kScene, options);
  REQUIRE(looks.meshes.size() == 2);
  CHECK(looks.geoms[3].mesh == 0);
  CHECK(looks.meshes[0].vertex.size() == 15);
  CHECK(looks.meshes[0].triangles.size() == 18);
  CHECK(looks.geoms[4].mesh == -1);
  CHECK(looks.meshes[1].vertex.empty());
}

}  // namespace
}  // namespace cycloid
