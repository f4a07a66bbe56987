#include "cycloid/adjoint/device_engine.h"

#include "cycloid/adjoint/device_run.h"
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
};

// Whether lanes run it: what the kernels do not know.
template <class T>
bool by_lanes(const Run<T>& run) {
  return run.pair_width > 0 || !run.samples.empty() ||
         run.memory.kind == Memory::Kind::reversible || run.memory.kind == Memory::Kind::truncate;
}

template <class T>
void check_arrays(const Run<T>& run) {
  if (run.stepper->sizes().arrays.empty()) return;
  throw Error("device: parameters that are arrays (points of meshes, heights) have no device form");
}

// Why an environment failed: the CPU makes its last step again.
template <class T>
void explain_failure(const Run<T>& run, std::int64_t environment, std::int64_t step,
                     const std::vector<T>& x, ChunkReport& said) {
  const StepperSizes& s = run.stepper->sizes();
  const auto workspace = run.stepper->make_workspace({1});
  std::vector<T> p(static_cast<std::size_t>(s.parameters)), u(static_cast<std::size_t>(s.input));
  const double* const row = run.parameters.data() + environment * run.parameter_stride();
  std::transform(row, row + s.parameters, p.begin(), [](double v) { return static_cast<T>(v); });
  if (run.control_rows > 0) {
    const std::int64_t at = environment * run.control_stride() + (run.held ? 0 : step * s.input);
    std::copy_n(run.controls.begin() + at, s.input, u.begin());
  }
  run.stepper->begin({p.data()}, *workspace);
  StepTrouble t = run.stepper->explain({x.data(), u.data(), step, run.t0}, 0, *workspace);
  said.failed.push_back(
      {environment, step, std::move(t.stage), std::move(t.body), std::move(t.reason)});
}

template <class T>
ChunkReport report_of(const Run<T>& run, const DeviceRun<T>& part) {
  ChunkReport said;
  std::vector<T> last;
  for (std::int64_t e = 0; e < part.count(); ++e) {
    const EnvironmentNote& note = part.notes()[static_cast<std::size_t>(e)];
    const std::int64_t environment = part.first() + e;
    for (std::size_t i = 0; i < said.counters.size(); ++i) said.counters[i] += note.counters[i];
    said.switches += note.switches;
    if (note.unsolved >= 0) {
      said.unsolved.push_back({environment, note.unsolved, note.unsolved_count, note.residual});
    }
    if (note.crowded >= 0) said.crowded.push_back({environment, note.crowded, note.crowded_count});
    if (note.failed < 0) continue;
    if (last.empty()) last = part.last_states();
    std::vector<T> x;
    for (int i = 0; i < run.stepper->sizes().state; ++i) {
      x.push_back(last[static_cast<std::size_t>(i * part.count() + e)]);
    }
    explain_failure(run, environment, note.failed, x, said);
  }
  return said;
}

template <class T>
Report whole_report(const Run<T>& run, const OnDevice& on, std::vector<ChunkReport>& said) {
  Report report;
  report.collect(said, static_cast<double>(run.batch) * static_cast<double>(run.steps),
                 run.system.counters());
  report.lanes = 1;
  report.instruction_set = on.device->name();
  return report;
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
    said.push_back(report_of(run, *part));
    if (tape->plan.stays) tape->parts.push_back(std::move(part));
  }
  outcome.report = whole_report(run, on, said);
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
                    n = static_cast<std::size_t>(run.stepper->sizes().parameters);
  const bool sum = task.sum_controls(), own = task.own_parameters();
  parts.groups = 1;
  parts.x0_tangent.assign(batch * static_cast<std::size_t>(run.stepper->sizes().tangent), T(0));
  parts.controls.assign(task.options.controls && !sum ? batch * task.inputs_per_run() : 0, T(0));
  parts.sums.assign(sum ? task.inputs_per_run() : 0, 0.0);
  parts.params.assign((own ? batch : 1) * n, 0.0);
  parts.not_finite.assign(batch, 0);
  parts.recomputed.assign(1, 0);
  parts.drift.clear();
  tape->found.assign(batch, EnvironmentNote{});
  for (const auto& part : tape->parts) part->backward(task, parts, tape->found);
  for (std::int64_t first = 0; first < run.batch && !tape->plan.stays; first += tape->plan.part) {
    DeviceRun<T> part(*tape->run, on, tape->plan, first,
                      std::min(tape->plan.part, run.batch - first), true);
    part.forward(nullptr, task.options.keep_going);
    part.backward(task, parts, tape->found);
  }
  if (tape->plan.segment < run.steps || !tape->plan.stays) parts.recomputed[0] = run.steps;
  if (!own) on.form<T>().finish(run.parameters.data(), parts.params.data());
}

template <class T>
std::string DeviceEngine<T>::first_not_finite(const BackwardTask<T>& task, BackwardParts<T>& parts,
                                              std::int64_t environment) const {
  const auto* const tape = dynamic_cast<const DeviceTape<T>*>(&task.trajectory.tape());
  if (!tape) return lanes_.first_not_finite(task, parts, environment);
  const EnvironmentNote& note = tape->found[static_cast<std::size_t>(environment)];
  const std::string who = message("environment ", environment);
  if (note.bad_step < 0) return message(who, ": the cotangent of a parameter is not finite");
  const std::string what = note.bad_number < 0
                               ? std::string("an input")
                               : task.run().system.states().tangent_name(note.bad_number);
  return message(who, ": the cotangent of ", what, " at step ", note.bad_step, " is not finite");
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
    said.push_back(report_of(run, part));
  }
  out.report = whole_report(run, on, said);
}

template class DeviceEngine<float>;
template class DeviceEngine<double>;

}  // namespace cycloid::inline adjoint
