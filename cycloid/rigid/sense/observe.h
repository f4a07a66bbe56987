// What a robot's sensors and fields of mjData show, as a function of state, inputs and parameters,
// with its pullback.
//
//   const Observer observer(robot, model, {{"torso_velocity", "knee"}});
//   const Observation seen = observe(observer, {.states = x});
//   seen.values();                       (rows, observer.size())
//   seen.pullback(values_bar).states     ∂L/∂x, in the coordinates of x
//
// Sensors and fields are MuJoCo's, with its meaning (sense.h), as after mj_forward and
// mj_rnePostConstraint; cutoffs count, noise does not. Numbers are computed in double precision,
// also for a system of float32. Time is no state: the clock shows what it is told.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "cycloid/model/model.h"
#include "cycloid/system/senses.h"
#include "cycloid/system/stepper.h"
#include "cycloid/system/system.h"

namespace cycloid::inline rigid {

class ChunkObserver;
struct ObserverKey;
class ObservedInstants;

// One sensor or field of an Observer and its numbers.
struct ObservedSensor {
  std::string name;  // of a sensor "#7" without a name: its index
  int place = 0, size = 0;
  std::vector<int> shape;  // as the user sees them
};

// Immutable and cheap to copy.
class Observer {
 public:
  // `robot` is make_robot of `model`. names: of sensors, or of fields (observed_field.h) where no
  // sensor has the name. Without: every sensor that is supported. Throws ModelError on a name that
  // there is not, and, with the reason, on what is not supported.
  Observer(const System& robot, const Model& model,
           const std::optional<std::vector<std::string>>& names = std::nullopt);

  int size() const { return size_; }  // numbers of a row of values
  const std::vector<ObservedSensor>& sensors() const { return sensors_; }
  // One per number: the name, with "[2]" or "[2][0]" after it where it has several.
  const std::vector<std::string>& names() const { return names_; }
  const System& robot() const { return robot_; }
  const ObserverKey& key() const { return *key_; }
  const ChunkObserver& chunks() const { return *chunks_; }
  // The same numbers in the lanes and the precision of the robot's steps, without a gradient.
  template <class T>
  const Senses<T>& senses() const {
    if constexpr (std::is_same_v<T, float>) {
      return *senses32_;
    } else {
      return *senses64_;
    }
  }

 private:
  System robot_;
  std::vector<ObservedSensor> sensors_;
  std::vector<std::string> names_;
  int size_ = 0;
  std::shared_ptr<const ObserverKey> key_;
  std::shared_ptr<const ChunkObserver> chunks_;
  std::shared_ptr<const Senses<float>> senses32_;
  std::shared_ptr<const Senses<double>> senses64_;
};

// Rows of numbers, one environment after another. Inputs may be empty: zeros. Parameters may be
// empty, the defaults, or one row for all.
struct ObservedRows {
  std::span<const double> states;
  std::span<const double> inputs = {};
  std::span<const double> parameters = {};
  double time = 0;        // [s]
  std::int64_t rows = 0;  // 0: as many as there are states; a robot that has none counts as one row
};

// Shaped like what was observed; parameters (one row, a sum, where one row or none was given).
struct ObservationGradient {
  std::vector<double> states, states_tangent, inputs, parameters;
};

// A row whose constraints' solve fell short: of its tolerance, or of room for contacts.
struct RowNote {
  std::int64_t row;
  LaneNote note;
};

class Observation {
 public:
  std::int64_t rows() const { return rows_; }
  const std::vector<double>& values() const { return values_; }  // (rows, observer.size())

  const std::vector<RowNote>& notes() const { return notes_; }  // in the order of rows

  // values_bar: ∂L/∂values. Quaternions have four numbers on both sides; a cotangent along a unit
  // quaternion itself has no effect. Throws Error on a wrong size or a number that is not finite.
  ObservationGradient pullback(std::span<const double> values_bar) const;

 private:
  friend Observation observe(const Observer& observer, const ObservedRows& at);
  friend class ObservedInstants;
  explicit Observation(const Observer& observer) : observer_(observer) {}

  Observer observer_;
  std::int64_t rows_ = 0, parameter_rows_ = 1;
  std::vector<double> raw_, x_, u_, p_, values_;
  std::vector<RowNote> notes_;
  double time_ = 0;
};

// States are normalised first, as in a rollout. Throws Error on wrong sizes, a number that is not
// finite or a quaternion of zero, ParameterError on a parameter that cannot be.
Observation observe(const Observer& observer, const ObservedRows& at);

}  // namespace cycloid::inline rigid
