// Which combinations of the unknowns the data do not determine, in words.
//
// R (rows, K) is a square root of the information on θ in units of σ, RᵀR = cov⁻¹. Its columns are
// scaled by the size a_j of the number (its value, or 1), so that directions are relative changes:
//   R diag(a) = U S Vᵀ                                                                          (1)
// A direction v_i with S_i below kNull S_0 leaves no trace in the data. Numbers that share such
// directions make a group; what is determined of it is the complement of the directions. Of
// positive numbers the relative change is that of the logarithm, so that small whole ratios in the
// complement are exponents of a product:
//   only mass × length² is determined                                                           (2)
// and of others, or where logarithms do not give whole ratios, they are factors of a sum:
//   only a + 2 b is determined                                                                  (3)
// A group of one does not act at all. A number that is determined, but with a standard error above
// its value and its guess, is hardly determined; of one that began at zero nobody can tell.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace cycloid::inline optimise {

inline constexpr double kNull = 1e-8;

struct WeakInput {
  std::size_t rows = 0;
  std::span<const double> R;       // (rows, K)
  std::span<const double> values;  // (K)
  std::span<const double> guess;   // (K) where the search began
  std::vector<bool> positive;      // (K) never below zero
  std::vector<std::string> names;  // (K)
};

struct Weakness {
  std::vector<std::string> sentences;
  std::vector<bool> determined;    // (K)
  std::vector<bool> acts;          // (K)
  std::vector<double> covariance;  // (K, K); infinite on the diagonal where not determined, else 0
};

Weakness find_weakness(const WeakInput& input);

// Whole numbers near to the ratios of v, the first of which is positive, or nothing. Of halves and
// thirds the multiple.
std::vector<int> whole_ratios(std::span<const double> v);

// "mass × length² / gravity"
std::string product_text(const std::vector<std::string>& names, const std::vector<int>& exponents);
// "a + 2 b - c"
std::string sum_text(const std::vector<std::string>& names, const std::vector<int>& factors);

}  // namespace cycloid::inline optimise
