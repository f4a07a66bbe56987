// RealTransform: real numbers at the nodes of a periodic box, as Fourier coefficients.
//
// One to three axes of any length; x (n_0, n_1, n_2) in C order, N = n_0 n_1 n_2:
//   X_k = 1/N Σ_j x_j exp(-2πi Σ_a j_a k_a / n_a)                 (1)   forward
//   x_j = Σ_k w_k Re(X_k exp(+2πi Σ_a j_a k_a / n_a))             (2)   inverse
// Coefficients of real numbers are conjugate at k and -k, so that k_0 ≥ 0 suffices: the first axis
// is the short one. w_k = 2 where the partner is left out, 1 at k_0 = 0 and at 2 k_0 = n_0.
// A transform may keep low wave numbers alone, |k_a| ≤ cut_a: (1) does not make the others, (2)
// does not expect them, and what they would cost is saved.
//
// A field of coefficients is slabs of k along the last axis: X (slabs, 2, pitch), real parts and
// then imaginary ones, each over the rows (k_0) of two axes, (k_0, k_1) of three; of one axis there
// is one slab over k_0. Numbers between rows() and pitch() stay zero where they began as zeros.
// wave_number(a, slab, row) says which is which.
//
// Adjoints, by the real and imaginary parts as independent numbers:
//   x̄ = inverse(X̄ / (w N)),   X̄ = w N forward(x̄)                 (3)   of (1) and of (2)
// In coordinates X̃ = X̄ / (w N) each of the two is the other's adjoint, and so solvers compute.
//
// Lanes hold neighbouring transforms (fft_passes.h). Results do not depend on threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cycloid/fluid/transform/box_view.h"

namespace cycloid::inline fluid {

struct FreeAligned {
  void operator()(void* p) const;
};
// Numbers that begin where registers do; zeros.
template <class T>
using AlignedNumbers = std::unique_ptr<T[], FreeAligned>;
template <class T>
AlignedNumbers<T> aligned_numbers(std::size_t count);

// What the passes are for the instruction set in use.
template <class T>
struct FftKernels {
  using Pass = void (*)(const BoxView<T>&, int task, const T* from, T* to, void* room);
  int lanes;
  Pass columns_forward, columns_inverse, middle_forward, middle_inverse, rows_forward, rows_inverse;
};
template <class T>
const FftKernels<T>& fft_kernels();

template <class T>
class RealTransform;

// Room for the passes of a transform: one caller at a time.
template <class T>
class FftWorkspace {
 public:
  // buffers: of node values of a block, for passes that hold several fields at once
  FftWorkspace(const RealTransform<T>& transform, int threads, int buffers = 1);

  T* half() { return half_.get(); }
  T* rows() { return rows_ ? rows_.get() : half_.get(); }
  // Of a worker: `buffers` blocks of complex lanes, as long as the longest axis each, and one more.
  void* room(int worker) { return rooms_[static_cast<std::size_t>(worker)].get(); }
  int threads() const { return threads_; }

 private:
  int threads_;
  AlignedNumbers<T> half_, rows_;
  std::vector<AlignedNumbers<T>> rooms_;
};

template <class T>
class RealTransform {
 public:
  // One to three lengths of at least 1; cut: the largest wave number kept along each axis, empty:
  // all. Throws ModelError.
  explicit RealTransform(const std::vector<int>& shape, const std::vector<int>& cut = {});

  int dimensions() const { return view_.dimensions; }
  const std::vector<int>& shape() const { return shape_; }
  std::int64_t nodes() const { return nodes_; }
  int slabs() const { return view_.kept_last; }
  int rows() const { return view_.rows; }
  int pitch() const { return static_cast<int>(view_.row_pitch); }
  // Numbers of a field of coefficients.
  std::int64_t coefficients() const { return std::int64_t{2} * slabs() * pitch(); }
  int wave_number(int axis, int slab, int row) const;
  // w_k of (2).
  int weight(int slab, int row) const;
  const BoxView<T>& view() const { return view_; }
  // Numbers of `half` and `rows`; blocks of columns and of rows.
  std::size_t half_numbers() const { return half_numbers_; }
  std::size_t row_numbers() const { return row_numbers_; }
  int column_blocks() const { return column_blocks_; }
  int row_blocks() const { return row_blocks_; }
  const FftKernels<T>& kernels() const { return *kernels_; }

  void forward(const T* x, T* X, FftWorkspace<T>& w) const;
  void inverse(const T* X, T* x, FftWorkspace<T>& w) const;
  // The passes beyond the first of forward, the passes before the last of inverse: to and from the
  // coefficients along axis 0 in `half`.
  void forward_from_half(T* half, T* X, FftWorkspace<T>& w) const;
  void inverse_to_half(const T* X, T* half, FftWorkspace<T>& w) const;

 private:
  std::vector<int> shape_;
  std::int64_t nodes_ = 1;
  std::vector<FftAxis<T>> axes_;
  std::vector<int> wave_[3], place_[3];  // of kept coefficients along each axis
  BoxView<T> view_ = {};
  std::size_t half_numbers_ = 0, row_numbers_ = 0;
  int column_blocks_ = 1, row_blocks_ = 0;
  const FftKernels<T>* kernels_;
};

// Coefficients X of x (1), and the adjoint: adds to x_bar. scratch: room for coefficients.
template <class T>
void real_transform(const RealTransform<T>& f, const T* x, T* X, FftWorkspace<T>& w) {
  f.forward(x, X, w);
}
template <class T>
void real_transform_pullback(const RealTransform<T>& f, const T* X_bar, T* x_bar,
                             FftWorkspace<T>& w);
// Numbers x of coefficients (2), and the adjoint: adds to X_bar.
template <class T>
void real_inverse(const RealTransform<T>& f, const T* X, T* x, FftWorkspace<T>& w) {
  f.inverse(X, x, w);
}
template <class T>
void real_inverse_pullback(const RealTransform<T>& f, const T* x_bar, T* X_bar, FftWorkspace<T>& w);

}  // namespace cycloid::inline fluid

namespace cycloid::isa::portable {
const FftKernels<float>& fft_kernels_float();
const FftKernels<double>& fft_kernels_double();
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
const FftKernels<float>& fft_kernels_float();
const FftKernels<double>& fft_kernels_double();
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
const FftKernels<float>& fft_kernels_float();
const FftKernels<double>& fft_kernels_double();
}  // namespace cycloid::isa::v4
