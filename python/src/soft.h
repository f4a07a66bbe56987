// soft.h: soft bodies (cycloid.soft), which the other units of the module need not know.
#pragma once

#include "module.h"

namespace cycloid::python {

void bind_soft(nb::module_& m);

}  // namespace cycloid::python
