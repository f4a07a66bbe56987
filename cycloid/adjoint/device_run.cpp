#include "cycloid/adjoint/device_run.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::inline adjoint {
namespace {

// What may be taken of the memory that is free: threads' own memory comes out of it too.
constexpr double kShareOfMemory = 0.6;

std::int64_t rounded_root(std::int64_t n) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(n)))));
}

// Numbers (numbers, count) with the environment innermost, as rows, and back.
template <class T>
std::vector<T> rows_of(const std::vector<T>& lanes, std::int64_t numbers, std::int64_t count) {
  std::vector<T> rows(lanes.size());
  for (std::int64_t i = 0; i < numbers; ++i) {
    for (std::int64_t e = 0; e < count; ++e) {
      rows[static_cast<std::size_t>(e * numbers + i)] =
          lanes[static_cast<std::size_t>(i * count + e)];
    }
  }
  return rows;
}

}  // namespace

template <class T>
DevicePlan plan_device(const Run<T>& run, const OnDevice& on, bool tape) {
  const StepperSizes& s = run.stepper->sizes();
  const std::int64_t T_steps = run.steps, record = on.form<T>().record(),
                     number = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows =
      number * (static_cast<std::int64_t>(run.saved.size()) * s.state +
                (run.control_rows > 1 ? 2 : 1) * run.input_steps() * s.input) +
      static_cast<std::int64_t>(sizeof(EnvironmentNote)) +
      (tape ? 8 + number : number) * s.parameters;
  const auto bytes = [&](std::int64_t segment) {
    const std::int64_t starts = segment < T_steps ? (T_steps + segment - 1) / segment * s.state : 0;
    return rows + (tape ? number * (segment * (s.state + record) + starts) : 0);
  };
  std::int64_t budget =
      static_cast<std::int64_t>(kShareOfMemory * static_cast<double>(on.device->free_bytes()));
  if (run.memory.kind == Memory::Kind::budget) budget = std::min(budget, run.memory.value);
  const bool all = run.memory.kind == Memory::Kind::automatic ||
                   run.memory.kind == Memory::Kind::all || run.memory.kind == Memory::Kind::budget;
  DevicePlan plan;
  plan.segment =
      tape && all && run.batch * bytes(T_steps) <= budget ? T_steps : rounded_root(T_steps);
  if (!tape) plan.segment = T_steps;
  plan.part = run.batch;
  plan.words = plan.segment >= T_steps ? "states and records on the device"
                                       : message("every ", plan.segment, "th state on the device");
  if (run.batch * bytes(plan.segment) > budget) {
    plan.stays = false;
    plan.part = budget / bytes(plan.segment) / kSumBlock * kSumBlock;
    plan.words = "nothing: the batch is run in parts, each again on the way back";
    if (plan.part == 0) {
      plan.part = std::min(run.batch, kSumBlock);  // and let it say that it has no memory
    }
  }
  return plan;
}

