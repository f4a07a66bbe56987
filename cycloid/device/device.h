// Room device: Systems on an accelerator.
//
//   const System robot = on_device(make_robot(model, {.precision = Precision::float32}), "cuda");
//   rollout(robot, …).pullback(…)                                  the same calls
// One thread of the device runs one environment; kernels are compiled from the CPU's own source.
// Where to start reading:
//   environment_run.h          what a thread does: the steps of one environment, forward and back
//   law_body.h, robot_body.h   one step of each kind of System
//   robot_form.h, law_form.h   what kernels read, as one block of memory
//   kernels.h                  kernels by number;  cuda/  the same for nvcc (libcycloid_cuda.so)
//   host_api.h                 the kernels on this machine, for tests
// The engine that runs them is adjoint/engine/device_engine.h.
#pragma once

#include <string>
#include <vector>

#include "cycloid/system/system.h"

namespace cycloid::inline device {

// The same System, run by "cuda", or by "host": the kernels on this machine, one environment after
// another, for tests. "cpu" is the System without a device. Throws ModelError that names what has
// no device form, Error where there is no such device, driver or library.
System on_device(const System& system, const std::string& device);

// What is there: {"cpu"}, and "cuda: NVIDIA H200" where a card can be used.
std::vector<std::string> devices();

}  // namespace cycloid::inline device
