// Motion without a law: what is left when everything that acts is a term (term_law.h).
//
//   AtRest     ẋ = 0                          (1)
//   Coasting   q̇ = v,  v̇ = 0,  x = [q, v]     (2)
// Sizes are known at run time. Blocks have no meaning here: whoever makes a System of one names
// them.
#pragma once

#include <vector>

#include "cycloid/system/law.h"

namespace cycloid::inline system {

struct AtRest {
  static constexpr const char* kName = "at_rest";
  int n = 1, inputs = 0;

  std::vector<BlockSpec> state() const { return {{"x", n, "1"}}; }
  std::vector<BlockSpec> input() const {
    return inputs > 0 ? std::vector<BlockSpec>{{"u", inputs, "1"}} : std::vector<BlockSpec>();
  }
  std::vector<ParameterSpec> parameters() const { return {}; }

  template <class S>
  void x_dot(const S&, const S*, const S*, const S*, S* dx) const {
    for (int i = 0; i < n; ++i) dx[i] = S(0);  // (1)
  }
  template <class S>
  void x_dot_pullback(const S&, const S*, const S*, const S*, const S*, S&, S*, S*, S*) const {}
};

struct Coasting {
  static constexpr const char* kName = "coasting";
  static constexpr bool kSecondOrder = true;
  int n = 1, inputs = 0;  // n velocities

  std::vector<BlockSpec> state() const { return {{"q", n, "1"}, {"velocity", n, "1/s"}}; }
  std::vector<BlockSpec> input() const { return AtRest{n, inputs}.input(); }
  std::vector<ParameterSpec> parameters() const { return {}; }

  template <class S>
  void x_dot(const S&, const S* x, const S*, const S*, S* dx) const {
    for (int i = 0; i < n; ++i) dx[i] = x[n + i], dx[n + i] = S(0);  // (2)
  }
  template <class S>
  void x_dot_pullback(const S&, const S*, const S*, const S*, const S* dx_bar, S&, S* x_bar, S*,
                      S*) const {
    for (int i = 0; i < n; ++i) x_bar[n + i] += dx_bar[i];  // (2)
  }
};

}  // namespace cycloid::inline system
