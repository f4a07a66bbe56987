// The kernels of a device, compiled for this machine and run one environment after another: what
// tests hold to the CPU engine where there is no card.
#pragma once

#include "cycloid/system/device.h"

namespace cycloid::inline device {

const DeviceApi& host_api();

}  // namespace cycloid::inline device
