// SparseMatrix: a matrix by its entries, row after row (CSR).
//
// Row i has the entries row_start[i] … row_start[i+1] - 1; their columns rise.
#pragma once

#include <cstdint>
#include <vector>

namespace cycloid::inline system {

template <class T>
struct SparseMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int64_t> row_start = {0};  // (rows + 1)
  std::vector<std::int64_t> column;           // (entries)
  std::vector<T> value;                       // (entries)

  // An empty matrix with room for its row starts; rows are then added by add and end_row, in order.
  void reset(std::int64_t row_count, std::int64_t column_count) {
    rows = row_count;
    columns = column_count;
    row_start.assign(1, 0);
    row_start.reserve(static_cast<std::size_t>(row_count) + 1);
    column.clear();
    value.clear();
  }
  void add(std::int64_t j, T entry) {
    column.push_back(j);
    value.push_back(entry);
  }
  void end_row() { row_start.push_back(static_cast<std::int64_t>(value.size())); }
  // A matrix of zeros without entries.
  static SparseMatrix zero(std::int64_t row_count, std::int64_t column_count) {
    SparseMatrix m;
    m.reset(row_count, column_count);
    m.row_start.assign(static_cast<std::size_t>(row_count) + 1, 0);
    return m;
  }
};

// The entries of a dense matrix, row by row, that are not exactly zero.
template <class T>
SparseMatrix<T> sparse_of(const T* dense, std::int64_t rows, std::int64_t columns) {
  SparseMatrix<T> m;
  m.reset(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j, ++dense) {
      if (*dense != T(0)) m.add(j, *dense);
    }
    m.end_row();
  }
  return m;
}

}  // namespace cycloid::inline system
