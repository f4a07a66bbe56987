// Tests of shapes.h: hulls and heights of compiled models, and what is no shape.
#include "cycloid/io/shapes.h"

#include <doctest/doctest.h>

#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"
#include "cycloid/io/contacts.h"

namespace cycloid {
namespace {

const char* const kScene = R"(<mujoco><asset>
  <mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
  <mesh name="drawn" vertex="0 0 0 2 0 0 0 2 0 0 0 2"/>
  <hfield name="hills" nrow="2" ncol="3" size="1 2 3 4" elevation="0 1 2 3 4 5"/></asset>
  <worldbody><geom type="hfield" hfield="hills"/>
  <body pos="0 0 9"><freejoint/><geom type="mesh" mesh="tetra"/>
  <geom type="mesh" mesh="drawn" contype="0" conaffinity="0"/></body></worldbody></mujoco>)";

TEST_CASE("touching_meshes: the hull of a mesh that touches; one that is drawn only stays empty") {
  const CompiledModel m = compile_model(kScene, {});
  const std::vector<Mesh> all = touching_meshes(*m, touching_geoms(*m));
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "tetra");
  CHECK(all[0].vertex.size() == 12);
  CHECK(all[0].corners.size() == 4);
  CHECK(all[0].triangles.size() == 12);
  CHECK(all[0].polygon_end.size() == 4);
  CHECK(all[0].neighbours.size() == 12);
  CHECK(all[0].seeds.size() == 27);
  CHECK(all[1].name == "drawn");
  CHECK(all[1].vertex.empty());
}

TEST_CASE("touching_fields: heights between 0 and 1, and the size") {
  const CompiledModel m = compile_model(kScene, {});
  const std::vector<HeightData> all = touching_fields(*m, touching_geoms(*m));
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "hills");
  CHECK(all[0].rows == 2);
  CHECK(all[0].columns == 3);
  CHECK(all[0].size == std::array<double, 4>{1, 2, 3, 4});
  REQUIRE(all[0].data.size() == 6);
  for (int i = 0; i < 6; ++i) CHECK(all[0].data[i] == double(m->hfield_data[i]));
}

TEST_CASE("touching_meshes, touching_fields: what is no shape is refused by name") {
  const auto refusal = [&](auto spoil) {
    const CompiledModel m = compile_model(kScene, {});
    spoil(const_cast<mjModel&>(*m));
    try {
      touching_meshes(*m, touching_geoms(*m));
      touching_fields(*m, touching_geoms(*m));
    } catch (const ModelError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(refusal([](mjModel&) {}) == "");
  CHECK(refusal([&](mjModel& m) { m.mesh_vert[4] = nan; }) ==
        "mesh \"tetra\": a vertex is not finite");
  CHECK(refusal([&](mjModel& m) {
          for (int i = 2; i < 12; i += 3) m.mesh_vert[i] = 0;
        }).starts_with("mesh \"tetra\": its hull is flat"));
  CHECK(refusal([&](mjModel& m) {
          m.mesh_graphadr[0] = -1;
        }).starts_with("mesh \"tetra\" has no convex hull"));
  CHECK(refusal([&](mjModel& m) { m.hfield_data[2] = nan; }) ==
        "hfield \"hills\": a height is not finite");
  CHECK(refusal([&](mjModel& m) { m.hfield_size[0] = 0; }).starts_with("hfield \"hills\": 2 rows"));
}

}  // namespace
}  // namespace cycloid
