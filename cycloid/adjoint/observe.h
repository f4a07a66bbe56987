// observe: what a System shows, as a function of state, inputs and parameters, with its pullback.
//
//   const Observer observer(system, {{"energy", "angle"}});
//   const Observation seen = observe(observer, {.states = x});
//   seen.values();                       (rows, observer.size())
//   seen.pullback(values_bar).states     ∂L/∂x, in the coordinates of x
//
// Names are those of system/observer.h: blocks of the state, a law's energy, a robot's sensors and
// fields of mjData. Rows are computed in double, also for a System of float32, in chunks of lanes
// that threads take. Time is no state: the clock shows what it is told, for all rows.
#pragma once

#include <optional>
#include <type_traits>

#include "cycloid/base/interrupt.h"
#include "cycloid/system/observed_rows.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline adjoint {

// What goes by one name, and where its numbers are in a row of values.
struct Observed {
  Observable what;
  int place = 0;
};

// Numbers of a row of values and where they come from: the state, or what an observer computes.
struct ObservedPiece {
  int place, from, count;
};

// Who computes what is observed. Only the engine that made it knows more (engine.h).
class Watch {
 public:
  virtual ~Watch() = default;
};

// Which names of a System are observed. Immutable and cheap to copy.
class Observer {
 public:
  // Without names: what the System usually shows. Throws ModelError on a name that there is not,
  // and, with the reason, on what cannot be observed.
  explicit Observer(const System& system,
                    const std::optional<std::vector<std::string>>& names = std::nullopt);

  int size() const { return size_; }  // numbers of a row of values
  const std::vector<Observed>& observed() const { return observed_; }
  // One per number: the name, with "[2]" or "[2][0]" after it where it has several.
  const std::vector<std::string>& names() const { return names_; }
  const System& system() const { return system_; }

  const std::vector<ObservedPiece>& of_state() const { return of_state_; }
  const std::vector<ObservedPiece>& computed() const { return computed_; }
  // Who computes them, or null where there is nothing to compute.
  const Watch* watch() const { return watch_.get(); }

 private:
  System system_;
  std::vector<Observed> observed_;
  std::vector<std::string> names_;
  std::vector<ObservedPiece> of_state_, computed_;
  int size_ = 0;
  std::shared_ptr<const Watch> watch_;
};

struct ObserveOptions {
  int threads = 0;  // 0: as many as the machine offers; no number depends on it
  KeepGoing keep_going = {};
};

class Observation {
 public:
  std::int64_t rows() const { return rows_.rows; }
  const std::vector<double>& values() const { return values_; }  // (rows, observer.size())
  const std::vector<RowNote>& notes() const { return notes_; }   // in the order of rows

  // values_bar: ∂L/∂values. Quaternions have four numbers on both sides; a cotangent along a unit
  // quaternion itself has no effect. Throws Error on a wrong size or a number that is not finite.
  ObservationGradient pullback(std::span<const double> values_bar,
                               const ObserveOptions& options = {}) const;

 private:
  friend Observation observe(const Observer&, const ObservedRows&, const ObserveOptions&);
  Observation(const Observer& observer, const ObservedRows& at)
      : observer_(observer), rows_(observer.system(), at) {}

  Observer observer_;
  CheckedRows rows_;
  std::vector<double> values_;
  std::vector<RowNote> notes_;
};

// Throws as CheckedRows does (system/observed_rows.h).
Observation observe(const Observer& observer, const ObservedRows& at,
                    const ObserveOptions& options = {});

}  // namespace cycloid::inline adjoint
