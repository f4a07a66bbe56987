// SpectralStepper: one step of an equation with products, in Fourier coefficients.
//
//   û = P F(x)                                          (1)   F: transform/fft.h, kept modes alone
//   N_i = N(U_i),   U_{i+1} = Σ c ⊙ {û, N_1, …}          (2)   U_1 = û; exponential_scheme.h
//   x⁺ = F⁻¹(Σ c ⊙ {û, N_1, …})                         (3)
// A state that comes from a step is û at the nodes already: where terms see the state itself, a
// number carried on with it says so, and its products are taken at once. What P and the cut leave
// out is then no part of x, so that its cotangents end in the step before.
//
// The record holds û, all N_i, and the node values of all stages; cotangents of coefficients are
// those of fft.h with a tilde, in which F and F⁻¹ are each other's adjoints. So the way back is as
// many transforms as the way there, and makes nothing again. Sums over modes for parameters run
// slab by slab in double: derivatives by z = h L gather in an array over all steps, and become
// cotangents of parameters once, in `finish`.
#pragma once

#include <memory>

#include "cycloid/fluid/spectral/spectral_model.h"

namespace cycloid::inline fluid {

// Throws ModelError where a record is larger than an int counts.
template <class T>
std::shared_ptr<const Stepper<T>> spectral_stepper(std::shared_ptr<const SpectralModel> model);

// Of an equation without products.
template <class T>
std::shared_ptr<const Stepper<T>> linear_spectral_stepper(
    std::shared_ptr<const SpectralModel> model);

}  // namespace cycloid::inline fluid