template <class T>
DeviceRun<T>::DeviceRun(const Run<T>& run, const OnDevice& on, const DevicePlan& plan,
                        std::int64_t first, std::int64_t count, bool tape)
    : run_(run),
      on_(on),
      form_(on.form<T>()),
      plan_(plan),
      sizes_(run.stepper->sizes()),
      first_(first),
      count_(count),
      record_(form_.record()) {
  const auto& device = on.device;
  const std::int64_t image_bytes = static_cast<std::int64_t>(form_.image(0).size());
  image_ = DeviceBuffer<std::byte>(device, image_bytes);
  image_.put(form_.image(reinterpret_cast<std::uint64_t>(image_.data())).data(), image_bytes);
  std::vector<QuaternionPlace> quaternions;
  for (const Block& b : run.system.states().pieces()) {
    if (b.kind == BlockKind::quaternion) quaternions.push_back({b.offset, b.tangent_offset});
  }
  quaternions_ =
      DeviceBuffer<QuaternionPlace>(device, static_cast<std::int64_t>(quaternions.size()));
  quaternions_.put(quaternions.data(), quaternions_.size());
  std::vector<std::int64_t> saved(static_cast<std::size_t>(run.steps + 1), -1);
  for (std::size_t i = 0; i < run.saved.size(); ++i) {
    saved[static_cast<std::size_t>(run.saved[i])] = static_cast<std::int64_t>(i);
  }
  saved_ = DeviceBuffer<std::int64_t>(device, run.steps + 1);
  saved_.put(saved.data(), run.steps + 1);

  if (run.control_rows > 0 && sizes_.input > 0) {
    const std::int64_t stride = run.control_stride(),
                       numbers = stride == 0 ? run.input_steps() * sizes_.input : count * stride;
    controls_ = DeviceBuffer<T>(device, numbers);
    controls_.put(run.controls.data() + first * stride, numbers);
  }
  const std::int64_t rows = run.parameter_rows == 1 ? 1 : count, n = sizes_.parameters;
  std::vector<T> params(static_cast<std::size_t>(rows * n));
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* from = run.parameters.data() + (first + r) * run.parameter_stride();
    T* const to = params.data() + r * n;
    std::transform(from, from + n, to, [](double v) { return static_cast<T>(v); });
    form_.prepare(to);
  }
  params_ = DeviceBuffer<T>(device, rows * n);
  params_.put(params.data(), rows * n);
  x_ = DeviceBuffer<T>(device, sizes_.state * count);
  device_notes_ = DeviceBuffer<EnvironmentNote>(device, count);
  if (!tape) return;
  const std::int64_t L = std::min(plan_.segment, run.steps);
  states_kept_ = DeviceBuffer<T>(device, L * sizes_.state * count);
  records_ = DeviceBuffer<T>(device, L * record_ * count);
  if (!kept()) {
    starts_ = DeviceBuffer<T>(device, (run.steps + L - 1) / L * sizes_.state * count);
  }
}

template <class T>
std::int64_t DeviceRun<T>::bytes() const {
  return image_.bytes() + saved_.bytes() + controls_.bytes() + params_.bytes() + x_.bytes() +
         starts_.bytes() + states_kept_.bytes() + records_.bytes() + device_notes_.bytes();
}

template <class T>
StepCall<T> DeviceRun<T>::call(std::int64_t first_step, std::int64_t steps) const {
  StepCall<T> c;
  c.image = image_.data();
  c.count = count_;
  c.steps = steps;
  c.first_step = first_step;
  c.t0 = run_.t0;
  c.state = sizes_.state, c.tangent = sizes_.tangent, c.input = sizes_.input;
  c.parameters = sizes_.parameters, c.record = static_cast<int>(record_);
  c.body_bytes = form_.body_bytes();
  c.quaternions = static_cast<int>(quaternions_.size());
  c.quaternion = quaternions_.data();
  c.x = x_.data();
  if (controls_.size() > 0) {
    c.controls = controls_.data() + (run_.held ? 0 : first_step * sizes_.input);
    c.control_stride = run_.control_stride();
    c.input_stride = run_.held ? 0 : sizes_.input;
  }
  c.params = params_.data();
  c.parameter_stride = run_.parameter_rows == 1 ? 0 : sizes_.parameters;
  c.states_stride = static_cast<std::int64_t>(run_.saved.size()) * sizes_.state;
  c.notes = device_notes_.data();
  // Of a segment that lies on the tape from its beginning.
  const std::int64_t L = std::min(plan_.segment, run_.steps), at = first_step % L;
  if (states_kept_.size() > 0) {
    c.states_kept = states_kept_.data() + at * sizes_.state * count_;
    c.records = records_.data() + at * record_ * count_;
  }
  return c;
}

template <class T>
void DeviceRun<T>::start() {
  std::vector<T> lanes(static_cast<std::size_t>(sizes_.state * count_));
  const std::int64_t stride = run_.x0_stride();
  for (std::int64_t e = 0; e < count_; ++e) {
    for (std::int64_t i = 0; i < sizes_.state; ++i) {
      lanes[static_cast<std::size_t>(i * count_ + e)] =
          run_.x0[static_cast<std::size_t>((first_ + e) * stride + i)];
    }
  }
  x_.put(lanes.data(), x_.size());
  notes_.assign(static_cast<std::size_t>(count_), EnvironmentNote{});
  device_notes_.put(notes_.data(), count_);
}

// keep: states and records go to the tape.
template <class T>
void DeviceRun<T>::run_segment(std::int64_t from, std::int64_t to, T* states, bool keep) {
  for (std::int64_t k = from; k < to; k += kCallSteps) {
    StepCall<T> c = call(k, std::min(kCallSteps, to - k));
    if (!keep) c.states_kept = c.records = nullptr;
    if (states) c.saved = saved_.data() + k, c.states = states;
    on_.device->forward(form_.kernel(), c);
  }
}

