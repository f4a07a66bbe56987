#include "cycloid/optimise/planning/products.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cycloid/base/random.h"

namespace cycloid::products_test {

TEST_CASE("products: every set gives the sums of the definition, in tiles and at their edges") {
  for (const InstructionSet set : available_instruction_sets()) {
    const ScopedInstructionSet scope(set);
    const Products p = products();
    for (const int m : {1, 3, 4, 9}) {
      for (const int n : {1, 2, 5, 8, 17, 37}) {
        for (const int k : {1, 6}) {
          const auto numbers = [](std::uint64_t seed, int count) {
            std::vector<double> out;
            RandomStream random(seed);
            for (int i = 0; i < count; ++i) out.push_back(random.uniform(-1.0, 1.0));
            return out;
          };
          const std::vector<double> A = numbers(1, m * k), B = numbers(2, k * n);
          std::vector<double> At(A.size());
          for (int i = 0; i < m; ++i) {
            for (int l = 0; l < k; ++l) At[l * m + i] = A[i * k + l];
          }
          std::vector<double> C(m * n, 0.5), Ct = C;
          p.add(m, n, k, A.data(), B.data(), C.data());
          p.add_transposed(m, n, k, At.data(), B.data(), Ct.data());
          double worst = 0;
          for (int i = 0; i < m; ++i) {
            for (int j = 0; j < n; ++j) {
              double sum = 0.5;
              for (int l = 0; l < k; ++l) sum += A[i * k + l] * B[l * n + j];
              worst =
                  std::max({worst, std::abs(C[i * n + j] - sum), std::abs(Ct[i * n + j] - sum)});
            }
          }
          CHECK(worst < 1e-14);
          // Aᵀ D A with a diagonal D is symmetric.
          std::vector<double> S(n * n, 0.25), DB = B;
          for (int l = 0; l < k; ++l) {
            for (int j = 0; j < n; ++j) DB[l * n + j] *= 1.0 + l;
          }
          p.add_symmetric(n, k, B.data(), DB.data(), S.data());
          for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
              double sum = 0.25;
              for (int l = 0; l < k; ++l) sum += B[l * n + i] * DB[l * n + j];
              worst = std::max(worst, std::abs(S[i * n + j] - sum));
              CHECK(S[i * n + j] == S[j * n + i]);
            }
          }
          CHECK(worst < 3e-14);
        }
      }
    }
  }
}

}  // namespace cycloid::products_test
