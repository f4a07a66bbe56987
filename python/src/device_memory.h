// device_memory.h: memory of a System's device that Python owns, and arrays of others that lie
// there, as DLPack hands them over.
#pragma once

#include "module.h"

namespace cycloid::python {

void bind_device_memory(nb::module_& m);

}  // namespace cycloid::python
