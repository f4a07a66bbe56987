#include "cycloid/fluid/spectral/spectral_kernels.h"

#include <type_traits>

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/instruction_set.h"

namespace cycloid::inline fluid {

template <class T>
const EtdKernels<T>& etd_kernels() {
  const auto of = [](auto f, auto d) -> const EtdKernels<T>& {
    if constexpr (std::is_same_v<T, float>) return f();
    else return d();
  };
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return of(isa::v4::etd_kernels_float, isa::v4::etd_kernels_double);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return of(isa::v3::etd_kernels_float, isa::v3::etd_kernels_double);
#endif
    default: return of(isa::narrowest::etd_kernels_float, isa::narrowest::etd_kernels_double);
  }
}

template <class T>
const TermKernels<T>& term_kernels(SpectralTerm term) {
  const auto of = [term](auto f, auto d) -> const TermKernels<T>& {
    if constexpr (std::is_same_v<T, float>) return f(term);
    else return d(term);
  };
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return of(isa::v4::term_kernels_float, isa::v4::term_kernels_double);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return of(isa::v3::term_kernels_float, isa::v3::term_kernels_double);
#endif
    default: return of(isa::narrowest::term_kernels_float, isa::narrowest::term_kernels_double);
  }
}

template const EtdKernels<float>& etd_kernels<float>();
template const EtdKernels<double>& etd_kernels<double>();
template const TermKernels<float>& term_kernels<float>(SpectralTerm);
template const TermKernels<double>& term_kernels<double>(SpectralTerm);

}  // namespace cycloid::inline fluid
