// RobotEyes: sensors and fields of a robot (rigid/sense/placed_sense.h) as one thread of a device
// finds them.
#pragma once

#include "cycloid/device/observe_run.h"
#include "cycloid/device/robot_body.h"
#include "cycloid/rigid/sense/placed_sense.h"

namespace cycloid::inline device {

struct EyesImage {
  RobotImage robot;
  const Sensor* sensors = nullptr;
  const int* places = nullptr;  // where the numbers of each begin
  int count = 0;
  bool joint_forces = false;
};

template <class T>
class RobotEyes {
 public:
  CYCLOID_HD RobotEyes(const ObserveCall<T>& call, const T* p, std::byte* memory)
      : image_(*static_cast<const EyesImage*>(call.image)), p_(p) {
    place(image_.robot, memory, at_);
  }

  CYCLOID_HD void look(const T* x, const T* u, T t, T* values) {
    const RobotImage& robot = image_.robot;
    const Robot<T, T> r{robot.tree, robot.inputs, p_, Implicit::nothing};
    const ModelView& m = robot.tree.model;
    const Instant<T> now{x, x + m.nq, x + m.nq + m.nv, u};
    measure_places(r, now, at_.work);
    if (image_.joint_forces) measure_joint_forces(r, now, at_.work);
    for (int i = 0; i < image_.count; ++i) {
      T* const own = values + image_.places[i];
      placed_sensor(r, image_.sensors[i], now, t, at_.work, own);
      cut_off(image_.sensors[i], own);
    }
  }

 private:
  const EyesImage& image_;
  const T* p_;
  RobotSpace<T, false> at_;
};

}  // namespace cycloid::inline device
