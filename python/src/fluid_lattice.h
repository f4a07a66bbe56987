// fluid_lattice.h: flows on lattices (cycloid.fluid.lattice).
#pragma once

#include "module.h"

namespace cycloid::python {

void bind_fluid_lattice(nb::module_& m);

}  // namespace cycloid::python
