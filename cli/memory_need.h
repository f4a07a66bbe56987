// Refusing what cannot fit into memory (base/free_memory.h).
#pragma once

#include "cycloid/base/free_memory.h"

namespace cycloid::cli {

// Throws Error when about `bytes` do not fit.
void require_memory(double bytes);

}  // namespace cycloid::cli
