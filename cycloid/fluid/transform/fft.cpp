#include "cycloid/fluid/transform/fft.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/base/thread_pool.h"

namespace cycloid::inline fluid {
namespace {

constexpr std::align_val_t kAlignment{128};
constexpr int kMostLanes = 16;  // of any instruction set
constexpr std::int64_t kMostNodes = std::int64_t{1} << 27;

int rounded_up(int n, int to) { return (n + to - 1) / to * to; }

}  // namespace

void FreeAligned::operator()(void* p) const { ::operator delete(p, kAlignment); }

template <class T>
AlignedNumbers<T> aligned_numbers(std::size_t count) {
  void* const p = ::operator new(count * sizeof(T), kAlignment);
  std::memset(p, 0, count * sizeof(T));
  return AlignedNumbers<T>(static_cast<T*>(p));
}

template <class T>
const FftKernels<T>& fft_kernels() {
  const auto of = [](auto f, auto d) -> const FftKernels<T>& {
    if constexpr (std::is_same_v<T, float>) return f();
    else return d();
  };
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return of(isa::v4::fft_kernels_float, isa::v4::fft_kernels_double);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return of(isa::v3::fft_kernels_float, isa::v3::fft_kernels_double);
#endif
    default: return of(isa::narrowest::fft_kernels_float, isa::narrowest::fft_kernels_double);
  }
}

template <class T>
RealTransform<T>::RealTransform(const std::vector<int>& shape, const std::vector<int>& cut)
    : shape_(shape), kernels_(&fft_kernels<T>()) {
  if (shape.empty() || shape.size() > 3) {
    throw ModelError(message("a box has one to three axes; got ", shape.size()));
  }
  if (!cut.empty() && cut.size() != shape.size()) {
    throw ModelError(
        message("a cut has one wave number per axis, ", shape.size(), "; got ", cut.size()));
  }
  for (const int n : shape) {
    if (n < 1) throw ModelError(message("every axis needs at least one node; got ", n));
    nodes_ *= n;
    if (nodes_ > kMostNodes) {
      throw ModelError(message("at most ", kMostNodes, " nodes; the shape asks for more"));
    }
    axes_.emplace_back(n);
  }
  const int d = static_cast<int>(shape.size());
  for (int a = 0; a < d; ++a) {
    const std::size_t i = static_cast<std::size_t>(a);
    const int n = shape[i], c = cut.empty() ? n / 2 : std::clamp(cut[i], 0, n / 2);
    const int count = a == 0 ? c + 1 : std::min(n, 2 * c + 1);
    for (int k = 0; k < count; ++k) {
      wave_[a].push_back(k <= c ? k : k - count);
      place_[a].push_back(wave_[a].back() < 0 ? wave_[a].back() + n : wave_[a].back());
    }
  }
  BoxView<T>& v = view_;
  v.dimensions = d;
  for (int a = 0; a < 3; ++a) {
    v.axis[a] = axes_[static_cast<std::size_t>(std::min(a, d - 1))].view();
  }
  v.scale = static_cast<T>(1.0 / static_cast<double>(nodes_));
  v.columns = static_cast<int>(nodes_ / shape[0]);
  v.kept0 = static_cast<int>(wave_[0].size());
  v.kept1 = d == 3 ? static_cast<int>(wave_[1].size()) : 1;
  v.kept_last = d > 1 ? static_cast<int>(wave_[d - 1].size()) : 1;
  v.rows = v.kept0 * v.kept1;
  v.row_pitch = rounded_up(v.rows, kMostLanes);
  v.middle_place = d == 3 ? place_[1].data() : nullptr;
  v.last_place = d > 1 ? place_[d - 1].data() : nullptr;
  if (d == 1) {
    v.half_step = 1, v.half_part = v.row_pitch, v.last_pitch = 0;
    half_numbers_ = static_cast<std::size_t>(2 * v.row_pitch);
    return;
  }
  const int pitch = rounded_up(v.columns, 2 * kMostLanes);
  v.half_part = pitch, v.half_step = 2 * pitch;
  v.last_pitch = d == 2 ? pitch : rounded_up(shape.back(), kMostLanes);
  const std::size_t padded = static_cast<std::size_t>(v.row_pitch);
  half_numbers_ =
      static_cast<std::size_t>(2 * pitch) * (d == 2 ? padded : static_cast<std::size_t>(v.kept0));
  row_numbers_ = d == 3 ? padded * 2 * static_cast<std::size_t>(v.last_pitch) : 0;
  column_blocks_ = (v.columns + 2 * kernels_->lanes - 1) / (2 * kernels_->lanes);
  row_blocks_ = (v.rows + kernels_->lanes - 1) / kernels_->lanes;
}

template <class T>
int RealTransform<T>::wave_number(int axis, int slab, int row) const {
  const int d = dimensions();
  if (row >= rows()) return 0;
  const int at = axis == 0 ? row / view_.kept1 : axis == d - 1 ? slab : row % view_.kept1;
  return wave_[axis][static_cast<std::size_t>(at)];
}

template <class T>
int RealTransform<T>::weight(int, int row) const {
  const int k = wave_number(0, 0, row);
  return k == 0 || 2 * k == shape_[0] ? 1 : 2;
}

template <class T>
void RealTransform<T>::forward(const T* x, T* X, FftWorkspace<T>& w) const {
  T* const half = dimensions() == 1 ? X : w.half();
  parallel_for(static_cast<std::size_t>(column_blocks_), w.threads(),
               [&](std::size_t block, int worker) {
                 kernels_->columns_forward(view_, static_cast<int>(block), x, half, w.room(worker));
               });
  if (dimensions() > 1) forward_from_half(half, X, w);
}

