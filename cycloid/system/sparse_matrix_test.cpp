#include "cycloid/system/sparse_matrix.h"

#include <doctest/doctest.h>

namespace cycloid::sparse_matrix_test {

TEST_CASE("sparse_of: exact zeros are left out, row by row, and empty rows stay") {
  const double dense[] = {0, 2, 0, 0, 0, 0, -1, 0, 5e-324};
  const SparseMatrix<double> m = sparse_of(dense, 3, 3);
  CHECK(m.rows == 3);
  CHECK(m.columns == 3);
  CHECK(m.row_start == std::vector<std::int64_t>{0, 1, 1, 3});
  CHECK(m.column == std::vector<std::int64_t>{1, 0, 2});
  CHECK(m.value == std::vector<double>{2, -1, 5e-324});
}

TEST_CASE("SparseMatrix: zero has row starts for every row and no entries") {
  const SparseMatrix<float> m = SparseMatrix<float>::zero(4, 0);
  CHECK(m.row_start == std::vector<std::int64_t>(5, 0));
  CHECK(m.value.empty());
}

}  // namespace cycloid::sparse_matrix_test
