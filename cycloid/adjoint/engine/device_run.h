// DeviceRun: one part of a batch on a device, its memory and its calls, forward, back and for
// Jacobians.
//
// The user's arrays are copied there and back, or lie there already (DeviceArrays, DeviceBars).
#pragma once

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/system/kernel_source.h"

namespace cycloid::inline adjoint {

// Steps of one call: cotangents of parameters are summed in T no longer than that.
inline constexpr std::int64_t kCallSteps = 16;

// How a run lies on the device.
struct DevicePlan {
  std::int64_t part = 0;     // environments at once
  std::int64_t segment = 0;  // L; the run's steps: everything is kept
  bool stays = true;         // parts stay on the device between rollout and pullback
  std::string words;
};

// Decides by the device's free memory and the memory that the user asks for.
template <class T>
DevicePlan plan_device(const Run<T>& run, const OnDevice& on, bool tape);

// The run of one step whose Jacobians are asked for, and how it is cut where they are to have
// memory of their own.
template <class T>
Run<T> run_of_jacobians(const Run<T>& run);
template <class T>
DevicePlan plan_jacobians(const Run<T>& run, const OnDevice& on);

// A row of a Jacobian that is not finite.
struct BadRow {
  std::int64_t environment = -1;  // none
  int row = -1;
};

// The user's arrays where they lie on the device already: rows as in rollout.h, x0 in coordinates.
// controls is null for zero inputs.
template <class T>
struct DeviceArrays {
  const T *x0 = nullptr, *controls = nullptr;
  T* states = nullptr;  // (batch, saved, state)

  // Those of a part that begins with environment `first`.
  DeviceArrays from(std::int64_t first, const Run<T>& run, std::int64_t saved_numbers) const {
    return {x0 ? x0 + first * run.x0_stride() : nullptr,
            controls ? controls + first * run.control_stride() : nullptr,
            states ? states + first * saved_numbers : nullptr};
  }
};
// Their cotangents; those of x0 (batch, state) and of inputs (batch, T, input) may be null.
template <class T>
struct DeviceBars {
  const T* states = nullptr;
  T *x0 = nullptr, *controls = nullptr;
};

// What a way back is asked for.
template <class T>
struct DevicePull {
  const T* states_bar = nullptr;  // of the whole batch, on the host
  bool controls = true, sum_controls = false, params = true, own_parameters = false;
  const KeepGoing& keep_going;
  const DeviceBars<T>* bars = nullptr;  // cotangents on the device, in place of the host's
};

template <class T>
class DeviceRun {
 public:
  // Of environments first … first + count; tape: a way back will follow. given: arrays on the
  // device, in place of the run's.
  DeviceRun(const Run<T>& run, const OnDevice& on, const DevicePlan& plan, std::int64_t first,
            std::int64_t count, bool tape, const DeviceArrays<T>* given = nullptr);

  std::int64_t first() const { return first_; }
  std::int64_t count() const { return count_; }
  std::int64_t bytes() const;
  // The whole run from the start. states: the batch's rows, or null: nobody asks.
  void forward(T* states, const KeepGoing& keep_going);
  ChunkReport report() const;

  // After forward. Adds this part's share to the parts; says where cotangents were not finite.
  void backward(const DevicePull<T>& task, BackwardParts<T>& parts,
                std::vector<EnvironmentNote>& found);

  // After forward of one step: writes A (count, tangent, tangent) and B (count, tangent, input) on
  // the device. Of an environment that failed nothing is written.
  BadRow linearise(T* A, T* B) const;

 private:
  StepCall<T> call(std::int64_t first_step, std::int64_t steps) const;
  int first_bad_row(const T* A, const T* B, std::size_t e) const;
  void put_controls();
  void put_parameters();
  const T* start(DeviceBuffer<T>& own) const;
  void run_segment(std::int64_t from, std::int64_t to, const T* x0, T* states, bool keep,
                   RunTotals* totals = nullptr);
  void keep_start(std::int64_t segment) const;
  void take_start(std::int64_t segment) const;
  bool kept() const { return plan_.segment >= run_.steps; }
  void check(const KeepGoing& keep_going) const;
  void pull_segment(std::int64_t from, std::int64_t to, const StepCall<T>& asked);
  void take_notes(BackwardParts<T>& parts, std::vector<EnvironmentNote>& found) const;
  std::vector<T> last_states() const;
  void explain_failure(std::int64_t e, const std::vector<T>& last, ChunkReport& said) const;
  void take_inputs(const DevicePull<T>& task, const DeviceBuffer<T>& bars,
                   BackwardParts<T>& parts) const;
  void take_parameters(const DevicePull<T>& task, const DeviceBuffer<double>& bars,
                       const DeviceBuffer<char>& left_out, BackwardParts<T>& parts) const;

  std::int64_t saved_numbers() const {
    return static_cast<std::int64_t>(run_.saved.size()) * sizes_.state;
  }

  // Of an environment, with those in arrays.
  std::int64_t parameters() const { return run_.system.parameters().size(); }

  const Run<T>& run_;
  const OnDevice& on_;
  const DeviceForm& form_;
  DevicePlan plan_;
  DeviceArrays<T> given_;
  StepperSizes sizes_;
  std::int64_t first_, count_, record_;
  DeviceBuffer<std::byte> image_;
  DeviceBuffer<QuaternionPlace> quaternions_;
  DeviceBuffer<std::int64_t> saved_;
  DeviceBuffer<T> controls_, params_, x_;
  DeviceBuffer<double> scratch_;
  DeviceBuffer<T> starts_, states_kept_, records_;
  DeviceBuffer<EnvironmentNote> device_notes_;
  DeviceBuffer<std::byte> mail_;
  RunTotals totals_;
  std::vector<EnvironmentNote> notes_;  // where some environment is named
};

// Of all parts.
template <class T>
Report device_report(const Run<T>& run, const OnDevice& on, std::vector<ChunkReport>& said);

// What a cotangent that is not finite is called, after `found` of a way back.
template <class T>
std::string name_not_finite(const Run<T>& run, const EnvironmentNote& note,
                            std::int64_t environment);

}  // namespace cycloid::inline adjoint
