// Pressure in cells and the force on an obstacle along axis a: (5) and (6) of grid_observables.h.
#pragma once

#include "cycloid/fluid/grid/observe/grid_instant.h"

namespace cycloid::inline fluid {

void pressure(const GridInstant& p, double* out);
void pressure_pullback(GridInstant& p, const double* bar);

double force_on(const GridInstant& p, int obstacle, int a);
void force_on_pullback(GridInstant& p, int obstacle, int a, double bar);

}  // namespace cycloid::inline fluid
