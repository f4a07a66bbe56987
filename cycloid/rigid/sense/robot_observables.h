// What a robot shows: its sensors and fields of mjData (observed_field.h), by name.
//
// Sensors and fields are MuJoCo's, with its meaning (sense.h), as after mj_forward and
// mj_rnePostConstraint; cutoffs count, noise does not. A name is a sensor's, or where no sensor has
// it a field's. A sensor without a name is "#7" by its index. Without names, all sensors that are
// supported are shown.
#pragma once

#include "cycloid/model/model.h"
#include "cycloid/rigid/sense/robot_observers.h"

namespace cycloid::inline rigid {

class RobotObservables final : public Observables {
 public:
  // key: without a list.
  explicit RobotObservables(ObserverKey key) : key_(std::move(key)) {}

  std::vector<Observable> listed() const override;
  std::optional<Observable> find(const std::string& name) const override;
  std::optional<std::vector<std::string>> usual() const override;
  std::vector<std::string> known() const override;
  std::string noun() const override { return "sensor or field"; }

  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int lanes) const override;
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override;
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override;

  const ObserverKey& key() const { return key_; }
  // What these names need to see; without the shapes that rays and distances look at.
  SensorList list_of(const std::vector<std::string>& names) const;

 private:
  const Model& model() const { return key_.tree->source; }
  RobotObservers observers(const std::vector<std::string>& names) const;

  ObserverKey key_;
};

}  // namespace cycloid::inline rigid
