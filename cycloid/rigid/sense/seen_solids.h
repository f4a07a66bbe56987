// Meshes and height fields that sensors look at, whether they can touch or not.
//
// Like the solids of contacts (contact/solid_shape.h): topology is found once, points and heights
// come with the run where they are parameters, and are the model's otherwise. A distance needs a
// mesh's hull, a ray its faces.
#pragma once

#include "cycloid/rigid/contact/solid_shape.h"
#include "cycloid/rigid/sense/sensor_kind.h"
#include "cycloid/rigid/tree/tree.h"

namespace cycloid::inline rigid {

struct SeenSolid {
  int geom = 0;
  bool mesh = false;
  int data = -1, array = -1;  // its mesh or height field; which array of parameters that is
  HullTable table;            // empty: rays alone look at it
};

struct SeenSolids {
  std::vector<SeenSolid> all;
  std::vector<int> place;  // (geoms) among these, or -1

  explicit SeenSolids(const Tree& tree) : place(tree.model.geoms.size(), -1) {
    const Model& m = tree.source;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const Geom& g = m.geoms[i];
      const std::size_t data = static_cast<std::size_t>(g.data);
      SeenSolid s{static_cast<int>(i), g.shape == Shape::mesh, g.data, -1, {}};
      if (s.mesh) {
        if (data >= m.meshes.size() || m.meshes[data].vertex.empty()) continue;
        s.array = tree.mesh_arrays[data];
        if (!m.meshes[data].corners.empty()) {
          s.table = make_hull(hull_parts(m.meshes[data]));
          keep_normals(m.meshes[data].vertex.data(), m.meshes[data].polygon_normal, s.table);
          find_starts(m.meshes[data].vertex.data(), s.table);
        }
      } else if (g.shape == Shape::hfield) {
        if (data >= m.height_fields.size() || m.height_fields[data].data.empty()) continue;
        s.array = tree.field_arrays[data];
      } else {
        continue;
      }
      place[i] = static_cast<int>(all.size());
      all.push_back(std::move(s));
    }
  }
};

// A mesh that only rays meet: its points.
template <class T>
SolidShape seen_faces(const Mesh& mesh, int array, const SolidArrays<T>& arrays) {
  SolidShape s{};
  set_numbers(arrays.values && array >= 0 ? arrays.values[array] : nullptr, mesh.vertex, s.hull,
              s.hull.points);
  set_derivatives(arrays, array, s.hull, s.hull_bar);
  double square = 0;
  for (std::size_t v = 0; v < mesh.vertex.size() / 3; ++v) {
    const Vec3<double> x = s.hull.vertex<double>(static_cast<int>(v));
    square = std::max(square, dot(x, x));
  }
  s.radius = s.hull.radius = std::sqrt(square);
  s.left_out = arrays.left_out;
  return s;
}

// To be called whenever the parameters change. out: one for each of `seen`.
template <class T>
void set_seen_solids(const SeenSolids& seen, const Model& m, const SolidArrays<T>& arrays,
                     SolidShape* out) {
  for (const SeenSolid& s : seen.all) {
    const std::size_t data = static_cast<std::size_t>(s.data);
    if (!s.mesh) {
      *out++ = solid_field(m.height_fields[data], s.array, arrays);
    } else if (s.table.vertex.empty()) {
      *out++ = seen_faces(m.meshes[data], s.array, arrays);
    } else {
      *out++ = solid_mesh(m.meshes[data], s.table, s.array, arrays);
    }
  }
}

// What a sensor sees of a geom's solid.
struct SeenShapes {
  const SeenSolids* of = nullptr;
  const SolidShape* shape = nullptr;  // one for each

  const SolidShape* at(int geom) const {
    const int i = of ? of->place[static_cast<std::size_t>(geom)] : -1;
    return i < 0 ? nullptr : shape + i;
  }
};

}  // namespace cycloid::inline rigid
