// base/interrupt.h: how a long run is asked to stop.
//
// Whoever starts a run may pass a KeepGoing: a function that is asked on the thread that started
// the run, about every kPollInterval, and answers false when the run should stop. At the Python
// edge it looks for Ctrl-C. Work receives a StopToken and looks at it between steps; when it says
// stop, the work returns early with whatever it has, and the run ends with Interrupted.
#pragma once

#include <chrono>
#include <functional>

namespace cycloid::inline base {

using KeepGoing = std::function<bool()>;

inline constexpr std::chrono::milliseconds kPollInterval{50};

// Answers whether to stop. A look costs some ten nanoseconds, so take it every few microseconds
// of work, and at least every 0.1 s. Valid while the call that received it runs, on its thread.
class StopToken {
 public:
  using Ask = bool (*)(void* context);

  StopToken() = default;  // never stops
  StopToken(Ask ask, void* context) : ask_(ask), context_(context) {}

  bool stop_requested() const { return ask_ != nullptr && ask_(context_); }

 private:
  Ask ask_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace cycloid::inline base
