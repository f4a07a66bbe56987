// A large System without a dense Jacobian, for tests: n numbers that do not meet, each pushed by
// its share of one input.
//   x⁺_i = x_i + h (sin x_i + i/n u + c),   h, c parameters                                    (1)
#pragma once

#include <cmath>

#include "cycloid/system/system.h"

namespace cycloid::test {

class DiagonalStepper final : public Stepper<double> {
 public:
  // What it offers besides steps and pullbacks.
  struct Offers {
    bool pushforward = true, entries = true;
  };
  DiagonalStepper(int n, int lanes, const Offers& offers)
      : Stepper<double>(sizes_of(n, lanes)), offers_(offers) {}

  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    double* own = numbers(workspace);
    for (int i = 0; i < 2 * W(); ++i) own[i] = p.lanes[i], own[2 * W() + i] = 0;
  }
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord*,
                  StepWorkspace& workspace) const override {
    const double* p = numbers(workspace);
    each([&](int i, int l, int at) {
      x_next[at] = in.x[at] + p[l] * (std::sin(in.x[at]) + share(i) * in.u[l] + p[W() + l]);  // (1)
    });
    return StepStatus::ok;
  }
  void pullback(const StepInput<double>& in, const StepRecord&, const double* bar, double* x_bar,
                double* u_bar, StepWorkspace& workspace) const override {
    double *p = numbers(workspace), *p_bar = p + 2 * W();
    each([&](int i, int l, int at) {
      x_bar[at] += bar[at] * (1 + p[l] * std::cos(in.x[at]));
      u_bar[l] += bar[at] * p[l] * share(i);
      p_bar[l] += bar[at] * (std::sin(in.x[at]) + share(i) * in.u[l] + p[W() + l]);
      p_bar[W() + l] += bar[at] * p[l];
    });
  }
  bool pushforward(const StepInput<double>& in, const StepRecord&,
                   const StepTangents<double>& along, double* x_next_tan,
                   StepWorkspace& workspace) const override {
    const double *x_tan = along.x, *u_tan = along.u, *p_tan = along.p;
    const double* p = numbers(workspace);
    each([&](int i, int l, int at) {
      double tan = 0;
      if (x_tan) tan += x_tan[at] * (1 + p[l] * std::cos(in.x[at]));
      if (u_tan) tan += p[l] * share(i) * u_tan[l];
      if (p_tan) {
        tan += p_tan[l] * (std::sin(in.x[at]) + share(i) * in.u[l] + p[W() + l]) +
               p_tan[W() + l] * p[l];
      }
      x_next_tan[at] = tan;
    });
    return offers_.pushforward;
  }
  bool sparse_jacobian(const StepInput<double>& in, const StepRecord&, SparseMatrix<double>& A,
                       SparseMatrix<double>& B, StepWorkspace& workspace) const override {
    if (!offers_.entries) return false;
    const double* p = numbers(workspace);
    A.reset(sizes_.tangent, sizes_.tangent);
    B.reset(sizes_.tangent, 1);
    for (int i = 0; i < sizes_.state; ++i) {
      A.add(i, 1 + p[0] * std::cos(in.x[i]));
      B.add(0, p[0] * share(i));
      A.end_row(), B.end_row();
    }
    return true;
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    const double* own = numbers(workspace);
    for (int i = 0; i < 2 * W(); ++i) p_bar[i] = own[2 * W() + i];
  }
  StepTrouble explain(const StepInput<double>&, int, StepWorkspace&) const override {
    return {"step", "x", "it is not finite"};
  }

 private:
  static double* numbers(StepWorkspace& w) {
    return reinterpret_cast<double*>(LaneWorkspace::memory(w));
  }
  static StepperSizes sizes_of(int n, int lanes) {
    StepperSizes s;
    s.lanes = lanes;
    s.state = s.tangent = n;
    s.input = 1;
    s.parameters = 2;
    s.workspace = 4 * sizeof(double) * static_cast<std::size_t>(lanes);
    return s;
  }
  int W() const { return sizes_.lanes; }
  double share(int i) const { return static_cast<double>(i) / sizes_.state; }
  template <class Function>
  void each(Function&& function) const {
    for (int i = 0; i < sizes_.state; ++i) {
      for (int l = 0; l < W(); ++l) function(i, l, i * W() + l);
    }
  }

  Offers offers_;
};

inline System diagonal_system(int n, const DiagonalStepper::Offers& offers = {}) {
  SystemParts parts;
  parts.name = "diagonal";
  parts.states = Space(std::vector<BlockSpec>{{"x", n, "1"}});
  parts.inputs = Space(std::vector<BlockSpec>{{"push", 1, "1"}});
  const auto add = [&](const char* name, double value) {
    Parameter p;
    p.name = name;
    parts.parameters.add(std::move(p), std::span(&value, 1));
  };
  add("rate", 0.1);
  add("drift", 0.3);
  parts.initial_state.assign(static_cast<std::size_t>(n), 0.0);
  parts.float64.one = std::make_shared<DiagonalStepper>(n, 1, offers);
  parts.float64.packed = std::make_shared<DiagonalStepper>(n, 4, offers);
  return System(std::move(parts));
}

}  // namespace cycloid::test
