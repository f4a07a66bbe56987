// io/convert.h: mjModel to Model, number by number.
//
// Orders and indices are kept. Two things are said differently: the inertia, which MuJoCo keeps as
// three principal moments I and their axes R in body axes, becomes the matrix
//   J = R diag(I) Rᵀ                                                                    (1)
// in body axes; and MuJoCo's shortcuts for bodies whose frames coincide (sameframe, simple) are
// not looked at, so that centre of mass and inertia always act.
#pragma once

#include <mujoco/mjmodel.h>

#include <array>

#include "cycloid/io/load.h"
#include "cycloid/model/model.h"

namespace cycloid::inline io {

// The model must have passed refuse_unsupported.
Model convert(const mjModel& compiled, const LoadOptions& options);

// (1): xx yy zz xy xz yz, from principal moments and the unit quaternion of their axes.
std::array<double, 6> inertia_in_body_axes(const std::array<double, 3>& moments,
                                           const std::array<double, 4>& quat);

// Why a sensor cannot be observed; empty when it can.
std::string unsupported_sensor(const mjModel& compiled, int sensor);

}  // namespace cycloid::inline io
