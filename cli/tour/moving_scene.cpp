#include "cli/tour/moving_scene.h"

#include <algorithm>
#include <cmath>

#include "cycloid/adjoint/observe.h"

namespace cycloid::tour {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<int, 3> kColours[] = {
    {205, 133, 63}, {70, 110, 190}, {86, 160, 120}, {190, 95, 80}, {140, 110, 180}};

Json rounded(const std::vector<std::vector<double>>& rows, double unit = 1e-4) {
  Json out = Json::array();
  for (const std::vector<double>& row : rows) {
    Json line = Json::array();
    for (const double x : row) line.push_back(static_cast<std::int64_t>(std::llround(x / unit)));
    out.push_back(std::move(line));
  }
  return out;
}

// Two letters per number, 00 … ff.
std::string shades(const std::vector<double>& row) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const double x : row) {
    const int k = std::clamp(static_cast<int>(std::lround(127.5 * (1 + x))), 0, 255);
    out += {kDigits[k / 16], kDigits[k % 16]};
  }
  return out;
}

const char* kind_of(Shape shape) {
  switch (shape) {
    case Shape::plane: return "plane";
    case Shape::sphere: return "sphere";
    case Shape::capsule:
    case Shape::cylinder: return "capsule";
    case Shape::box: return "box";
    default: return "";
  }
}

}  // namespace

std::size_t MovingScene::frames() const {
  return std::max({poses.size(), vertices.size(), field.size()});
}

nlohmann::ordered_json to_json(const MovingScene& scene) {
  Json shapes = Json::array();
  for (const SceneShape& s : scene.shapes) {
    shapes.push_back({{"kind", s.kind},
                      {"body", s.body},
                      {"pos", s.pos},
                      {"quat", s.quat},
                      {"size", s.size},
                      {"colour", s.colour}});
  }
  Json field = Json::array();
  for (const std::vector<double>& row : scene.field) field.push_back(shades(row));
  return {{"seconds", scene.frame_seconds},
          {"frames", scene.frames()},
          {"shapes", shapes},
          {"poses", rounded(scene.poses)},
          {"arrows", rounded(scene.arrows)},
          {"triangles", scene.triangles},
          {"vertices", rounded(scene.vertices)},
          {"stress", rounded(scene.stress, 1e-2)},
          {"field_shape", scene.field_shape},
          {"field_size", scene.field_size},
          {"field", field}};
}

MovingScene robot_scene(const Model& model, const System& robot, std::span<const double> states) {
  MovingScene scene;
  for (const Named<Geom>& geom : model.geoms) {
    const std::string kind = kind_of(geom.shape);
    if (kind.empty()) continue;
    const auto& colour = kColours[static_cast<std::size_t>(geom.body) % std::size(kColours)];
    scene.shapes.push_back({kind, geom.body, geom.pos, geom.quat, geom.size, colour});
  }
  const Observer observer(robot, std::vector<std::string>{"xpos", "xquat"});
  const Observation seen = observe(observer, {.states = states});
  const std::size_t bodies = model.bodies.size(), width = 7 * bodies;
  for (std::int64_t row = 0; row < seen.rows(); ++row) {
    const double* v = seen.values().data() + static_cast<std::size_t>(row) * width;
    std::vector<double> poses;
    for (std::size_t b = 0; b < bodies; ++b) {
      poses.insert(poses.end(), v + 3 * b, v + 3 * b + 3);
      const double* quat = v + 3 * bodies + 4 * b;
      poses.insert(poses.end(), quat, quat + 4);
    }
    scene.poses.push_back(std::move(poses));
  }
  return scene;
}

}  // namespace cycloid::tour
