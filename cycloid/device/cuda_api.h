// libcycloid_cuda.so, opened when a card is asked for the first time.
#pragma once

#include "cycloid/system/kernel_source.h"

namespace cycloid::inline device {

// Throws Error that says what is missing: the library (`make cuda`), the driver, a card.
const DeviceApi& cuda_api();

}  // namespace cycloid::inline device
