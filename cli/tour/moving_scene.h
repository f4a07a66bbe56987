// A motion in three dimensions as numbers for the page, which draws it (scene.js).
//
// Shapes hang on bodies; a frame has a pose of every body, or the vertices of a surface, or the
// numbers of a field. Arrows are drawn from a body.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cycloid/model/model.h"
#include "cycloid/system/system.h"

namespace cycloid::tour {

struct SceneShape {
  std::string kind;  // "sphere", "capsule", "box", "plane"
  int body = 0;
  std::array<double, 3> pos{};
  std::array<double, 4> quat{1, 0, 0, 0};
  std::array<double, 3> size{};  // as MuJoCo has them [m]
  std::array<int, 3> colour{};   // 0 … 255
};

struct MovingScene {
  double frame_seconds = 0.02;
  std::vector<SceneShape> shapes;
  std::vector<std::vector<double>> poses;   // by frame: (bodies, 7), place [m] and quaternion
  std::vector<std::vector<double>> arrows;  // by frame: (bodies, 3); empty: none
  std::vector<int> triangles;               // of a surface (t, 3)
  std::vector<std::vector<double>> vertices, stress;  // by frame: (n, 3) [m]; (n) of 0 … 1
  std::array<int, 2> field_shape{};                   // nx, ny
  std::array<double, 2> field_size{};                 // [m]
  std::vector<std::vector<double>> field;             // by frame: (nx, ny) of -1 … 1

  std::size_t frames() const;
};

// Numbers are rounded to a tenth of a millimetre; a field has 256 values.
nlohmann::ordered_json to_json(const MovingScene& scene);

// A robot's shapes, and its poses at rows of states; `colours` go round by body.
MovingScene robot_scene(const Model& model, const System& robot, std::span<const double> states);

}  // namespace cycloid::tour
