// DeviceRun: one part of a batch on a device, its memory and its calls, forward and back.
#pragma once

#include "cycloid/adjoint/engine.h"
#include "cycloid/system/device.h"

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

template <class T>
class DeviceRun {
 public:
  // Of environments first … first + count; tape: a way back will follow.
  DeviceRun(const Run<T>& run, const OnDevice& on, const DevicePlan& plan, std::int64_t first,
            std::int64_t count, bool tape);

  std::int64_t first() const { return first_; }
  std::int64_t count() const { return count_; }
  std::int64_t bytes() const;
  // The whole run from the start. states: the batch's rows, or null: nobody asks.
  void forward(T* states, const KeepGoing& keep_going);
  const std::vector<EnvironmentNote>& notes() const { return notes_; }
  // The state of each environment after forward, (state, count).
  std::vector<T> last_states() const;

  // After forward. Adds this part's share to the parts; says where cotangents were not finite.
  void backward(const BackwardTask<T>& task, BackwardParts<T>& parts,
                std::vector<EnvironmentNote>& found);

 private:
  StepCall<T> call(std::int64_t first_step, std::int64_t steps) const;
  void start();
  void run_segment(std::int64_t from, std::int64_t to, T* states, bool keep);
  void keep_start(std::int64_t segment) const;
  bool kept() const { return plan_.segment >= run_.steps; }
  void check(const KeepGoing& keep_going) const;
  void take_x0(const DeviceBuffer<T>& x_bar, BackwardParts<T>& parts) const;
  void take_inputs(const BackwardTask<T>& task, const DeviceBuffer<T>& bars,
                   BackwardParts<T>& parts) const;
  void take_parameters(const BackwardTask<T>& task, const DeviceBuffer<double>& bars,
                       const DeviceBuffer<char>& left_out, BackwardParts<T>& parts) const;

  const Run<T>& run_;
  const OnDevice& on_;
  const DeviceForm& form_;
  DevicePlan plan_;
  StepperSizes sizes_;
  std::int64_t first_, count_, record_;
  DeviceBuffer<std::byte> image_;
  DeviceBuffer<QuaternionPlace> quaternions_;
  DeviceBuffer<std::int64_t> saved_;
  DeviceBuffer<T> controls_, params_, x_;
  DeviceBuffer<T> starts_, states_kept_, records_;
  DeviceBuffer<EnvironmentNote> device_notes_;
  std::vector<EnvironmentNote> notes_;
};

}  // namespace cycloid::inline adjoint
