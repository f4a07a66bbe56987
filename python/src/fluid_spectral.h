// fluid_spectral.h: periodic flows (cycloid.fluid.spectral), which other units need not know.
#pragma once

#include "module.h"

namespace cycloid::python {

void bind_fluid_spectral(nb::module_& m);

}  // namespace cycloid::python
