// Laws and integrators as functions of flat arrays: what the tests of laws and integrators share.
//
//   x_dot_of(law, ...)           x_dot at one point, in double
//   check_law_pullback           x_dot against its pullback; points are [t, x, u, p]
//   check_energy_pullback        energy against its pullback; points are [x, p]
//   energy_rate                  dE/dt along x_dot: zero where the law conserves energy
//   take_steps<Scheme>           n equal steps of a law, in double
//   check_step_pullback<Scheme>  step against its pullback; points are [d, u, p, t, h], where the
//   state is
//                                base ⊕ d and the result is the new state's coordinates
#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "cycloid/system/integrator/scheme.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

template <class Law, class S>
void evaluate(const Law& law, const S& t, const S* x, const S* u, const S* p, S* dx, S* saved) {
  const LawPoint<Law, S> at{law, LawShape<Law>(law), t, S(0), u, p, Scratch{nullptr}};
  law_x_dot(at, t, x, dx, saved);
}

template <class Law>
Numbers x_dot_of(const Law& law, const Numbers& x, const Numbers& u, const Numbers& p,
                 double t = 0) {
  const LawShape<Law> shape(law);
  Numbers dx(static_cast<std::size_t>(shape.tangents)), saved(1 + shape.saved);
  evaluate(law, t, x.data(), u.data(), p.data(), dx.data(), saved.data());
  return dx;
}

// For laws in a flat space.
template <class Law>
bool check_law_pullback(std::string_view name, const Law& law, const std::vector<Numbers>& points,
                        const PullbackOptions& options = {}) {
  const LawShape<Law> shape(law);
  const int x = 1, u = x + shape.states, p = u + shape.inputs;
  const auto f = [&]<class S>(const S* in, S* out) {
    std::vector<S> saved(1 + shape.saved);
    evaluate(law, in[0], in + x, in + u, in + p, out, saved.data());
  };
  const auto f_pullback = [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
    std::vector<S> saved(1 + shape.saved), dx(shape.states);
    evaluate(law, in[0], in + x, in + u, in + p, dx.data(), saved.data());
    const LawPoint<Law, S> at{law, shape, in[0], S(0), in + u, in + p, Scratch{nullptr}};
    law_x_dot_pullback(at, in[0], in + x, saved.data(), out_bar, in_bar[0], in_bar + x, in_bar + u,
                       in_bar + p);
  };
  return check_pullback(name, shape.tangents, f, f_pullback, points, options);
}

template <class Law>
bool check_energy_pullback(std::string_view name, const Law& law,
                           const std::vector<Numbers>& points) {
  const int n = LawShape<Law>(law).states;
  const auto f = [&]<class S>(const S* in, S* out) { out[0] = law.energy(in, in + n); };
  const auto f_pullback = [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
    law.energy_pullback(in, in + n, out_bar[0], in_bar, in_bar + n);
  };
  return check_pullback(name, 1, f, f_pullback, points);
}

template <class Law>
double energy_rate(const Law& law, const Numbers& x, const Numbers& p) {
  const Numbers rest(static_cast<std::size_t>(LawShape<Law>(law).inputs));
  const Numbers dx = x_dot_of(law, x, rest, p);
  Numbers x_bar(x.size(), 0.0), p_bar(p.size(), 0.0);
  law.energy_pullback(x.data(), p.data(), 1.0, x_bar.data(), p_bar.data());
  double rate = 0;
  for (std::size_t i = 0; i < x.size(); ++i) rate += x_bar[i] * dx[i];
  return rate;
}

// The buffers of one step.
template <class Scheme, class Law, class S>
struct StepBuffers {
  explicit StepBuffers(const LawShape<Law>& shape)
      : x_next(shape.states),
        record(1 + record_numbers<Scheme>(shape)),
        scratch(20 * shape.states + scratch_numbers(Scheme{}, shape)) {}
  Scratch memory() { return {reinterpret_cast<std::byte*>(scratch.data())}; }
  std::vector<S> x_next, record, scratch;
};

