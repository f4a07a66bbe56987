#include "cycloid/io/mjcf_schema.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace cycloid {
namespace {

bool has(const std::vector<std::string>& all, const char* name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

TEST_CASE("parse_schema: elements by depth, attributes over several lines") {
  const MjcfSchema schema = parse_schema(
      "mujoco (!)                    model \n"
      "   option (*)                 timestep gravity \n"
      "                              solver \n"
      "      flag (?)                gravity \n"
      "   visual (*)                 \n"
      "   (world)body (R)            name pos \n"
      "      joint (*)               axis \n");
  CHECK(schema.at("").attributes == std::vector<std::string>{"model"});
  CHECK(schema.at("option").attributes ==
        std::vector<std::string>{"timestep", "gravity", "solver"});
  CHECK(schema.at("option").children == std::vector<std::string>{"flag"});
  CHECK(schema.at("option/flag").attributes == std::vector<std::string>{"gravity"});
  CHECK(schema.at("visual").attributes.empty());
  CHECK(schema.at("body/joint").attributes == std::vector<std::string>{"axis"});
  CHECK(schema.size() == 6);
}

TEST_CASE("mjcf_schema: MuJoCo's own") {
  const MjcfSchema& schema = mjcf_schema();
  CHECK(has(schema.at("").attributes, "model"));
  CHECK(has(schema.at("compiler").attributes, "angle"));
  CHECK(has(schema.at("body").attributes, "childclass"));
  CHECK(has(schema.at("body/geom").attributes, "fromto"));
  CHECK(has(schema.at("actuator").children, "motor"));
  CHECK(has(schema.at("actuator/position").attributes, "dampratio"));
  CHECK(has(schema.at("tendon/spatial").children, "pulley"));
  CHECK(has(schema.at("tendon/fixed/joint").attributes, "coef"));
  CHECK(has(schema.at("default").children, "general"));
  CHECK(has(schema.at("keyframe/key").attributes, "qpos"));
  CHECK(has(schema.at("sensor/contact").attributes, "reduce"));
}

}  // namespace
}  // namespace cycloid
