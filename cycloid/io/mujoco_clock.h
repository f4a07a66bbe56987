// io/mujoco_clock.h: what MuJoCo's own step costs on this machine, for whoever compares.
//
// The model is compiled and stepped by MuJoCo itself; nothing of it reaches a step of ours.
#pragma once

#include <string>

namespace cycloid::inline io {

struct MujocoTimes {
  double step = 0;         // of mj_step [s]
  double differences = 0;  // of mjd_transitionFD, one-sided, at the last state [s]
  double contacts = 0;     // mean of the steps
};

// From the model's start with zero controls, over `steps` steps, the best of `turns`. Throws as
// load_model does.
MujocoTimes time_mujoco(const std::string& path_or_xml, int steps, int turns = 3);

}  // namespace cycloid::inline io