// From t0, n steps of h = (t1 - t0) / n.
template <class Scheme, class Law>
Numbers take_steps(const Law& law, Numbers x, const Numbers& u, const Numbers& p, double t0,
                   double t1, int n, const Scheme& scheme = {}) {
  const LawShape<Law> shape(law);
  StepBuffers<Scheme, Law, double> buffers(shape);
  const double h = (t1 - t0) / n;
  for (int k = 0; k < n; ++k) {
    const LawPoint<Law, double> at{law, shape, t0 + k * h, h, u.data(), p.data(), buffers.memory()};
    scheme.step(at, x.data(), buffers.x_next.data(), buffers.record.data());
    x = buffers.x_next;
  }
  return x;
}

// log2 of the factor by which `error(n)` falls when n doubles.
template <class Error>
double observed_order(Error error, int n) {
  return std::log2(error(n) / error(2 * n));
}

// x = base ⊕ in, and the cotangent's way back: of x in tangents to `in`.
template <class Law, class S>
std::vector<S> displaced(const LawShape<Law>& shape, const Numbers& base, const S* in) {
  std::vector<S> from(base.begin(), base.end()), x(base.size());
  law_retract(shape, from.data(), in, x.data());
  return x;
}
template <class Law, class S>
void displaced_pullback(const LawShape<Law>& shape, const Numbers& base, const S* in,
                        const S* x_bar, S* in_bar) {
  std::vector<S> from(base.begin(), base.end()), unused(shape.tangents, S(0));
  law_retract_pullback(shape, from.data(), in, x_bar, unused.data(), in_bar);
}

// A cotangent in coordinates as one in tangents.
template <class Law, class S>
std::vector<S> tangent_cotangent(const LawShape<Law>& shape, const S* x, const S* x_bar) {
  std::vector<S> d_bar(shape.tangents, S(0));
  if constexpr (LawShape<Law>::kFlat) {
    for (int i = 0; i < shape.states; ++i) d_bar[i] = x_bar[i];
  } else {
    for_each_block<Law>(
        [&](int ix, int id) {
          store(&d_bar[id],
                tangent_from_ambient_cotangent(load_quat(x + ix), load_quat(x_bar + ix)));
        },
        [&](int ix, int id, int n) {
          for (int i = 0; i < n; ++i) d_bar[id + i] = x_bar[ix + i];
        });
  }
  return d_bar;
}

template <class Scheme, class Law>
bool check_step_pullback(std::string_view name, const Law& law, const Numbers& base,
                         const std::vector<Numbers>& points, const PullbackOptions& options = {}) {
  const LawShape<Law> shape(law);
  const int u = shape.tangents, p = u + shape.inputs, t = p + shape.parameters, h = t + 1;
  const auto point = [&]<class S>(const S* in, StepBuffers<Scheme, Law, S>& buffers) {
    return LawPoint<Law, S>{law, shape, in[t], in[h], in + u, in + p, buffers.memory()};
  };
  const auto f = [&]<class S>(const S* in, S* out) {
    StepBuffers<Scheme, Law, S> buffers(shape);
    const std::vector<S> x = displaced(shape, base, in);
    Scheme{}.step(point(in, buffers), x.data(), out, buffers.record.data());
  };
  const auto f_pullback = [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
    StepBuffers<Scheme, Law, S> buffers(shape);
    const std::vector<S> x = displaced(shape, base, in);
    Scheme{}.step(point(in, buffers), x.data(), buffers.x_next.data(), buffers.record.data());
    const std::vector<S> bar = tangent_cotangent(shape, buffers.x_next.data(), out_bar);
    std::vector<S> x_bar(shape.tangents, S(0));
    LawPointBar<S> at_bar{in_bar[t], in_bar[h], in_bar + u, in_bar + p};
    Scheme{}.step_pullback(point(in, buffers), x.data(), buffers.record.data(), bar.data(), at_bar,
                           x_bar.data());
    in_bar[t] = at_bar.t;
    in_bar[h] = at_bar.h;
    displaced_pullback(shape, base, in, x_bar.data(), in_bar);
  };
  return check_pullback(name, shape.states, f, f_pullback, points, options);
}

}  // namespace cycloid::test
