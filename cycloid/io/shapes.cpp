#include "cycloid/io/shapes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/geometry/convex/field_pair.h"
#include "cycloid/io/messages.h"

namespace cycloid::inline io {
namespace {

constexpr int kSeedCount = 27;
constexpr double kThin = 1e-9;  // volume of a hull that is flat, relative to its extent cubed

std::vector<bool> used_by(const mjModel& m, const std::vector<bool>& geom_touches, int type,
                          mjtSize count) {
  std::vector<bool> used(static_cast<std::size_t>(count), false);
  for (std::size_t i = 0; i < geom_touches.size(); ++i) {
    const int data = m.geom_dataid[i];
    if (!geom_touches[i] || m.geom_type[i] != type || data < 0 || data >= count) continue;
    used[static_cast<std::size_t>(data)] = true;
  }
  return used;
}

// Six times the volume, positive where triangles run counter-clockwise from outside.
double volume_of(const Mesh& mesh) {
  const auto at = [&](int v, int k) { return mesh.vertex[static_cast<std::size_t>(3 * v + k)]; };
  double sum = 0;
  const int o = mesh.triangles[0];
  for (std::size_t t = 0; t < mesh.triangles.size(); t += 3) {
    double e[3][3];
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) {
        e[i][k] = at(mesh.triangles[t + static_cast<std::size_t>(i)], k) - at(o, k);
      }
    }
    sum += e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
           e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
           e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
  }
  return sum;
}

void read_hull(const mjModel& m, std::size_t i, Mesh& mesh) {
  const int* graph = m.mesh_graph + m.mesh_graphadr[i];
  const int corners = graph[0], triangles = graph[1];
  const int *edge_at = graph + 2, *global = edge_at + corners, *edge = global + corners,
            *face = edge + corners + 3 * triangles;
  mesh.corners.assign(global, global + corners);
  mesh.triangles.assign(face, face + 3 * triangles);
  for (int c = 0; c < corners; ++c) {
    for (int k = edge_at[c]; edge[k] >= 0; ++k) mesh.neighbours.push_back(global[edge[k]]);
    mesh.neighbour_end.push_back(static_cast<int>(mesh.neighbours.size()));
  }
  for (int p = m.mesh_polyadr[i]; p < m.mesh_polyadr[i] + m.mesh_polynum[i]; ++p) {
    const int* first = m.mesh_polyvert + m.mesh_polyvertadr[p];
    mesh.polygons.insert(mesh.polygons.end(), first, first + m.mesh_polyvertnum[p]);
    mesh.polygon_end.push_back(static_cast<int>(mesh.polygons.size()));
    mesh.polygon_normal.insert(mesh.polygon_normal.end(), m.mesh_polynormal + 3 * p,
                               m.mesh_polynormal + 3 * p + 3);
  }
  const int* seed = m.mesh_extrema + kSeedCount * i;
  mesh.seeds.assign(seed, seed + kSeedCount);
}

void judge(const Mesh& mesh, const std::string& where) {
  double extent = 0;
  for (const double x : mesh.vertex) {
    if (!std::isfinite(x)) throw ModelError(message(where, ": a vertex is not finite"));
    extent = std::max(extent, std::abs(x));
  }
  if (mesh.corners.size() > kMostCorners) {
    throw ModelError(message(where, ": its hull has ", mesh.corners.size(), " corners; at most ",
                             kMostCorners, " are supported; set maxhullvert"));
  }
  if (mesh.triangles.empty() || !(volume_of(mesh) > kThin * extent * extent * extent)) {
    throw ModelError(message(where,
                             ": its hull is flat; give it thickness, or set contype and "
                             "conaffinity of its geoms to 0"));
  }
}

void read_vertices(const mjModel& m, std::size_t i, Mesh& mesh) {
  const float* first = m.mesh_vert + 3 * m.mesh_vertadr[i];
  mesh.vertex.assign(first, first + 3 * m.mesh_vertnum[i]);
}

