#include "cycloid/base/thread_pool.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cycloid/base/error.h"
#include "tests/support/new_process.h"

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer refuses threads in the child of a process that had some, unless told.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

using cycloid::parallel_for;
using cycloid::StopToken;

namespace {

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Waits for the others. Tests that use it would hang, and so fail, if nobody else came.
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) nap();
}

void work_until_asked_to_stop(const StopToken& stop) {
  wait_until([&] { return stop.stop_requested(); });
}

// Whether parallel_for with this many threads runs each index once.
bool covers(std::size_t count, int threads) {
  std::vector<std::atomic<int>> runs(count);
  parallel_for(count, threads, [&](std::size_t i) { ++runs[i]; });
  for (const auto& n : runs)
    if (n != 1) return false;
  return true;
}

// The exit status of a child that does `work`; -1 when it was killed, as it is after a while.
template <class Work>
int status_of_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    work();
    _exit(99);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("parallel_for: runs each index once, for any count and number of threads") {
  for (const std::size_t count : {0, 1, 2, 3, 100, 1000})
    for (const int threads : {0, 1, 2, 5}) {
      CAPTURE(count);
      CAPTURE(threads);
      CHECK(covers(count, threads));
    }
}

TEST_CASE("parallel_for: begins indices in order") {
  std::vector<std::size_t> order;
  parallel_for(50, 1, [&](std::size_t i) { order.push_back(i); });
  for (std::size_t i = 0; i < 50; ++i) CHECK(order[i] == i);
}

TEST_CASE("parallel_for: one thread is the calling thread") {
  parallel_for(10, 1, [&, caller = std::this_thread::get_id()](std::size_t, int worker) {
    CHECK(worker == 0);
    CHECK(std::this_thread::get_id() == caller);
  });
}

TEST_CASE("parallel_for: as many indices run at once as there are threads, the caller's included") {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> begun{0};
  std::atomic<bool> caller_works{false};
  parallel_for(3, 3, [&](std::size_t, int worker) {
    if (std::this_thread::get_id() == caller) caller_works = worker == 0;
    ++begun;
    wait_until([&] { return begun == 3; });
  });
  CHECK(caller_works);
}

TEST_CASE(
    "parallel_for: a worker number is below the number of threads and never used twice at once") {
  constexpr int kThreads = 4;
  std::atomic<bool> busy[kThreads] = {};
  std::atomic<bool> clash{false};
  parallel_for(2000, kThreads, [&](std::size_t, int worker) {
    if (worker < 0 || worker >= kThreads || busy[worker].exchange(true)) clash = true;
    else busy[worker] = false;
  });
  CHECK_FALSE(clash);
  std::atomic<int> largest{0};
  parallel_for(2, kThreads, [&](std::size_t, int worker) {
    if (worker > largest) largest = worker;
  });
  CHECK(largest < 2);
}

TEST_CASE("parallel_for: an exception drops what has not begun, on one thread and on two") {
  for (const int threads : {1, 2}) {
    std::atomic<int> runs{0};
    const auto work = [&](std::size_t i, int, const StopToken& stop) {
      ++runs;
      if (i == 5) throw std::runtime_error("five");
      if (i > 5) work_until_asked_to_stop(stop);
    };
    CHECK_THROWS_WITH(parallel_for(100, threads, work), "five");
    CHECK(runs <= 5 + threads);
  }
  CHECK(covers(100, 2));
}

TEST_CASE("parallel_for: the exception of the lowest index wins, also when it comes last") {
  // 7 fails first; 9, behind it, is asked to stop; 3, before it, is not, and fails in the end.
  std::atomic<bool> nine_begun{false}, nine_stopped{false}, three_was_asked{false};
  const auto work = [&](std::size_t i, int, const StopToken& stop) {
    if (i == 3) {
      wait_until([&] { return nine_stopped.load(); });
      three_was_asked = stop.stop_requested();
      throw std::runtime_error("three");
    }
    if (i == 7) {
      wait_until([&] { return nine_begun.load(); });
      throw std::runtime_error("seven");
    }
    if (i == 9) {
      nine_begun = true;
      work_until_asked_to_stop(stop);
      nine_stopped = true;
    }
  };
  CHECK_THROWS_WITH(parallel_for(10, 3, work), "three");
  CHECK(nine_stopped);
  CHECK_FALSE(three_was_asked);
}

