#include "cycloid/network/network.h"

#include <algorithm>
#include <memory>
#include <new>

#include "cycloid/base/thread_pool.h"

namespace cycloid::inline network {
namespace {

// Memory of a thread that is kept for its next block.
template <class T>
T* scratch(std::size_t n) {
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  thread_local std::unique_ptr<T, Free> memory;
  thread_local std::size_t size = 0;
  if (size < n) {
    memory.reset(static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))));
    size = n;
  }
  return memory.get();
}

// Rows of n numbers into columns, those behind the last row zeros; and back.
template <class T>
void to_columns(const T* rows, int count, int n, int columns, T* out) {
  for (int i = 0; i < n; ++i) {
    for (int r = 0; r < count; ++r) out[i * columns + r] = rows[r * n + i];
    for (int r = count; r < columns; ++r) out[i * columns + r] = T(0);
  }
}
template <class T>
void to_rows(const T* in, int count, int n, int columns, T* rows) {
  for (int r = 0; r < count; ++r) {
    for (int i = 0; i < n; ++i) rows[r * n + i] = in[i * columns + r];
  }
}

template <class T>
class RowBlock {
 public:
  RowBlock(MlpCall call, const MlpPlan<T>& plan, const MlpRows<T>& rows, const T* const* w,
           std::int64_t first, T* const* w_bar)
      : call_(call), plan_(plan), rows_(rows), first_(first) {
    count_ = static_cast<int>(std::min(kBlockRows, rows.rows - first));
    columns_ = rows.rows == 1 ? 1 : block_columns<T>(std::max(count_, 2));
    const std::size_t own = mlp_kernels<T>().numbers(plan, columns_, order_of(call));
    const std::size_t n = room(plan.shape.inputs()), m = room(plan.shape.outputs());
    next_ = scratch<T>(own + 5 * n + 4 * m);
    block_ = {&plan, w, columns_, next_};
    block_.w_bar = w_bar;
    next_ += own;
  }

  void run() {
    const int n = plan_.shape.inputs(), m = plan_.shape.outputs();
    block_.x = take(rows_.x, n);
    if (rows_.v) block_.v = take(rows_.v, n);
    else if (call_ == MlpCall::fit) block_.v = zeros(n);
    if (rows_.u) block_.u = take(rows_.u, n);
    if (rows_.y_bar) block_.y_bar = take(rows_.y_bar, m);
    if (rows_.y) block_.y = zeros(m);
    if (rows_.y_tan) block_.y_tan = zeros(m);
    if (rows_.x_bar || call_ == MlpCall::fit) block_.x_bar = zeros(n);
    if (rows_.v_bar) block_.v_bar = zeros(n);
    // Columns that hold no row must add nothing: their cotangent is zero where it is given; where
    // it is one (the gradient's), their direction is zero, and with it what is added to weights.
    block_.user = this;
    if (call_ == MlpCall::fit)
      block_.between = [](void* self, const T* g, T* g_bar) {
        RowBlock& b = *static_cast<RowBlock*>(self);
        b.rows_.between.call(b.rows_.between.user, b.first_, b.count_, b.columns_, g, g_bar);
        for (int i = 0; i < b.plan_.shape.inputs(); ++i) {
          for (int c = b.count_; c < b.columns_; ++c) g_bar[i * b.columns_ + c] = T(0);
        }
      };
    mlp_kernels<T>().run(call_, block_);
    give(block_.y, m, rows_.y);
    give(block_.y_tan, m, rows_.y_tan);
    give(block_.x_bar, n, rows_.x_bar);
    give(block_.v_bar, n, rows_.v_bar);
  }

 private:
  std::size_t room(int n) const {
    return (static_cast<std::size_t>(n) * static_cast<std::size_t>(columns_) + 31) / 32 * 32;
  }
  T* zeros(int n) {
    T* const p = next_;
    next_ += room(n);
    std::fill_n(p, room(n), T(0));
    return p;
  }
  T* take(const T* rows, int n) {
    T* const p = next_;
    next_ += room(n);
    to_columns(rows + first_ * n, count_, n, columns_, p);
    return p;
  }
  void give(const T* from, int n, T* rows) const {
    if (rows) to_rows(from, count_, n, columns_, rows + first_ * n);
  }

  MlpCall call_;
  const MlpPlan<T>& plan_;
  const MlpRows<T>& rows_;
  std::int64_t first_;
  int count_, columns_;
  T* next_;
  MlpBlock<T> block_;
};

}  // namespace

template <class T>
void run_rows(MlpCall call, const MlpPlan<T>& plan, const MlpRows<T>& rows, int threads) {
  const std::int64_t blocks = (rows.rows + kBlockRows - 1) / kBlockRows,
                     groups = std::min(blocks, kBlockGroups);
  const std::vector<const T*> w = layer_pointers(plan.shape, rows.w);
  const std::size_t numbers = rows.w_bar ? plan.shape.numbers() : 0;
  // The first group adds to what the caller gave.
  std::vector<T> sums(groups > 1 ? numbers * static_cast<std::size_t>(groups - 1) : 0, T(0));
  const auto work = [&](std::size_t group) {
    std::vector<T*> w_bar;
    if (rows.w_bar) {
      w_bar =
          layer_pointers(plan.shape, group == 0 ? rows.w_bar : sums.data() + numbers * (group - 1));
    }
    const std::int64_t g = static_cast<std::int64_t>(group);
    for (std::int64_t b = g * blocks / groups; b < (g + 1) * blocks / groups; ++b) {
      RowBlock<T>(call, plan, rows, w.data(), b * kBlockRows,
                  w_bar.empty() ? nullptr : w_bar.data())
          .run();
    }
  };
  if (groups == 1) work(0);
  else if (groups > 1) parallel_for(static_cast<std::size_t>(groups), threads, work);
  for (std::size_t i = 0; i < numbers && groups > 1; ++i) {
    double sum = rows.w_bar[i];
    for (std::size_t g = 0; g + 1 < static_cast<std::size_t>(groups); ++g) {
      sum += sums[g * numbers + i];
    }
    rows.w_bar[i] = static_cast<T>(sum);
  }
}

template void run_rows(MlpCall, const MlpPlan<float>&, const MlpRows<float>&, int);
template void run_rows(MlpCall, const MlpPlan<double>&, const MlpRows<double>&, int);

}  // namespace cycloid::inline network
