// A robot's DeviceForm: its tree, the plan of its constraints and the layout of a thread's memory,
// in one block whose addresses are those of the device.
//
//   block = [ RobotImage | tables of the tree | ConstraintPlan | its lists | layout | which move ]
// Lists of the plan are std::vector: kernels read them through their three pointers, which are
// rewritten in the copy. The layout is carved twice, over two addresses: words that differ are
// addresses of the thread's memory, and those that point into the plan become the copy's.
//
// A thread has room for as many contacts as a record keeps (rigid/constrained_dynamics.h), not for
// the 256 of a lane, or for fewer where its memory (kernel_numbers.h) holds no more; an environment
// with more is reported as crowded. Refused, by name: meshes and height fields that
// may touch, and pairs that are searched as convex shapes.
#pragma once

#include <memory>

#include "cycloid/rigid/robot_source.h"
#include "cycloid/system/kernel_source.h"
#include "cycloid/system/system.h"

namespace cycloid::inline device {

// Throws ModelError that names what has no form.
std::shared_ptr<const DeviceForm> robot_form(const RobotKey& key, Precision precision);

}  // namespace cycloid::inline device
