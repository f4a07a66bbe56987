// unlocked.h: long calls without the interpreter lock, and how they end early.
//
//   Unlocked call;                                   other Python threads run
//   rollout(..., {.keep_going = call.keep_going()})
//
// About every 50 ms the core asks keep_going, on the thread that made the call. The call ends
// - with KeyboardInterrupt when Ctrl-C came (on the main thread, as everywhere in Python);
// - with the exception that a law written in Python was left by, when it asks the whole program to
//   stop (KeyboardInterrupt, SystemExit): the core by itself would first finish what precedes it;
// - with SystemExit when the interpreter ends while a daemon thread is in the call. The interpreter
//   would kill that thread where it asks for the lock, in the middle of C++; so at exit
//   `end_unlocked_calls` waits until every other thread is out of its call.
#pragma once

#include <exception>

#include "module.h"

namespace cycloid::python {

class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  KeepGoing keep_going() const;

 private:
  PyThreadState* state_;
};

// A call that comes from outside of Python, mostly without the lock: a handler of XLA's. It ends
// with Interrupted when the interpreter does, and likewise with KeyboardInterrupt when it is on
// Python's main thread.
class ForeignCall {
 public:
  ForeignCall();
  ~ForeignCall();
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;

  KeepGoing keep_going() const;
};

// What a Python function was left by on the thread of the call, if it was no ordinary exception.
void remember_if_it_ends_the_program(const nb::python_error& error);

void bind_unlocked(nb::module_& m);

}  // namespace cycloid::python
