// What DETEST calls the reliability of a method: how its local errors compare with its tolerance.
//
// Per accepted substep, from the state that the method itself had reached, the true solution is
// followed by the same method at 1e-4 of the tolerance. The error against it is measured as
// step_control.h measures its estimate: 1 is the tolerance. A substep whose error is larger is
// "deceived" (HullEnrightFellenSedgwick1972): its estimate was too small.
#pragma once

#include <algorithm>
#include <vector>

#include "cycloid/system/integrator/adaptive.h"
#include "tests/support/law_steps.h"

namespace cycloid::test {

struct LocalErrors {
  int substeps = 0, deceived = 0;
  double largest = 0;          // at the ends of substeps
  double largest_sampled = 0;  // within them, on the dense output
};

template <class Scheme, class Law>
LocalErrors local_errors(const Law& law, const Numbers& start, const Numbers& p, double end,
                         const Tolerances& tolerances) {
  using Method = typename Scheme::Pair;
  const LawShape<Law> shape(law);
  const int n = shape.tangents;
  StepBuffers<Scheme, Law, double> buffers(shape);
  LocalErrors found;
  Numbers sample(start.size()), off(start.size());
  const auto error_of = [&](const double* x, const double* y, double t, double h) {
    const Numbers from(x, x + n);
    const Tolerances fine{1e-4 * tolerances.rtol, 1e-4 * tolerances.atol};
    const Numbers truth = take_steps<Scheme>(law, from, {}, p, t, t + h, 1, Scheme{fine});
    for (int i = 0; i < n; ++i) off[i] = y[i] - truth[i];
    return scaled_norm(tolerances, n, off.data(), x, y);
  };
  const auto visit = [&](const auto& lanes) {
    if (!lanes.accepted) return;
    const double h = lanes.h_taken, t = lanes.at.t + (lanes.elapsed - h);
    const double error = error_of(lanes.x_before, lanes.x, t, h);
    ++found.substeps;
    found.deceived += error > 1;
    found.largest = std::max(found.largest, error);
    LawPoint<Law, double> sub = lanes.at;
    sub.t = t, sub.h = h;
    for (const double theta : {0.25, 0.5, 0.75}) {
      Method::sample(sub, lanes.x_before, lanes.stages, theta, sample.data());
      found.largest_sampled =
          std::max(found.largest_sampled, error_of(lanes.x_before, sample.data(), t, theta * h));
    }
  };
  const LawPoint<Law, double> at{law, shape, 0, end, nullptr, p.data(), buffers.memory()};
  Scheme{tolerances}.run(at, start.data(), buffers.x_next.data(), buffers.record.data(), visit);
  return found;
}

}  // namespace cycloid::test