TEST_CASE("parallel_for: inside work it runs on the calling thread alone") {
  std::atomic<int> runs{0};
  std::atomic<bool> elsewhere{false};
  parallel_for(4, 3, [&](std::size_t) {
    const auto here = std::this_thread::get_id();
    parallel_for(10, 3, [&](std::size_t, int worker) {
      ++runs;
      if (worker != 0 || std::this_thread::get_id() != here) elsewhere = true;
    });
  });
  CHECK(runs == 40);
  CHECK_FALSE(elsewhere);
}

TEST_CASE("parallel_for: several threads of the user may call at once") {
  std::atomic<int> good{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      for (int round = 0; round < 50; ++round) good += covers(37 + user, 1 + (round + user) % 4);
    });
  for (std::thread& user : users) user.join();
  CHECK(good == 200);
}

TEST_CASE("parallel_for: refuses a number of threads that cannot be") {
  const auto nothing = [](std::size_t) {};
  CHECK_THROWS_AS(parallel_for(1, -1, nothing), cycloid::Error);
  CHECK_THROWS_WITH(parallel_for(1, 4097, nothing),
                    "expected a number of threads from 1 to 4096, or 0 for the default, got 4097");
}

TEST_CASE("parallel_for: helpers have the caller's rounding, and leave the user's signals alone") {
  std::atomic<int> begun{0}, upward{0}, blocked{0}, own_faults{0};
  const int before = std::fegetround();
  for (const int rounding : {FE_UPWARD, before}) {
    begun = upward = blocked = own_faults = 0;
    std::fesetround(rounding);
    parallel_for(2, 2, [&](std::size_t, int worker) {
      ++begun;
      wait_until([&] { return begun == 2; });
      upward += std::fegetround() == FE_UPWARD;
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      blocked += worker > 0 && sigismember(&mask, SIGINT) == 1;
      own_faults += worker > 0 && sigismember(&mask, SIGSEGV) == 0;
    });
    std::fesetround(before);
    CHECK(upward == (rounding == FE_UPWARD ? 2 : 0));
    CHECK(blocked == 1);
    CHECK(own_faults == 1);
  }
}

TEST_CASE("keep_going: false ends one long index on the calling thread, with Interrupted") {
  std::atomic<int> asked{0};
  const auto caller = std::this_thread::get_id();
  bool asked_elsewhere = false;
  CHECK_THROWS_AS(
      parallel_for(
          1, 1, [](std::size_t, int, const StopToken& stop) { work_until_asked_to_stop(stop); },
          [&] {
            asked_elsewhere |= std::this_thread::get_id() != caller;
            return ++asked < 3;
          }),
      cycloid::Interrupted);
  CHECK(asked == 3);
  CHECK_FALSE(asked_elsewhere);
}

TEST_CASE("keep_going: false ends the helpers' work while the caller waits for them") {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> begun{0}, stopped{0};
  bool asked_elsewhere = false;
  CHECK_THROWS_AS(parallel_for(
                      3, 3,
                      [&](std::size_t, int worker, const StopToken& stop) {
                        ++begun;
                        wait_until([&] { return begun == 3; });
                        if (worker == 0) return;
                        work_until_asked_to_stop(stop);
                        ++stopped;
                      },
                      [&] {
                        asked_elsewhere |= std::this_thread::get_id() != caller;
                        return false;
                      }),
                  cycloid::Interrupted);
  CHECK(stopped == 2);
  CHECK_FALSE(asked_elsewhere);
}

