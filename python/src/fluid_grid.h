// fluid_grid.h: flows on staggered grids (cycloid.fluid.grid), which the other units of the module
// need not know.
#pragma once

#include "cycloid/fluid/grid/flow_registry.h"
#include "module.h"

namespace cycloid::python {

void bind_fluid_grid(nb::module_& m);

// Of a box, as _fluid_box.py gives them: (axes, 2) of (kind, velocity); (kind, numbers).
std::vector<std::array<GridSide, 2>> sides_of(const nb::list& sides);
std::vector<FluidObstacle> obstacles_of(const nb::list& obstacles);

}  // namespace cycloid::python
