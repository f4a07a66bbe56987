// A law of motion: the smallest thing that a user writes, and how its sizes and pullback are found.
//
//   struct VanDerPol {
//     static constexpr const char* kName = "van_der_pol";
//     static constexpr std::array kState = {BlockSpec{"x", 1, "m"}, BlockSpec{"v", 1, "m/s"}};
//     static constexpr std::array kParameters = {ParameterSpec{"mu", 1.0, "1/s"}};
//     template <class S>
//     void x_dot(const S& t, const S* x, const S* u, const S* p, S* dx) const {
//       dx[0] = x[1];
//       dx[1] = p[0] * (S(1) - x[0] * x[0]) * x[1] - x[0];
//     }
//   };
//
//   x_dot(t, x, u, p, dx)                                            (1)  dx: a number per tangent
//   x_dot_pullback(t, x, u, p, dx_bar, t_bar, x_bar, u_bar, p_bar)   (2)  optional; adds
// Without (2) the pullback comes from dual numbers, kDualWidth directions at a time, for laws with
// at most kMaxDualInputs tangents, inputs and parameters together (beyond that its cost, which
// grows with their number, is no bargain and the compiler asks for (2)).
//
// Optional members:
//   kInput         blocks of the input; none without it
//   kSaved = n     x_dot then takes one more argument, S* saved (n numbers), and x_dot_pullback
//                  `const S* saved` after p: values worth keeping for the pullback (a sine and its
//                  cosine)
//   kSecondOrder   the state is [q, v], first half of dx is v: semi_implicit and verlet apply
//   energy, kObservables with observe   what it shows besides its state (law_observer.h)
//   refuse, admit  parameters and starts that make no sense to it (admission.h)
// A discrete law has `step(t, h, x, u, p, x_next)` in place of x_dot and lives in a flat space.
// A law whose sizes are known at run time only has member functions instead of the constants:
// state(), input(), parameters() returning vectors; it lives in a flat space and writes its own
// pullback.
#pragma once

#include <array>
#include <type_traits>
#include <vector>

#include "cycloid/math/dual.h"
#include "cycloid/system/parameters.h"
#include "cycloid/system/space.h"

namespace cycloid::inline system {

inline constexpr int kDualWidth = 4;
inline constexpr int kMaxDualInputs = 64;
inline constexpr int kDynamic = -1;

template <class Law>
concept StaticLaw = requires { Law::kState; };
template <class Law>
concept HasInput = requires { Law::kInput; };
template <class Law>
concept HasParameters = requires { Law::kParameters; };
template <class Law>
concept SavesValues = requires { Law::kSaved; };
template <class Law>
concept SecondOrder = requires { requires Law::kSecondOrder; };

// True for a law in continuous time, (1); false for a discrete one.
template <class Law>
concept ContinuousLaw = requires(const Law& law, const double* c, double* m) {
  law.x_dot(0.0, c, c, c, m);
} || requires(const Law& law, const double* c, double* m) { law.x_dot(0.0, c, c, c, m, m); };

template <class Law>
concept HasPullback = requires(const Law& law, const double* c, double& r, double* m) {
  law.x_dot_pullback(0.0, c, c, c, c, r, m, m, m);
} || requires(const Law& law, const double* c, double& r, double* m) {
  law.x_dot_pullback(0.0, c, c, c, c, c, r, m, m, m);
};

// A member of that name, whatever its arguments.
template <class Law>
concept NamesPullback = requires { &Law::template x_dot_pullback<double>; };

// Sizes of a law: constants where the law's are, so that loops over them unroll.
template <class Law>
struct LawShape;

template <class Law>
constexpr int saved_numbers() {
  if constexpr (SavesValues<Law>) return Law::kSaved;
  return 0;
}

template <StaticLaw Law>
struct LawShape<Law> {
  explicit constexpr LawShape(const Law&) {}
  static constexpr int sum_states(bool tangent) {
    int n = 0;
    for (const BlockSpec& b : Law::kState) n += tangent ? b.tangent_size() : b.size;
    return n;
  }
  static constexpr int sum_inputs() {
    int n = 0;
    if constexpr (HasInput<Law>) {
      for (const BlockSpec& b : Law::kInput) n += b.size;
    }
    return n;
  }
  static constexpr int sum_parameters() {
    int n = 0;
    if constexpr (HasParameters<Law>) {
      for (const ParameterSpec& s : Law::kParameters) n += s.size;
    }
    return n;
  }
  static constexpr int kStates = sum_states(false), kTangents = sum_states(true);
  static constexpr int kInputs = sum_inputs(), kParameters = sum_parameters();
  static constexpr int states = kStates, tangents = kTangents, inputs = kInputs,
                       parameters = kParameters, saved = saved_numbers<Law>();
  static constexpr bool kFlat = kStates == kTangents;
};

template <class Law>
struct LawShape {
  explicit LawShape(const Law& law)
      : states(count(law.state())),
        tangents(states),
        inputs(count(law.input())),
        parameters(count(law.parameters())) {}
  template <class Specs>
  static int count(const Specs& specs) {
    int n = 0;
    for (const auto& s : specs) n += s.size;
    return n;
  }
  static constexpr int kStates = kDynamic, kTangents = kDynamic, kInputs = kDynamic,
                       kParameters = kDynamic;
  static constexpr bool kFlat = true;
  static constexpr int saved = saved_numbers<Law>();
  int states, tangents, inputs, parameters;
};

template <class Law>
std::vector<BlockSpec> state_specs(const Law& law) {
  if constexpr (StaticLaw<Law>) {
    return {Law::kState.begin(), Law::kState.end()};
  } else {
    return law.state();
  }
}

template <class Law>
std::vector<BlockSpec> input_specs(const Law& law) {
  if constexpr (HasInput<Law>) {
    return {Law::kInput.begin(), Law::kInput.end()};
  } else if constexpr (StaticLaw<Law>) {
    return {};
  } else {
    return law.input();
  }
}

template <class Law>
std::vector<ParameterSpec> parameter_specs(const Law& law) {
  if constexpr (HasParameters<Law>) {
    return {Law::kParameters.begin(), Law::kParameters.end()};
  } else if constexpr (StaticLaw<Law>) {
    return {};
  } else {
    return law.parameters();
  }
}

// Memory for the local arrays of a law whose sizes are known at run time only: a piece of the
// workspace.
struct Scratch {
  std::byte* next;
};

// A local array of n numbers: on the stack when its size is a constant, else from the scratch
// memory.
template <class S, int N>
struct LocalArray {
  CYCLOID_HD LocalArray(Scratch&, int) {}
  S values[N];
  CYCLOID_HD S* data() { return values; }
  CYCLOID_HD S& operator[](int i) { return values[i]; }
};
template <class S>
struct LocalArray<S, 0> {
  LocalArray(Scratch&, int) {}
  S* data() { return nullptr; }
  S& operator[](int i) { return data()[i]; }
};
template <class S>
struct LocalArray<S, kDynamic> {
  CYCLOID_HD LocalArray(Scratch& scratch, int n) : values(reinterpret_cast<S*>(scratch.next)) {
    scratch.next += sizeof(S) * static_cast<std::size_t>(n);
  }
  S* values;
  CYCLOID_HD S* data() { return values; }
  CYCLOID_HD S& operator[](int i) { return values[i]; }
};

template <class S>
CYCLOID_INLINE void set_zero(S* a, int n) {
  for (int i = 0; i < n; ++i) a[i] = S(0);
}

}  // namespace cycloid::inline system
