#include "cycloid/adjoint/engine/device_rollout.h"

#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

const OnDevice& device_that_runs(const System& system) {
  const OnDevice* const on = device_of(system);
  if (!on) {
    throw Error(message("system \"", system.name(),
                        "\" runs on the CPU, and the arrays are on a device: load it with "
                        "device=\"cuda\""));
  }
  return *on;
}

// The Run of arrays that nobody looks at here: as of one environment, then of all.
template <class T>
Run<T> unseen_run(const System& system, std::int64_t batch, std::int64_t steps,
                  std::int64_t control_rows, std::span<const double> params,
                  const RolloutOptions& options) {
  const std::vector<double> start = system.initial_state();
  const std::vector<T> x0(start.begin(), start.end());
  Run<T> run = checked_run<T>(system, x0, Controls<T>(steps), params, options);
  if (run.parameter_rows > 1 && run.parameter_rows != batch) {
    throw Error(message("parameters have ", run.parameter_rows, " rows, the batch ", batch));
  }
  run.batch = run.x0_rows = run.start_rows = batch;
  run.control_rows = system.inputs().size() > 0 ? control_rows : 0;
  run.memory = options.memory;
  run.stepper = system.steppers<T>().one.get();
  if (!std::holds_alternative<ExactGradient>(system.gradient())) {
    throw Error("device: arrays that stay there have exact gradients: pass arrays of the CPU");
  }
  if (!run.samples.empty() || run.memory.kind == Memory::Kind::reversible ||
      run.memory.kind == Memory::Kind::truncate ||
      !(run.stepper->sizes().arrays.empty() || device_that_runs(system).form<T>().large())) {
    throw Error(
        "device: states at times, memory \"reversible\", truncated gradients and parameters that "
        "are arrays have no device form: pass arrays of the CPU");
  }
  return run;
}

}  // namespace

template <class T>
DeviceRollout<T>::DeviceRollout(const System& system, std::int64_t batch, std::int64_t steps,
                                const DeviceArrays<T>& arrays, std::int64_t control_rows,
                                std::span<const double> params, const RolloutOptions& options,
                                const DeviceUse& use)
    : run_(unseen_run<T>(system, batch, steps, control_rows, params, options)),
      on_(device_that_runs(run_.system)),
      use_(use),
      arrays_(arrays) {
  run_.held = use.held;
  plan_ = plan_device(run_, on_, use.tape);
  if (!use.tape) plan_.stays = false;
  std::vector<ChunkReport> said;
  for (std::int64_t first = 0; first < run_.batch; first += plan_.part) {
    auto part = std::make_unique<DeviceRun<T>>(
        run_, on_, plan_, first, std::min(plan_.part, run_.batch - first), plan_.stays, &arrays_);
    part->forward(nullptr, options.keep_going);
    said.push_back(part->report());
    if (plan_.stays) parts_.push_back(std::move(part));
  }
  report_ = device_report(run_, on_, said);
  report_.memory = plan_.words;
  for (const auto& part : parts_) report_.tape_bytes += static_cast<std::uint64_t>(part->bytes());
}

template <class T>
std::vector<double> DeviceRollout<T>::times() const {
  std::vector<double> out;
  for (const std::int64_t k : run_.saved) {
    out.push_back(run_.t0 + static_cast<double>(k) * run_.step_length());
  }
  return out;
}

template <class T>
void DeviceRollout<T>::run_parts(const PullbackOptions& options, const DevicePull<T>& pull,
                                 BackwardParts<T>& parts) {
  const std::size_t batch = static_cast<std::size_t>(run_.batch),
                    n = static_cast<std::size_t>(run_.system.parameters().size());
  parts.params.assign((pull.own_parameters ? batch : 1) * n, 0.0);
  parts.not_finite.assign(batch, 0);
  found_.assign(batch, EnvironmentNote{});
  for (const auto& part : parts_) part->backward(pull, parts, found_);
  DeviceArrays<T> again = arrays_;
  again.states = nullptr;  // the user's by now
  for (std::int64_t first = 0; first < run_.batch && !plan_.stays; first += plan_.part) {
    DeviceRun<T> part(run_, on_, plan_, first, std::min(plan_.part, run_.batch - first), true,
                      &again);
    part.forward(nullptr, options.keep_going);
    part.backward(pull, parts, found_);
  }
  if (!pull.own_parameters) on_.form<T>().finish(run_.parameters.data(), parts.params.data());
}

template <class T>
std::vector<double> DeviceRollout<T>::pullback(const DeviceBars<T>& bars,
                                               const PullbackOptions& options) {
  if (!use_.tape) throw Error("device: a run that keeps no tape has no pullback");
  const bool raise = options.failed == PullbackOptions::Failed::raise;
  if (raise) refuse_failed(report_);
  BackwardParts<T> parts;
  parts.left_out.assign(static_cast<std::size_t>(run_.batch), 0);
  for (const Failure& f : report_.failed)
    parts.left_out[static_cast<std::size_t>(f.environment)] = 1;
  for (const Unsolved& u : report_.unsolved) {
    parts.left_out[static_cast<std::size_t>(u.environment)] = 1;
  }
  const DevicePull<T> pull{.params = options.params,
                           .own_parameters = options.params && run_.parameter_rows > 1,
                           .keep_going = options.keep_going,
                           .bars = &bars};
  run_parts(options, pull, parts);
  const auto bad =
      std::find_if(parts.not_finite.begin(), parts.not_finite.end(), [](char b) { return b != 0; });
  if (bad != parts.not_finite.end()) {
    const std::int64_t environment = bad - parts.not_finite.begin();
    if (raise) {
      throw GradientError(
          message(name_not_finite(run_, found_[static_cast<std::size_t>(environment)], environment),
                  "; failed = skip gives it a zero gradient"));
    }
    for (std::size_t i = 0; i < parts.left_out.size(); ++i)
      parts.left_out[i] |= parts.not_finite[i];
    run_parts(options, pull, parts);
  }
  if (!options.params) return {};
  mark_not_differentiable(run_.system.parameters(), parts.params);
  return std::move(parts.params);
}

