// exponential_scheme: exponential time differencing Runge–Kutta, for x_t = L x + N(x).
//
// z = h L, mode by mode (CoxMatthews2002, in the form that keeps x and N apart):
//   order 2   U_2 = e^z x + h φ_1 N_1                     φ_1 = (e^z - 1)/z
//             x⁺  = e^z x + h (φ_1 - φ_2) N_1 + h φ_2 N_2  φ_2 = (e^z - 1 - z)/z²            (1)
//   order 4   U_2 = e^{z/2} x + Q N_1,   U_3 = e^{z/2} x + Q N_2      Q = h (e^{z/2} - 1)/z
//             U_4 = e^z x + (e^{z/2} - 1) Q N_1 + 2 Q N_3
//             x⁺  = e^z x + f_1 N_1 + 2 f_2 (N_2 + N_3) + f_3 N_4                           (2)
//             f_1 = h (-4 - z + e^z (4 - 3z + z²))/z³,  f_2 = h (2 + z + e^z (z - 2))/z³,
//             f_3 = h (-4 - 3z - z² + e^z (4 - z))/z³
// The coefficients are entire functions of z whose formulas cancel at z = 0. They, and their
// derivatives by z, are means over a circle around z that stays away from 0 (KassamTrefethen2005):
//   f(z) = mean f(ζ),   f'(z) = mean f(ζ) e^{-iθ}/r,   ζ = z + r e^{iθ}                      (3)
#pragma once

#include <complex>
#include <vector>

namespace cycloid::inline fluid {

// Coefficients of a scheme, by their places in EtdValues.
inline constexpr int kMostEtdCoefficients = 7;
inline constexpr int kMostEtdParts = 5;  // of a stage

struct EtdValues {
  std::complex<double> value[kMostEtdCoefficients], slope[kMostEtdCoefficients];
};

// A part of a stage: scale · coefficient · (x where from = 0, N_from elsewhere).
struct EtdPart {
  int coefficient, from;
  double scale = 1;
};

struct EtdScheme {
  int stages = 0, coefficients = 0;
  // of U_2, U_3, …, and last of x⁺
  std::vector<std::vector<EtdPart>> parts;
};

// order: 2 or 4.
const EtdScheme& etd_scheme(int order);

// The scheme's coefficients at z, for a step h [s] (3).
EtdValues etd_values(int order, double h, std::complex<double> z);

}  // namespace cycloid::inline fluid
