// io/foreign_call.h: a call into a library that brings its own C++ runtime.
//
// libmujoco contains a C++ library and a stack unwinder of its own. An exception that escapes from
// it (for some malformed models one does) cannot be caught here by catch (...): its unwinder and
// our runtime disagree about the data they would share. What both agree on is the ABI of a
// personality routine, the function that an unwinder asks about each frame. `completes` gives its
// frame one that says "handled here", lets the unwinder run the destructors of the frames below,
// deletes the exception and jumps back. Nothing of the runtime's own data is touched.
//
// The same jump serves an error callback that must not return to the library; the frames between
// are then abandoned.
#pragma once

#include <csetjmp>

namespace cycloid::inline io {

class ForeignCall {
 public:
  // Calls call(); false when an exception or leave() ended it.
  template <class Call>
  static bool completes(const Call& call) {
    return completes([](const void* c) { (*static_cast<const Call*>(c))(); }, &call);
  }

  // Leaves the innermost call of this thread; returns only where there is none.
  static void leave();

 private:
  static bool completes(void (*function)(const void*), const void* argument);
};

}  // namespace cycloid::inline io
