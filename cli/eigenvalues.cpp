#include "cli/eigenvalues.h"

#include <Eigen/Eigenvalues>
#include <algorithm>

namespace cycloid::cli {

std::vector<double> eigenvalue_magnitudes(const std::vector<double>& matrix, int size) {
  if (size == 0) return {};
  // Read in Eigen's column order this is the transpose, which has the same eigenvalues.
  const Eigen::Map<const Eigen::MatrixXd> transpose(matrix.data(), size, size);
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(transpose, /*computeEigenvectors=*/false);
  std::vector<double> magnitudes;
  if (solver.info() != Eigen::Success) return magnitudes;
  for (const auto& eigenvalue : solver.eigenvalues()) magnitudes.push_back(std::abs(eigenvalue));
  std::sort(magnitudes.rbegin(), magnitudes.rend());
  return magnitudes;
}

}  // namespace cycloid::cli
