#include "cycloid/adjoint/engine/device_engine.h"

#include <mutex>

#include "cycloid/adjoint/engine/device_run.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// What a run leaves on the device.
template <class T>
class DeviceTape final : public Tape {
 public:
  std::uint64_t bytes() const override {
    std::uint64_t n = 0;
    for (const auto& part : parts) n += static_cast<std::uint64_t>(part->bytes());
    return n;
  }
  std::shared_ptr<const Run<T>> run;  // that the parts look at
  DevicePlan plan;
  std::vector<std::unique_ptr<DeviceRun<T>>> parts;  // where they stay
  std::vector<EnvironmentNote> found;                // by the last way back
  std::mutex busy;                                   // one way back at a time
};

// Whether lanes run it: what the kernels do not know.
template <class T>
bool by_lanes(const Run<T>& run) {
  return run.pair_width > 0 || !run.samples.empty() ||
         run.memory.kind == Memory::Kind::reversible || run.memory.kind == Memory::Kind::truncate;
}

// A large world: one environment at a time, and no kernel for Jacobians.
template <class T>
bool is_large(const Run<T>& run) {
  return device_of(run.system)->template form<T>().large();
}

template <class T>
void check_arrays(const Run<T>& run) {
  if (run.stepper->sizes().arrays.empty() || is_large(run)) return;
  throw Error("device: parameters that are arrays (points of meshes, heights) have no device form");
}

}  // namespace

template <class T>
void DeviceEngine<T>::plan(Run<T>& run, const Memory& memory) const {
  run.memory = memory;
  if (by_lanes(run)) return lanes_.plan(run, memory);
  retarget(run);
  check_arrays(run);
}

template <class T>
void DeviceEngine<T>::retarget(Run<T>& run) const {
  if (by_lanes(run)) return lanes_.retarget(run);
  run.stepper = run.system.template steppers<T>().one.get();
}

template <class T>
std::int64_t DeviceEngine<T>::at_once(const Run<T>& run) const {
  return by_lanes(run) ? lanes_.at_once(run) : run.batch;
}

template <class T>
std::shared_ptr<Tape> DeviceEngine<T>::forward(Run<T>& run, T* states, RunOutcome& outcome,
                                               const KeepGoing& keep_going) const {
  if (by_lanes(run)) return lanes_.forward(run, states, outcome, keep_going);
  const OnDevice& on = *device_of(run.system);
  auto tape = std::make_shared<DeviceTape<T>>();
  tape->run = std::make_shared<const Run<T>>(run);
  tape->plan = plan_device(run, on, true);
  std::vector<ChunkReport> said;
  for (std::int64_t first = 0; first < run.batch; first += tape->plan.part) {
    auto part = std::make_unique<DeviceRun<T>>(*tape->run, on, tape->plan, first,
                                               std::min(tape->plan.part, run.batch - first),
                                               tape->plan.stays);
    part->forward(states, keep_going);
    said.push_back(part->report());
    if (tape->plan.stays) tape->parts.push_back(std::move(part));
  }
  outcome.report = device_report(run, on, said);
  outcome.report.tape_bytes = tape->bytes();
  outcome.report.memory = tape->plan.words;
  return tape;
}

template <class T>
void DeviceEngine<T>::backward(const BackwardTask<T>& task, BackwardParts<T>& parts) const {
  const Run<T>& run = task.run();
  auto* const tape = dynamic_cast<DeviceTape<T>*>(&task.trajectory.tape());
  if (!tape) return lanes_.backward(task, parts);
  const OnDevice& on = *device_of(run.system);
  const std::size_t batch = static_cast<std::size_t>(run.batch),
                    n = static_cast<std::size_t>(run.system.parameters().size());
  const bool sum = task.sum_controls(), own = task.own_parameters();
  parts.groups = 1;
  parts.x0_tangent.assign(batch * static_cast<std::size_t>(run.stepper->sizes().tangent), T(0));
  parts.controls.assign(task.options.controls && !sum ? batch * task.inputs_per_run() : 0, T(0));
  parts.sums.assign(sum ? task.inputs_per_run() : 0, 0.0);
  parts.params.assign((own ? batch : 1) * n, 0.0);
  parts.not_finite.assign(batch, 0);
  parts.recomputed.assign(1, 0);
  parts.drift.clear();
  const std::lock_guard<std::mutex> alone(tape->busy);
  const DevicePull<T> pull{task.states_bar,
                           task.options.controls,
                           sum,
                           task.options.params,
                           own,
                           task.options.keep_going,
                           nullptr};
  tape->found.assign(batch, EnvironmentNote{});
  for (const auto& part : tape->parts) part->backward(pull, parts, tape->found);
  for (std::int64_t first = 0; first < run.batch && !tape->plan.stays; first += tape->plan.part) {
    DeviceRun<T> part(*tape->run, on, tape->plan, first,
                      std::min(tape->plan.part, run.batch - first), true);
    part.forward(nullptr, task.options.keep_going);
    part.backward(pull, parts, tape->found);
  }
  if (tape->plan.segment < run.steps || !tape->plan.stays) parts.recomputed[0] = run.steps;
  if (!own) on.form<T>().finish(run.parameters.data(), parts.params.data());
}

