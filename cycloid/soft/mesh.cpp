#include "cycloid/soft/mesh.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/soft/element/rest_point.h"

namespace cycloid::inline soft {
namespace {

constexpr int kMostVertices = 1 << 25;

template <class E>
double least_volume(const SolidMesh& mesh, const double* vertices, int cell) {
  Vec3<double> X[E::kNodes];
  double least = HUGE_VAL;
  for (int a = 0; a < E::kNodes; ++a) {
    X[a] = load_vec3(vertices + 3 * mesh.cells[static_cast<std::size_t>(cell * E::kNodes + a)]);
  }
  for (int q = 0; q < E::kPoints; ++q) {
    const double w = rest_point<E, double>(X, q).volume;
    least = std::isfinite(w) ? std::min(least, w) : -HUGE_VAL;
  }
  return least;
}

double least_volume(const SolidMesh& mesh, const double* vertices, int cell) {
  switch (mesh.element) {
    case ElementKind::tet: return least_volume<Tet4>(mesh, vertices, cell);
    case ElementKind::hex: return least_volume<Hex8>(mesh, vertices, cell);
    default: return least_volume<Tet10>(mesh, vertices, cell);
  }
}

std::string place_of(const double* p) { return message("(", p[0], ", ", p[1], ", ", p[2], ")"); }

void check_cells(const SolidMesh& mesh) {
  const int n = mesh.vertex_count(), k = mesh.nodes();
  std::vector<char> used(static_cast<std::size_t>(n), 0);
  for (int c = 0; c < mesh.cell_count(); ++c) {
    const int* const nodes = mesh.cells.data() + static_cast<std::ptrdiff_t>(c) * k;
    for (int a = 0; a < k; ++a) {
      if (nodes[a] < 0 || nodes[a] >= n) {
        throw ModelError(
            message("cell ", c, " has vertex ", nodes[a], "; there are vertices 0 to ", n - 1));
      }
      if (std::find(nodes, nodes + a, nodes[a]) != nodes + a) {
        throw ModelError(message("cell ", c, " has vertex ", nodes[a], " twice"));
      }
      used[static_cast<std::size_t>(nodes[a])] = 1;
    }
  }
  if (const int c = first_flat_cell(mesh, mesh.vertices.data()); c >= 0) {
    throw ModelError(message(cell_name(mesh, c), " is turned inside out or has no volume (least ",
                             least_volume(mesh, mesh.vertices.data(), c),
                             " m³ at a point of integration); its nodes must be in VTK's order"));
  }
  const auto lone = std::find(used.begin(), used.end(), 0);
  if (lone != used.end()) {
    const auto i = lone - used.begin();
    throw ModelError(message("vertex ", i, " at ", place_of(mesh.vertices.data() + 3 * i),
                             " belongs to no cell; leave it out"));
  }
}

// Two cells with the same nodes.
void check_twins(const SolidMesh& mesh) {
  const auto k = at(mesh.nodes());
  std::vector<std::vector<int>> sorted;
  for (std::size_t c = 0; c < mesh.cells.size(); c += k) {
    const auto first = mesh.cells.begin() + static_cast<std::ptrdiff_t>(c);
    sorted.emplace_back(first, first + static_cast<std::ptrdiff_t>(k));
    std::sort(sorted.back().begin(), sorted.back().end());
  }
  std::vector<int> order(sorted.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return sorted[at(a)] < sorted[at(b)]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (sorted[at(order[i])] != sorted[at(order[i - 1])]) continue;
    throw ModelError(message(cell_name(mesh, order[i - 1]), " and cell ", order[i],
                             " have the same nodes; leave one out"));
  }
}

}  // namespace

void find_parts(SolidMesh& mesh, std::span<const int> groups, int each) {
  std::vector<int> root(static_cast<std::size_t>(mesh.vertex_count()));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int i) {
    while (root[static_cast<std::size_t>(i)] != i) {
      i = root[static_cast<std::size_t>(i)] =
          root[static_cast<std::size_t>(root[static_cast<std::size_t>(i)])];
    }
    return i;
  };
  for (std::size_t c = 0; c < groups.size(); c += static_cast<std::size_t>(each)) {
    for (int a = 1; a < each; ++a) {
      const int i = find(groups[c]), j = find(groups[c + static_cast<std::size_t>(a)]);
      root[static_cast<std::size_t>(std::max(i, j))] = std::min(i, j);
    }
  }
  mesh.part.assign(root.size(), -1);
  mesh.parts = 0;
  for (int i = 0; i < mesh.vertex_count(); ++i) {
    const int r = find(i);
    if (r == i) mesh.part[static_cast<std::size_t>(i)] = mesh.parts++;
    else mesh.part[static_cast<std::size_t>(i)] = mesh.part[static_cast<std::size_t>(r)];
  }
}

