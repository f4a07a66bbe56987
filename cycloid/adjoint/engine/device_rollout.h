// DeviceRollout: a rollout whose arrays lie on the System's device, and its pullback.
//
//   DeviceRollout<float> run(robot, batch, steps, {x0, controls, states}, rows, params, options);
//   run.pullback({states_bar, x0_bar, controls_bar}, {});           x0_bar in coordinates, as x0
// Nothing but parameters and their cotangents goes through the host. Calls wait for the device; x0
// and controls must lie there unchanged until the last pullback. On "host" addresses are this
// machine's, for tests.
#pragma once

#include <memory>
#include <vector>

#include "cycloid/adjoint/engine/device_run.h"
#include "cycloid/adjoint/observe.h"

namespace cycloid::inline adjoint {

// held: controls have one input for each environment, for all steps. tape: a pullback may follow.
struct DeviceUse {
  bool held = false, tape = true;
};

template <class T>
class DeviceRollout {
 public:
  // x0 and states have a row for each environment of the batch; controls has control_rows of them:
  // the batch, 1 that all share, or 0. Throws Error for a System that runs on the CPU, and for what
  // kernels do not know: states at times, memory "reversible" and truncated gradients.
  DeviceRollout(const System& system, std::int64_t batch, std::int64_t steps,
                const DeviceArrays<T>& arrays, std::int64_t control_rows,
                std::span<const double> params, const RolloutOptions& options,
                const DeviceUse& use = {});

  DeviceRollout(const DeviceRollout&) = delete;  // parts look at its run
  DeviceRollout& operator=(const DeviceRollout&) = delete;

  const Report& report() const { return report_; }
  std::int64_t batch() const { return run_.batch; }
  const std::vector<std::int64_t>& saved() const { return run_.saved; }  // steps
  std::vector<double> times() const;                                     // ... and their times [s]
  // Writes the cotangents of x0 and controls, which is zero where an environment has none; returns
  // those of the parameters in rows, nothing where options.params is off. controls: a row for each
  // environment, also where they share one, and for each step, also where they are held.
  std::vector<double> pullback(const DeviceBars<T>& bars, const PullbackOptions& options);

 private:
  void run_parts(const PullbackOptions& options, const DevicePull<T>& pull,
                 BackwardParts<T>& parts);

  Run<T> run_;
  const OnDevice& on_;
  DeviceUse use_;
  DevicePlan plan_;
  DeviceArrays<T> arrays_;
  std::vector<std::unique_ptr<DeviceRun<T>>> parts_;  // where they stay on the device
  std::vector<EnvironmentNote> found_;
  Report report_;
};

// linearise of arrays that lie on the device. arrays: x0 (batch, state), controls (control_rows,
// input) and, as states, the states after the step (batch, state); A (batch, tangent, tangent), B
// (batch, tangent, input). Throws as linearise does; there is no P.
template <class T>
Report device_linearise(const System& system, std::int64_t batch, const DeviceArrays<T>& arrays,
                        T* A, T* B, std::int64_t control_rows, std::span<const double> params,
                        const LineariseOptions& options);

// observe of arrays that lie on the device, in the System's precision. arrays: x0 (rows, state),
// controls (control_rows, input) and, as states, the values (rows, observer.size). Throws
// ModelError that names what has no device form.
template <class T>
void device_observe(const Observer& observer, std::int64_t rows, const DeviceArrays<T>& arrays,
                    std::int64_t control_rows, std::span<const double> params, double t);

}  // namespace cycloid::inline adjoint
