// How a linear step stretches: the magnitudes of a matrix's eigenvalues.
#pragma once

#include <vector>

namespace cycloid::cli {

// |λ| of a square matrix of `size` rows, largest first. Empty when the iteration does not converge.
std::vector<double> eigenvalue_magnitudes(const std::vector<double>& matrix, int size);

}  // namespace cycloid::cli
