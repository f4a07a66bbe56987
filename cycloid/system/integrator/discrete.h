// A discrete law is its own time step: x⁺ = step(t, h, x, u, p), see law.h.
//
// It brings step_pullback(t, h, x, u, p, x_next_bar, t_bar, h_bar, x_bar, u_bar, p_bar), or takes
// its pullback from dual numbers with h as one more parameter. No record: the pullback starts from
// x.
#pragma once

#include "cycloid/system/law/law_point.h"

namespace cycloid::inline system {

template <class Law>
concept HasStepPullback = requires(const Law& law, const double* c, double& r, double* m) {
  law.step_pullback(0.0, 0.0, c, c, c, c, r, r, m, m, m);
};

struct Discrete {
  static constexpr const char* kName = "discrete";
  static constexpr int kStages = 0;

  template <class Law, class S>
  CYCLOID_INLINE static void step(const LawPoint<Law, S>& at, const S* x, S* x_next, S*) {
    at.law.step(at.t, at.h, x, at.u, at.p, x_next);
  }

  template <class Law, class S>
  CYCLOID_INLINE static void step_pullback(const LawPoint<Law, S>& at, const S* x, const S*,
                                           const S* x_next_bar, LawPointBar<S>& at_bar, S* x_bar) {
    static_assert(LawShape<Law>::kFlat, "a discrete law lives in a flat space");
    if constexpr (HasStepPullback<Law>) {
      at.law.step_pullback(at.t, at.h, x, at.u, at.p, x_next_bar, at_bar.t, at_bar.h, x_bar,
                           at_bar.u, at_bar.p);
    } else {
      pull_back_by_duals(
          at, at.t, x, x_next_bar, at_bar.t, x_bar, at_bar.u, at_bar.p,
          [&](const auto& t, const auto* xd, const auto* ud, const auto* pd, auto* out) {
            using D = std::remove_cvref_t<decltype(t)>;
            at.law.step(t, D(at.h), xd, ud, pd, out);
          },
          at.shape.states);
      pull_back_step_length(at, x, x_next_bar, at_bar.h);
    }
  }

 private:
  template <class Law, class S>
  static void pull_back_step_length(const LawPoint<Law, S>& at, const S* x, const S* x_next_bar,
                                    S& h_bar) {
    using D = Dual<S, 1>;
    using Shape = LawShape<Law>;
    Scratch none{nullptr};
    LocalArray<D, Shape::kStates> xd(none, 0), out(none, 0);
    LocalArray<D, Shape::kInputs> ud(none, 0);
    LocalArray<D, Shape::kParameters> pd(none, 0);
    D h(at.h);
    h.tangent[0] = S(1);
    for (int i = 0; i < Shape::kStates; ++i) xd[i] = D(x[i]);
    for (int i = 0; i < Shape::kInputs; ++i) ud[i] = D(at.u[i]);
    for (int i = 0; i < Shape::kParameters; ++i) pd[i] = D(at.p[i]);
    at.law.step(D(at.t), h, xd.data(), ud.data(), pd.data(), out.data());
    for (int i = 0; i < Shape::kStates; ++i) h_bar += x_next_bar[i] * out[i].tangent[0];
  }
};

}  // namespace cycloid::inline system
