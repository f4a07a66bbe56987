// The DeviceForm of heat (system/heat.h), a large world: a card is one box's at a time.
#pragma once

#include <memory>

#include "cycloid/system/kernel_source.h"

namespace cycloid::inline device {

std::shared_ptr<const DeviceForm> heat_form(const HeatSource& source);

}  // namespace cycloid::inline device
