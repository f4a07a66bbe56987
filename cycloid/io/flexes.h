// Flexes of MJCF as soft bodies (soft/flex.h), with what is still around them as obstacles.
//
// Each <flex> and <flexcomp> becomes one body: its vertices where they are at qpos0, with the
// masses of their bodies, held where they have no joint. Planes, spheres, capsules and boxes of
// bodies that do not move are obstacles, as large as they are and the flex's radius thick around.
// An equality of edges becomes springs along them, of the stiffness that MuJoCo's soft constraint
// has at rest: with d the impedance where it is widest, m an edge's mass (1/flexedge_invweight0),
//   k = m d² / (1 - d) / (d² timeconst² dampratio²),  c = m d / (1 - d) · 2 / (d timeconst)   (1)
// What moves besides flexes is left out, and a warning says so; what would act on a flex and is not
// supported is refused by the name of its element.
#pragma once

#include <string>
#include <vector>

#include "cycloid/io/load.h"
#include "cycloid/soft/flex.h"

namespace cycloid::inline io {

struct FlexModel {
  std::vector<double> vertices;  // (n, 3) [m]
  std::vector<int> elements;     // (m, dim + 1)
  // With its name ("flex:#0" of one without) and obstacles; self_contact as the model has it.
  FlexOptions options;
  // What options.friction is the larger of, where it touches both.
  double friction_of_obstacles = 0, friction_of_itself = 0;
};

// From a file or a text, as load_model. Throws FileNotFound and ModelError.
std::vector<FlexModel> load_flexes(const std::string& path_or_xml, const LoadOptions& options = {});

}  // namespace cycloid::inline io
