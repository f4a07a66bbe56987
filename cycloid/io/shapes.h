// io/shapes.h: the meshes and height fields of an mjModel that can touch.
//
// A mesh touches by its convex hull, which MuJoCo's compiler has found: corners, triangles and
// polygons. Meshes and height fields that no colliding geom has stay empty, but keep their places,
// so that a geom names them by MuJoCo's numbers.
//
// Refused, by name: a mesh without a hull, or with one that is flat, not finite or too large; a
// height field without extent, not finite or too large.
#pragma once

#include <mujoco/mjmodel.h>

#include <string>
#include <vector>

#include "cycloid/model/model.h"

namespace cycloid::inline io {

// Throws ModelError naming the mesh or height field.
std::vector<Mesh> touching_meshes(const mjModel& compiled, const std::vector<bool>& geom_touches);
std::vector<HeightData> touching_fields(const mjModel& compiled,
                                        const std::vector<bool>& geom_touches);

// What sensors look at besides: the hulls of meshes whose distance is measured, the faces of those
// that rays may meet, and the heights of fields. They join those that touch.
void see_meshes(const mjModel& compiled, const std::vector<bool>& measured,
                const std::vector<bool>& met, std::vector<Mesh>& meshes);
void see_fields(const mjModel& compiled, const std::vector<bool>& met,
                std::vector<HeightData>& fields);

// Why a mesh has no hull to touch by; empty where it has.
std::string hull_fault(const mjModel& compiled, std::size_t mesh);

}  // namespace cycloid::inline io
