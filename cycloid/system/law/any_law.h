// AnyLaw<S>: a law behind a table of functions, for integrators compiled once for all laws.
//
// A step calls its law a few times and does much else around it: the calls through pointers cost
// little there, and spare compiling each integrator for each law. rk4, the default, goes without
// them. To the
// integrators this is a law of run-time size in a flat space. It saves no values: a law that does
// computes them again in its pullback.
#pragma once

#include <memory>
#include <vector>

#include "cycloid/system/law/law_jacobian.h"

namespace cycloid::inline system {

template <class S>
class AnyLaw {
 public:
  template <class Law>
  explicit AnyLaw(const Law& law)
      : law_(std::make_shared<Law>(law)),
        x_dot_(&evaluate<Law>),
        x_dot_pullback_(&pull_back<Law>),
        x_dot_jacobian_(&linearise<Law>),
        state_(state_specs(law)),
        input_(input_specs(law)),
        parameters_(parameter_specs(law)) {
    static_assert(LawShape<Law>::kFlat, "AnyLaw is for laws without quaternions");
  }

  const std::vector<BlockSpec>& state() const { return state_; }
  const std::vector<BlockSpec>& input() const { return input_; }
  const std::vector<ParameterSpec>& parameters() const { return parameters_; }

  // Templates in form only, so that the questions of law.h find them; Q is S.
  template <class Q>
  void x_dot(const Q& t, const Q* x, const Q* u, const Q* p, Q* dx) const {
    x_dot_(law_.get(), t, x, u, p, dx);
  }
  template <class Q>
  void x_dot_pullback(const Q& t, const Q* x, const Q* u, const Q* p, const Q* dx_bar, Q& t_bar,
                      Q* x_bar, Q* u_bar, Q* p_bar) const {
    x_dot_pullback_(law_.get(), t, x, u, p, dx_bar, t_bar, x_bar, u_bar, p_bar);
  }
  template <class Q>
  void x_dot_jacobian(const Q& t, const Q* x, const Q* u, const Q* p, Q* J, Scratch scratch) const {
    x_dot_jacobian_(law_.get(), t, x, u, p, J, scratch);
  }

 private:
  template <class Law>
  static LawPoint<Law, S> point(const void* law, const S& t, const S* u, const S* p,
                                Scratch scratch) {
    const Law& known = *static_cast<const Law*>(law);
    return {known, LawShape<Law>(known), t, S(0), u, p, scratch};
  }
  template <class Law>
  static void evaluate(const void* law, const S& t, const S* x, const S* u, const S* p, S* dx) {
    Scratch none{nullptr};
    LocalArray<S, LawShape<Law>::saved> saved(none, 0);
    law_x_dot(point<Law>(law, t, u, p, none), t, x, dx, saved.data());
  }
  template <class Law>
  static void pull_back(const void* law, const S& t, const S* x, const S* u, const S* p,
                        const S* dx_bar, S& t_bar, S* x_bar, S* u_bar, S* p_bar) {
    static_assert(StaticLaw<Law> || !SavesValues<Law>, "there is no memory for its saved values");
    const Scratch none{nullptr};
    pull_law_back(point<Law>(law, t, u, p, none), t, x, dx_bar, t_bar, x_bar, u_bar, p_bar, none);
  }
  template <class Law>
  static void linearise(const void* law, const S& t, const S* x, const S* u, const S* p, S* J,
                        Scratch scratch) {
    law_jacobian(point<Law>(law, t, u, p, scratch), t, x, J);
  }

  std::shared_ptr<const void> law_;
  void (*x_dot_)(const void*, const S&, const S*, const S*, const S*, S*);
  void (*x_dot_pullback_)(const void*, const S&, const S*, const S*, const S*, const S*, S&, S*, S*,
                          S*);
  void (*x_dot_jacobian_)(const void*, const S&, const S*, const S*, const S*, S*, Scratch);
  std::vector<BlockSpec> state_, input_;
  std::vector<ParameterSpec> parameters_;
};

}  // namespace cycloid::inline system
