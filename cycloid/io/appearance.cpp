#include "cycloid/io/appearance.h"

#include <mujoco/mjmodel.h>

#include <algorithm>

namespace cycloid::inline io {
namespace {

DrawnMesh mesh_of(const mjModel& m, int i) {
  DrawnMesh mesh;
  const float* vertex = m.mesh_vert + 3 * m.mesh_vertadr[i];
  const int* face = m.mesh_face + 3 * m.mesh_faceadr[i];
  mesh.vertex.assign(vertex, vertex + 3 * m.mesh_vertnum[i]);
  mesh.triangles.assign(face, face + 3 * m.mesh_facenum[i]);
  return mesh;
}

}  // namespace

Appearance appearance_of(const mjModel& m) {
  Appearance looks;
  looks.meshes.resize(static_cast<std::size_t>(m.nmesh));
  for (mjtSize i = 0; i < m.ngeom; ++i) {
    GeomLook look;
    const int material = m.geom_matid[i];
    const float* colour = material < 0 ? m.geom_rgba + 4 * i : m.mat_rgba + 4 * material;
    std::copy_n(colour, 4, look.colour.begin());
    look.group = m.geom_group[i];
    if (m.geom_type[i] == mjGEOM_MESH && look.colour[3] > 0) {
      look.mesh = m.geom_dataid[i];
      DrawnMesh& mesh = looks.meshes[static_cast<std::size_t>(look.mesh)];
      if (mesh.vertex.empty()) mesh = mesh_of(m, look.mesh);
    }
    looks.geoms.push_back(look);
  }
  return looks;
}

}  // namespace cycloid::inline io