template <class T>
void RealTransform<T>::inverse(const T* X, T* x, FftWorkspace<T>& w) const {
  if (dimensions() > 1) inverse_to_half(X, w.half(), w);
  const T* const half = dimensions() == 1 ? X : w.half();
  parallel_for(static_cast<std::size_t>(column_blocks_), w.threads(),
               [&](std::size_t block, int worker) {
                 kernels_->columns_inverse(view_, static_cast<int>(block), half, x, w.room(worker));
               });
}

template <class T>
void RealTransform<T>::forward_from_half(T* half, T* X, FftWorkspace<T>& w) const {
  if (dimensions() == 1) {
    std::copy_n(half, coefficients(), X);
    return;
  }
  const T* rows = half;
  if (dimensions() == 3) {
    rows = w.rows();
    parallel_for(
        static_cast<std::size_t>(view_.kept0), w.threads(), [&](std::size_t k, int worker) {
          kernels_->middle_forward(view_, static_cast<int>(k), half, w.rows(), w.room(worker));
        });
  }
  parallel_for(static_cast<std::size_t>(row_blocks_), w.threads(),
               [&](std::size_t block, int worker) {
                 kernels_->rows_forward(view_, static_cast<int>(block), rows, X, w.room(worker));
               });
}

template <class T>
void RealTransform<T>::inverse_to_half(const T* X, T* half, FftWorkspace<T>& w) const {
  if (dimensions() == 1) {
    std::copy_n(X, coefficients(), half);
    return;
  }
  T* const rows = dimensions() == 3 ? w.rows() : half;
  parallel_for(static_cast<std::size_t>(row_blocks_), w.threads(),
               [&](std::size_t block, int worker) {
                 kernels_->rows_inverse(view_, static_cast<int>(block), X, rows, w.room(worker));
               });
  if (dimensions() == 2) return;
  parallel_for(static_cast<std::size_t>(view_.kept0), w.threads(), [&](std::size_t k, int worker) {
    kernels_->middle_inverse(view_, static_cast<int>(k), rows, half, w.room(worker));
  });
}

template <class T>
FftWorkspace<T>::FftWorkspace(const RealTransform<T>& f, int threads, int buffers)
    : threads_(std::max(threads, 1)), half_(aligned_numbers<T>(f.half_numbers())) {
  if (f.row_numbers() > 0) rows_ = aligned_numbers<T>(f.row_numbers());
  int longest = 1, most = 1;
  for (int a = 0; a < f.dimensions(); ++a) {
    longest = std::max(longest, f.view().axis[a].n);
    most = std::max(most, f.view().axis[a].most);
  }
  for (int i = 0; i < threads_; ++i) {
    rooms_.push_back(aligned_numbers<T>(static_cast<std::size_t>(2 * kMostLanes) *
                                        static_cast<std::size_t>(buffers * longest + most)));
  }
}

template <class T>
void real_transform_pullback(const RealTransform<T>& f, const T* X_bar, T* x_bar,
                             FftWorkspace<T>& w) {
  auto tilde = aligned_numbers<T>(static_cast<std::size_t>(f.coefficients()));
  auto x = aligned_numbers<T>(static_cast<std::size_t>(f.nodes()));
  for (int s = 0; s < f.slabs(); ++s) {
    for (int r = 0; r < f.rows(); ++r) {
      const T scale = T(1) / static_cast<T>(f.weight(s, r));
      for (int part = 0; part < 2; ++part) {
        const std::ptrdiff_t i = (std::ptrdiff_t{2} * s + part) * f.pitch() + r;
        tilde[static_cast<std::size_t>(i)] = scale * X_bar[i];
      }
    }
  }
  f.inverse(tilde.get(), x.get(), w);
  const T scale = f.view().scale;
  for (std::int64_t i = 0; i < f.nodes(); ++i) x_bar[i] += scale * x[static_cast<std::size_t>(i)];
}

template <class T>
void real_inverse_pullback(const RealTransform<T>& f, const T* x_bar, T* X_bar,
                           FftWorkspace<T>& w) {
  auto X = aligned_numbers<T>(static_cast<std::size_t>(f.coefficients()));
  f.forward(x_bar, X.get(), w);
  const T nodes = static_cast<T>(f.nodes());
  for (int s = 0; s < f.slabs(); ++s) {
    for (int r = 0; r < f.rows(); ++r) {
      const T scale = nodes * static_cast<T>(f.weight(s, r));
      for (int part = 0; part < 2; ++part) {
        const std::ptrdiff_t i = (std::ptrdiff_t{2} * s + part) * f.pitch() + r;
        X_bar[i] += scale * X[static_cast<std::size_t>(i)];
      }
    }
  }
}

template AlignedNumbers<float> aligned_numbers<float>(std::size_t);
template AlignedNumbers<double> aligned_numbers<double>(std::size_t);
template const FftKernels<float>& fft_kernels<float>();
template const FftKernels<double>& fft_kernels<double>();
template class RealTransform<float>;
template class RealTransform<double>;
template class FftWorkspace<float>;
template class FftWorkspace<double>;
template void real_transform_pullback(const RealTransform<float>&, const float*, float*,
                                      FftWorkspace<float>&);
template void real_transform_pullback(const RealTransform<double>&, const double*, double*,
                                      FftWorkspace<double>&);
template void real_inverse_pullback(const RealTransform<float>&, const float*, float*,
                                    FftWorkspace<float>&);
template void real_inverse_pullback(const RealTransform<double>&, const double*, double*,
                                    FftWorkspace<double>&);

}  // namespace cycloid::inline fluid
