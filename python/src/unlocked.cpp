#include "unlocked.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "cycloid/base/error.h"

namespace cycloid::python {
namespace {

std::atomic<int> calls{0};  // threads without the lock
std::atomic<bool> ending{false};
std::thread::id ending_thread;  // the one that ends the interpreter; written before `ending`

std::atomic<unsigned long> main_thread{0};  // Python's number of it

thread_local int depth = 0;  // of calls, one in another; none on the core's own threads
thread_local std::exception_ptr ends_program;

constexpr std::chrono::milliseconds kWaitAtExit{3000};

void leave_if_ending() {
  if (!ending.load() || std::this_thread::get_id() == ending_thread) return;
  PyErr_SetNone(PyExc_SystemExit);
  throw nb::python_error();
}

void end_unlocked_calls() {
  ending_thread = std::this_thread::get_id();
  ending.store(true);
  nb::gil_scoped_release unlocked;
  const auto latest = std::chrono::steady_clock::now() + kWaitAtExit;
  while (calls.load() > 0 && std::chrono::steady_clock::now() < latest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Unlocked::Unlocked() {
  leave_if_ending();
  calls.fetch_add(1);
  ++depth;
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  PyEval_RestoreThread(state_);
  ends_program = nullptr;
  --depth;
  calls.fetch_sub(1);
}

KeepGoing Unlocked::keep_going() const {
  return [] {
    if (ends_program) std::rethrow_exception(std::exchange(ends_program, nullptr));
    nb::gil_scoped_acquire lock;
    leave_if_ending();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return true;
  };
}

ForeignCall::ForeignCall() {
  // Counted before it looks: whoever ends the interpreter either sees it or is seen by it.
  calls.fetch_add(1);
  if (!ending.load()) return;
  calls.fetch_sub(1);
  throw Interrupted("the interpreter has ended");
}

ForeignCall::~ForeignCall() { calls.fetch_sub(1); }

KeepGoing ForeignCall::keep_going() const {
  return [on_main_thread = PyThread_get_thread_ident() == main_thread.load()] {
    if (ending.load()) return false;
    if (!on_main_thread) return true;
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return true;
  };
}

void remember_if_it_ends_the_program(const nb::python_error& error) {
  if (depth > 0 && !error.matches(PyExc_Exception)) ends_program = std::current_exception();
}

void bind_unlocked(nb::module_& m) {
  m.def("end_unlocked_calls", &end_unlocked_calls,
        "At exit: ends the calls of daemon threads, and waits until they are out.");
  nb::module_::import_("atexit").attr("register")(m.attr("end_unlocked_calls"));
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  main_thread.store(nb::cast<unsigned long>(main.attr("ident")));
  // A forked child has none of the threads but the one that forked.
  pthread_atfork(nullptr, nullptr, [] {
    calls.store(0);
    main_thread.store(PyThread_get_thread_ident());
  });
}

}  // namespace cycloid::python
