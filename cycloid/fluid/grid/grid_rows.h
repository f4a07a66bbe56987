// Rows, sides and planes of a staggered grid, visited.
#pragma once

#include <algorithm>

#include "cycloid/base/thread_pool.h"
#include "cycloid/fluid/grid/grid_box.h"

namespace cycloid::inline fluid {

// Numbers that a thread takes at once, and below which one thread is enough.
inline constexpr int kRowBlock = 4096, kOneThread = 4 * kRowBlock;

// Calls work(i, j, row) for every row of a component's faces (a = -1: of cells), on several
// threads.
template <class Work>
void for_each_row(const GridBox& box, int a, int threads, Work&& work) {
  const int outer = a < 0 ? box.n[0] : box.count(a, 0), inner = a < 0 ? box.n[1] : box.count(a, 1);
  const int length = box.n[2], rows = outer * inner;
  const auto some = [&](int begin, int end) {
    for (int row = begin; row < end; ++row) work(row / inner, row % inner, row);
  };
  if (rows * length < kOneThread || threads == 1) return some(0, rows);
  const int each = std::max(1, kRowBlock / length), blocks = (rows + each - 1) / each;
  parallel_for(static_cast<std::size_t>(blocks), threads, [&](std::size_t block) {
    const int begin = static_cast<int>(block) * each;
    some(begin, std::min(begin + each, rows));
  });
}

// Calls visit(m, place) for the faces of a component, on several threads.
template <class Visit>
void for_each_face(const GridBox& box, int a, int threads, Visit&& visit) {
  for_each_row(box, a, threads, [&](int i, int j, int) {
    int place[3] = {i, j, 0};
    for (std::ptrdiff_t m = box.index(i, j, 0); place[2] < box.count(a, 2); ++m, ++place[2]) {
      visit(static_cast<std::size_t>(m), static_cast<const int*>(place));
    }
  });
}

// Calls visit(i, j, k, face) for the faces of a side, its own axis at 0.
template <class Visit>
void for_each_on_side(const GridBox& box, int b, Visit&& visit) {
  int n[3] = {box.n[0], box.n[1], box.n[2]}, face = 0;
  n[b] = 1;
  for (int i = 0; i < n[0]; ++i) {
    for (int j = 0; j < n[1]; ++j) {
      for (int k = 0; k < n[2]; ++k) visit(i, j, k, face++);
    }
  }
}

// Visits the whole plane of a side, ghosts of other axes included: visit(plane index, index at 0).
template <class Visit>
void for_each_in_plane(const GridBox& box, int b, Visit&& visit) {
  const std::size_t c = b == 0 ? 1 : 0, d = b == 2 ? 1 : 2, own = GridBox::u(b);
  std::ptrdiff_t plane = 0;
  const std::ptrdiff_t origin = box.pad[own] * box.stride[own];
  for (int i = 0; i < box.extent[c]; ++i) {
    for (int j = 0; j < box.extent[d]; ++j) {
      visit(plane++, i * box.stride[c] + j * box.stride[d] + origin);
    }
  }
}

}  // namespace cycloid::inline fluid
