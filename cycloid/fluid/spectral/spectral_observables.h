// What a flow in a periodic box shows besides its state, with pullbacks. Density is one.
//
//   kinetic_energy      ½ ∫ |u|²                                             (1)   [J, 2-D J/m]
//   enstrophy           ½ ∫ |ω|²,  ω = ∇ × u                                 (2)
//   divergence          the largest |∇·u|, whose derivative is that of its node           (3) [1/s]
//   vorticity           ω at the nodes: one number in the plane, three in space           (4) [1/s]
//   pressure            -∇²p = ∂_i ∂_j (u_i u_j), mean zero, in modes that a step keeps   (5) [Pa]
//   spectrum (m)        shares of (1) by the length of the wave number: shell s has those whose
//                       |k| is nearest to s times the smallest 2π/L          (6)
//   probe (p, d)        velocity at the probes, by Fourier series            (7)   [m/s]
//   probe_pressure (p)  likewise (5)
// (1) to (4), (6), (7) are those of equations with a velocity; (5) of navier_stokes. Equations
// without one show "probe" (p, fields) of their fields.
#pragma once

#include "cycloid/fluid/spectral/spectral_model.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline fluid {

std::shared_ptr<const Observables> spectral_observables(std::shared_ptr<const SpectralModel> model);

}  // namespace cycloid::inline fluid
