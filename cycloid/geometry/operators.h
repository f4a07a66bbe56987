// The operators of room geometry (base/operator_register.h).
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline geometry {

inline constexpr Operator kOperators[] = {
    // contact_frame.h, mixing.h
    differentiable("contact_frame"),
    differentiable("mix_surfaces"),
    // pairs with a plane
    differentiable("ball_on_plane"),
    differentiable("collide_plane_sphere"),
    differentiable("collide_plane_capsule"),
    differentiable("collide_plane_ellipsoid"),
    differentiable("collide_plane_cylinder"),
    differentiable("collide_plane_box"),
    // pairs with a sphere, and capsules
    differentiable("ball_touch"),
    differentiable("collide_sphere_sphere"),
    differentiable("collide_sphere_capsule"),
    differentiable("collide_sphere_cylinder"),
    differentiable("collide_sphere_box"),
    differentiable("collide_capsule_capsule"),
    // pairs that are searched lane by lane
    differentiable("collide_capsule_box"),
    differentiable("collide_box_box"),
    differentiable("collide_sphere_ellipsoid"),
    differentiable("collide_capsule_ellipsoid"),
    differentiable("collide_capsule_cylinder"),
    differentiable("collide_ellipsoid_ellipsoid"),
    differentiable("collide_ellipsoid_cylinder"),
    differentiable("collide_ellipsoid_box"),
    differentiable("collide_cylinder_cylinder"),
    differentiable("collide_cylinder_box"),
    // pairs with a mesh, and height fields
    differentiable("collide_plane_mesh"),
    differentiable("collide_mesh"),
    differentiable("collide_field"),
    // bounding.h, broad_phase.h, pair_filter.h
    not_differentiable("bounding_radius", "it decides which pairs are looked at, nothing else"),
    not_differentiable("find_near_pairs", "the choice of pairs is discrete"),
    not_differentiable("candidate_pairs", "fixed with the model"),
};

}  // namespace cycloid::inline geometry
