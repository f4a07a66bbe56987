// Velocity and pressure at points, flux through lines: (7) to (9) of grid_observables.h.
#pragma once

#include "cycloid/fluid/grid/observe/grid_instant.h"

namespace cycloid::inline fluid {

void probe(const GridInstant& p, double* out);
void probe_pullback(GridInstant& p, const double* bar);

void probe_pressure(const GridInstant& p, double* out);
void probe_pressure_pullback(GridInstant& p, const double* bar);

void flux(const GridInstant& p, double* out);
void flux_pullback(GridInstant& p, const double* bar);

}  // namespace cycloid::inline fluid
