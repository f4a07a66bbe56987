// model/check_model.h: whether a Model that was not made by room io can be stepped.
//
// Every index leads to an element that is there, of the kind that is expected; bodies and dofs come
// after their parents; counts agree; numbers are finite, but for bounds, keyframes, sensors (unless
// they are pictures) and cameras. What is checked is that a step reads what exists, not that the
// robot makes sense. An index that model.h gains gets its line in check_model.cpp.
#pragma once

#include "cycloid/model/model.h"

namespace cycloid::inline model {

// Throws ModelError naming the element and the field.
void check_model(const Model& model);

// Whether a camera's picture is one: its focal lengths are divided by.
bool has_picture(const Sensor& sensor);

}  // namespace cycloid::inline model