template <class T>
void DeviceRun<T>::keep_start(std::int64_t segment) const {
  std::vector<T> state(static_cast<std::size_t>(x_.size()));  // by way of the host
  x_.get(state.data(), x_.size());
  on_.device->to_device(starts_.data() + segment * x_.size(), state.data(),
                        static_cast<std::size_t>(x_.bytes()));
}

template <class T>
void DeviceRun<T>::check(const KeepGoing& keep_going) const {
  on_.device->wait();
  if (keep_going && !keep_going()) throw Interrupted("the run was interrupted");
}

template <class T>
void DeviceRun<T>::forward(T* states, const KeepGoing& keep_going) {
  start();
  const std::int64_t row = static_cast<std::int64_t>(run_.saved.size()) * sizes_.state;
  DeviceBuffer<T> saved_states;
  if (states) saved_states = DeviceBuffer<T>(on_.device, count_ * row);
  const std::int64_t L = kept() ? 4 * kCallSteps : plan_.segment;
  for (std::int64_t k = 0; k < run_.steps; k += L) {
    if (starts_.size() > 0) keep_start(k / L);
    run_segment(k, std::min(k + L, run_.steps), saved_states.data(), kept());
    check(keep_going);
  }
  device_notes_.get(notes_.data(), count_);
  if (states) saved_states.get(states + first_ * row, count_ * row);
}

template <class T>
std::vector<T> DeviceRun<T>::last_states() const {
  std::vector<T> out(static_cast<std::size_t>(x_.size()));
  x_.get(out.data(), x_.size());
  return out;
}

template <class T>
void DeviceRun<T>::backward(const BackwardTask<T>& task, BackwardParts<T>& parts,
                            std::vector<EnvironmentNote>& found) {
  const auto& device = on_.device;
  device_notes_.put(notes_.data(), count_);  // those of an earlier way back are not this one's
  const std::int64_t row = static_cast<std::int64_t>(run_.saved.size()) * sizes_.state;
  DeviceBuffer<char> left_out(device, count_);
  left_out.put(parts.left_out.data() + first_, count_);
  DeviceBuffer<T> states_bar(device, count_ * row), x_bar(device, sizes_.tangent * count_), u_bar;
  states_bar.put(task.states_bar + first_ * row, count_ * row);
  x_bar.clear();
  const std::int64_t inputs = static_cast<std::int64_t>(task.inputs_per_run());
  if (task.options.controls && inputs > 0) {
    u_bar = DeviceBuffer<T>(device, count_ * inputs);
    u_bar.clear();
  }
  DeviceBuffer<double> p_bar;
  if (task.options.params) {
    p_bar = DeviceBuffer<double>(device, sizes_.parameters * count_);
    p_bar.clear();
  }
  const std::int64_t L = std::min(plan_.segment, run_.steps);
  for (std::int64_t from = (run_.steps - 1) / L * L; from >= 0; from -= L) {
    const std::int64_t to = std::min(from + L, run_.steps);
    if (!kept()) {
      std::vector<T> state(static_cast<std::size_t>(x_.size()));
      device->to_host(state.data(), starts_.data() + from / L * x_.size(),
                      static_cast<std::size_t>(x_.bytes()));
      x_.put(state.data(), x_.size());
      run_segment(from, to, nullptr, true);
    }
    for (std::int64_t k = from + (to - 1 - from) / kCallSteps * kCallSteps; k >= from;
         k -= kCallSteps) {
      StepCall<T> c = call(k, std::min(kCallSteps, to - k));
      c.saved = saved_.data() + k;
      c.states_bar = states_bar.data();
      c.x_bar = x_bar.data();
      if (u_bar.size() > 0) {
        c.controls_bar = u_bar.data() + k * sizes_.input;
        c.controls_bar_stride = inputs;
      }
      c.params_bar = p_bar.data();
      c.left_out = left_out.data();
      c.last = k + c.steps == run_.steps;
      device->backward(form_.kernel(), c);
    }
    check(task.options.keep_going);
  }
  std::vector<EnvironmentNote> after(static_cast<std::size_t>(count_));
  device_notes_.get(after.data(), count_);
  for (std::int64_t e = 0; e < count_; ++e) {
    const EnvironmentNote& note = after[static_cast<std::size_t>(e)];
    found[static_cast<std::size_t>(first_ + e)] = note;
    if (note.bad_step >= 0) parts.not_finite[static_cast<std::size_t>(first_ + e)] = 1;
  }
  take_x0(x_bar, parts);
  if (u_bar.size() > 0) take_inputs(task, u_bar, parts);
  if (p_bar.size() > 0) take_parameters(task, p_bar, left_out, parts);
}