template <class T>
std::string DeviceEngine<T>::first_not_finite(const BackwardTask<T>& task, BackwardParts<T>& parts,
                                              std::int64_t environment) const {
  const auto* const tape = dynamic_cast<const DeviceTape<T>*>(&task.trajectory.tape());
  if (!tape) return lanes_.first_not_finite(task, parts, environment);
  return name_not_finite(task.run(), tape->found[static_cast<std::size_t>(environment)],
                         environment);
}

template <class T>
void DeviceEngine<T>::trace(const Trajectory<T>& trajectory, std::vector<CotangentTrace>& traces,
                            std::vector<double>& growth, const KeepGoing& keep_going) const {
  if (dynamic_cast<const DeviceTape<T>*>(&trajectory.tape())) {
    throw Error(
        "diagnose follows cotangents step by step, on the CPU: roll out the System without "
        "device");
  }
  lanes_.trace(trajectory, traces, growth, keep_going);
}

template <class T>
void DeviceEngine<T>::advance(Run<T>& run, const Observer* observer, const AdvanceOptions& options,
                              Advanced<T>& out) const {
  if (observer) {
    lanes_.plan(run, Memory::checkpoints(1));
    return lanes_.advance(run, observer, options, out);
  }
  const OnDevice& on = *device_of(run.system);
  run.saved = {run.steps};
  const DevicePlan plan = plan_device(run, on, false);
  std::vector<ChunkReport> said;
  for (std::int64_t first = 0; first < run.batch; first += plan.part) {
    DeviceRun<T> part(run, on, plan, first, std::min(plan.part, run.batch - first), false);
    part.forward(out.states.data(), options.keep_going);
    said.push_back(part.report());
  }
  out.report = device_report(run, on, said);
}

template <class T>
RunOutcome DeviceEngine<T>::linearise(const Run<T>& run, Linearisation<T>& out,
                                      const KeepGoing& keep_going) const {
  if (by_lanes(run) || run.parameter_jacobian || is_large(run)) {
    Run<T> own = run;
    lanes_.plan(own, Memory::all());
    return lanes_.linearise(own, out, keep_going);
  }
  const OnDevice& on = *device_of(run.system);
  const Run<T> own = run_of_jacobians(run);
  const DevicePlan plan = plan_jacobians(own, on);
  const StepperSizes& s = run.stepper->sizes();
  const std::int64_t state_entries = std::int64_t{s.tangent} * s.tangent,
                     input_entries = std::int64_t{s.tangent} * s.input;
  std::vector<ChunkReport> said;
  for (std::int64_t first = 0; first < run.batch; first += plan.part) {
    const std::int64_t count = std::min(plan.part, run.batch - first);
    DeviceRun<T> part(own, on, plan, first, count, true);
    part.forward(out.next.data(), keep_going);
    const DeviceBuffer<T> A(on.device, count * state_entries), B(on.device, count * input_entries);
    part.linearise(A.data(), B.data());
    A.get(out.A.data() + first * state_entries, A.size());
    B.get(out.B.data() + first * input_entries, B.size());
    said.push_back(part.report());
  }
  RunOutcome outcome;
  outcome.report = device_report(own, on, said);
  return outcome;
}

template class DeviceEngine<float>;
template class DeviceEngine<double>;

}  // namespace cycloid::inline adjoint
