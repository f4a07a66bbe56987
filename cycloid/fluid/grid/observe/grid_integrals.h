// Energy, enstrophy, vorticity and divergence of a flow: (1) to (4) of grid_observables.h.
// Cotangents are added to those of the instant.
#pragma once

#include <utility>

#include "cycloid/fluid/grid/observe/grid_instant.h"

namespace cycloid::inline fluid {

double kinetic_energy(const GridInstant& p);
void kinetic_energy_pullback(GridInstant& p, double bar);

double enstrophy(const GridInstant& p);
void enstrophy_pullback(GridInstant& p, double bar);

void vorticity(const GridInstant& p, double* out);
void vorticity_pullback(GridInstant& p, const double* bar);

// With its sign, and the cell.
std::pair<double, int> largest_divergence(GridInstant& p);
void divergence_pullback(GridInstant& p, double bar);

}  // namespace cycloid::inline fluid