template <class T>
Report device_linearise(const System& system, std::int64_t batch, const DeviceArrays<T>& arrays,
                        T* A, T* B, std::int64_t control_rows, std::span<const double> params,
                        const LineariseOptions& options) {
  RolloutOptions rollout_options;
  rollout_options.t0 = options.t;
  Run<T> given = unseen_run<T>(system, batch, 1, control_rows, params, rollout_options);
  given.first_step = options.step;
  const OnDevice& on = device_that_runs(system);
  if (on.form<T>().large()) {
    throw Error(message("device: Jacobians of ", system.name(),
                        " have no device form: pass arrays of the CPU"));
  }
  const Run<T> run = run_of_jacobians(given);
  const DevicePlan plan = plan_jacobians(run, on);
  const StepperSizes& s = run.stepper->sizes();
  std::vector<ChunkReport> said;
  BadRow bad;
  for (std::int64_t first = 0; first < batch; first += plan.part) {
    DeviceRun<T> part(run, on, plan, first, std::min(plan.part, batch - first), true, &arrays);
    part.forward(nullptr, options.keep_going);
    const std::int64_t row = first * s.tangent;
    const BadRow found = part.linearise(A + row * s.tangent, B ? B + row * s.input : nullptr);
    if (bad.environment < 0) bad = found;
    said.push_back(part.report());
  }
  Report report = device_report(run, on, said);
  refuse_unfit(report, options.unsolved);
  if (bad.environment >= 0) {
    throw GradientError(message("the step cannot be linearised: environment ", bad.environment,
                                ", the derivative of ", system.states().tangent_name(bad.row),
                                " is not finite"));
  }
  return report;
}

template <class T>
void device_observe(const Observer& observer, std::int64_t rows, const DeviceArrays<T>& arrays,
                    std::int64_t control_rows, std::span<const double> params, double t) {
  const System& system = observer.system();
  const OnDevice& on = device_that_runs(system);
  const Run<T> run = unseen_run<T>(system, rows, 1, control_rows, params, {});
  ObserveCall<T> c;
  std::vector<std::string> names;
  for (const Observed& o : observer.observed()) {
    if (!o.what.of_state.empty()) continue;
    names.push_back(o.what.name);
    c.computed += o.what.size();
  }
  const DeviceForm& form = on.form<T>();
  const std::shared_ptr<const DeviceForm> eyes = names.empty() ? nullptr : form.eyes(system, names);
  const auto there = [&]<class X>(const std::vector<X>& from) {
    DeviceBuffer<X> own(on.device, static_cast<std::int64_t>(from.size()));
    own.put(from.data(), own.size());
    return own;
  };
  const auto numbers = [&](const std::vector<ObservedPiece>& pieces) {
    std::vector<int> out;
    for (const ObservedPiece& p : pieces) out.insert(out.end(), {p.place, p.from, p.count});
    return there(out);
  };
  const std::int64_t n = system.parameters().size();
  std::vector<T> own_params(run.parameters.begin(), run.parameters.end());
  for (std::int64_t r = 0; r < run.parameter_rows; ++r) form.prepare(own_params.data() + r * n);
  const DeviceBuffer<T> p = there(own_params);
  const DeviceBuffer<int> of_state = numbers(observer.of_state()),
                          computed = numbers(observer.computed());
  DeviceBuffer<std::byte> image;
  if (eyes) {
    image = DeviceBuffer<std::byte>(on.device, static_cast<std::int64_t>(eyes->image(0).size()));
    image.put(eyes->image(reinterpret_cast<std::uint64_t>(image.data())).data(), image.size());
    c.body_bytes = eyes->body_bytes();
  }
  c.image = image.data(), c.count = rows, c.t = t;
  c.state = system.states().size(), c.input = system.inputs().size(), c.size = observer.size();
  c.x = arrays.x0, c.values = arrays.states;
  c.u = run.control_rows > 0 ? arrays.controls : nullptr;
  c.control_stride = run.control_stride();
  c.params = p.data(), c.parameter_stride = run.parameter_stride();
  c.of_state = of_state.data(), c.state_pieces = static_cast<int>(observer.of_state().size());
  c.of_computed = computed.data(), c.computed_pieces = static_cast<int>(observer.computed().size());
  on.device->observe(form.kernel(), c);
  on.device->wait();
}

template void device_observe(const Observer&, std::int64_t, const DeviceArrays<float>&,
                             std::int64_t, std::span<const double>, double);
template void device_observe(const Observer&, std::int64_t, const DeviceArrays<double>&,
                             std::int64_t, std::span<const double>, double);
template Report device_linearise(const System&, std::int64_t, const DeviceArrays<float>&, float*,
                                 float*, std::int64_t, std::span<const double>,
                                 const LineariseOptions&);
template Report device_linearise(const System&, std::int64_t, const DeviceArrays<double>&, double*,
                                 double*, std::int64_t, std::span<const double>,
                                 const LineariseOptions&);
template class DeviceRollout<float>;
template class DeviceRollout<double>;

}  // namespace cycloid::inline adjoint
