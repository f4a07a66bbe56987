// A robot in the forms that a System of numbers T computes in: alone, and in lanes with parameters
// in common or of each lane's own; without and with constraints.
//
// One unit per T (robot_float_isa.cpp, robot_double_isa.cpp), with its sensors: the forms share
// most of their parts, and what depends on the lanes alone (collision, Newton) is compiled once for
// all of them.
#pragma once

#include "cycloid/math/batch_lanes.h"
#include "cycloid/rigid/robot_stepper.h"

namespace cycloid::inline rigid {

template <bool kConstrained, class T>
void fill_steppers(const RobotKey& key, Steppers<T>& out) {
  using Lanes = BatchLanes<T, kNativeLanes<T>>;
  out.one = std::make_shared<RobotStepper<T, T, kConstrained>>(key);
  if (key.vary) {
    out.packed = std::make_shared<RobotStepper<Lanes, Lanes, kConstrained>>(key);
  } else {
    out.packed = std::make_shared<RobotStepper<Lanes, T, kConstrained>>(key);
  }
}

template <class T>
void fill_steppers(const RobotKey& key, Steppers<T>& out) {
  key.constraints ? fill_steppers<true>(key, out) : fill_steppers<false>(key, out);
}

}  // namespace cycloid::inline rigid
