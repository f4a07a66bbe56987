// io/appearance.h: what a compiled model looks like. Nothing here acts.
//
// A geom has the colour of its material where it has one, else its own, and a group: MuJoCo's
// viewers show groups 0 to 2 and hide the others, which are shapes for contact as a rule. A mesh is
// drawn as its file has it; what touches is its hull (shapes.h).
#pragma once

#include <array>
#include <vector>

struct mjModel_;

namespace cycloid::inline io {

struct GeomLook {
  std::array<double, 4> colour{0.5, 0.5, 0.5, 1};  // red, green, blue, opacity
  int group = 0;
  int mesh = -1;  // its place in Appearance::meshes
};

// In the frame of the geoms that have it.
struct DrawnMesh {
  std::vector<float> vertex;   // (n, 3) [m]
  std::vector<int> triangles;  // (t, 3), counter-clockwise from outside
};

struct Appearance {
  std::vector<GeomLook> geoms;
  std::vector<DrawnMesh> meshes;  // empty where nothing that can be seen has it
};

Appearance appearance_of(const mjModel_& compiled);

}  // namespace cycloid::inline io
