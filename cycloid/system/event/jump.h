// Jumps of a law whose rate is given by something else: a guard and a reflection, with pullbacks.
//
//   g(x) = c·x - b                      (1)  the jump happens where g falls through zero
//   x⁺   = x - (1 + e) d (m·x)/(m·d)    (2)  so that m·x⁺ = -e m·x
// c guard, b level, e restitution, m sense, d direction: parameters "name.guard", …, of the size of
// the state. An impact of a mass at a wall with normal n: c = [n, 0]; for a state [q, v] m = [0, n]
// and d = [0, M⁻¹ n], for [q, p] m = [0, M⁻¹ n] and d = [0, n]. What the derivative of a run is
// then: event_walk.h. Environments go one by one.
#pragma once

#include <string>
#include <utility>

#include "cycloid/system/event/event.h"
#include "cycloid/system/law/any_law.h"
#include "cycloid/system/law/term_law.h"
#include "cycloid/system/systems.h"

namespace cycloid::inline system {

struct JumpSpec {
  std::string name = "impact";
  std::vector<double> guard = {};
  double level = 0, restitution = 1;
  std::vector<double> sense = {}, direction = {};
};

// Of one law.
inline constexpr int kMostJumps = 4;

// (1) and its pullback. p: guard, level, restitution, sense, direction.
template <class S>
S jump_guard(int n, const S* x, const S* p) {
  S g = -p[n];
  for (int i = 0; i < n; ++i) g += p[i] * x[i];  // (1)
  return g;
}
template <class S>
void jump_guard_pullback(int n, const S* x, const S* p, const S& g_bar, S* x_bar, S* p_bar) {
  p_bar[n] -= g_bar;
  for (int i = 0; i < n; ++i) p_bar[i] += g_bar * x[i], x_bar[i] += g_bar * p[i];  // (1)
}

// (2) and its pullback.
template <class S>
void jump(int n, const S* x, const S* p, S* x_next) {
  const S &e = p[n + 1], *const m = p + n + 2, *const d = m + n;
  S mx(0), md(0);
  for (int i = 0; i < n; ++i) mx += m[i] * x[i], md += m[i] * d[i];
  const S f = (S(1) + e) * mx / md;
  for (int i = 0; i < n; ++i) x_next[i] = x[i] - f * d[i];  // (2)
}
template <class S>
void jump_pullback(int n, const S* x, const S* p, const S* x_next_bar, S* x_bar, S* p_bar) {
  const S &e = p[n + 1], *const m = p + n + 2, *const d = m + n;
  S *const m_bar = p_bar + n + 2, *const d_bar = m_bar + n;
  S mx(0), md(0), f_bar(0);
  for (int i = 0; i < n; ++i) mx += m[i] * x[i], md += m[i] * d[i], f_bar -= d[i] * x_next_bar[i];
  const S f = (S(1) + e) * mx / md;
  const S mx_bar = f_bar * (S(1) + e) / md, md_bar = -f_bar * f / md;
  p_bar[n + 1] += f_bar * mx / md;
  for (int i = 0; i < n; ++i) {  // (2)
    x_bar[i] += x_next_bar[i] + mx_bar * m[i];
    m_bar[i] += mx_bar * x[i] + md_bar * d[i];
    d_bar[i] += md_bar * m[i] - f * x_next_bar[i];
  }
}

// A law with jumps; its parameters are theirs, jump by jump. S: float or double.
template <class S>
class JumpLaw {
 public:
  static constexpr std::array<EventSpec, kMostJumps> kEvents = {
      EventSpec{"impact", EventDirection::falling}, EventSpec{"impact", EventDirection::falling},
      EventSpec{"impact", EventDirection::falling}, EventSpec{"impact", EventDirection::falling}};

  JumpLaw(const AnyLaw<S>& base, int jumps)
      : base_(base), n_(LawShape<AnyLaw<S>>(base).states), jumps_(jumps) {}

  static int numbers(int states) { return 3 * states + 2; }
  const std::vector<BlockSpec>& state() const { return base_.state(); }
  const std::vector<BlockSpec>& input() const { return base_.input(); }
  std::vector<ParameterSpec> parameters() const {
    return {{"jumps", 0, "1", Constraint::none, jumps_ * numbers(n_)}};
  }

  template <class Q>
  void x_dot(const Q& t, const Q* x, const Q* u, const Q* p, Q* dx) const {
    base_.x_dot(t, x, u, p, dx);
  }
  template <class Q>
  void x_dot_pullback(const Q& t, const Q* x, const Q* u, const Q* p, const Q* dx_bar, Q& t_bar,
                      Q* x_bar, Q* u_bar, Q* p_bar) const {
    base_.x_dot_pullback(t, x, u, p, dx_bar, t_bar, x_bar, u_bar, p_bar);
  }
  template <class Q>
  void x_dot_jacobian(const Q& t, const Q* x, const Q* u, const Q* p, Q* J, Scratch scratch) const {
    base_.x_dot_jacobian(t, x, u, p, J, scratch);
  }
  // Whether the term's parameters receive cotangents (event_walk.h); returns what held before.
  bool set_wants_others(bool wanted) const {
    return std::exchange(TermLaw<S>::call()->wants_parameters, wanted);
  }
  // Guards that the law does not have stay at one.
  template <class Q>
  void events(const Q&, const Q* x, const Q*, const Q* p, Q* g) const {
    for (int k = 0; k < kMostJumps; ++k) {
      g[k] = k < jumps_ ? jump_guard(n_, x, p + k * numbers(n_)) : Q(1);
    }
  }
  template <class Q>
  void events_pullback(const Q&, const Q* x, const Q*, const Q* p, const Q* g_bar, Q&, Q* x_bar, Q*,
                       Q* p_bar) const {
    for (int k = 0; k < jumps_; ++k) {
      const int at = k * numbers(n_);
      jump_guard_pullback(n_, x, p + at, g_bar[k], x_bar, p_bar + at);
    }
  }
  template <class Q>
  void reset(int k, const Q&, const Q* x, const Q*, const Q* p, Q* x_next) const {
    jump(n_, x, p + k * numbers(n_), x_next);
  }
  template <class Q>
  void reset_pullback(int k, const Q&, const Q* x, const Q*, const Q* p, const Q* x_next_bar, Q&,
                      Q* x_bar, Q*, Q* p_bar) const {
    const int at = k * numbers(n_);
    jump_pullback(n_, x, p + at, x_next_bar, x_bar, p_bar + at);
  }

 private:
  AnyLaw<S> base_;
  int n_, jumps_;
};

// Steppers of bare motion (laws/bare_motion.h) with a term and jumps.
TermEntry jump_law_steppers(const TermKey& key, int jumps);

}  // namespace cycloid::inline system

namespace cycloid::systems {

// As make_of_term (systems.h), with jumps, whose parameters come first. Throws ModelError on jumps
// of another size, or whose sense does not see their direction.
SystemParts make_of_term(const std::string& name, const std::vector<BlockSpec>& state,
                         const std::vector<BlockSpec>& input, const Settings& settings,
                         const FeedbackLaw& term, TermOrder order,
                         const std::vector<JumpSpec>& jumps);

}  // namespace cycloid::systems