TEST_CASE("keep_going: what it throws is rethrown, and the work is stopped before") {
  std::atomic<int> running{0};
  CHECK_THROWS_WITH(parallel_for(
                        2, 2,
                        [&](std::size_t, int, const StopToken& stop) {
                          ++running;
                          work_until_asked_to_stop(stop);
                          --running;
                        },
                        []() -> bool { throw std::runtime_error("Ctrl-C"); }),
                    "Ctrl-C");
  CHECK(running == 0);
}

TEST_CASE("keep_going: true lets the work finish") {
  std::atomic<int> asked{0}, runs{0};
  parallel_for(
      4, 2,
      [&](std::size_t, int, const StopToken& stop) {
        wait_until([&] { return stop.stop_requested() || asked > 0; });
        runs += !stop.stop_requested();
      },
      [&] { return ++asked > 0; });
  CHECK(runs == 4);
}

TEST_CASE("keep_going: ends a parallel_for inside the work too") {
  std::atomic<int> inner_runs{0};
  CHECK_THROWS_AS(parallel_for(
                      2, 2,
                      [&](std::size_t) {
                        parallel_for(5, 2, [&](std::size_t, int, const StopToken& stop) {
                          ++inner_runs;
                          work_until_asked_to_stop(stop);
                        });
                      },
                      [] { return false; }),
                  cycloid::Interrupted);
  CHECK(inner_runs >= 1);
  CHECK(inner_runs <= 2);
}

TEST_CASE("fork: the child starts helpers of its own, the parent keeps its own") {
  CHECK(covers(100, 3));
  CHECK(status_of_child([] {
          // Three indices at once need two new helpers.
          std::atomic<int> begun{0};
          parallel_for(3, 3, [&](std::size_t) {
            ++begun;
            wait_until([&] { return begun == 3; });
          });
          _exit(covers(1000, 3) ? 0 : 1);
        }) == 0);
  CHECK(covers(100, 3));
}

TEST_CASE("fork: while another thread of the user is inside parallel_for") {
  std::atomic<bool> begun{false}, enough{false};
  std::thread user([&] {
    parallel_for(2, 2, [&](std::size_t) {
      begun = true;
      wait_until([&] { return enough.load(); });
    });
  });
  wait_until([&] { return begun.load(); });
  for (int round = 0; round < 3; ++round)
    CHECK(status_of_child([] { _exit(covers(1000, 3) ? 0 : 1); }) == 0);
  enough = true;
  user.join();
  CHECK(covers(100, 3));
}

