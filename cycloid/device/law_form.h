// The DeviceForm of a law of the catalogue with rk4: the law itself is what its kernel reads.
#pragma once

#include <memory>

#include "cycloid/system/kernel_source.h"
#include "cycloid/system/system.h"

namespace cycloid::inline device {

// Throws ModelError where the law has no kernel.
std::shared_ptr<const DeviceForm> law_form(const LawSource& source, Precision precision);

}  // namespace cycloid::inline device