int nodes_of(ElementKind element) {
  return element == ElementKind::tet ? 4 : element == ElementKind::hex ? 8 : 10;
}

int SolidMesh::nodes() const { return nodes_of(element); }

const char* name(ElementKind element) {
  return element == ElementKind::tet ? "tet" : element == ElementKind::hex ? "hex" : "tet10";
}

ElementKind element_named(const std::string& word) {
  const std::vector<std::string> known = {"tet", "hex", "tet10"};
  for (const ElementKind e : {ElementKind::tet, ElementKind::hex, ElementKind::tet10}) {
    if (word == name(e)) return e;
  }
  throw ModelError(message("no element is called \"", word, "\"", did_you_mean(word, known)));
}

std::string cell_name(const SolidMesh& mesh, int cell) {
  double middle[3] = {};
  const int k = mesh.nodes();
  for (int a = 0; a < k; ++a) {
    const int v = mesh.cells[static_cast<std::size_t>(cell * k + a)];
    for (int i = 0; i < 3; ++i) {
      middle[i] += mesh.vertices[static_cast<std::size_t>(3 * v + i)] / k;
    }
  }
  return message("cell ", cell, " near ", place_of(middle));
}

int first_flat_cell(const SolidMesh& mesh, const double* vertices) {
  for (int c = 0; c < mesh.cell_count(); ++c) {
    if (!(least_volume(mesh, vertices, c) > 0)) return c;
  }
  return -1;
}

SolidMesh make_mesh(std::vector<double> vertices, std::vector<int> cells, int nodes,
                    bool allow_parts) {
  if (nodes != 4 && nodes != 8 && nodes != 10) {
    throw ModelError(message("a cell has 4 nodes (tet), 8 (hex) or 10 (tet10); got ", nodes));
  }
  if (vertices.empty() || vertices.size() % 3 != 0 || cells.empty() ||
      cells.size() % static_cast<std::size_t>(nodes) != 0) {
    throw ModelError(message("a mesh has vertices (n, 3) and cells (m, ", nodes, "); got ",
                             vertices.size(), " and ", cells.size(), " numbers"));
  }
  if (vertices.size() / 3 > kMostVertices) {
    throw ModelError(message("a mesh has at most ", kMostVertices, " vertices"));
  }
  SolidMesh mesh;
  mesh.vertices = std::move(vertices);
  mesh.cells = std::move(cells);
  mesh.element = nodes == 4 ? ElementKind::tet : nodes == 8 ? ElementKind::hex : ElementKind::tet10;
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    if (std::isfinite(mesh.vertices[i])) continue;
    throw ModelError(
        message("vertex ", i / 3, " is not finite: ", place_of(mesh.vertices.data() + i / 3 * 3)));
  }
  check_cells(mesh);
  check_twins(mesh);
  find_parts(mesh, mesh.cells, mesh.nodes());
  if (mesh.parts > 1 && !allow_parts) {
    const auto second = std::find(mesh.part.begin(), mesh.part.end(), 1) - mesh.part.begin();
    throw ModelError(message("the mesh falls into ", mesh.parts,
                             " parts that do not touch: vertex 0", " and vertex ", second, " at ",
                             place_of(mesh.vertices.data() + 3 * second),
                             " share no path of cells; join them, or allow parts"));
  }
  return mesh;
}

