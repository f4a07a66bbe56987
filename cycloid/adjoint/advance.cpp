#include "cycloid/adjoint/advance.h"

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// A Run of `steps` steps with held inputs, that keeps one state for each chunk.
template <class T>
Run<T> held_run(const System& system, std::span<const T> x, std::span<const T> u,
                std::int64_t steps, std::span<const double> params, const AdvanceOptions& options) {
  if (steps < 1) throw Error(message("advance needs at least one step; got ", steps));
  RolloutOptions rollout;
  rollout.threads = options.threads;
  rollout.t0 = options.t0;
  const bool zero = u.empty();
  Run<T> run =
      checked_run(system, x, zero ? Controls<T>(steps) : Controls<T>(u, 1), params, rollout);
  run.held = true;
  run.steps = steps;
  engine_of<T>(system).plan(run, Memory::checkpoints(1));
  return run;
}

template <class T>
Advanced<T> advance_rows(const System& system, std::span<const T> x, std::span<const T> u,
                         std::int64_t steps, std::span<const double> params,
                         const AdvanceOptions& options, const Observer* observer) {
  Run<T> run = held_run(system, x, u, steps, params, options);
  Advanced<T> out;
  out.states.resize(static_cast<std::size_t>(run.batch * system.states().size()));
  out.values.resize(static_cast<std::size_t>(run.batch * (observer ? observer->size() : 0)));
  engine_of<T>(system).advance(run, observer, options, out);
  out.report.memory = "nothing";
  return out;
}

}  // namespace

Advanced<double> advance(const System& system, std::span<const double> x, std::span<const double> u,
                         std::int64_t steps, std::span<const double> params,
                         const AdvanceOptions& options, const Observer* observer) {
  return advance_rows(system, x, u, steps, params, options, observer);
}

Advanced<float> advance(const System& system, std::span<const float> x, std::span<const float> u,
                        std::int64_t steps, std::span<const double> params,
                        const AdvanceOptions& options, const Observer* observer) {
  return advance_rows(system, x, u, steps, params, options, observer);
}

}  // namespace cycloid::inline adjoint
