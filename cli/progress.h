// How far a long run has come: a bar with rate and time left, redrawn on one line of a terminal.
//
//   Progress progress(terminal, "simulating", 64'000, "steps");
//   while (…) { rollout(…, {.keep_going = progress.keep_going()}); progress.reached(done); }
//
// Nothing is drawn where standard error is no terminal, nor in the first moments; the line is gone
// when the work ends. Ctrl-C is watched for as long as a Progress lives.
#pragma once

#include <chrono>
#include <string>

#include "cli/interruption.h"
#include "cli/terminal.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::cli {

class Progress {
 public:
  // `total` in units; 0 where it is not known: then only the time is shown. No unit, no rate.
  Progress(const Terminal& terminal, std::string label, double total = 0, std::string unit = "");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Throws Interrupted when Ctrl-C was pressed.
  void reached(double done);
  // For the library's long calls: keeps the line moving, and says no after Ctrl-C. Valid while this
  // lives.
  KeepGoing keep_going();
  // Whether Ctrl-C was pressed.
  bool interrupted() const { return watch_.interrupted(); }

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  std::string line(double seconds) const;

  InterruptionWatch watch_;
  const Terminal terminal_;
  const std::string label_, unit_;
  const double total_;
  double done_ = 0;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_drawing_;
  bool drawn_ = false;
};

// 52.1 M, 830 k, 12
std::string short_number(double value);
// 0:07, 12:30, 1:02:03
std::string clock_time(double seconds);

}  // namespace cycloid::cli
