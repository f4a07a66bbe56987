// device_arrays.h: rollouts of arrays that lie on a device (device_rollout.h), by address.
#pragma once

#include "module.h"

namespace cycloid::python {

void bind_device_rollout(nb::module_& m);

}  // namespace cycloid::python