template <class T>
void DeviceRun<T>::take_x0(const DeviceBuffer<T>& x_bar, BackwardParts<T>& parts) const {
  std::vector<T> lanes(static_cast<std::size_t>(x_bar.size()));
  x_bar.get(lanes.data(), x_bar.size());
  const std::vector<T> rows = rows_of(lanes, sizes_.tangent, count_);
  for (std::int64_t e = 0; e < count_; ++e) {
    if (parts.left_out[static_cast<std::size_t>(first_ + e)]) continue;
    std::copy_n(rows.begin() + e * sizes_.tangent, sizes_.tangent,
                parts.x0_tangent.begin() + (first_ + e) * sizes_.tangent);
  }
}

template <class T>
void DeviceRun<T>::take_inputs(const BackwardTask<T>& task, const DeviceBuffer<T>& bars,
                               BackwardParts<T>& parts) const {
  const std::int64_t n = static_cast<std::int64_t>(task.inputs_per_run());
  if (!task.sum_controls()) return bars.get(parts.controls.data() + first_ * n, count_ * n);
  std::vector<T> rows(static_cast<std::size_t>(count_ * n));
  bars.get(rows.data(), count_ * n);
  for (std::int64_t e = 0; e < count_; ++e) {
    if (parts.left_out[static_cast<std::size_t>(first_ + e)]) continue;
    for (std::int64_t i = 0; i < n; ++i) {
      parts.sums[static_cast<std::size_t>(i)] +=
          static_cast<double>(rows[static_cast<std::size_t>(e * n + i)]);
    }
  }
}

template <class T>
void DeviceRun<T>::take_parameters(const BackwardTask<T>& task, const DeviceBuffer<double>& bars,
                                   const DeviceBuffer<char>& left_out,
                                   BackwardParts<T>& parts) const {
  const std::int64_t n = sizes_.parameters, blocks = (count_ + kSumBlock - 1) / kSumBlock;
  std::vector<double> all;
  const auto every = [&]() -> const std::vector<double>& {
    all.resize(static_cast<std::size_t>(bars.size()));
    bars.get(all.data(), bars.size());
    return all = rows_of(all, n, count_);
  };
  const auto note_not_finite = [&](std::int64_t e, const double* row) {
    if (parts.left_out[static_cast<std::size_t>(first_ + e)]) return;
    if (std::all_of(row, row + n, [](double v) { return std::isfinite(v); })) return;
    parts.not_finite[static_cast<std::size_t>(first_ + e)] = 1;
  };
  if (task.own_parameters()) {
    every();
    for (std::int64_t e = 0; e < count_; ++e) {
      if (parts.left_out[static_cast<std::size_t>(first_ + e)]) continue;
      double* const row = all.data() + e * n;
      note_not_finite(e, row);
      form_.finish(run_.parameters.data() + (first_ + e) * run_.parameter_stride(), row);
      std::copy_n(row, n, parts.params.begin() + (first_ + e) * n);
    }
    return;
  }
  DeviceBuffer<double> out(on_.device, n * blocks);
  on_.device->sum({bars.data(), n, count_, left_out.data(), out.data()});
  std::vector<double> sums(static_cast<std::size_t>(n * blocks));
  out.get(sums.data(), n * blocks);
  bool finite = true;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      parts.params[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(i * blocks + b)];
    }
    finite = finite && std::isfinite(parts.params[static_cast<std::size_t>(i)]);
  }
  if (finite) return;
  every();
  for (std::int64_t e = 0; e < count_; ++e) note_not_finite(e, all.data() + e * n);
}

template DevicePlan plan_device(const Run<float>&, const OnDevice&, bool);
template DevicePlan plan_device(const Run<double>&, const OnDevice&, bool);
template class DeviceRun<float>;
template class DeviceRun<double>;

}  // namespace cycloid::inline adjoint
