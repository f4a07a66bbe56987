// Room geometry: where two shapes touch, and how that moves with their poses and sizes.
//
// Planes, spheres, capsules, ellipsoids, cylinders, boxes, hulls of meshes and height fields, pair
// by pair, with the contacts that MuJoCo 4.0 finds: their number, order, distance, position, normal
// and tangent. Each pair is a function and its pullback over one chunk of environments; what a lane
// decides (which corner, which side of a clamp) is stored as a number, its feature, and the
// pullback follows it.
//
//   candidate_pairs, find_near_pairs, collide_X_Y, then contact_frame and mix_surfaces
//
// Where to start reading (pair/: closed forms; convex/: those that are searched, meshes, terrain):
//   shape.h            kinds, poses, touches, and the cotangent of a pose
//   plane_sphere.h     the simplest pair; plane_capsule.h, plane_ellipsoid.h, plane_cylinder.h,
//                      plane_box.h
//   sphere_sphere.h    two balls; sphere_capsule.h, sphere_cylinder.h, sphere_box.h,
//                      capsule_capsule.h
//   contact_frame.h    normal and tangents
//   mixing.h           friction, solref, solimp, margin of a pair
//   pair_filter.h      which geoms can touch at all; bounding.h, broad_phase.h: which are near
//   by_lane.h          pairs that are searched lane by lane: capsule_box.h, box_box.h, and the
//                      convex pairs
//   hull.h             the hull of a mesh; plane_mesh.h, mesh_pair.h: what touches it
//   height_field.h     terrain, as prisms; field_pair.h: what touches it
// This header holds no code.
#pragma once
