// fluid_grid.h: flows on staggered grids (cycloid.fluid.grid), which the other units of the module
// need not know.
#pragma once

#include "module.h"

namespace cycloid::python {

void bind_fluid_grid(nb::module_& m);

}  // namespace cycloid::python