TEST_CASE("fork: inside work, the child is told that it cannot finish") {
  pid_t child = -1;
  std::atomic<bool> forked{false};
  std::string refusal;
  try {
    parallel_for(4, 2, [&](std::size_t, int worker) {
      if (worker == 0 && !forked) {
        child = fork();
        if (child == 0) alarm(60);
        forked = true;
      }
      wait_until([&] { return forked.load(); });
    });
  } catch (const cycloid::Error& e) {
    refusal = e.what();
  }
  if (child == 0) _exit(refusal.find("forked inside parallel_for") != std::string::npos ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(refusal.empty());
}

namespace {

// Whether `each` calls of work inside each of `tasks` tasks run all at once: they wait for one
// another.
bool nested_run_together(std::size_t tasks, int threads, std::size_t each) {
  std::atomic<std::size_t> begun{0};
  std::atomic<int> most{0};
  parallel_for(tasks, threads, [&](std::size_t) {
    parallel_for(each, threads, [&](std::size_t, int worker) {
      if (worker > most) most = worker;
      ++begun;
      wait_until([&] { return begun == tasks * each; });
    });
  });
  return static_cast<std::size_t>(most.load()) < each;
}

}  // namespace

TEST_CASE("nested: threads that are more than the tasks are divided among them, every time") {
  for (int round = 0; round < 100; ++round) {
    CHECK(nested_run_together(1, 3, 3));
    CHECK(nested_run_together(2, 4, 2));
    CHECK(nested_run_together(3, 6, 2));
  }
}

TEST_CASE("nested: a task has no more than its share, and one thread where tasks are many") {
  for (const auto& [tasks, threads, share] :
       {std::array{1, 4, 4}, {2, 5, 2}, {3, 5, 1}, {4, 4, 1}, {9, 4, 1}}) {
    std::atomic<int> most{0};
    parallel_for(static_cast<std::size_t>(tasks), threads, [&](std::size_t) {
      parallel_for(64, 0, [&](std::size_t, int worker) {
        if (worker > most) most = worker;
        nap();
      });
    });
    CHECK(most < share);
  }
}

TEST_CASE("nested: three levels deep, all threads meet") {
  std::atomic<int> begun{0}, done{0};
  parallel_for(1, 4, [&](std::size_t) {
    parallel_for(2, 4, [&](std::size_t) {
      parallel_for(2, 4, [&](std::size_t) {
        ++begun;
        wait_until([&] { return begun == 4; });
        // Deeper there is one thread each.
        parallel_for(3, 4, [&](std::size_t, int worker) { done += worker == 0; });
      });
    });
  });
  CHECK(done == 12);
}

TEST_CASE("nested: what a helper of inner work throws is that of its task; the lowest wins") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> two_begun{false}, two_stopped{false};
    const auto work = [&](std::size_t task) {
      parallel_for(2, 6, [&](std::size_t i, int, const StopToken& stop) {
        if (task == 0 && i == 1) {
          wait_until([&] { return two_stopped.load(); });
          CHECK_FALSE(stop.stop_requested());
          throw std::runtime_error("task 0");
        }
        if (task == 1 && i == 1) {
          wait_until([&] { return two_begun.load(); });
          throw std::runtime_error("task 1");
        }
        if (task == 2 && i == 0) {
          // Behind the one that failed: asked to stop, through its own parallel_for.
          two_begun = true;
          work_until_asked_to_stop(stop);
          two_stopped = true;
        }
      });
    };
    CHECK_THROWS_WITH(parallel_for(3, 6, work), "task 0");
  }
  CHECK(covers(100, 3));
}

TEST_CASE("nested: keep_going stops helpers of inner work while its caller waits for them") {
  for (const std::size_t tasks : {1, 2}) {
    std::atomic<int> stopped{0};
    const auto caller = std::this_thread::get_id();
    bool asked_elsewhere = false;
    CHECK_THROWS_AS(parallel_for(
                        tasks, 4,
                        [&](std::size_t) {
                          std::atomic<int> begun{0};
                          parallel_for(2, 4, [&](std::size_t, int worker, const StopToken& stop) {
                            ++begun;
                            wait_until([&] { return begun == 2; });
                            if (worker == 0) return;
                            work_until_asked_to_stop(stop);
                            ++stopped;
                          });
                        },
                        [&] {
                          asked_elsewhere |= std::this_thread::get_id() != caller;
                          return false;
                        }),
                    cycloid::Interrupted);
    CHECK(stopped == static_cast<int>(tasks));
    CHECK_FALSE(asked_elsewhere);
  }
}

TEST_CASE("nested: what keep_going throws comes through inner work") {
  std::atomic<int> running{0};
  CHECK_THROWS_WITH(parallel_for(
                        1, 3,
                        [&](std::size_t) {
                          parallel_for(3, 3, [&](std::size_t, int, const StopToken& stop) {
                            ++running;
                            work_until_asked_to_stop(stop);
                            --running;
                          });
                        },
                        []() -> bool { throw std::runtime_error("Ctrl-C"); }),
                    "Ctrl-C");
  CHECK(running == 0);
}

