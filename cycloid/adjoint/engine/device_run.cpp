#include "cycloid/adjoint/engine/device_run.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::inline adjoint {
namespace {

// What may be taken of the memory that is free: threads' own memory comes out of it too.
constexpr double kShareOfMemory = 0.6;
// ... and of it, what Jacobians may have.
constexpr double kShareOfJacobians = 0.4;

// Threads that keep a card at work on Jacobians, and the most that share an environment's: each
// places and factors for itself.
constexpr std::int64_t kRowThreads = 32768, kMostPieces = 4;

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
      8 * on.form<T>().scratch() +
      number * (static_cast<std::int64_t>(run.saved.size() + 1) * s.state +
                (run.control_rows > 1 ? 2 : 1) * run.input_steps() * s.input) +
      static_cast<std::int64_t>(sizeof(EnvironmentNote) + on.form<T>().solve().mail) +
      (tape ? 8 + number : number) * run.system.parameters().size();
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
  if (on.form<T>().large()) {
    plan.part = 1;
    plan.stays = run.batch * bytes(plan.segment) <= budget;
  } else if (run.batch * bytes(plan.segment) > budget) {
    plan.stays = false;
    plan.part = budget / bytes(plan.segment) / kSumBlock * kSumBlock;
    if (plan.part == 0) {
      plan.part = std::min(run.batch, kSumBlock);  // and let it say that it has no memory
    }
  }
  if (!plan.stays) {
    plan.words = "nothing: the batch is run in parts, each again on the way back";
  }
  return plan;
}

template <class T>
Run<T> run_of_jacobians(const Run<T>& run) {
  Run<T> own = run;
  own.t0 += static_cast<double>(run.first_step) * run.step_length();
  own.first_step = 0;
  own.saved = {1};
  own.memory = Memory::all();
  return own;
}

template <class T>
DevicePlan plan_jacobians(const Run<T>& run, const OnDevice& on) {
  const StepperSizes& s = run.stepper->sizes();
  const std::int64_t bytes =
      static_cast<std::int64_t>(sizeof(T)) * (std::int64_t{s.tangent} * (s.tangent + s.input) + 1);
  const double most = kShareOfJacobians * static_cast<double>(on.device->free_bytes());
  DevicePlan plan = plan_device(run, on, true);
  plan.part = std::clamp(static_cast<std::int64_t>(most) / bytes, std::int64_t{1}, plan.part);
  return plan;
}

template <class T>
DeviceRun<T>::DeviceRun(const Run<T>& run, const OnDevice& on, const DevicePlan& plan,
                        std::int64_t first, std::int64_t count, bool tape,
                        const DeviceArrays<T>* given)
    : run_(run),
      on_(on),
      form_(on.form<T>()),
      plan_(plan),
      given_(given ? *given : DeviceArrays<T>{}),
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

  given_ = given_.from(first, run, saved_numbers());
  if (!given) put_controls();
  put_parameters();
  x_ = DeviceBuffer<T>(device, sizes_.state * count);
  scratch_ = DeviceBuffer<double>(device, form_.scratch());
  device_notes_ = DeviceBuffer<EnvironmentNote>(device, count);
  mail_ = DeviceBuffer<std::byte>(
      device, (count + kTile - 1) / kTile * kTile * static_cast<std::int64_t>(form_.solve().mail));
  if (!tape) return;
  const std::int64_t L = std::min(plan_.segment, run.steps);
  states_kept_ = DeviceBuffer<T>(device, L * sizes_.state * count);
  records_ = DeviceBuffer<T>(device, L * record_ * count);
  if (!kept()) {
    starts_ = DeviceBuffer<T>(device, (run.steps + L - 1) / L * sizes_.state * count);
  }
}

template <class T>
void DeviceRun<T>::put_controls() {
  if (run_.control_rows == 0 || sizes_.input == 0) return;
  const std::int64_t stride = run_.control_stride(),
                     numbers = stride == 0 ? run_.input_steps() * sizes_.input : count_ * stride;
  controls_ = DeviceBuffer<T>(on_.device, numbers);
  controls_.put(run_.controls.data() + first_ * stride, numbers);
  given_.controls = controls_.data();
}