SolidMesh box_mesh(const std::array<int, 3>& cells, const std::array<double, 3>& size,
                   ElementKind element) {
  const bool quadratic = element == ElementKind::tet10;
  double count = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (cells[i] < 1) {
      throw ModelError(message("a box has at least one cell along each axis; got ", cells[i]));
    }
    if (!(size[i] > 0) || !std::isfinite(size[i])) {
      throw ModelError(message("a box has positive sizes [m]; got ", size[i]));
    }
    count *= (quadratic ? 2.0 : 1.0) * cells[i] + 1;
  }
  if (count > kMostVertices) {
    throw ModelError(
        message("a box has at most ", kMostVertices, " vertices; this one has ", count));
  }
  // Places on a grid, of half a cell for tet10; a place becomes a vertex when a cell wants it.
  const int fine = quadratic ? 2 : 1;
  std::array<int, 3> points;
  for (std::size_t i = 0; i < 3; ++i) points[i] = fine * cells[i] + 1;
  const auto place = [&](const std::array<int, 3>& p) {
    return p[0] + points[0] * (p[1] + points[1] * p[2]);
  };
  std::vector<int> nodes;  // as places
  constexpr int kPath[6][4] = {{0, 1, 2, 6}, {0, 2, 3, 6}, {0, 3, 7, 6},
                               {0, 7, 4, 6}, {0, 4, 5, 6}, {0, 5, 1, 6}};
  for (int z = 0; z < cells[2]; ++z) {
    for (int y = 0; y < cells[1]; ++y) {
      for (int x = 0; x < cells[0]; ++x) {
        std::array<std::array<int, 3>, 8> corner;
        for (std::size_t a = 0; a < 8; ++a) {
          corner[a] = {fine * (x + (Hex8::kCorner[a][0] + 1) / 2),
                       fine * (y + (Hex8::kCorner[a][1] + 1) / 2),
                       fine * (z + (Hex8::kCorner[a][2] + 1) / 2)};
        }
        if (element == ElementKind::hex) {
          for (const auto& c : corner) nodes.push_back(place(c));
          continue;
        }
        for (const auto& path : kPath) {
          for (const int a : path) nodes.push_back(place(corner[static_cast<std::size_t>(a)]));
          if (!quadratic) continue;
          for (const auto& edge : Tet10::kEdge) {
            const auto &a = corner[static_cast<std::size_t>(path[edge[0]])],
                       &b = corner[static_cast<std::size_t>(path[edge[1]])];
            nodes.push_back(place({(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, (a[2] + b[2]) / 2}));
          }
        }
      }
    }
  }
  std::vector<int> number(static_cast<std::size_t>(count), -1);
  for (const int p : nodes) number[static_cast<std::size_t>(p)] = 0;
  std::vector<double> vertices;
  int used = 0;
  for (std::size_t p = 0; p < number.size(); ++p) {
    if (number[p] < 0) continue;
    number[p] = used++;
    int rest = static_cast<int>(p);
    for (std::size_t i = 0; i < 3; ++i) {
      vertices.push_back(size[i] * (rest % points[i]) / (points[i] - 1));
      rest /= points[i];
    }
  }
  for (int& p : nodes) p = number[static_cast<std::size_t>(p)];
  return make_mesh(std::move(vertices), std::move(nodes), nodes_of(element));
}

SurfaceFaces surface_faces(const SolidMesh& mesh) {
  // Of each kind, its faces by local nodes.
  static const std::vector<std::vector<int>> kTet = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  static const std::vector<std::vector<int>> kTet10 = {
      {0, 2, 1, 6, 5, 4}, {0, 1, 3, 4, 8, 7}, {1, 2, 3, 5, 9, 8}, {0, 3, 2, 7, 9, 6}};
  static const std::vector<std::vector<int>> kHex = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                                     {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
  const auto& faces = mesh.element == ElementKind::hex   ? kHex
                      : mesh.element == ElementKind::tet ? kTet
                                                         : kTet10;
  const std::size_t corners = mesh.element == ElementKind::hex ? 4 : 3;
  std::map<std::vector<int>, int> seen;  // by sorted corners
  const auto face_of = [&](std::size_t cell, const std::vector<int>& local) {
    std::vector<int> face;
    for (const int a : local) face.push_back(mesh.cells[cell + static_cast<std::size_t>(a)]);
    return face;
  };
  const auto key_of = [&](std::vector<int> face) {
    face.resize(corners);
    std::sort(face.begin(), face.end());
    return face;
  };
  const auto each = static_cast<std::size_t>(mesh.nodes());
  for (std::size_t c = 0; c < mesh.cells.size(); c += each) {
    for (const auto& local : faces) ++seen[key_of(face_of(c, local))];
  }
  SurfaceFaces out;
  out.each = static_cast<int>(faces[0].size());
  for (std::size_t c = 0; c < mesh.cells.size(); c += each) {
    for (const auto& local : faces) {
      const std::vector<int> face = face_of(c, local);
      if (seen[key_of(face)] == 1) out.nodes.insert(out.nodes.end(), face.begin(), face.end());
    }
  }
  return out;
}

}  // namespace cycloid::inline soft
