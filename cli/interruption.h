// Ctrl-C. Work that looks now and then, inside an InterruptionWatch, is asked to stop and ends with
// Interrupted; outside of one, and at a second Ctrl-C, the program ends at once. The exit status is
// 130 either way.
#pragma once

#include <string>

namespace cycloid::cli {

// Installs the handler. `last_words` are printed on standard output when the program ends at once.
void handle_interruptions(const std::string& last_words);

// While one lives, Ctrl-C is remembered instead of ending the program. They do not nest.
class InterruptionWatch {
 public:
  InterruptionWatch();
  ~InterruptionWatch();
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;

  bool interrupted() const;
};

// Within a watch: a call that does not look for Ctrl-C, during which it ends the program at once.
class UnwatchedCall {
 public:
  UnwatchedCall();
  ~UnwatchedCall();
  UnwatchedCall(const UnwatchedCall&) = delete;
  UnwatchedCall& operator=(const UnwatchedCall&) = delete;
};

}  // namespace cycloid::cli
