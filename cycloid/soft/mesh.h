// Meshes: vertices and the cells between them.
//
// Vertices (n, 3) [m] row by row; cells in VTK's order (element/shape_table.h): 4 nodes a
// tetrahedron, 8 a hexahedron, 10 a quadratic tetrahedron. A mesh that is made has been looked at:
// indices are in range, no cell uses a vertex twice or is turned inside out, every vertex belongs
// to a cell, and it hangs together, unless parts are allowed.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "cycloid/soft/element/shape_table.h"

namespace cycloid::inline soft {

// A number of ours as containers take it.
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct SolidMesh {
  std::vector<double> vertices;  // (n, 3) [m]
  std::vector<int> cells;        // (m, nodes)
  ElementKind element = ElementKind::hex;
  std::vector<int> part;  // of each vertex, 0 … parts - 1
  int parts = 1;

  int nodes() const;  // of a cell
  int vertex_count() const { return static_cast<int>(vertices.size() / 3); }
  int cell_count() const { return static_cast<int>(cells.size()) / nodes(); }
};

int nodes_of(ElementKind element);
// "tet", "hex" or "tet10". Throws ModelError with the nearest name.
ElementKind element_named(const std::string& name);
const char* name(ElementKind element);

// nodes: 4, 8 or 10. Throws ModelError, with the cell or vertex and where it is, on what no body
// can be made of.
SolidMesh make_mesh(std::vector<double> vertices, std::vector<int> cells, int nodes,
                    bool allow_parts = false);

// A box from the origin, cells along each axis. Vertices with x fastest, then y, then z, those of
// edges included for tet10; each brick is six tetrahedra around its diagonal. Throws ModelError on
// sizes that are not positive.
SolidMesh box_mesh(const std::array<int, 3>& cells, const std::array<double, 3>& size,
                   ElementKind element);

// Marks the parts that hang together by groups of `each` vertices.
void find_parts(SolidMesh& mesh, std::span<const int> groups, int each);

// Faces that belong to one cell alone, seen from outside with their corners counter-clockwise; of
// quadratic tetrahedra the nodes of the edges follow the corners.
struct SurfaceFaces {
  int each = 0;            // nodes: 3, 4 or 6
  std::vector<int> nodes;  // (faces, each)
};
SurfaceFaces surface_faces(const SolidMesh& mesh);

// A rest shape in which a cell has a point without volume: its cell, or -1 where there is none.
int first_flat_cell(const SolidMesh& mesh, const double* vertices);

// "cell 12 near (0.1, 0.2, 0.3)"
std::string cell_name(const SolidMesh& mesh, int cell);

}  // namespace cycloid::inline soft
