// io/contacts.h: which geoms of an mjModel can touch, and what of that is not supported.
//
// Only what can touch is judged: a mesh that is for drawing only is no reason to refuse a model.
// Refused are:
//   signed distance fields and shapes by a plugin that can collide
//   speculative contacts
//   the flags nativeccd and multiccd switched off, where a pair of convex shapes depends on them
//
// The contact override (flag override, o_margin, o_solref, o_solimp, o_friction) gives every
// contact the same numbers; in a Model each pair that can touch becomes an explicit one with them.
#pragma once

#include <mujoco/mjmodel.h>

#include <vector>

#include "cycloid/geometry/pair_filter.h"
#include "cycloid/model/model.h"

namespace cycloid::inline io {

// The pairs of geoms that MuJoCo tries, in its order. Shapes that room geometry does not know count
// as boxes.
std::vector<CandidatePair> colliding_pairs(const mjModel& compiled);

// Of each geom, whether it is in one of them.
std::vector<bool> touching_geoms(const mjModel& compiled);

// Throws ModelError naming the geom or the pair, with a hint.
void refuse_unsupported_contacts(const mjModel& compiled);

// The two bodies of an <exclude>.
Exclusion exclusion(const mjModel& compiled, mjtSize index);

// The model's own pairs or, where contacts act under the override, all that can touch.
std::vector<Named<GivenPair>> contact_pairs(const mjModel& compiled, bool contacts_act);

}  // namespace cycloid::inline io
