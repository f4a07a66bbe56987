// A trajectory as a table that every program reads (CSV): one line per environment and saved step,
//   environment,step,time [s],angle [rad],angular_velocity [rad/s]
// in full precision. The lines of an environment end with its last finite state.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include "cycloid/system/system.h"

namespace cycloid::cli {

class TrajectoryFile {
 public:
  // Throws Error when the file cannot be written.
  TrajectoryFile(const std::string& path, const System& system);

  template <class T>
  void write(std::int64_t environment, std::int64_t step, std::span<const T> state);
  // Throws Error when something was not written.
  void close();

 private:
  void check() const;

  std::string path_;
  std::ofstream file_;
  double dt_;
};

}  // namespace cycloid::cli
