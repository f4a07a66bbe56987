#include "cli/trajectory_file.h"

#include <cerrno>
#include <cstring>

#include "cli/law_options.h"
#include "cycloid/base/error.h"

namespace cycloid::cli {

TrajectoryFile::TrajectoryFile(const std::string& path, const System& system)
    : path_(path), file_(path), dt_(system.timestep()) {
  check();
  file_ << "environment,step,time [s]";
  for (const NamedNumber& number : numbers_of(system.states())) {
    file_ << ',' << number.name << " [" << number.unit << ']';
  }
  file_ << '\n';
}

template <class T>
void TrajectoryFile::write(std::int64_t environment, std::int64_t step, std::span<const T> state) {
  std::string line = message(environment, ",", step, ",", static_cast<double>(step) * dt_);
  for (const T number : state) {
    line += ',';
    append(line, number);
  }
  file_ << line << '\n';
}

void TrajectoryFile::close() {
  file_.close();
  check();
}

void TrajectoryFile::check() const {
  if (!file_) throw Error(message("\"", path_, "\" cannot be written: ", std::strerror(errno)));
}

template void TrajectoryFile::write(std::int64_t, std::int64_t, std::span<const float>);
template void TrajectoryFile::write(std::int64_t, std::int64_t, std::span<const double>);

}  // namespace cycloid::cli
