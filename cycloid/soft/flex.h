// Flexes: MuJoCo's deformable bodies, by the laws that MuJoCo 4.0 gives them.
//
//   dim 1  edges (m, 2):      springs along edges (term/edge_spring.h)
//   dim 2  triangles (m, 3):  stretch (term/membrane.h), bending (term/cubic_bending.h)
//   dim 3  tetrahedra (m, 4): St. Venant and Kirchhoff's law (material/stvk.h)
// and springs along all edges, of any dim: "edge" alike for all, "equality" in proportion to an
// edge's weight, in place of a constraint that keeps lengths. Vertices have the masses that are
// given, whatever the elements' volume. io/flexes.h reads them from MJCF.
#pragma once

#include "cycloid/soft/body.h"

namespace cycloid::inline soft {

struct FlexOptions : BodyOptions {  // mass: of each vertex, and needed
  std::string name = "flex";
  int dim = 3;
  double young = 0;  // [Pa]; 0: the elements have no stiffness, edges may
  double poisson = 0;
  double thickness = 0;  // of dim 2 [m]
  bool stretches = true, bends = true;
  double edge_stiffness = 0, edge_damping = 0;  // of each edge [N/m], [N·s/m]
  std::vector<int> kept = {};                   // edges (k, 2) whose lengths an equality keeps
  std::vector<double> kept_weight = {};         // of each of them [kg]
  double equality_stiffness = 0, equality_damping = 0;  // [1/s²], [1/s]
};

// vertices (n, 3) [m], elements (m, dim + 1). Parameters: young, poisson, thickness,
// edge.stiffness, edge.damping, equality.stiffness and equality.damping where they act, damping,
// drag, gravity, mass, vertices.
// Throws ModelError or ParameterError on what makes no sense.
System flex(std::vector<double> vertices, std::vector<int> elements, const FlexOptions& options);

}  // namespace cycloid::inline soft
