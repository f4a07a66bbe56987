// Ctrl-C between the parts of a story; inside a long rollout the engine asks by itself.
#pragma once

#include "cycloid/base/error.h"
#include "cycloid/base/interrupt.h"

namespace cycloid::tour {

// Throws Interrupted when keep_going says no.
inline void stop_if_asked(const KeepGoing& keep_going) {
  if (keep_going && !keep_going()) throw Interrupted("the tour was stopped");
}

}  // namespace cycloid::tour
