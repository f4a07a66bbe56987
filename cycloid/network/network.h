// Rows of a batch through a network: blocks of columns, on threads.
//
// Rows are cut into blocks of kBlockRows, each of which goes through all layers while it stays in
// cache (mlp_block.h). Blocks form at most kBlockGroups groups, which threads take; a group sums
// the weights' cotangents over its blocks, and groups are summed in their order. What comes out
// depends neither on the number of threads nor, but for sums over rows, on the other rows of the
// batch; a lone row goes by products of matrix and vector and agrees to rounding.
#pragma once

#include <cstdint>
#include <vector>

#include "cycloid/network/mlp_block.h"

namespace cycloid::inline network {

inline constexpr std::int64_t kBlockRows = 64, kBlockGroups = 8;

// Called between the two halves of MlpCall::fit, for rows first … first + count - 1, which lie in
// the first columns of g (inputs, columns); writes g_bar.
template <class T>
struct MlpBetween {
  void (*call)(void* user, std::int64_t first, int count, int columns, const T* g,
               T* g_bar) = nullptr;
  void* user = nullptr;
};

// Arrays (rows, inputs) or (rows, outputs), as MlpBlock's, but written where those are added to;
// w and w_bar flat, the latter added to.
template <class T>
struct MlpRows {
  std::int64_t rows = 0;
  const T* w = nullptr;
  const T* x = nullptr;
  const T* v = nullptr;
  const T* u = nullptr;
  const T* y_bar = nullptr;
  T* y = nullptr;
  T* y_tan = nullptr;
  T* x_bar = nullptr;
  T* v_bar = nullptr;
  T* w_bar = nullptr;
  MlpBetween<T> between = {};
};

template <class T>
void run_rows(MlpCall call, const MlpPlan<T>& plan, const MlpRows<T>& rows, int threads);

}  // namespace cycloid::inline network
