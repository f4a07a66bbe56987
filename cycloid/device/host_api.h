// The kernels of a device, compiled for this machine and run one environment after another: what
// tests hold to the CPU engine where there is no card. Programs that link host_api.cpp have them,
// the package and `cycloid` do not: they take as long to compile as room rigid's.
#pragma once

#include "cycloid/system/kernel_source.h"

namespace cycloid::inline device {

// Throws Error in a program without them.
const DeviceApi& host_api();

// host_api.cpp calls it when the program starts.
bool use_host_api(const DeviceApi& api);

}  // namespace cycloid::inline device