template <class T>
void DeviceRun<T>::put_parameters() {
  const std::int64_t rows = run_.parameter_rows == 1 ? 1 : count_, n = parameters();
  std::vector<T> params(static_cast<std::size_t>(rows * n));
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* from = run_.parameters.data() + (first_ + r) * run_.parameter_stride();
    T* const to = params.data() + r * n;
    std::transform(from, from + n, to, [](double v) { return static_cast<T>(v); });
    form_.prepare(to);
  }
  params_ = DeviceBuffer<T>(on_.device, rows * n);
  params_.put(params.data(), rows * n);
}

template <class T>
std::int64_t DeviceRun<T>::bytes() const {
  return image_.bytes() + saved_.bytes() + controls_.bytes() + params_.bytes() + x_.bytes() +
         scratch_.bytes() + starts_.bytes() + states_kept_.bytes() + records_.bytes() +
         device_notes_.bytes() + mail_.bytes();
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
  c.parameters = static_cast<int>(parameters()), c.record = static_cast<int>(record_);
  c.body_bytes = form_.body_bytes();
  c.solve = form_.solve();
  c.mail = mail_.data();
  c.quaternions = static_cast<int>(quaternions_.size());
  c.quaternion = quaternions_.data();
  c.x = x_.data();
  c.scratch = scratch_.data();
  if (given_.controls && sizes_.input > 0) {
    c.controls = given_.controls + (run_.held ? 0 : first_step * sizes_.input);
    c.control_stride = run_.control_stride();
    c.input_stride = run_.held ? 0 : sizes_.input;
  }
  c.params = params_.data();
  c.parameter_stride = run_.parameter_rows == 1 ? 0 : parameters();
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

// Where environments begin, on the device: the given array, or `own`, a copy of the run's.
template <class T>
const T* DeviceRun<T>::start(DeviceBuffer<T>& own) const {
  if (given_.x0) return given_.x0;
  const std::int64_t stride = run_.x0_stride(), rows = stride == 0 ? 1 : count_;
  own = DeviceBuffer<T>(on_.device, rows * sizes_.state);
  own.put(run_.x0.data() + first_ * stride, own.size());
  return own.data();
}

// keep: states and records go to the tape. x0: where the run begins, else it goes on. totals: of a
// run that is made for the first time.
template <class T>
void DeviceRun<T>::run_segment(std::int64_t from, std::int64_t to, const T* x0, T* states,
                               bool keep, RunTotals* totals) {
  for (std::int64_t k = from; k < to; k += kCallSteps) {
    StepCall<T> c = call(k, std::min(kCallSteps, to - k));
    if (k == 0) {
      c.x0 = x0, c.x0_stride = run_.x0_stride(), c.coordinates = given_.x0 != nullptr;
      c.begins = totals != nullptr;
    }
    c.totals = totals;
    if (!keep) c.states_kept = c.records = nullptr;
    if (states) c.saved = saved_.data() + k, c.states = states;
    on_.device->forward(form_.kernel(), c);
  }
}

// The state before a segment, by way of the host, and back again.
template <class T>
void DeviceRun<T>::keep_start(std::int64_t segment) const {
  const std::vector<T> state = last_states();
  on_.device->to_device(starts_.data() + segment * x_.size(), state.data(),
                        static_cast<std::size_t>(x_.bytes()));
}
template <class T>
void DeviceRun<T>::take_start(std::int64_t segment) const {
  std::vector<T> state(static_cast<std::size_t>(x_.size()));
  on_.device->to_host(state.data(), starts_.data() + segment * x_.size(),
                      static_cast<std::size_t>(x_.bytes()));
  x_.put(state.data(), x_.size());
}

template <class T>
void DeviceRun<T>::check(const KeepGoing& keep_going) const {
  on_.device->wait();
  if (keep_going && !keep_going()) throw Interrupted("the run was interrupted");
}

template <class T>
void DeviceRun<T>::forward(T* states, const KeepGoing& keep_going) {
  DeviceBuffer<T> own_start, saved_states;
  DeviceBuffer<RunTotals> totals(on_.device, 1);
  totals.clear();
  const T* const x0 = start(own_start);
  const std::int64_t row = saved_numbers();
  T* to = given_.states;
  if (states) {
    saved_states = DeviceBuffer<T>(on_.device, count_ * row);
    to = saved_states.data();
  }
  const std::int64_t L = kept() ? 4 * kCallSteps : plan_.segment;
  for (std::int64_t k = 0; k < run_.steps; k += L) {
    if (starts_.size() > 0 && k > 0) keep_start(k / L);
    run_segment(k, std::min(k + L, run_.steps), x0, to, kept(), totals.data());
    check(keep_going);
  }
  totals.get(&totals_, 1);
  notes_.resize(static_cast<std::size_t>(totals_.named > 0 ? count_ : 0));
  device_notes_.get(notes_.data(), static_cast<std::int64_t>(notes_.size()));
  if (states) saved_states.get(states + first_ * row, count_ * row);
}

// The state of each environment after forward, (state, count).
template <class T>
std::vector<T> DeviceRun<T>::last_states() const {
  std::vector<T> out(static_cast<std::size_t>(x_.size()));
  x_.get(out.data(), x_.size());
  return out;
}

// Why environment e of this part failed: the CPU makes its last step again.
template <class T>
void DeviceRun<T>::explain_failure(std::int64_t e, const std::vector<T>& last,
                                   ChunkReport& said) const {
  const std::int64_t environment = first_ + e, step = notes_[static_cast<std::size_t>(e)].failed;
  const auto workspace = run_.stepper->make_workspace({1});
  std::vector<T> x, p(static_cast<std::size_t>(sizes_.parameters)),
      u(static_cast<std::size_t>(sizes_.input));
  for (int i = 0; i < sizes_.state; ++i) {
    x.push_back(last[static_cast<std::size_t>(i * count_ + e)]);
  }
  const double* const row = run_.parameters.data() + environment * run_.parameter_stride();
  std::transform(row, row + sizes_.parameters, p.begin(),
                 [](double v) { return static_cast<T>(v); });
  if (given_.controls && !u.empty()) {
    const std::int64_t at = e * run_.control_stride() + (run_.held ? 0 : step * sizes_.input);
    on_.device->to_host(u.data(), given_.controls + at, u.size() * sizeof(T));
  }
  std::vector<const T*> arrays;
  run_.point_to_arrays(environment, arrays);
  run_.stepper->begin({p.data(), arrays.data()}, *workspace);
  StepTrouble t = run_.stepper->explain({x.data(), u.data(), step, run_.t0}, 0, *workspace);
  said.failed.push_back(
      {environment, step, std::move(t.stage), std::move(t.body), std::move(t.reason)});
}

template <class T>
ChunkReport DeviceRun<T>::report() const {
  ChunkReport said;
  std::vector<T> last;
  for (std::size_t i = 0; i < said.counters.size(); ++i) said.counters[i] = totals_.counters[i];
  said.switches = totals_.switches;
  for (std::int64_t e = 0; e < static_cast<std::int64_t>(notes_.size()); ++e) {
    const EnvironmentNote& note = notes_[static_cast<std::size_t>(e)];
    const std::int64_t environment = first_ + e;
    if (note.unsolved >= 0) {
      said.unsolved.push_back({environment, note.unsolved, note.unsolved_count, note.residual});
    }
    if (note.crowded >= 0) said.crowded.push_back({environment, note.crowded, note.crowded_count});
    if (note.failed < 0) continue;
    if (last.empty()) last = last_states();
    explain_failure(e, last, said);
  }
  return said;
}

template <class T>
Report device_report(const Run<T>& run, const OnDevice& on, std::vector<ChunkReport>& said) {
  Report report;
  report.collect(said, static_cast<double>(run.batch) * static_cast<double>(run.steps),
                 run.system.counters());
  report.lanes = 1;
  report.instruction_set = on.device->name();
  return report;
}

template <class T>
std::string name_not_finite(const Run<T>& run, const EnvironmentNote& note,
                            std::int64_t environment) {
  const std::string who = message("environment ", environment);
  if (note.unsolved >= 0) {  // of a large world (device/heat_run.h): others are left out then
    return message(who, ": the solve for the cotangent of step ", note.unsolved,
                   " stopped short of its tolerance, at a residual of ", note.residual,
                   ": the matrix is too badly conditioned for conjugate gradients; the CPU factors "
                   "it");
  }
  if (note.bad_step < 0) return message(who, ": the cotangent of a parameter is not finite");
  const std::string what = note.bad_number < 0 ? std::string("an input")
                                               : run.system.states().tangent_name(note.bad_number);
  return message(who, ": the cotangent of ", what, " at step ", note.bad_step, " is not finite");
}

// Goes back through the steps of a segment on the tape. asked: where cotangents are and go.
template <class T>
void DeviceRun<T>::pull_segment(std::int64_t from, std::int64_t to, const StepCall<T>& asked) {
  for (std::int64_t k = from + (to - 1 - from) / kCallSteps * kCallSteps; k >= from;
       k -= kCallSteps) {
    StepCall<T> c = call(k, std::min(kCallSteps, to - k));
    c.saved = saved_.data() + k;
    c.states_bar = asked.states_bar;
    c.x_bar = asked.x_bar;
    if (k == 0) {
      c.x0 = given_.x0, c.x0_stride = run_.x0_stride(), c.coordinates = asked.coordinates;
      c.x0_bar = asked.x0_bar;
    }
    if (asked.controls_bar) {
      c.controls_bar = asked.controls_bar + k * sizes_.input;
      c.controls_bar_stride = asked.controls_bar_stride;
    }
    c.params_bar = asked.params_bar;
    c.left_out = asked.left_out;
    c.some_bad = asked.some_bad;
    c.last = k + c.steps == run_.steps;
    on_.device->backward(form_.kernel(), c);
  }
}

template <class T>
void DeviceRun<T>::backward(const DevicePull<T>& task, BackwardParts<T>& parts,
                            std::vector<EnvironmentNote>& found) {
  const auto& device = on_.device;
  const DeviceBars<T>* const bars = task.bars;
  const std::int64_t row = saved_numbers(), inputs = run_.steps * sizes_.input;
  DeviceBuffer<char> left_out(device, count_);
  left_out.put(parts.left_out.data() + first_, count_);
  DeviceBuffer<int> some_bad(device, 1);
  some_bad.clear();
  DeviceBuffer<T> states_bar, x_bar(device, sizes_.tangent * count_), x0_bar, u_bar;
  DeviceBuffer<double> p_bar;
  StepCall<T> asked;
  if (bars) {
    asked.states_bar = bars->states + first_ * row;
    asked.x0_bar = bars->x0 ? bars->x0 + first_ * sizes_.state : nullptr;
    asked.controls_bar = bars->controls ? bars->controls + first_ * inputs : nullptr;
    asked.coordinates = true;
  } else {
    states_bar = DeviceBuffer<T>(device, count_ * row);
    states_bar.put(task.states_bar + first_ * row, count_ * row);
    x0_bar = DeviceBuffer<T>(device, sizes_.tangent * count_);
    if (task.controls) u_bar = DeviceBuffer<T>(device, count_ * inputs);
    asked.states_bar = states_bar.data(), asked.x0_bar = x0_bar.data();
    asked.controls_bar = u_bar.data();
  }
  asked.controls_bar_stride = inputs;
  if (task.params) {
    p_bar = DeviceBuffer<double>(device, parameters() * count_);
    p_bar.clear();
  }
  asked.x_bar = x_bar.data(), asked.params_bar = p_bar.data();
  asked.left_out = left_out.data(), asked.some_bad = some_bad.data();
  const std::int64_t L = std::min(plan_.segment, run_.steps);
  for (std::int64_t from = (run_.steps - 1) / L * L; from >= 0; from -= L) {
    const std::int64_t to = std::min(from + L, run_.steps);
    if (!kept()) {
      DeviceBuffer<T> own_start;
      if (from > 0) take_start(from / L);
      run_segment(from, to, from > 0 ? nullptr : start(own_start), nullptr, true);
    }
    pull_segment(from, to, asked);
    check(task.keep_going);
  }
  int bad = 0;
  some_bad.get(&bad, 1);
  if (bad != 0) take_notes(parts, found);
  if (!bars) x0_bar.get(parts.x0_tangent.data() + first_ * sizes_.tangent, x0_bar.size());
  if (u_bar.size() > 0) take_inputs(task, u_bar, parts);
  if (p_bar.size() > 0) take_parameters(task, p_bar, left_out, parts);
}

// Of an environment's A and B, the first row that is not finite.
template <class T>
int DeviceRun<T>::first_bad_row(const T* A, const T* B, std::size_t e) const {
  const auto rows = static_cast<std::size_t>(sizes_.tangent);
  int first = sizes_.tangent;
  const auto look = [&](const T* all, int numbers) {
    const auto n = static_cast<std::size_t>(numbers);
    std::vector<T> own(rows * n);
    if (own.empty()) return;
    on_.device->to_host(own.data(), all + e * own.size(), own.size() * sizeof(T));
    const auto bad =
        std::find_if_not(own.begin(), own.end(), [](const T& v) { return std::isfinite(v); });
    if (bad != own.end()) first = std::min(first, static_cast<int>(bad - own.begin()) / numbers);
  };
  look(A, sizes_.tangent);
  if (B) look(B, sizes_.input);
  return first;
}

template <class T>
BadRow DeviceRun<T>::linearise(T* A, T* B) const {
  DeviceBuffer<int> some_bad(on_.device, 1);
  some_bad.clear();
  StepCall<T> c = call(0, 1);
  c.A = A, c.B = B;
  c.pieces = static_cast<int>(std::clamp(kRowThreads / count_, std::int64_t{1}, kMostPieces));
  c.some_bad = some_bad.data();
  on_.device->linearise(form_.kernel(), c);
  on_.device->wait();
  int bad = 0;
  some_bad.get(&bad, 1);
  if (bad == 0) return {};
  std::vector<EnvironmentNote> notes(static_cast<std::size_t>(count_));
  device_notes_.get(notes.data(), count_);
  std::size_t e = 0;
  while (notes[e].bad_step < 0) ++e;
  return {first_ + static_cast<std::int64_t>(e), first_bad_row(A, B, e)};
}

template <class T>
void DeviceRun<T>::take_notes(BackwardParts<T>& parts, std::vector<EnvironmentNote>& found) const {
  std::vector<EnvironmentNote> after(static_cast<std::size_t>(count_));
  device_notes_.get(after.data(), count_);
  for (std::int64_t e = 0; e < count_; ++e) {
    const EnvironmentNote& note = after[static_cast<std::size_t>(e)];
    found[static_cast<std::size_t>(first_ + e)] = note;
    if (note.bad_step >= 0) parts.not_finite[static_cast<std::size_t>(first_ + e)] = 1;
  }
}

template <class T>
void DeviceRun<T>::take_inputs(const DevicePull<T>& task, const DeviceBuffer<T>& bars,
                               BackwardParts<T>& parts) const {
  const std::int64_t n = run_.steps * sizes_.input;
  if (!task.sum_controls) return bars.get(parts.controls.data() + first_ * n, count_ * n);
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
void DeviceRun<T>::take_parameters(const DevicePull<T>& task, const DeviceBuffer<double>& bars,
                                   const DeviceBuffer<char>& left_out,
                                   BackwardParts<T>& parts) const {
  const std::int64_t n = parameters(), blocks = (count_ + kSumBlock - 1) / kSumBlock;
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
  if (task.own_parameters) {
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
template Run<float> run_of_jacobians(const Run<float>&);
template Run<double> run_of_jacobians(const Run<double>&);
template DevicePlan plan_jacobians(const Run<float>&, const OnDevice&);
template DevicePlan plan_jacobians(const Run<double>&, const OnDevice&);
template class DeviceRun<float>;
template class DeviceRun<double>;
template Report device_report(const Run<float>&, const OnDevice&, std::vector<ChunkReport>&);
template Report device_report(const Run<double>&, const OnDevice&, std::vector<ChunkReport>&);
template std::string name_not_finite(const Run<float>&, const EnvironmentNote&, std::int64_t);
template std::string name_not_finite(const Run<double>&, const EnvironmentNote&, std::int64_t);

}  // namespace cycloid::inline adjoint