TEST_CASE("nested: several threads of the user at once, some of whose work throws") {
  std::atomic<int> good{0}, thrown{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      for (int round = 0; round < 25; ++round) {
        std::atomic<int> runs{0};
        try {
          parallel_for(1 + user, 6, [&](std::size_t) {
            parallel_for(11, 3, [&](std::size_t i) {
              if (round % 5 == 4 && i == 7) throw std::runtime_error("seven");
              ++runs;
            });
          });
          good += runs == 11 * (1 + user);
        } catch (const std::runtime_error&) {
          ++thrown;
        }
      }
    });
  for (std::thread& user : users) user.join();
  CHECK(good == 80);
  CHECK(thrown == 20);
  CHECK(nested_run_together(2, 4, 2));
}

TEST_CASE("nested: the child of a fork nests with helpers of its own") {
  CHECK(nested_run_together(2, 4, 2));
  // Without helpers to begin with, the two tasks ask for theirs while the first is on its way.
  for (int round = 0; round < 20; ++round)
    CHECK(status_of_child([] { _exit(nested_run_together(2, 4, 2) ? 0 : 1); }) == 0);
  CHECK(nested_run_together(2, 4, 2));
}

TEST_CASE("nested: a child forked inside inner work is told that it cannot finish") {
  pid_t child = -1;
  std::atomic<bool> forked{false};
  std::string refusal;
  try {
    parallel_for(1, 2, [&](std::size_t) {
      parallel_for(4, 2, [&](std::size_t, int worker) {
        if (worker == 0 && !forked) {
          child = fork();
          if (child == 0) alarm(60);
          forked = true;
        }
        wait_until([&] { return forked.load(); });
      });
    });
  } catch (const cycloid::Error& e) {
    refusal = e.what();
  }
  if (child == 0) _exit(refusal.find("forked inside parallel_for") != std::string::npos ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(refusal.empty());
}

// Each way to end a process is a function; a new process is told by CYCLOID_TEST_EXIT which to
// take.
namespace {

void exit_with_idle_helpers() {
  // Registered before the pool is, so run after it has closed.
  std::atexit([] {
    if (!covers(100, 3)) _exit(1);
  });
  covers(100, 3);
  std::exit(3);
}

void exit_from_work(int exiting_worker) {
  std::atomic<int> begun{0};
  parallel_for(2, 2, [&](std::size_t, int worker, const StopToken& stop) {
    ++begun;
    wait_until([&] { return begun == 2; });
    if (worker == exiting_worker) std::exit(4);
    work_until_asked_to_stop(stop);
    while (worker == 0) nap();  // the caller, which nobody joins
  });
}

void exit_beside_work() {
  static std::atomic<int> begun{0};
  std::thread([] {
    try {
      parallel_for(2, 2, [](std::size_t, int, const StopToken& stop) {
        ++begun;
        work_until_asked_to_stop(stop);
      });
    } catch (const cycloid::Interrupted&) {
    }
    while (true) nap();
  }).detach();
  wait_until([] { return begun == 2; });
  std::exit(5);
}

int status_of_exit(const std::string& way) {
  return cycloid::test::status_of_new_process("CYCLOID_TEST_EXIT=" + way, "exit: as told*");
}

}  // namespace

TEST_CASE("exit: as told by the environment, if at all") {
  const char* told = std::getenv("CYCLOID_TEST_EXIT");
  const std::string way = told == nullptr ? "" : told;
  if (way == "idle helpers") exit_with_idle_helpers();
  if (way == "work of the caller") exit_from_work(0);
  if (way == "work of a helper") exit_from_work(1);
  if (way == "beside work") exit_beside_work();
  CHECK(way == "");
}

TEST_CASE("exit: with idle helpers, and with a call after they are gone") {
  CHECK(status_of_exit("idle helpers") == 3);
}

TEST_CASE("exit: from inside work, on the calling thread and on a helper") {
  CHECK(status_of_exit("work of the caller") == 4);
  CHECK(status_of_exit("work of a helper") == 4);
}

TEST_CASE("exit: while another thread of the user is inside parallel_for") {
  CHECK(status_of_exit("beside work") == 5);
}
