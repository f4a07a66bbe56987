// spectral_kernels: what a step in Fourier coefficients does to arrays, for each instruction set.
//
// Coefficients of all fields lie one behind the other, each as fft.h says; kernels take them slab
// by slab, and nodes by blocks of columns, so that threads may share them. In a block the way goes
// from coefficients along axis 0 to nodes, products, and back without leaving the cache.
#pragma once

#include "cycloid/fluid/transform/box_view.h"

namespace cycloid::inline fluid {

template <class T>
struct ModesView {
  int dimensions, slabs;
  std::ptrdiff_t pitch;        // of a slab's real parts
  std::ptrdiff_t stride;       // from one field of coefficients to the next
  const T* row_k[2];           // (pitch) k along axis 0, and of three axes along the second [1/m]
  const T* slab_k;             // (slabs) along the last of two or three axes
  const T* inverse_square;     // (slabs, pitch) 1/|k|², 0 at k = 0 [m²]
  const T* weight;             // (pitch) w of fft.h, 0 beyond the rows
  std::ptrdiff_t half_stride;  // from one field of `half` to the next
  std::ptrdiff_t nodes;        // numbers of a field at the nodes
};

// scale · coefficient ⊙ x, a part of a stage; coefficients (groups, parts, slabs, pitch).
template <class T>
struct EtdTerm {
  const T* coefficient;
  const T* slope;  // derivative of the coefficient by h L
  T scale;
  const T* x;  // (fields, stride)
  T* x_bar;    // likewise, or null
};

template <class T>
struct EtdView {
  int fields, parts;         // parts: 1 where L is real, 2 where it is complex
  int group[4];              // of each field, which L it has
  std::ptrdiff_t per_group;  // numbers of a group
};

template <class T>
struct EtdKernels {
  // out = Σ terms
  void (*sum)(const ModesView<T>&, const EtdView<T>&, int slab, const EtdTerm<T>* terms, int count,
              T* out);
  // x̃ += scale · conj(coefficient) ỹ for each term
  void (*sum_adjoint)(const ModesView<T>&, const EtdView<T>&, int slab, const EtdTerm<T>* terms,
                      int count, const T* y);
  // (groups, slabs, pitch) += Re(conj(slope x) ỹ), L real
  void (*slopes)(const ModesView<T>&, const EtdView<T>&, int slab, const EtdTerm<T>* terms,
                 int count, const T* y, double* to);
  // The largest of Σ_a |x_a| rate_a + extra over n numbers, or NaN where one is.
  T (*fastest)(const T* x, std::ptrdiff_t stride, std::ptrdiff_t n, const T* rates, int count);
  bool (*all_finite)(const T* x, std::ptrdiff_t n);
};

template <class T>
struct TermKernels {
  int fields, seen_fields, products, constants;
  bool sees_state, projects, uses_state;
  void (*project)(const ModesView<T>&, int slab, T* u);
  void (*seen)(const ModesView<T>&, int slab, const T* u, T* g);
  void (*seen_adjoint)(const ModesView<T>&, int slab, const T* g, T* u);  // adds
  void (*assembled)(const ModesView<T>&, int slab, const T* c, const T* q, const T* u, T* N);
  // Assigns q, adds to u.
  void (*assembled_adjoint)(const ModesView<T>&, int slab, const T* c, const T* N, T* q, T* u);
  // Adds the slab's share, weighted.
  void (*constants_adjoint)(const ModesView<T>&, int slab, const T* u, const T* N, double* c);
  // nodes (seen_fields, nodes): g, or null: nobody wants to know. Without half_g they are given.
  void (*columns)(const ModesView<T>&, const BoxView<T>&, int block, const T* half_g, T* half_q,
                  T* nodes, void* room);
  // Into half_g, or without it added to nodes_bar.
  void (*columns_adjoint)(const ModesView<T>&, const BoxView<T>&, int block, const T* half_q,
                          const T* nodes, T* half_g, T* nodes_bar, void* room);
  // From half_g, or without it from nodes_tan.
  void (*columns_tangent)(const ModesView<T>&, const BoxView<T>&, int block, const T* half_g,
                          const T* nodes_tan, const T* nodes, T* half_q, void* room);
};

enum class SpectralTerm {
  transport_1d,
  transport_2d,
  transport_3d,
  incompressible_2d,
  incompressible_3d,
  reaction,
  shallow_water,
};

// Those of the instruction set in use.
template <class T>
const EtdKernels<T>& etd_kernels();
template <class T>
const TermKernels<T>& term_kernels(SpectralTerm term);

}  // namespace cycloid::inline fluid

namespace cycloid::isa::portable {
const EtdKernels<float>& etd_kernels_float();
const EtdKernels<double>& etd_kernels_double();
const TermKernels<float>& term_kernels_float(SpectralTerm term);
const TermKernels<double>& term_kernels_double(SpectralTerm term);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
const EtdKernels<float>& etd_kernels_float();
const EtdKernels<double>& etd_kernels_double();
const TermKernels<float>& term_kernels_float(SpectralTerm term);
const TermKernels<double>& term_kernels_double(SpectralTerm term);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
const EtdKernels<float>& etd_kernels_float();
const EtdKernels<double>& etd_kernels_double();
const TermKernels<float>& term_kernels_float(SpectralTerm term);
const TermKernels<double>& term_kernels_double(SpectralTerm term);
}  // namespace cycloid::isa::v4