void read_touching(const mjModel& m, std::size_t i, Mesh& mesh) {
  const std::string where = message("mesh \"", mesh.name, "\"");
  if (m.mesh_graphadr[i] < 0) {
    throw ModelError(message(where, " has no convex hull; let MuJoCo compile it anew"));
  }
  read_vertices(m, i, mesh);
  read_hull(m, i, mesh);
  judge(mesh, where);
}

void read_field(const mjModel& m, std::size_t i, HeightData& field) {
  const std::string where = message("hfield \"", field.name, "\"");
  field.rows = m.hfield_nrow[i];
  field.columns = m.hfield_ncol[i];
  for (std::size_t k = 0; k < 4; ++k) field.size[k] = m.hfield_size[4 * i + k];
  if (field.rows < 2 || field.columns < 2 || !(field.size[0] > 0) || !(field.size[1] > 0)) {
    throw ModelError(message(where, ": ", field.rows, " rows and ", field.columns, " columns over ",
                             field.size[0], " by ", field.size[1],
                             " m; expected two or more of each, and a positive size"));
  }
  const std::int64_t cells = std::int64_t{field.rows} * field.columns;
  if (cells > kMostFieldCells) {
    throw ModelError(
        message(where, ": ", cells, " heights; at most ", kMostFieldCells, " are supported"));
  }
  const float* first = m.hfield_data + m.hfield_adr[i];
  field.data.assign(first, first + cells);
  for (const double x : field.data) {
    if (!std::isfinite(x)) throw ModelError(message(where, ": a height is not finite"));
  }
}

}  // namespace

std::vector<Mesh> touching_meshes(const mjModel& m, const std::vector<bool>& geom_touches) {
  const std::vector<bool> used = used_by(m, geom_touches, mjGEOM_MESH, m.nmesh);
  std::vector<Mesh> all(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    Mesh& mesh = all[i];
    mesh.name = readable(m.names + m.name_meshadr[i]);
    if (!used[i]) continue;
    read_touching(m, i, mesh);
  }
  return all;
}

std::string hull_fault(const mjModel& m, std::size_t i) {
  Mesh mesh;
  mesh.name = readable(m.names + m.name_meshadr[i]);
  try {
    read_touching(m, i, mesh);
  } catch (const ModelError& error) {
    return error.what();
  }
  return {};
}

void see_meshes(const mjModel& m, const std::vector<bool>& measured, const std::vector<bool>& met,
                std::vector<Mesh>& meshes) {
  const std::vector<bool> hulls = used_by(m, measured, mjGEOM_MESH, m.nmesh),
                          faces = used_by(m, met, mjGEOM_MESH, m.nmesh);
  for (std::size_t i = 0; i < hulls.size(); ++i) {
    if (!hulls[i] && !faces[i]) continue;
    meshes.resize(hulls.size());
    Mesh& mesh = meshes[i];
    mesh.name = readable(m.names + m.name_meshadr[i]);
    if (hulls[i] && mesh.corners.empty()) read_touching(m, i, mesh);
    if (mesh.vertex.empty()) read_vertices(m, i, mesh);
    if (!faces[i]) continue;
    const int* first = m.mesh_face + 3 * m.mesh_faceadr[i];
    mesh.faces.assign(first, first + 3 * m.mesh_facenum[i]);
  }
}

std::vector<HeightData> touching_fields(const mjModel& m, const std::vector<bool>& geom_touches) {
  const std::vector<bool> used = used_by(m, geom_touches, mjGEOM_HFIELD, m.nhfield);
  std::vector<HeightData> all(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    all[i].name = readable(m.names + m.name_hfieldadr[i]);
    if (used[i]) read_field(m, i, all[i]);
  }
  return all;
}

void see_fields(const mjModel& m, const std::vector<bool>& met, std::vector<HeightData>& fields) {
  const std::vector<bool> used = used_by(m, met, mjGEOM_HFIELD, m.nhfield);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    fields.resize(used.size());
    fields[i].name = readable(m.names + m.name_hfieldadr[i]);
    if (fields[i].data.empty()) read_field(m, i, fields[i]);
  }
}

}  // namespace cycloid::inline io
