#include "cycloid/fluid/transform/fft.h"
#include "cycloid/fluid/transform/fft_passes.h"

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class T>
struct Passes {
  using Lanes = Pack<T, kNativeLanes<T>>;

  // The first buffer of the room, and behind its n numbers room for a stage.
  template <class S>
  static ComplexLane<S>* buffer(void* room) {
    return static_cast<ComplexLane<S>*>(room);
  }
  static int longest(const BoxView<T>& v) {
    int n = 1;
    for (int a = 0; a < v.dimensions; ++a) n = v.axis[a].n > n ? v.axis[a].n : n;
    return n;
  }
  template <class S, class Work>
  static void with(const BoxView<T>& v, void* room, Work&& work) {
    ComplexLane<S>* const z = buffer<S>(room);
    work(z, z + longest(v));
  }

  static void columns_forward(const BoxView<T>& v, int task, const T* x, T* half, void* room) {
    if (v.dimensions == 1) {
      with<T>(v, room, [&](auto* z, auto* t) { fluid::columns_forward<T>(v, 0, x, half, z, t); });
    } else {
      with<Lanes>(v, room,
                  [&](auto* z, auto* t) { fluid::columns_forward<Lanes>(v, task, x, half, z, t); });
    }
  }
  static void columns_inverse(const BoxView<T>& v, int task, const T* half, T* x, void* room) {
    if (v.dimensions == 1) {
      with<T>(v, room, [&](auto* z, auto* t) { fluid::columns_inverse<T>(v, 0, half, x, z, t); });
    } else {
      with<Lanes>(v, room,
                  [&](auto* z, auto* t) { fluid::columns_inverse<Lanes>(v, task, half, x, z, t); });
    }
  }
  static void middle_forward(const BoxView<T>& v, int k0, const T* half, T* rows, void* room) {
    with<Lanes>(v, room,
                [&](auto* z, auto* t) { fluid::middle_forward<Lanes>(v, k0, half, rows, z, t); });
  }
  static void middle_inverse(const BoxView<T>& v, int k0, const T* rows, T* half, void* room) {
    with<Lanes>(v, room,
                [&](auto* z, auto* t) { fluid::middle_inverse<Lanes>(v, k0, rows, half, z, t); });
  }
  static void rows_forward(const BoxView<T>& v, int block, const T* rows, T* X, void* room) {
    with<Lanes>(v, room,
                [&](auto* z, auto* t) { fluid::rows_forward<Lanes>(v, block, rows, X, z, t); });
  }
  static void rows_inverse(const BoxView<T>& v, int block, const T* X, T* rows, void* room) {
    with<Lanes>(v, room,
                [&](auto* z, auto* t) { fluid::rows_inverse<Lanes>(v, block, X, rows, z, t); });
  }

  static constexpr FftKernels<T> all() {
    return {kNativeLanes<T>, columns_forward, columns_inverse, middle_forward,
            middle_inverse,  rows_forward,    rows_inverse};
  }
};

constexpr FftKernels<float> kFloat = Passes<float>::all();
constexpr FftKernels<double> kDouble = Passes<double>::all();

}  // namespace

const FftKernels<float>& fft_kernels_float() { return kFloat; }
const FftKernels<double>& fft_kernels_double() { return kDouble; }

}  // namespace cycloid::isa::CYCLOID_ISA
